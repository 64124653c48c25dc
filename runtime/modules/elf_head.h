#pragma once

// Whether a file can be a module for this machine, by its first bytes: the dynamic loader's own
// words for the same are hard to read. Pure. Upstream: runtime/task. Downstream: <elf.h>.

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace weir {

/// Bytes of a file that CheckElfHead looks at.
inline constexpr int kElfHeadBytes = 64;

/// Checks that `head`, the first kElfHeadBytes of `path`, begins a shared library for this machine.
/// Errors: kInvalidArgument with MODULE_REFUSED: no ELF file, another word size, byte order or
/// architecture, a program or an object file.
/// Checked by: tests/unit/modules/elf_head_test.cc.
absl::Status CheckElfHead(std::string_view head, const std::string& path);

/// The error of a library that is no module, or none for this program.
absl::Status RefusedModule(const std::string& path, const std::string& why,
                           const std::string& advice);

}  // namespace weir
