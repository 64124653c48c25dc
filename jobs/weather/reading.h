#pragma once

// One reading of a thermometer, from a line of either format. Upstream: lines. Downstream:
// daily_maximum.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "jobs/api/key_place.h"
#include "jobs/api/scan/byte_scan.h"
#include "jobs/api/scan/tenths.h"
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
  KeyPlace* place = nullptr;  // of the key, if that may have come before
};

// In line, because they are what a row costs.
namespace reading_internal {

inline std::int32_t DaysOf(std::int32_t year, std::int32_t month) {
  constexpr std::array<std::int8_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

// Requires: parts of a day that exists, a year of at most four digits.
inline Date DateOf(std::int32_t year, std::int32_t month, std::int32_t day) {
  return {.year = static_cast<std::int16_t>(year),
          .day = static_cast<std::int8_t>(day),
          .month = static_cast<std::int8_t>(month)};
}

inline bool IsDay(std::int32_t year, std::int32_t month, std::int32_t day) {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  return day <= 28 || day <= DaysOf(year, month);
}

// Control characters would break the lines of the output and the order of keys.
[[gnu::always_inline]] inline std::string_view CheckStation(std::string_view station) {
  if (station.empty()) return "no station";
  if (station.size() > kStationBytesMax) return "station longer than 100 bytes";
  return HasControl(station) ? "control character in the station" : "";
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
  date = DateOf(year, month, day);
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

/// Parses dates and keeps the last one, because rows are mostly in the order of time.
class DateReader {
 public:
  /// The date that ParseDate parses, valid until the next call; null for any other text.
  [[gnu::always_inline]] const Date* Read(std::string_view text) {
    if (text.size() != kBytes || std::memcmp(text.data(), text_.data(), kBytes) != 0) [[unlikely]] {
      return ReadOther(text) ? &other_ : nullptr;
    }
    return &date_;
  }

  /// That of the last text of ten characters that was a date; of 0001-01-01 before there was one.
  const Date& last() const { return date_; }

 private:
  static constexpr std::size_t kBytes = 10;

  // Gives the date by a member: what only this call took by address would lie in memory for all.
  [[gnu::noinline]] bool ReadOther(std::string_view text) {
    if (!ParseDate(text, other_)) return false;
    if (text.size() != kBytes) return true;
    std::memcpy(text_.data(), text.data(), kBytes);
    date_ = other_;
    return true;
  }

  // Always of one another.
  std::array<char, kBytes> text_ = {'0', '0', '0', '1', '-', '0', '1', '-', '0', '1'};
  Date date_ = reading_internal::DateOf(1, 1, 1);
  Date other_;
};

/// As ParseTenths, for whatever is not "-?d?d.d".
bool ParseAnyTenths(std::string_view text, std::int32_t& tenths);

/// Parses a decimal number from -999.9 to 999.9 with an optional sign; digits beyond the tenths
/// must be zeros, because rounding here would falsify the mean.
/// Requires: a readable byte at `text`, and one before it.
[[gnu::always_inline]] inline bool ParseTenths(std::string_view text, std::int32_t& tenths) {
  // As most rows have it.
  if (ParseShortTenths(text.data(), text.data() + text.size(), tenths)) [[likely]]
    return true;
  // By its own address, so that `tenths` needs none.
  std::int32_t other = 0;
  const bool parsed = ParseAnyTenths(text, other);
  tenths = other;
  return parsed;
}

/// Takes the fields of a row "station,date,time,temperature"; an empty temperature is a missing
/// one. Returns what is wrong, or nothing. Requires: of the temperature as ParseTenths.
/// Checked by: tests/unit/jobs/weather_test.cc.
[[gnu::always_inline]] inline std::string_view ReadCsv(std::string_view station,
                                                       std::string_view date,
                                                       std::string_view temperature,
                                                       DateReader& dates, Reading& reading) {
  if (const std::string_view wrong = reading_internal::CheckStation(station); !wrong.empty())
    return wrong;
  reading.key.station = station;
  const Date* const day = dates.Read(date);
  if (day == nullptr) return "date is no YYYY-MM-DD or YYYYMMDD";
  reading.key.date = *day;
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
