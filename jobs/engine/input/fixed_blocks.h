#pragma once

// Cuts one input range into blocks of whole records of one size. Upstream: InputRange. Downstream:
// readers.h.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/input/input_text.h"

namespace weir {

/// Gives the records of `record_bytes` bytes whose first byte lies in the range; records are
/// counted from the beginning of the file.
///
/// Thread-safety: one thread at a time.
/// Errors: those of InputText; BadRecord when the file ends within a record.
/// Bounds: one buffer of about 256 KiB or one record; windows in place beside it.
/// Checked by: tests/unit/jobs/readers_test.cc.
class FixedBlocks {
 public:
  FixedBlocks(std::int64_t record_bytes, const InputRange& range,
              std::int64_t decoder_bytes_max = kDecoderBytesDefault);

  /// Which blocks from the next one on stay as long as this does, as far as they lie in place:
  /// TextBlock::stays says which do. (kAll has to be asked for before the first block.)
  void Keep(InputKeeping keeping) {
    keep_ = keeping != InputKeeping::kNone;
    text_.Keep(keeping);
  }
  /// Where the blocks that stay lie, and in which file.
  MappedBytes mapped() const { return text_.mapped(); }
  InputRange AsOpened() const { return text_.AsOpened(); }

  /// Gives the next block; false when the range is done.
  absl::StatusOr<bool> Next(TextBlock& block);

  /// Bytes of the range read since the last call, for progress.
  std::int64_t TakeProgressBytes();

  /// What a decoder of the file holds.
  std::int64_t decoder_bytes() const { return text_.decoder_bytes(); }

  /// Whether the blocks so far were what the file held; asked before they are blamed.
  absl::Status CheckUnchanged() const { return text_.CheckUnchanged(); }

 private:
  const std::int64_t record_bytes_;
  absl::Status PartOfARecord();

  InputText text_;
  bool started_ = false;
  bool keep_ = false;
  std::vector<char> buffer_;
  std::string rest_;       // of a text that ends within a record
  std::int64_t position_;  // of the next record in the text
};

}  // namespace weir
