#pragma once

// What a job may ask its input to be: lines, CSV rows, records of one size, or whole blocks.
// Upstream: blocks of whole records, cut by the engine as kFraming says. Downstream: the author's
// Map.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
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

/// The fields of a CSV row, in order: known by where they end, so that splitting a row writes
/// nothing. Those of a block have kBlockSlackBytes readable behind them.
class CsvFields {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator(const CsvFields& fields, std::size_t at) : fields_(&fields), at_(at) {}
    std::string_view operator*() const { return (*fields_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {*fields_, at_++}; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const CsvFields* fields_;
    std::size_t at_;
  };

  CsvFields() = default;
  /// `ends` are counted from `text`; before them is the end of what lies before the first field,
  /// -1 where that is nothing.
  CsvFields(const char* text, const std::uint32_t* ends, std::size_t size)
      : text_(text), ends_(ends), size_(size) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Requires: i < size().
  std::string_view operator[](std::size_t i) const {
    // In the bits that ends have: the first field of all begins at -1 + 1.
    const std::uint32_t begin = (ends_ + i)[-1] + 1;
    return {text_ + begin, ends_[i] - begin};
  }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  const char* text_ = nullptr;
  const std::uint32_t* ends_ = nullptr;
  std::size_t size_ = 0;
};

/// One CSV row. The views are valid during Map.
struct CsvRow {
  std::string_view line;
  CsvFields fields;
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
      line = MapFirst(job, line, end, emit);
    }
  }

  /// Maps one row or some, and returns where the next one begins. Requires: `line` is the beginning
  /// of a row, `end` that of its block, behind it.
  template <typename Job, typename Emit>
  const char* MapFirst(Job& job, const char* line, const char* end, Emit& emit) {
    const char* const behind = MapStrip(job, line, end, emit);
    return behind != line ? behind : MapLine(job, line, end, emit);
  }

  /// The same of one row, whatever it is like.
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

  /// Splits one line into row(); false when a quote is not closed or text follows a closing one.
  bool Split(std::string_view line);
  const CsvRow& row() const { return row_; }

 private:
  // Long enough that the row which is cut at its end, and looked at again, is few of its rows.
  static constexpr std::int64_t kStripBytes = 1024;

  // What is found in a strip; ends of fields behind one that stands for what lies before.
  struct Ends {
    std::array<std::uint32_t, 1 + kStripBytes + kPositionSlack> fields;
    std::array<std::uint32_t, kStripBytes + kPositionSlack> rows;
  };

  // Finds the fields of whole rows, counted from `line`, and how many of them there are up to the
  // end of each row. Looks at one strip, and at nothing behind a quote. Returns the place behind
  // the last row's number. Requires: kBlockSlackBytes behind `end`.
  static const std::uint32_t* FindEnds(const char* line, const char* end, Ends& ends);

  bool Unquote(std::string_view line);

  // Maps the rows of a strip that lie in it and have no quotes, and returns where they end: what
  // ends fields is found for many rows at once, so that no row waits for the one before it.
  template <typename Job, typename Emit>
  const char* MapStrip(Job& job, const char* strip, const char* end, Emit& emit) {
    Ends ends;
    const std::uint32_t* const last = FindEnds(strip, end, ends);
    return MapRows(job, strip, ends, last, emit);
  }

  // A function of its own, so that its loop has all registers.
  template <typename Job, typename Emit>
  [[gnu::noinline]] const char* MapRows(Job& job, const char* strip, const Ends& ends,
                                        const std::uint32_t* last, Emit& emit) {
    const std::uint32_t* field_ends = ends.fields.data() + 1;
    const char* line = strip;
    std::uint32_t before = 0;
    for (const std::uint32_t* at = ends.rows.data(); at != last && !emit.rejected(); ++at) {
      const std::size_t size = *at - before;
      before = *at;
      const char* const newline = strip + field_ends[size - 1];
      // Of its own, so that it need not lie in memory.
      CsvRow row{{line, static_cast<std::size_t>(newline - line)}, {strip, field_ends, size}};
      if (newline > line && newline[-1] == '\r') [[unlikely]] {
        row = WithoutReturn(strip, row.line, field_ends, size);
      }
      field_ends += size;
      line = newline + 1;
      emit.CountRecord();
      job.Map(row, emit);
    }
    return line;
  }

  // The same row, of which the last character does not count.
  [[gnu::noinline]] CsvRow WithoutReturn(const char* strip, std::string_view line,
                                         const std::uint32_t* field_ends, std::size_t size) {
    ends_.assign(field_ends - 1, field_ends + size);
    --ends_.back();
    return {line.substr(0, line.size() - 1), {strip, ends_.data() + 1, size}};
  }

  CsvRow row_;
  std::vector<std::uint32_t> ends_;  // of a row that is split by itself, behind a first one
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
