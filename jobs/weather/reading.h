#pragma once

// One reading of a thermometer, from a line of either format. Upstream: lines. Downstream:
// daily_maximum.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// In line, because they are what a row costs.
namespace reading_internal {

inline std::int32_t DaysOf(std::int32_t year, std::int32_t month) {
  constexpr std::array<std::int8_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

inline bool IsDay(std::int32_t year, std::int32_t month, std::int32_t day) {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  return day <= 28 || day <= DaysOf(year, month);
}

// Eight bytes at once, the last ones twice, because every row has a station.
inline bool HasControls(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const auto any_below_space = [](std::uint64_t word) {
    return ((word - kOnes * 0x20) & ~word & (kOnes * 0x80)) != 0;
  };
  std::uint64_t word = kOnes * ' ';
  if (text.size() < sizeof word) {
    std::memcpy(&word, text.data(), text.size());
    return any_below_space(word);
  }
  bool found = false;
  for (std::size_t at = 0; at < text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + std::min(at, text.size() - sizeof word), sizeof word);
    found |= any_below_space(word);
  }
  return found;
}

// Control characters would break the lines of the output and the order of keys.
inline std::string_view CheckStation(std::string_view station) {
  if (station.empty()) return "no station";
  if (station.size() > kStationBytesMax) return "station longer than 100 bytes";
  return HasControls(station) ? "control character in the station" : "";
}

// YYYY-MM-DD as two words. Requires: 10 bytes.
inline bool ParseDashedDate(const char* text, Date& date) {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  word ^= 0x2d30302d30303030;  // "0000-00-": digits become their values, dashes zero
  const auto tens = static_cast<std::uint32_t>(text[8] - '0');
  const auto ones = static_cast<std::uint32_t>(text[9] - '0');
  // A digit's value is at most 9, so adding 0x76 leaves its top bit clear; a dash must be zero.
  if (((word | (word + 0x7f76767f76767676)) & 0x8080808080808080) != 0) return false;
  if (tens > 9 || ones > 9) return false;
  const std::uint64_t pairs = word * 10 + (word >> 8);
  const auto year = static_cast<std::int32_t>((pairs & 0xff) * 100 + (pairs >> 16 & 0xff));
  const auto month = static_cast<std::int32_t>(pairs >> 40 & 0xff);
  const auto day = static_cast<std::int32_t>(tens * 10 + ones);
  if (!IsDay(year, month, day)) return false;
  date = {static_cast<std::int16_t>(year), static_cast<std::int8_t>(month),
          static_cast<std::int8_t>(day)};
  return true;
}

// "-?d?d.d", as most rows have it, without a branch for sign or digits; false for anything else.
inline bool ParseShortTenths(std::string_view text, std::int32_t& tenths) {
  const std::size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t bytes = text.size() - sign;
  if (bytes - 3 > 1) return false;
  const char* const end = text.data() + text.size();
  const auto tenth = static_cast<std::uint32_t>(end[-1] - '0');
  const auto ones = static_cast<std::uint32_t>(end[-3] - '0');
  const auto tens = static_cast<std::uint32_t>((bytes == 4 ? end[-4] : '0') - '0');
  if (end[-2] != '.' || tenth > 9 || ones > 9 || tens > 9) return false;
  const auto magnitude = static_cast<std::int32_t>(tens * 100 + ones * 10 + tenth);
  tenths = sign != 0 ? -magnitude : magnitude;
  return true;
}

}  // namespace reading_internal

/// Parses YYYYMMDD of a day that exists.
bool ParseShortDate(std::string_view text, Date& date);

/// Parses YYYY-MM-DD or YYYYMMDD of a day that exists.
inline bool ParseDate(std::string_view text, Date& date) {
  return text.size() == 10 ? reading_internal::ParseDashedDate(text.data(), date)
                           : ParseShortDate(text, date);
}

/// As ParseTenths, for whatever is not "-?d?d.d".
bool ParseAnyTenths(std::string_view text, std::int32_t& tenths);

/// Parses a decimal number from -999.9 to 999.9 with an optional sign; digits beyond the tenths
/// must be zeros, because rounding here would falsify the mean.
inline bool ParseTenths(std::string_view text, std::int32_t& tenths) {
  return reading_internal::ParseShortTenths(text, tenths) || ParseAnyTenths(text, tenths);
}

/// Takes the fields of a row "station,date,time,temperature"; an empty temperature is a missing
/// one. Returns what is wrong, or nothing. Checked by: tests/unit/jobs/weather_test.cc.
inline std::string_view ReadCsv(std::string_view station, std::string_view date,
                                std::string_view temperature, Reading& reading) {
  if (const std::string_view wrong = reading_internal::CheckStation(station); !wrong.empty())
    return wrong;
  reading.key.station = station;
  if (!ParseDate(date, reading.key.date)) return "date is no YYYY-MM-DD or YYYYMMDD";
  reading.kind = temperature.empty() ? ReadingKind::kMissing : ReadingKind::kGood;
  if (!temperature.empty() && !ParseTenths(temperature, reading.tenths)) {
    return "temperature is no number from -999.9 to 999.9 with at most one decimal";
  }
  return "";
}

/// Takes one record of NCDC's Integrated Surface Data, of which only columns 5-15 (station), 16-23
/// (date), 88-92 (temperature in tenths, +9999 = missing) and 93 (quality) are read, counted from
/// 1. Returns what is wrong, or nothing.
std::string_view ReadNcdc(std::string_view record, Reading& reading);

}  // namespace weir::weather
