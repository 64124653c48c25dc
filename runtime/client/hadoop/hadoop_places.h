#pragma once

// Where hdfs:/// lies: a directory. Pure. Upstream: words of `weir hadoop`. Downstream: files.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weir::client {

/// A place of Hadoop's, and the file that stands for it.
struct HadoopPlace {
  std::string local;   // absolute path of this machine
  std::string prefix;  // what it was named with before its path: "hdfs://node:8020", "file://", ""
  std::string path;    // as Hadoop shows it, "/user/alice/in"; begins with '/'
};

/// Thread-safe once made. Checked by: tests/unit/client/hadoop_test.cc.
class HadoopPlaces {
 public:
  /// `root`: absolute path of the directory that is hdfs:///; `user`: whose /user/NAME is where
  /// paths without '/' begin.
  HadoopPlaces(std::string root, std::string user)
      : root_(std::move(root)), user_(std::move(user)) {}

  /// Reads hdfs:/// with or without a host, file:///, or a path, which is one of hdfs:///. Dots are
  /// taken out; globs stay. No place of hdfs:/// is outside of the root, whatever ".." it has.
  /// Errors: kInvalidArgument naming the word: another scheme, ".." above the root, a line end.
  absl::StatusOr<HadoopPlace> Find(std::string_view word) const;

  const std::string& root() const { return root_; }

 private:
  const std::string root_;
  const std::string user_;
};

}  // namespace weir::client
