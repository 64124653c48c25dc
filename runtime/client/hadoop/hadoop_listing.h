#pragma once

// What lies in a folder, as Hadoop would have it. Upstream: `weir hadoop fs`. Downstream: files of
// this machine.

#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/env/storage.h"

namespace weir::client {

/// A file or directory that a word names.
struct HadoopFile {
  std::string local;  // absolute path of this machine
  std::string shown;  // as Hadoop would name it
};

/// The one of this name inside a folder.
HadoopFile InFolder(const HadoopFile& folder, const std::string& name);

/// Whether there is anything at a path, also a link to nowhere.
bool IsThere(const std::string& path);
/// Whether a path leads to a directory.
bool IsFolder(const std::string& path);
/// The same of the path itself, not of what a link leads to: that may lead round and round.
bool IsFolderItself(const std::string& path);

/// An error of the system in Hadoop's words, where it has some.
std::string HadoopReason(const std::error_code& error);

/// Returns the names in a directory of this machine, sorted. The manifest of a result of Weir's is
/// none of them; a file of its name that Weir did not write is.
/// Errors: as Storage::ListNames. Blocking. Checked by: tests/unit/client/hadoop_test.cc.
absl::StatusOr<std::vector<std::string>> HadoopNamesIn(env::Storage& storage,
                                                       const std::string& folder);

}  // namespace weir::client
