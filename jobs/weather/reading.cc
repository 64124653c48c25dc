#include "jobs/weather/reading.h"

#include <algorithm>

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

}  // namespace

bool ParseShortDate(std::string_view text, Date& date) {
  if (text.size() != 8) return false;
  const std::int32_t year = ParseDigits(text.substr(0, 4));
  const std::int32_t month = ParseDigits(text.substr(4, 2));
  const std::int32_t day = ParseDigits(text.substr(6, 2));
  if (!reading_internal::IsDay(year, month, day)) return false;
  date = reading_internal::DateOf(year, month, day);
  return true;
}

bool ParseAnyTenths(std::string_view text, std::int32_t& tenths) {
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

std::string_view ReadNcdc(std::string_view record, Reading& reading) {
  if (record.size() < 93) return "shorter than the 93 characters up to the quality flag";
  const std::string_view station = record.substr(4, 11);
  if (const std::string_view wrong = reading_internal::CheckStation(station); !wrong.empty())
    return wrong;
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
