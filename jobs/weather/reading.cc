#include "jobs/weather/reading.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weir::weather {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Parses digits only; -1 for anything else. Requires: few enough digits.
std::int32_t ParseDigits(std::string_view text) {
  std::int32_t number = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return -1;
    number = number * 10 + (c - '0');
  }
  return text.empty() ? -1 : number;
}

std::int32_t DaysOf(std::int32_t year, std::int32_t month) {
  constexpr std::array<std::int8_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

bool IsDay(std::int32_t year, std::int32_t month, std::int32_t day) {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  return day <= 28 || day <= DaysOf(year, month);
}

// Eight bytes at once, the last ones twice, because every row has a station.
bool HasControls(std::string_view text) {
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
std::string_view CheckStation(std::string_view station) {
  if (station.empty()) return "no station";
  if (station.size() > kStationBytesMax) return "station longer than 100 bytes";
  return HasControls(station) ? "control character in the station" : "";
}

// YYYY-MM-DD as two words. Requires: 10 bytes.
bool ParseDashedDate(const char* text, Date& date) {
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
bool ParseShortTenths(std::string_view text, std::int32_t& tenths) {
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

}  // namespace

bool ParseDate(std::string_view text, Date& date) {
  if (text.size() == 10) return ParseDashedDate(text.data(), date);
  if (text.size() != 8) return false;
  const std::int32_t year = ParseDigits(text.substr(0, 4));
  const std::int32_t month = ParseDigits(text.substr(4, 2));
  const std::int32_t day = ParseDigits(text.substr(6, 2));
  if (!IsDay(year, month, day)) return false;
  date = {static_cast<std::int16_t>(year), static_cast<std::int8_t>(month),
          static_cast<std::int8_t>(day)};
  return true;
}

bool ParseTenths(std::string_view text, std::int32_t& tenths) {
  if (ParseShortTenths(text, tenths)) return true;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  if (point > 3) return false;
  const std::int32_t whole = ParseDigits(text.substr(0, point));
  if (whole < 0) return false;
  std::int32_t tenth = 0;
  if (point < text.size()) {
    std::string_view decimals = text.substr(point + 1);
    if (decimals.empty() || !IsDigit(decimals[0])) return false;
    tenth = decimals[0] - '0';
    decimals.remove_prefix(1);
    if (decimals.find_first_not_of('0') != std::string_view::npos) return false;
  }
  tenths = (whole * 10 + tenth) * (negative ? -1 : 1);
  return true;
}

std::string_view ReadCsv(std::string_view station, std::string_view date,
                         std::string_view temperature, Reading& reading) {
  if (const std::string_view wrong = CheckStation(station); !wrong.empty()) return wrong;
  reading.key.station = station;
  if (!ParseDate(date, reading.key.date)) return "date is no YYYY-MM-DD or YYYYMMDD";
  reading.kind = temperature.empty() ? ReadingKind::kMissing : ReadingKind::kGood;
  if (!temperature.empty() && !ParseTenths(temperature, reading.tenths)) {
    return "temperature is no number from -999.9 to 999.9 with at most one decimal";
  }
  return "";
}

std::string_view ReadNcdc(std::string_view record, Reading& reading) {
  if (record.size() < 93) return "shorter than the 93 characters up to the quality flag";
  const std::string_view station = record.substr(4, 11);
  if (const std::string_view wrong = CheckStation(station); !wrong.empty()) return wrong;
  reading.key.station = station;
  const std::string_view date = record.substr(15, 8);
  if (!ParseDate(date, reading.key.date)) return "characters 16-23 are no date YYYYMMDD";
  const char sign = record[87];
  const std::int32_t tenths = ParseDigits(record.substr(88, 4));
  if ((sign != '+' && sign != '-') || tenths < 0) {
    return "characters 88-92 are no temperature: a sign and four digits";
  }
  constexpr std::int32_t kMissingTenths = 9999;
  constexpr std::string_view kGoodQuality = "01459";
  reading.tenths = sign == '-' ? -tenths : tenths;
  if (reading.tenths == kMissingTenths) {
    reading.kind = ReadingKind::kMissing;
  } else if (kGoodQuality.find(record[92]) == std::string_view::npos) {
    reading.kind = ReadingKind::kSuspect;
  } else {
    reading.kind = ReadingKind::kGood;
  }
  return "";
}

}  // namespace weir::weather
