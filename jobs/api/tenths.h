#pragma once

// Numbers with one decimal, held as whole tenths so that sums are exact. Downstream: Format of
// jobs.

#include <cstdint>
#include <string>

namespace weir {

/// Appends tenths with one decimal. Zero has no sign, so "-0.0" cannot appear.
inline void AppendTenths(std::int64_t tenths, std::string& out) {
  if (tenths < 0) out.push_back('-');
  const std::int64_t magnitude = tenths < 0 ? -tenths : tenths;
  out.append(std::to_string(magnitude / 10));
  out.push_back('.');
  out.push_back(static_cast<char>('0' + magnitude % 10));
}

}  // namespace weir
