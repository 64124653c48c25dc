#pragma once

// Keys of the two layers: station and date, station and day of the year. Upstream: reading.h.
// Downstream: hash tables, sections, parts.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "jobs/api/key_codec.h"

namespace weir::weather {

/// A day of the calendar. Its parts lie so that its bytes, turned round, are those of keys.
struct Date {
  std::int16_t year = 0;
  std::int8_t day = 0;
  std::int8_t month = 0;

  /// Month, day and year, the first ones lowest, as the bytes of a word.
  std::uint32_t KeyBits() const { return __builtin_bswap32(std::bit_cast<std::uint32_t>(*this)); }
  // As numbers, because compilers compare the members one by one.
  friend bool operator==(const Date& a, const Date& b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  }
};

/// Station as written in the input, without control characters (reading.h sees to that).
struct StationDate {
  std::string_view station;
  Date date;
};

struct StationDay {
  std::string_view station;
  std::int8_t month = 0;
  std::int8_t day = 0;
};

}  // namespace weir::weather

namespace weir {

/// Station, then month, day and year: with the 11 characters of an NCDC station all of it fits into
/// a table entry. Keys compare by station first, because a month is smaller than any character of
/// a station. The station stays a view into the key's bytes.
template <>
struct KeyCodec<weather::StationDate> {
  static constexpr std::size_t kDateBytes = 4;
  static bool Short(const weather::StationDate& key, ShortKey& out) {
    if (key.station.size() > ShortKey::kBytesMax - kDateBytes) return false;
    out = ShortKey(key.station);
    out.Append(key.date.KeyBits(), kDateBytes);
    return true;
  }
  static void Append(const weather::StationDate& key, std::string& out) {
    out.append(key.station);
    const char date[kDateBytes] = {
        static_cast<char>(key.date.month), static_cast<char>(key.date.day),
        static_cast<char>(key.date.year >> 8), static_cast<char>(key.date.year & 0xff)};
    out.append(date, kDateBytes);
  }
  static bool Take(std::string_view& in, weather::StationDate& key) {
    if (in.size() < kDateBytes) return false;
    key.station = in.substr(0, in.size() - kDateBytes);
    in.remove_prefix(key.station.size());
    key.date.month = static_cast<std::int8_t>(in[0]);
    key.date.day = static_cast<std::int8_t>(in[1]);
    key.date.year = static_cast<std::int16_t>(static_cast<unsigned char>(in[2]) << 8 |
                                              static_cast<unsigned char>(in[3]));
    in.remove_prefix(kDateBytes);
    return true;
  }
};

/// Station, then month and day; see above.
template <>
struct KeyCodec<weather::StationDay> {
  static bool Short(const weather::StationDay& key, ShortKey& out) {
    if (key.station.size() > ShortKey::kBytesMax - 2) return false;
    out = ShortKey(key.station);
    out.Append(static_cast<std::uint64_t>(static_cast<std::uint8_t>(key.month)) |
                   static_cast<std::uint64_t>(static_cast<std::uint8_t>(key.day)) << 8,
               2);
    return true;
  }
  static void Append(const weather::StationDay& key, std::string& out) {
    out.append(key.station);
    out.push_back(static_cast<char>(key.month));
    out.push_back(static_cast<char>(key.day));
  }
  static bool Take(std::string_view& in, weather::StationDay& key) {
    if (in.size() < 2) return false;
    key.station = in.substr(0, in.size() - 2);
    in.remove_prefix(key.station.size());
    key.month = static_cast<std::int8_t>(in[0]);
    key.day = static_cast<std::int8_t>(in[1]);
    in.remove_prefix(2);
    return true;
  }
};

}  // namespace weir
