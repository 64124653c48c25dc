#pragma once

// First layer: the highest temperature of each station and date. Upstream: lines of either format.
// Downstream: mean_of_maxima.h.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "jobs/api/readers.h"
#include "jobs/weather/csv_readings.h"
#include "jobs/weather/reading.h"
#include "jobs/weather/station_keys.h"

namespace weir::weather {

/// What both formats share.
struct DailyMaximum {
  using Key = StationDate;
  using Value = std::int32_t;  // tenths of a degree
  static constexpr bool kCommutative = true;
  static constexpr std::array<std::string_view, 4> kCounters = {
      "temperatures", "missing_temperatures", "suspect_temperatures", "header_lines"};

  void Combine(Value& into, const Value& from) const { into = std::max(into, from); }

  template <typename Emit>
  [[gnu::always_inline]] static void Take(const Reading& reading, Emit& emit) {
    emit.Increment(static_cast<std::size_t>(reading.kind));
    if (reading.kind != ReadingKind::kGood) return;
    if (reading.place != nullptr) {
      emit(reading.key, reading.tenths, *reading.place);
    } else {
      emit(reading.key, reading.tenths);
    }
  }
};

/// Rows "station,date,time,temperature"; a header line with just these words is left out.
struct DailyMaximumOfCsv : DailyMaximum {
  using Reader = CsvReadings;

  template <typename Emit>
  [[gnu::always_inline]] void Map(const Reading& reading, Emit& emit) {
    Take(reading, emit);
  }
  template <typename Emit>
  void Map(const CsvRow& row, Emit& emit) {
    if (row.line == "station,date,time,temperature") return emit.Increment(3);
    if (row.fields.size() != 4) {
      return emit.Reject(row.line, "expected four fields: station,date,time,temperature");
    }
    Reading reading;
    const std::string_view wrong =
        ReadCsv(row.fields[0], row.fields[1], row.fields[3], dates_, reading);
    if (!wrong.empty()) return emit.Reject(row.line, wrong);
    Take(reading, emit);
  }

 private:
  DateReader dates_;
};

/// Records of NCDC's Integrated Surface Data, one a line.
struct DailyMaximumOfNcdc : DailyMaximum {
  using Reader = TextLines;

  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    Reading reading;
    const std::string_view wrong = ReadNcdc(line, reading);
    if (!wrong.empty()) return emit.Reject(line, wrong);
    Take(reading, emit);
  }
};

}  // namespace weir::weather
