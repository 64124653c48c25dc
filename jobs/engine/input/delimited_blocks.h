#pragma once

// Cuts one input range into blocks of whole records that end with a delimiter (lines, words).
// Upstream: InputRange. Downstream: readers.h.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/input/input_text.h"

namespace weir {

/// The bytes that end a record. The first is added at the end of a file that ends without one.
class Delimiters {
 public:
  explicit Delimiters(std::string_view bytes) : terminator_(bytes[0]) {
    for (const char c : bytes) is_delimiter_[static_cast<unsigned char>(c)] = true;
  }
  bool operator()(char c) const { return is_delimiter_[static_cast<unsigned char>(c)]; }
  char terminator() const { return terminator_; }

 private:
  std::array<bool, 256> is_delimiter_{};
  char terminator_;
};

/// Gives the records whose first byte lies in [range.begin, range.end), each once, whatever the
/// ranges of others: it skips the record that began before, and reads on past the end to finish the
/// last one. A UTF-8 byte order mark at the beginning of a file belongs to no record.
///
/// Thread-safety: one thread at a time.
/// Errors: those of InputText; BadRecord for a record longer than kRecordBytesMax.
/// Bounds: two records of the greatest length, else twice kChunkBytes; windows in place beside it.
/// Checked by: tests/unit/jobs/readers_test.cc.
class DelimitedBlocks {
 public:
  DelimitedBlocks(const Delimiters& delimiters, const InputRange& range,
                  InputAccess access = InputAccess::kInPlace,
                  std::int64_t decoder_bytes_max = kDecoderBytesDefault);

  /// Gives the next block; false when the range is done.
  absl::StatusOr<bool> Next(TextBlock& block);

  /// Bytes of the range read since the last call, for progress.
  std::int64_t TakeProgressBytes();

  /// What a decoder of the file holds.
  std::int64_t decoder_bytes() const { return text_.decoder_bytes(); }

  /// Whether the blocks so far were what the file held; asked before they are blamed.
  absl::Status CheckUnchanged() const { return text_.CheckUnchanged(); }

 private:
  // Of a copy: small enough to stay in the level-2 cache between the kernel's copy and the job.
  static constexpr std::int64_t kChunkBytes = 256 << 10;
  // What lies behind a range is looked at for the end of one record only: of a short range more
  // would take longer than the range itself.
  static constexpr std::int64_t kBehindBytes = 4 << 10;

  absl::Status Start();
  absl::StatusOr<bool> NextInPlace(TextBlock& block);
  absl::Status SkipByteOrderMark();
  absl::Status ReadMore(std::int64_t bytes);
  absl::Status FinishLastRecord();
  absl::Status RecordTooLong() const;
  std::int64_t FindDelimiter(std::int64_t from) const;
  std::int64_t EndOfLastRecord();
  std::int64_t BehindLastDelimiter(std::string_view text, std::int64_t from) const;
  bool Give(std::int64_t usable, TextBlock& block);

  const Delimiters delimiters_;
  InputText text_;
  const InputAccess access_;
  bool started_ = false;
  std::vector<char> buffer_;
  // A block in place is taken for a buffer that was filled with it and given as a whole.
  std::int64_t buffer_offset_ = 0;  // place of buffer_[0] in the text
  std::int64_t filled_ = 0;         // bytes of the text in buffer_
  std::int64_t searched_ = 0;       // of these, known to hold no delimiter that was not given
  std::int64_t given_ = 0;          // of these, handed out by the last call
  bool done_ = false;
  bool first_record_due_ = false;  // the record behind a byte order mark, wherever the range ends
};

}  // namespace weir
