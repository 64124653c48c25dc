#pragma once

// What a job may ask its input to be: lines, CSV rows, records of one size, or whole blocks.
// Upstream: blocks of whole records, cut by the engine as kFraming says. Downstream: the author's
// Map.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/api/byte_scan.h"
#include "jobs/api/record_framing.h"
#include "jobs/api/text_block.h"

namespace weir {

// A reader says what ends its records (kFraming) and hands the records of a block to the job. One
// reader a slot, so that it may keep scratch memory.

/// Lines without their '\n'. A '\r' before it is part of the line. Map takes std::string_view.
class TextLines {
 public:
  static constexpr DelimitedBy kFraming{"\n"};

  template <typename Job, typename Emit>
  void MapBlock(Job& job, const TextBlock& block, Emit& emit) {
    const char* const end = block.data + block.bytes;
    for (const char* line = block.data; line < end && !emit.rejected();) {
      const void* newline = std::memchr(line, '\n', static_cast<std::size_t>(end - line));
      // None only where the file is cut short under the block.
      const char* line_end = newline != nullptr ? static_cast<const char*>(newline) : end;
      emit.CountRecord();
      job.Map(std::string_view(line, static_cast<std::size_t>(line_end - line)), emit);
      line = line_end + 1;
    }
  }
};

/// One CSV row. The views are valid during Map.
struct CsvRow {
  std::string_view line;
  std::vector<std::string_view> fields;
};

/// Lines of CSV after RFC 4180: fields parted by ',', quoted by '"', a quote within quotes doubled.
/// Other than there a row is one line: a quote that is still open at its end makes a bad record,
/// because a range may begin anywhere. A '\r' before the '\n' is dropped. Map takes const CsvRow&.
class CsvRows {
 public:
  static constexpr DelimitedBy kFraming{"\n"};

  template <typename Job, typename Emit>
  void MapBlock(Job& job, const TextBlock& block, Emit& emit) {
    const char* const end = block.data + block.bytes;
    for (const char* line = block.data; line < end && !emit.rejected();) {
      emit.CountRecord();
      const char* line_end = SplitShort(line, end);
      if (line_end != nullptr) [[likely]] {
        job.Map(row_, emit);
      } else {
        const void* newline = std::memchr(line, '\n', static_cast<std::size_t>(end - line));
        // None only where the file is cut short under the block.
        line_end = newline != nullptr ? static_cast<const char*>(newline) : end;
        const std::string_view text(line, static_cast<std::size_t>(line_end - line));
        if (Split(text)) {
          job.Map(row_, emit);
        } else {
          emit.Reject(text,
                      "not a CSV row: a quote is not closed, or text follows a closing quote");
        }
      }
      line = line_end + 1;
    }
  }

  /// Splits one line into row(); false when a quote is not closed or text follows a closing one.
  bool Split(std::string_view line);
  const CsvRow& row() const { return row_; }

 private:
  // Splits a row that ends within 64 bytes, which can be read (kBlockSlackBytes), and has no quote:
  // its end and the ends of its fields are found at once. Returns the end; null for any other row.
  [[gnu::always_inline]] const char* SplitShort(const char* line, const char* end) {
    const CsvMasks marks = FindCsvMarks(line);
    if (marks.newlines == 0 || marks.has_quote) return nullptr;
    const auto bytes = static_cast<std::size_t>(std::countr_zero(marks.newlines));
    if (static_cast<std::size_t>(end - line) <= bytes) return nullptr;
    std::uint64_t commas = marks.commas & ((std::uint64_t{1} << bytes) - 1);
    const std::size_t line_bytes = bytes - (bytes > 0 && line[bytes - 1] == '\r' ? 1 : 0);
    row_.line = {line, line_bytes};
    row_.fields.resize(static_cast<std::size_t>(CountBits(commas)) + 1);
    std::size_t begin = 0;
    std::string_view* field = row_.fields.data();
    for (; commas != 0; commas &= commas - 1, ++field) {
      const auto comma = static_cast<std::size_t>(std::countr_zero(commas));
      *field = {line + begin, comma - begin};
      begin = comma + 1;
    }
    *field = {line + begin, line_bytes - begin};
    return line + bytes;
  }

  CsvRow row_;
  std::string unquoted_;
};

/// Records of kBytes bytes each. Map takes std::string_view.
template <std::int64_t kBytes>
class FixedRecords {
 public:
  static_assert(kBytes > 0 && kBytes <= 64 << 20);
  static constexpr FixedSize kFraming{kBytes};

  template <typename Job, typename Emit>
  void MapBlock(Job& job, const TextBlock& block, Emit& emit) {
    for (std::int64_t at = 0; at < block.bytes && !emit.rejected(); at += kBytes) {
      emit.CountRecord();
      job.Map(block.text().substr(static_cast<std::size_t>(at), kBytes), emit);
    }
  }
};

/// Bytes that end records, for Block.
struct Newline {
  static constexpr std::string_view kBytes = "\n";
};
struct AsciiSpace {
  static constexpr std::string_view kBytes = " \t\n\v\f\r";
};

/// Whole blocks, for authors who parse themselves. Map takes const TextBlock&; every emitted pair
/// counts as one input record. A rejected record must lie in the block: Map is called again with
/// what follows it, when it is left out.
template <typename Delimiter>
class Block {
 public:
  static constexpr DelimitedBy kFraming{Delimiter::kBytes};

  template <typename Job, typename Emit>
  void MapBlock(Job& job, const TextBlock& block, Emit& emit) {
    const std::int64_t before = emit.emitted();
    TextBlock rest = block;
    while (rest.bytes > 0) {
      const std::int64_t skipped = emit.skipped();
      job.Map(rest, emit);
      if (emit.skipped() == skipped) break;
      if (emit.skipped_end() == nullptr) {
        return emit.RejectForGood(rest.text(), "the job rejected a record outside its block");
      }
      rest = Behind(emit.skipped_end(), rest);
    }
    emit.CountRecords(emit.emitted() - before);
  }

 private:
  // What follows the record that ends at `end`: all behind the next delimiter.
  static TextBlock Behind(const char* end, const TextBlock& block) {
    const char* const block_end = block.data + block.bytes;
    while (end < block_end && Delimiter::kBytes.find(*end) == std::string_view::npos) ++end;
    TextBlock rest = block;
    rest.data = std::min(end + 1, block_end);
    rest.bytes = block_end - rest.data;
    rest.file_offset += rest.data - block.data;
    return rest;
  }
};

}  // namespace weir
