#pragma once

// Rows "station,date,time,temperature" as readings. Upstream: blocks of whole lines. Downstream:
// daily_maximum.h.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "jobs/api/readers.h"
#include "jobs/api/scan/byte_scan.h"
#include "jobs/api/scan/mark_scan.h"
#include "jobs/api/scan/tenths.h"
#include "jobs/api/text_block.h"
#include "jobs/weather/reading.h"
#include "jobs/weather/station_order.h"

namespace weir::weather {

/// Gives the job a Reading of each row that has the form of nearly all rows, and all others as
/// CsvRows does.
///
/// Model: such a row has a station of 1 to 15 characters, none of them a control character or a
///   quote, a date of ten characters, a time hh:mm, and a temperature "-?d?d.d" or none. Its fields
///   lie where its first bytes and its last ones say, so that of all of the text only the ends of
///   rows are looked for. Where many rows have another form CsvRows takes what follows, for longer
///   each time.
/// Requires: Job takes a Reading and a CsvRow, and either of the same row alike.
/// Thread-safety: one thread at a time. Checked by: tests/unit/jobs/csv_readings_test.cc.
class CsvReadings {
 public:
  static constexpr DelimitedBy kFraming = CsvRows::kFraming;

  template <typename Job, typename Emit>
  void MapBlock(Job& job, const TextBlock& block, Emit& emit) {
    std::array<std::uint32_t, kStripBytes + kPositionSlack> newlines;
    const char* const end = block.data + block.bytes;
    for (const char* line = block.data; line < end && !emit.rejected();) {
      if (strips_left_out_ > 0) {
        --strips_left_out_;
        line = others_.MapFirst(job, line, end, emit);
        continue;
      }
      const std::uint32_t* const last =
          FindSparse(line, std::min<std::int64_t>(kStripBytes, end - line), '\n', newlines.data());
      // A row that is longer than a strip is found by none.
      line = last != newlines.data() ? MapRows(job, line, newlines.data(), last, end, emit)
                                     : others_.MapLine(job, line, end, emit);
    }
  }

 private:
  static constexpr std::int64_t kStripBytes = 2048;
  // Of the sixty or so rows of a strip.
  static constexpr int kOthersMax = 4;
  static constexpr int kStripsLeftOutMax = 1024;
  static constexpr std::uint32_t kDateBytes = 10;
  static constexpr std::uint32_t kWhenBytes = 16;  // a date, a comma, a time hh:mm

  // Maps the rows that end at these places, up to where too many have another form, and returns
  // where they end. A function of its own, so that its loop has all registers.
  template <typename Job, typename Emit>
  [[gnu::noinline]] const char* MapRows(Job& job, const char* strip, const std::uint32_t* at,
                                        const std::uint32_t* last, const char* end, Emit& emit) {
    const char* line = strip;
    stations_.CountRows(last - at);
    int others = 0;
    for (; at != last; ++at) {
      const char* const newline = strip + *at;
      if (!MapRow(job, line, newline, emit)) [[unlikely]] {
        others_.MapLine(job, line, end, emit);
        if (emit.rejected()) return newline + 1;
        if (++others > kOthersMax) {
          strips_left_out_ = left_out_next_;
          left_out_next_ = std::min(2 * left_out_next_, kStripsLeftOutMax);
          return newline + 1;
        }
      }
      line = newline + 1;
    }
    left_out_next_ = 1;
    return line;
  }

  // Requires: kBlockSlackBytes behind the newline.
  template <typename Job, typename Emit>
  [[gnu::always_inline]] bool MapRow(Job& job, const char* line, const char* newline, Emit& emit) {
    StationOrder::Station* station = stations_.Expected(line);
    std::uint32_t station_bytes = 0;
    const char* date = nullptr;
    const Date* day = nullptr;
    if (station != nullptr) [[likely]] {
      station_bytes = station->bytes;
      date = line + station_bytes + 1;
      day = OfSameTime(date) ? &dates_.last() : DateOf(date);
    } else {
      station_bytes = StationBytes(line);
      if (station_bytes == 0) return false;
      station = stations_.Find(line, station_bytes);
      date = line + station_bytes + 1;
      day = DateOf(date);
    }
    if (day == nullptr) return false;
    // What was looked at ends with a comma, so that the row did not end before.
    const char* const temperature = date + kWhenBytes + 1;
    const char* const end = newline[-1] == '\r' ? newline - 1 : newline;
    std::int32_t tenths = 0;
    const bool missing = temperature == end;
    if (!missing && !ParseShortTenths(temperature, end, tenths)) return false;
    emit.CountRecord();
    if (station != nullptr && station->date != *day) [[unlikely]] {
      station->date = *day;
      station->place = {};
    }
    const Reading reading{.key = {.station = {line, station_bytes}, .date = *day},
                          .tenths = tenths,
                          .kind = missing ? ReadingKind::kMissing : ReadingKind::kGood,
                          .place = station != nullptr ? &station->place : nullptr};
    job.Map(reading, emit);
    return true;
  }

  // 0 where there is none of the usual form.
  static std::uint32_t StationBytes(const char* line) {
    const std::uint32_t commas = EqualMask16(line, ',');
    const std::uint32_t before_comma = ~commas & (commas - 1);
    if (commas == 0 || (ControlOrMask16(line, '"') & before_comma) != 0) return 0;
    return static_cast<std::uint32_t>(std::countr_zero(commas));
  }

  // Whether the text is the "YYYY-MM-DD,hh:mm," of the last row, whose date is dates_.last().
  [[gnu::always_inline]] bool OfSameTime(const char* text) {
    return SameMask16(text, when_.data()) == 0xffff && text[kWhenBytes] == ',';
  }
  // The date of such a text, until the next call; null for any other text.
  [[gnu::always_inline]] const Date* DateOf(const char* text) {
    if (!IsTime(text + kDateBytes)) return nullptr;
    const Date* const date = dates_.Read({text, kDateBytes});
    if (date == nullptr) return nullptr;
    std::memcpy(when_.data(), text, kWhenBytes);
    return date;
  }

  // ",hh:mm,"; the hour may be any. Requires: eight readable bytes.
  static bool IsTime(const char* text) {
    std::uint64_t word;
    std::memcpy(&word, text, sizeof word);
    word ^= 0x2c30303a30302c;
    // A digit's value is at most 9, so adding 0x76 leaves its top bit clear; the others are zero.
    // What adding carries into the next byte comes of one that has that bit itself.
    return ((word | (word + 0x7f76767f76767f)) & 0x80808080808080) == 0;
  }

  StationOrder stations_;
  DateReader dates_;
  // The date and time that dates_ read last.
  alignas(kWhenBytes) std::array<char, kWhenBytes> when_ = {'0', '0', '0', '1', '-', '0', '1', '-',
                                                            '0', '1', ',', '0', '0', ':', '0', '0'};
  CsvRows others_;
  int strips_left_out_ = 0;  // of CsvRows
  int left_out_next_ = 1;
};

}  // namespace weir::weather
