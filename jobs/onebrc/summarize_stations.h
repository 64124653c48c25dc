#pragma once

// The job itself: rows in, one summary per station out. Upstream: blocks of whole lines.
// Downstream: onebrc.cc.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "jobs/api/readers.h"
#include "jobs/api/scan/byte_scan.h"
#include "jobs/api/scan/mark_scan.h"
#include "jobs/api/scan/tenths.h"
#include "jobs/api/text_block.h"
#include "jobs/onebrc/temperature.h"

namespace weir::onebrc {

inline constexpr std::size_t kStationBytesMax = 100;

/// What is known of one station. No padding: it is written as memory.
struct Summary {
  std::int64_t sum_tenths = 0;
  std::int64_t count = 0;
  std::int32_t min_tenths = 0;
  std::int32_t max_tenths = 0;
};

/// Says what is wrong with a row that is not "station;temperature".
std::string_view WhatIsWrong(std::string_view row);

/// Summarizes rows "station;temperature", one decimal, -99.9 to 99.9.
class SummarizeStations {
 public:
  using Reader = Block<Newline>;
  using Key = std::string;
  using Value = Summary;
  static constexpr bool kCommutative = true;

  template <typename Emit>
  void Map(const TextBlock& block, Emit& emit) {
    // ';' and '\n' alternate; an odd one out waits for the next strip.
    std::array<std::uint32_t, kStripBytes + kPositionSlack + 1> marks;
    std::size_t waiting = 0;
    const char* row = block.data;
    for (std::int64_t strip = 0; strip < block.bytes; strip += kStripBytes) {
      const std::int64_t strip_end = std::min(strip + kStripBytes, block.bytes);
      const std::uint32_t* const end =
          FindEither(block.data + strip, strip_end - strip, ';', '\n',
                     static_cast<std::uint32_t>(strip), marks.data() + waiting);
      const std::uint32_t* mark = marks.data();
      row = MapRows(block.data, row, mark, end, emit);
      if (mark + 1 < end) [[unlikely]]
        return Reject(block, row, emit);
      waiting = static_cast<std::size_t>(end - mark);
      if (waiting == 1) marks[0] = *mark;
    }
    if (waiting == 1) Reject(block, row, emit);
  }

  [[gnu::always_inline]] void Combine(Value& into, const Value& from) const {
    into.sum_tenths += from.sum_tenths;
    into.count += from.count;
    // Seldom: a branch that is foretold costs less than a store each time.
    if (from.min_tenths < into.min_tenths) [[unlikely]]
      into.min_tenths = from.min_tenths;
    if (from.max_tenths > into.max_tenths) [[unlikely]]
      into.max_tenths = from.max_tenths;
  }

  void Format(std::string_view station, const Value& value, std::string& out) const {
    out.append(station);
    out.push_back('=');
    AppendTenths(value.min_tenths, out);
    out.push_back('/');
    AppendTenths(MeanTenths(value.sum_tenths, value.count), out);
    out.push_back('/');
    AppendTenths(value.max_tenths, out);
    out.push_back('\n');
  }

 private:
  static constexpr std::int64_t kStripBytes = 2048;

  // Takes rows from `row` on, up to the first that is bad or that has not both its marks before
  // `end`, and moves `mark` to those of the row that it returns. A function of its own, so that its
  // loop has all registers.
  template <typename Emit>
  [[gnu::noinline]] static const char* MapRows(const char* data, const char* row,
                                               const std::uint32_t*& mark, const std::uint32_t* end,
                                               Emit& emit) {
    const std::uint32_t* at = mark;
    for (; at + 1 < end; at += 2) {
      const char* const newline = data + at[1];
      if (!MapRow(row, data + at[0], newline, emit)) [[unlikely]]
        break;
      row = newline + 1;
    }
    mark = at;
    return row;
  }

  // Of a block that does not end with a newline the rest is a row, too.
  template <typename Emit>
  [[gnu::noinline]] static void Reject(const TextBlock& block, const char* row, Emit& emit) {
    const std::string_view bad = block.text().substr(static_cast<std::size_t>(row - block.data));
    const std::string_view line = bad.substr(0, bad.find('\n'));
    emit.Reject(line, WhatIsWrong(line));
  }

  template <typename Emit>
  [[gnu::always_inline]] static bool MapRow(const char* row, const char* separator,
                                            const char* newline, Emit& emit) {
    const auto station_bytes = static_cast<std::size_t>(separator - row);
    std::int32_t tenths = 0;
    const bool good = station_bytes - 1 < kStationBytesMax && *separator == ';' &&
                      *newline == '\n' && ParseShortTenths(separator + 1, newline, tenths);
    if (good) emit(std::string_view(row, station_bytes), {tenths, 1, tenths, tenths});
    return good;
  }
};

}  // namespace weir::onebrc
