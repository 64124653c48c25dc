#pragma once

// Parts of keys: which reducer gets a key, and in which order it gets them, by
// KeyFieldBasedPartitioner and KeyFieldBasedComparator. Upstream: options like "-k1,2" and "-k2,2nr
// -k1". Downstream: pairs.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::stream {

/// One -kA[.c][opts][,B[.d][opts]].
struct KeySpec {
  int first_field = 1;
  int first_char = 1;
  int last_field = 0;  // 0 = to the end of the key
  int last_char = 0;   // 0 = to the end of the field
  bool numeric = false;
  bool reverse = false;
};

/// Thread-safe once made. Checked by: tests/unit/jobs/stream/key_fields_test.cc.
class KeyFields {
 public:
  KeyFields() = default;
  /// Reads options as Hadoop's KeyFieldHelper does. None at all: the whole key.
  /// Errors: kInvalidArgument naming what is no key specification.
  static absl::StatusOr<KeyFields> Read(std::string_view options, std::string separator);
  /// Fields 1 to `last`, as num.key.fields.for.partition says.
  static KeyFields First(int last, std::string separator);

  /// The number of the reducer of `key`, of `count`: h = 31 h + signed byte over the specified
  /// bytes, without its sign, modulo the count; 0 for an empty key.
  int PartitionOf(std::string_view key, int count) const;

  /// Appends bytes that compare as the comparator orders keys; equal where it finds them equal. A
  /// field that a key does not have comes first, or last in reverse. Numbers are those with which
  /// the field begins: a sign, digits, a fraction; none is 0.
  void AppendOrder(std::string_view key, std::string& out) const;

  const std::vector<KeySpec>& specs() const { return specs_; }

 private:
  /// The bytes of `key` that a specification names; false where it has no such field.
  bool Part(std::string_view key, const KeySpec& spec, std::string_view& part) const;

  std::string separator_ = "\t";
  bool by_fields_ = false;  // some -k was given
  std::vector<KeySpec> specs_;
};

}  // namespace weir::stream
