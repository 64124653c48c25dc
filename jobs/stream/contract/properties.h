#pragma once

// Properties of a streaming job, as Hadoop names them. Upstream: parameters properties and cmdenv.
// Downstream: stream_spec.h, and the environment of scripts.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::stream {

/// Reads lines NAME=VALUE. In values `\n` stands for a newline and `\\` for a backslash; any other
/// backslash stays. Empty lines do not count. Errors: kInvalidArgument naming the line.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ReadNameValueLines(
    std::string_view text);

/// Names and values; a deprecated name and its new one are one property.
///
/// Checked by: tests/unit/jobs/stream/contract_test.cc.
class Properties {
 public:
  void Set(std::string_view name, std::string value);
  /// Null where it is not set.
  const std::string* Find(std::string_view name) const;
  std::string Get(std::string_view name, std::string_view fallback) const;
  /// Errors: kInvalidArgument naming the property where the value is no number of [min, max], or
  /// neither true nor false.
  absl::StatusOr<std::int64_t> Integer(std::string_view name, std::int64_t fallback,
                                       std::int64_t min, std::int64_t max) const;
  absl::StatusOr<bool> Flag(std::string_view name, bool fallback) const;

  /// Adds a variable for each property, under its new and under all deprecated names. Values longer
  /// than `truncate` bytes are cut (negative: never).
  void AddToEnvironment(std::int64_t truncate,
                        absl::btree_map<std::string, std::string>& environment) const;

 private:
  absl::btree_map<std::string, std::string> values_;  // by new name
};

/// The name of a property as that of a variable: all but letters and digits becomes '_'.
std::string EnvironmentName(std::string_view property);

/// The new name of a deprecated property; any other as it is.
std::string_view NewName(std::string_view property);

}  // namespace weir::stream
