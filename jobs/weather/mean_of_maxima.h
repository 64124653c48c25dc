#pragma once

// Second layer: the mean of the daily maxima of each station and day of the year. Upstream:
// daily_maximum.h. Downstream: parts with lines "station TAB MM-DD TAB mean".

#include <cstdint>
#include <string>

#include "jobs/api/scan/tenths.h"
#include "jobs/weather/station_keys.h"

namespace weir::weather {

/// Sum and number of daily maxima: whole tenths, so that their order does not matter.
struct Maxima {
  std::int64_t sum_tenths = 0;
  std::int64_t count = 0;
};

/// Returns the mean in tenths, rounded half away from zero. Requires: count > 0.
inline std::int64_t MeanTenths(const Maxima& maxima) {
  const std::int64_t magnitude = maxima.sum_tenths < 0 ? -maxima.sum_tenths : maxima.sum_tenths;
  const std::int64_t mean = (2 * magnitude + maxima.count) / (2 * maxima.count);
  return maxima.sum_tenths < 0 ? -mean : mean;
}

struct MeanOfMaxima {
  using Key = StationDay;
  using Value = Maxima;
  static constexpr bool kCommutative = true;

  template <typename Emit>
  void Map(const StationDate& of, const std::int32_t& maximum_tenths, Emit& emit) {
    emit({of.station, of.date.month, of.date.day}, {maximum_tenths, 1});
  }

  void Combine(Value& into, const Value& from) const {
    into.sum_tenths += from.sum_tenths;
    into.count += from.count;
  }

  void Format(const StationDay& of, const Value& maxima, std::string& out) const {
    out.append(of.station);
    const char day[] = {
        '\t', static_cast<char>('0' + of.month / 10), static_cast<char>('0' + of.month % 10),
        '-',  static_cast<char>('0' + of.day / 10),   static_cast<char>('0' + of.day % 10),
        '\t'};
    out.append(day, sizeof day);
    AppendTenths(MeanTenths(maxima), out);
    out.push_back('\n');
  }
};

}  // namespace weir::weather
