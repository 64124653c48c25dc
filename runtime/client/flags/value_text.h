#pragma once

// Sizes, rates and times as people write and read them.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace weir::client {

/// Reads "512", "64KiB", "1.5GiB", "100MB" (powers of 1024 with "i", of 1000 without).
/// Errors: kInvalidArgument with examples; negative, not finite or beyond 2^62 is wrong as well.
absl::StatusOr<std::int64_t> ParseBytes(std::string_view text);

/// Reads bytes per second: "125MB/s", "1Gbit/s", "100Mbit/s". Errors as ParseBytes; zero is wrong.
absl::StatusOr<double> ParseRate(std::string_view text);

/// What a flag takes as a time. The default: nothing up to a year.
struct DurationRange {
  absl::Duration least = absl::ZeroDuration();
  absl::Duration most = absl::Hours(24 * 366);
};

/// Reads "250ms", "30s", "5m", "2h", "1h30m"; a bare number is refused, because it has no unit.
/// Errors: kInvalidArgument with examples, or with the legal range where it is outside that.
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text, DurationRange legal = {});

/// Reads the address of a master: "node1:7117", "10.0.0.7:7117", "[::1]:7117", "unix:/path".
/// Errors: kInvalidArgument with examples; ports are 1 to 65535. No name is looked up.
absl::StatusOr<std::string> ParseMasterAddress(std::string_view text);

/// "0 B", "999 B", "1.5 kB", "64.0 MB": powers of 1000, as in every plan.
std::string FormatBytes(double bytes);
/// "95.6Mbit/s", "1.20Gbit/s"; takes bytes per second. ParseRate reads it.
std::string FormatRate(double bytes_per_s);
/// "12 ms", "3.4 s", "2 min 05 s", "1 h 02 min".
std::string FormatSeconds(double seconds);
/// "2026-01-31 12:00:00Z"; empty for 0.
std::string FormatUnixMillis(std::int64_t unix_ms);
/// "1,234,567".
std::string FormatCount(std::int64_t count);

}  // namespace weir::client
