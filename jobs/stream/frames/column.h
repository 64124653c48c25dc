#pragma once

// Many items of one type, written so that a program reads and writes them all at once. Upstream:
// frames of pairs. Downstream: items, and frames of groups.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/stream/frames/item.h"

namespace weir::stream {

/// First byte of a column. Numbers are little-endian.
enum class ColumnKind : char {
  kNones = 'n',           // nothing
  kBools = 'b',           // a byte each
  kIntegers = 'i',        // 8 bytes each
  kFloats = 'd',          // 8 bytes each
  kTexts = 's',           // length of all (8), then each with NUL behind it
  kTextsLengths = 'S',    // lengths (4 each), then the texts: where one has a NUL in it
  kBytesLengths = 'Y',    // the same for bytes
  kPickledLengths = 'p',  // the same for what is pickled
  kTuples = 't',          // number of elements (1), a column for each
  kMixed = 'm',           // lengths, then plain items
};

/// A column of a frame, item by item.
///
/// Bounds: views of the frame, which must outlive it.
/// Checked by: tests/unit/jobs/stream/frames_test.cc.
class Column {
 public:
  /// Takes a column of `count` items from the front of `in`. Errors: kInvalidArgument.
  static absl::StatusOr<Column> Take(std::string_view& in, std::uint32_t count);

  /// Appends the next item. Requires: called at most `count` times.
  /// Returns: false where it is no item, or may be no key and is to be one.
  bool AppendNext(ItemForm form, std::string& out);

 private:
  static absl::StatusOr<Column> TakeAt(std::string_view& in, std::uint32_t count, int depth);

  ColumnKind kind_ = ColumnKind::kNones;
  std::string_view lengths_;
  std::string_view left_;
  std::vector<Column> elements_;
};

/// Appends the items as a column of the most special kind that fits them all.
/// Requires: whole items. Returns: false where one is not.
bool AppendColumn(const std::vector<std::string_view>& items, ItemForm form, std::string& out);

}  // namespace weir::stream
