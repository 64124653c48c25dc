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
#include "jobs/api/tenths.h"
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

  // A function of its own, so that its loop has all registers.
  template <typename Emit>
  [[gnu::noinline]] void Map(const TextBlock& block, Emit& emit) {
    // ';' and '\n' alternate; an odd one out waits for the next strip.
    std::array<std::uint32_t, kStripBytes + kPositionSlack + 1> marks;
    std::size_t waiting = 0;
    std::uint32_t row = 0;
    for (std::int64_t strip = 0; strip < block.bytes; strip += kStripBytes) {
      const std::int64_t strip_end = std::min(strip + kStripBytes, block.bytes);
      const std::uint32_t* const end =
          FindEither(block.data + strip, strip_end - strip, ';', '\n',
                     static_cast<std::uint32_t>(strip), marks.data() + waiting);
      const auto num_marks = static_cast<std::size_t>(end - marks.data());
      for (std::size_t i = 0; i + 1 < num_marks; i += 2) {
        if (!MapRow(block.data, row, marks[i], marks[i + 1], emit)) [[unlikely]] {
          const std::string_view bad = block.text().substr(row);
          const std::string_view line = bad.substr(0, bad.find('\n'));
          emit.Reject(line, WhatIsWrong(line));
          return;
        }
        row = marks[i + 1] + 1;
      }
      waiting = num_marks % 2;
      if (waiting == 1) marks[0] = marks[num_marks - 1];
    }
    if (waiting == 1) {
      const std::string_view line = block.text().substr(row, marks[0] - row);
      emit.Reject(line, WhatIsWrong(line));
    }
  }

  [[gnu::always_inline]] void Combine(Value& into, const Value& from) const {
    into.sum_tenths += from.sum_tenths;
    into.count += from.count;
    into.min_tenths = std::min(into.min_tenths, from.min_tenths);
    into.max_tenths = std::max(into.max_tenths, from.max_tenths);
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

  template <typename Emit>
  [[gnu::always_inline]] static bool MapRow(const char* data, std::uint32_t row,
                                            std::uint32_t separator, std::uint32_t newline,
                                            Emit& emit) {
    const std::size_t station_bytes = separator - row;
    std::int32_t tenths = 0;
    const bool good = station_bytes - 1 < kStationBytesMax && data[separator] == ';' &&
                      data[newline] == '\n' &&
                      ParseTenths(data + separator + 1, newline - separator - 1, tenths);
    if (good) emit(std::string_view(data + row, station_bytes), {tenths, 1, tenths, tenths});
    return good;
  }
};

}  // namespace weir::onebrc
