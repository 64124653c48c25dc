#pragma once

// The text of an input range, wherever it comes from: the file as it is, or what unpacking makes of
// it. Upstream: InputRange. Downstream: delimited_blocks.h, fixed_blocks.h.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/input/input_file.h"
#include "jobs/engine/input/packed_input.h"

namespace weir {

/// How a text is wanted: where it lies, as far as that is possible, or always as a copy. A copy
/// cannot change any more, and system calls can be given it: they fail, where code that looks at
/// a page that is gone finds fillers.
enum class InputAccess { kInPlace, kCopied };

/// Whether what is given in place stays as long as who reads it does.
enum class InputKeeping {
  kNone,
  kLarge,  // large parts, for what that saves
  kAll,    // small ones and the ends of ranges, too: somebody refers to records
};

/// Positions are places in the text. A packed file without borders is one range of unknown length,
/// which becomes known when its end is read; the range that holds its byte 0 has all of it.
///
/// Thread-safety: one thread at a time. Errors: those of InputFile and PackedInput.
/// Checked by: tests/unit/jobs/packed_input_test.cc, zstd_input_test.cc, readers_test.cc.
class InputText {
 public:
  /// A decoder of the file may hold `decoder_bytes_max`.
  InputText(const InputRange& range, std::int64_t decoder_bytes_max) : range_(range) {
    const Packing packing = PackingOf(range.path);
    if (packing != Packing::kNone) packed_ = MakePackedInput(packing, decoder_bytes_max);
    const bool has_text = range.begin < range.end && (!packed_ || range.begin == 0);
    // Where there are borders this is said anew below.
    begin_ = packed_ ? 0 : range.begin;
    end_ = !has_text ? begin_ : packed_ ? kUnknown : range.end;
    text_bytes_ = packed_ ? end_ : range.file_bytes;
    if (!packed_ || range.borders.empty()) return;
    // A byte later than the borders, so that looking back one byte is looking at what is there; and
    // behind a byte order mark, which is looked at whole.
    text_bytes_ = range.text_bytes;
    const auto behind = [this](const PackedBorder& border) {
      return std::min(std::max(border.text_at + 1, kBehindMark), text_bytes_);
    };
    begin_ = range.begin == 0 ? 0 : behind(range.borders.front());
    end_ = behind(range.borders.back());
  }

  /// `filler` stands for bytes that cannot be had of a text in place (PageGuard).
  absl::Status Open(InputAccess access, char filler) {
    if (packed_) return packed_->Open(range_);
    absl::Status status = file_.Open(range_);
    if (!status.ok() || access == InputAccess::kCopied) return status;
    if (keeping_ != InputKeeping::kAll) {
      file_.Map(range_, filler);
    } else if (range_.file_bytes >= kReferencedBytesMin) {
      // What is in place must not depend on where slots cut.
      InputRange mapped = range_;
      mapped.end = in_place_end_ = std::min(range_.end + kTailBytes, range_.file_bytes);
      file_.Map(mapped, filler, /*bytes_min=*/1);
    }
    return status;
  }

  /// Where the records of the range begin and end; and the whole text, as far as is known.
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  std::int64_t text_bytes() const { return text_bytes_; }

  /// Reads `bytes` bytes at `position`; fewer at the end of the text only. A packed file is read
  /// from the beginning of the range on, never twice.
  absl::StatusOr<std::int64_t> Read(std::int64_t position, char* into, std::int64_t bytes) {
    if (!packed_) {
      bytes = std::min(bytes, text_bytes_ - position);
      absl::Status status = file_.Read(position, into, bytes);
      if (!status.ok()) return status;
      return bytes;
    }
    return ReadPacked(position, into, bytes);
  }

  /// The text from `position` on, where it lies, with kBlockSlackBytes readable behind it; empty
  /// where it is to be read, as it is near the end of the range, or, where all is kept, of the file
  /// (it then goes on behind the range, for its last record). Valid until the next call.
  /// Requires: positions that never fall.
  absl::StatusOr<std::string_view> InPlace(std::int64_t position) {
    if (packed_) return std::string_view();
    const std::int64_t end = in_place_end_ > 0 ? in_place_end_ : end_;
    const std::int64_t bytes = std::min(end - position - kBlockSlackBytes, kWindowBytes);
    if (bytes < (in_place_end_ > 0 ? 1 : kWindowBytes)) return std::string_view();
    const auto text = file_.Window(position, bytes + kBlockSlackBytes);
    if (!text.ok()) return text.status();
    return std::string_view(*text, *text == nullptr ? 0 : static_cast<std::size_t>(bytes));
  }

  /// What stays of what InPlace gives from the next call on, as long as this does.
  void Keep(InputKeeping keeping) {
    keeping_ = keeping;
    file_.Keep(keeping != InputKeeping::kNone);
  }
  MappedBytes mapped() const { return file_.mapped(); }
  InputRange AsOpened() const { return file_.AsOpened(); }

  absl::Status CheckUnchanged() const {
    return packed_ ? packed_->CheckUnchanged() : file_.CheckUnchanged();
  }
  /// The same once all records of the range were read: and whether a packed file has as much text
  /// as it was said to have.
  absl::Status CheckDone() const {
    if (absl::Status status = CheckUnchanged(); !status.ok()) return status;
    return packed_ ? packed_->CheckBorders() : absl::OkStatus();
  }
  const std::string& path() const { return range_.path; }
  /// What a decoder of the file holds.
  std::int64_t decoder_bytes() const { return packed_ ? packed_->memory_bytes() : 0; }

  /// Bytes of the range done since the last call, when the reader is at `position` of the text;
  /// those that were decompressed, for a packed file.
  std::int64_t TakeProgressBytes(std::int64_t position, bool done) {
    const std::int64_t at = done ? range_.end : packed_ ? packed_->file_position() : position;
    const std::int64_t until = std::clamp(at, range_.begin + reported_, range_.end);
    return until - range_.begin - std::exchange(reported_, until - range_.begin);
  }

 private:
  static constexpr std::int64_t kWindowBytes = 1 << 20;
  static constexpr std::int64_t kTailBytes = 64 << 10;  // behind the range
  static constexpr std::int64_t kBehindMark = 4;
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

  absl::StatusOr<std::int64_t> ReadPacked(std::int64_t position, char* into, std::int64_t bytes) {
    // To the first record of a fixed size behind a border.
    while (packed_->text_position() < position) {
      const std::int64_t gap = std::min(bytes, position - packed_->text_position());
      const absl::StatusOr<std::int64_t> skipped = packed_->Read(into, gap);
      if (!skipped.ok()) return skipped.status();
      if (*skipped < gap) return packed_->WrongSizes();
    }
    const bool is_known = text_bytes_ != kUnknown;
    if (is_known) bytes = std::min(bytes, text_bytes_ - position);
    const absl::StatusOr<std::int64_t> got = packed_->Read(into, bytes);
    if (!got.ok()) return got.status();
    if (!is_known) {
      if (*got < bytes) end_ = text_bytes_ = position + *got;
      return got;
    }
    // Behind the text there are checksums only.
    char beyond = 0;
    const absl::StatusOr<std::int64_t> more =
        position + *got == text_bytes_ ? packed_->Read(&beyond, 1) : 0;
    if (!more.ok()) return more.status();
    if (*got < bytes || *more > 0) return packed_->WrongSizes();
    return got;
  }

  const InputRange range_;
  InputFile file_;
  std::unique_ptr<PackedInput> packed_;  // none for a plain file
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::int64_t text_bytes_ = 0;
  std::int64_t reported_ = 0;
  InputKeeping keeping_ = InputKeeping::kNone;
  std::int64_t in_place_end_ = 0;  // where all is kept and the file is mapped; else 0
};

}  // namespace weir
