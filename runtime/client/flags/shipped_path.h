#pragma once

// Files that go with a job, as the user names them. Pure. Upstream: --file and --archive.
// Downstream: options.h.

#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/client/flags/options.h"

namespace weir::client {

/// Reads PATH or PATH#NAME; without NAME it is the last name of the path. What stands behind the
/// last '#' is the name, as in Hadoop.
/// Errors: kInvalidArgument naming the word: no path, or a name with '/' or a line end, "." or
/// "..". Checked by: tests/unit/client/streaming_words_test.cc.
absl::StatusOr<ShippedPath> ReadShippedPath(std::string_view word, bool unpack);

}  // namespace weir::client
