#pragma once

// What a job may ask its input to be: lines, CSV rows, records of one size, or whole blocks.
// Upstream: blocks of whole records, cut by the engine as kFraming says. Downstream: the author's
// Map.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/api/record_framing.h"
#include "jobs/api/scan/byte_scan.h"
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
      const char* const behind = MapStrip(job, line, end, emit);
      line = behind != line ? behind : MapLine(job, line, end, emit);
    }
  }

  /// Splits one line into row(); false when a quote is not closed or text follows a closing one.
  bool Split(std::string_view line);
  const CsvRow& row() const { return row_; }

 private:
  // Long enough that the row which is cut at its end, and looked at again, is few of its rows.
  static constexpr std::int64_t kStripBytes = 1024;

  // Writes where the fields of whole rows end: at ',' and '\n', counted from `line`. Looks at one
  // strip, and at nothing behind a quote. Returns the place behind the last; `ends` if there is no
  // such row. Requires: room for kStripBytes + kPositionSlack, kBlockSlackBytes behind `end`.
  static std::uint32_t* FindEnds(const char* line, const char* end, std::uint32_t* ends);

  // Maps the rows of a strip that lie in it and have no quotes, and returns where they end: what
  // ends fields is found for many rows at once, so that no row waits for the one before it.
  template <typename Job, typename Emit>
  const char* MapStrip(Job& job, const char* strip, const char* end, Emit& emit) {
    std::array<std::uint32_t, kStripBytes + kPositionSlack> ends;
    const std::uint32_t* const last = FindEnds(strip, end, ends.data());
    const char* line = strip;
    for (const std::uint32_t* at = ends.data(); at != last && !emit.rejected();) {
      at = SplitAt(strip, line, at);
      line = strip + at[-1] + 1;
      emit.CountRecord();
      job.Map(row_, emit);
    }
    return line;
  }

  // Splits the row at `line` where `ends` says, and returns the place behind its last one. Rows
  // mostly have as many fields as the one before.
  [[gnu::always_inline]] const std::uint32_t* SplitAt(const char* strip, const char* line,
                                                      const std::uint32_t* ends) {
    const std::size_t num_before = row_.fields.size();
    std::string_view* field = row_.fields.data();
    std::string_view* const field_end = field + num_before;
    const char* begin = line;
    while (true) {
      if (field == field_end) [[unlikely]] {
        return SplitMore(strip, line, begin, ends);
      }
      const char* const at = strip + *ends++;
      *field++ = {begin, static_cast<std::size_t>(at - begin)};
      begin = at + 1;
      if (*at == '\n') break;
    }
    if (field != field_end) [[unlikely]] {
      row_.fields.resize(static_cast<std::size_t>(field - row_.fields.data()));
    }
    EndRow(line, begin - 1);
    return ends;
  }

  // The same for the rest of a row with more fields than the one before.
  [[gnu::noinline]] const std::uint32_t* SplitMore(const char* strip, const char* line,
                                                   const char* begin, const std::uint32_t* ends) {
    const char* at;
    do {
      at = strip + *ends++;
      row_.fields.emplace_back(begin, static_cast<std::size_t>(at - begin));
      begin = at + 1;
    } while (*at != '\n');
    EndRow(line, at);
    return ends;
  }

  [[gnu::always_inline]] void EndRow(const char* line, const char* newline) {
    const std::size_t returns = newline > line && newline[-1] == '\r' ? 1 : 0;
    row_.line = {line, static_cast<std::size_t>(newline - line) - returns};
    if (returns != 0) [[unlikely]]
      row_.fields.back().remove_suffix(1);
  }

  // Maps one row, whatever it is like, and returns where the next one begins.
  template <typename Job, typename Emit>
  [[gnu::noinline]] const char* MapLine(Job& job, const char* line, const char* end, Emit& emit) {
    const void* newline = std::memchr(line, '\n', static_cast<std::size_t>(end - line));
    // None only where the file is cut short under the block.
    const char* const line_end = newline != nullptr ? static_cast<const char*>(newline) : end;
    const std::string_view text(line, static_cast<std::size_t>(line_end - line));
    emit.CountRecord();
    if (Split(text)) {
      job.Map(row_, emit);
    } else {
      emit.Reject(text, "not a CSV row: a quote is not closed, or text follows a closing quote");
    }
    return line_end + 1;
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
