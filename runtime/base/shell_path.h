#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Returns `path` as one word of a POSIX shell, for commands that are shown to be copied: as it is
/// where no shell and no program changes its meaning, else in single quotes; what begins with a
/// dash, which programs take for a flag, begins with `./`.
/// Thread-safety: pure.
/// Example: "my data" -> "'my data'"; "-x" -> "./-x"; "" -> "''".
/// Checked by: tests/unit/base/shell_path_test.cc.
std::string ShellPath(std::string_view path);

}  // namespace weir
