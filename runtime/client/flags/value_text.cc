#include "runtime/client/flags/value_text.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weir::client {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kByteUnits = {
    Unit{"", 1},         Unit{"B", 1},        Unit{"KiB", 1024.0}, Unit{"MiB", 0x1p20},
    Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}, Unit{"kB", 1e3},     Unit{"KB", 1e3},
    Unit{"MB", 1e6},     Unit{"GB", 1e9},     Unit{"TB", 1e12},
};
constexpr std::array kBitUnits = {
    Unit{"bit", 0.125},
    Unit{"kbit", 125},
    Unit{"Mbit", 125e3},
    Unit{"Gbit", 125e6},
};

bool SplitNumber(std::string_view text, double& number, std::string_view& unit) {
  std::size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.')) {
    ++end;
  }
  unit = text.substr(end);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return absl::SimpleAtod(std::string(text.substr(0, end)), &number) && std::isfinite(number);
}

template <std::size_t kNumUnits>
const Unit* FindUnit(const std::array<Unit, kNumUnits>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::int64_t> ParseBytes(std::string_view text) {
  double number = 0;
  std::string_view unit_name;
  if (SplitNumber(text, number, unit_name)) {
    if (const Unit* unit = FindUnit(kByteUnits, unit_name)) {
      const double bytes = number * unit->factor;
      if (bytes <= 0x1p62) return static_cast<std::int64_t>(std::llround(bytes));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", std::string(text), "' is no size: write for example 64MiB, 1.5GiB, 100MB"));
}

absl::StatusOr<double> ParseRate(std::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("'", std::string(text), "' is no rate: write for example 125MB/s or 1Gbit/s"));
  if (!text.ends_with("/s")) return wrong;
  double number = 0;
  std::string_view unit_name;
  if (!SplitNumber(text.substr(0, text.size() - 2), number, unit_name)) return wrong;
  const Unit* unit = FindUnit(kBitUnits, unit_name);
  if (!unit && !unit_name.empty()) unit = FindUnit(kByteUnits, unit_name);
  if (!unit || number <= 0) return wrong;
  return number * unit->factor;
}

absl::StatusOr<absl::Duration> ParseDuration(std::string_view text, DurationRange legal) {
  absl::Duration duration;
  if (text.empty() || text == "0" || !absl::ParseDuration(std::string(text), &duration)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", std::string(text), "' is no duration: write for example 250ms, 30s, 5m, 1h30m"));
  }
  if (duration >= legal.least && duration <= legal.most) return duration;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", std::string(text), "' is out of range: legal are ", absl::FormatDuration(legal.least),
      " to ", absl::FormatDuration(legal.most), ", written for example as 250ms, 30s, 5m, 1h30m"));
}

absl::StatusOr<std::string> ParseMasterAddress(std::string_view text) {
  const std::string address(text);
  if (address.starts_with("unix:")) return address;
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon == address.npos ? 0 : colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  // gRPC takes a port modulo 65536, and 443 where there is none.
  int port = 0;
  const bool has_port = colon != address.npos &&
                        absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 1 &&
                        port <= 65535;
  if (has_port && !host.empty() && (bracketed || host.find_first_of(":/[] ") == host.npos)) {
    return address;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", address,
                   "' is no address of a master: write HOST:PORT, for example node1:7117 or "
                   "[::1]:7117; ports are 1 to 65535"));
}

std::string FormatBytes(double bytes) {
  constexpr std::array kNames = {"B", "kB", "MB", "GB", "TB", "PB"};
  if (bytes < 999.5) return absl::StrFormat("%.0f B", bytes);
  std::size_t unit = 0;
  // What would print as 1000.0 goes up.
  while (bytes >= 999.95 && unit + 1 < kNames.size()) {
    bytes /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", bytes, kNames[unit]);
}

std::string FormatRate(double bytes_per_s) {
  const double bits = 8 * bytes_per_s;
  if (bits >= 1e9) return absl::StrFormat("%.2fGbit/s", bits / 1e9);
  if (bits >= 1e6) return absl::StrFormat("%.1fMbit/s", bits / 1e6);
  return absl::StrFormat("%.0fkbit/s", bits / 1e3);
}

std::string FormatSeconds(double seconds) {
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", std::fabs(seconds) * 1e3);
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

std::string FormatUnixMillis(std::int64_t unix_ms) {
  if (unix_ms == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromUnixMillis(unix_ms), absl::UTCTimeZone());
}

std::string FormatCount(std::int64_t count) {
  const std::string digits = absl::StrCat(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace weir::client
