#pragma once

// One reading of a thermometer, from a line of either format. Upstream: lines. Downstream:
// daily_maximum.h.

#include <cstdint>
#include <string_view>

#include "jobs/weather/station_keys.h"

namespace weir::weather {

inline constexpr std::size_t kStationBytesMax = 100;

enum class ReadingKind {
  kGood,
  kMissing,  // no temperature was measured
  kSuspect,  // NCDC: its quality flag says that the temperature is not to be used
};

struct Reading {
  StationDate key;
  std::int32_t tenths = 0;
  ReadingKind kind = ReadingKind::kGood;
};

/// Parses YYYY-MM-DD or YYYYMMDD of a day that exists.
bool ParseDate(std::string_view text, Date& date);

/// Parses a decimal number from -999.9 to 999.9 with an optional sign; digits beyond the tenths
/// must be zeros, because rounding here would falsify the mean.
bool ParseTenths(std::string_view text, std::int32_t& tenths);

/// Takes the fields of a row "station,date,time,temperature"; an empty temperature is a missing
/// one. Returns what is wrong, or nothing. Checked by: tests/unit/jobs/weather_test.cc.
std::string_view ReadCsv(std::string_view station, std::string_view date,
                         std::string_view temperature, Reading& reading);

/// Takes one record of NCDC's Integrated Surface Data, of which only columns 5-15 (station), 16-23
/// (date), 88-92 (temperature in tenths, +9999 = missing) and 93 (quality) are read, counted from
/// 1. Returns what is wrong, or nothing.
std::string_view ReadNcdc(std::string_view record, Reading& reading);

}  // namespace weir::weather
