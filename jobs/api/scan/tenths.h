#pragma once

// Numbers with one decimal, held as whole tenths so that sums are exact. Downstream: Map and Format
// of jobs.

#include <cstdint>
#include <cstring>
#include <string>

namespace weir {

/// Parses "-?d?d.d" in [text, end) without a branch for sign or digits, of which half of all rows
/// would go the other way; returns false for anything else.
/// Requires: a readable byte at `text`, and one before it.
/// Checked by: tests/unit/jobs/tenths_test.cc.
[[gnu::always_inline]] inline bool ParseShortTenths(const char* text, const char* end,
                                                    std::int32_t& tenths) {
  const std::uint32_t negative = *text == '-' ? 1 : 0;
  const std::uint64_t digits = static_cast<std::uint64_t>(end - text) - negative;
  const std::uint64_t has_tens = digits - 3;  // "dd.d", not "d.d"
  if (has_tens > 1) return false;
  std::uint32_t characters;
  std::memcpy(&characters, end - 4, sizeof characters);
  // As "00.0" would be zero; what is before a "d.d" is not of the number, and zero, too.
  const std::uint32_t keep = 0xffffff00 | (0 - static_cast<std::uint32_t>(has_tens));
  const std::uint32_t values = (characters ^ 0x302e3030) & keep;
  // A digit's value is at most 9, so adding 0x76 leaves its top bit clear; the point must be zero.
  if (((values | (values + 0x76007676)) & 0x80ff8080) != 0) return false;
  // Hundreds, tens and ones meet in bits 24 to 33. Above, from bit 32 on, are a hundred times the
  // tens, which leave the lowest two bits zero.
  const auto magnitude =
      static_cast<std::uint32_t>(values * std::uint64_t{0x640a0001} >> 24) & 0x3ff;
  tenths = static_cast<std::int32_t>((magnitude ^ (0 - negative)) + negative);
  return true;
}

/// Appends tenths with one decimal. Zero has no sign, so "-0.0" cannot appear.
inline void AppendTenths(std::int64_t tenths, std::string& out) {
  if (tenths < 0) out.push_back('-');
  const std::int64_t magnitude = tenths < 0 ? -tenths : tenths;
  out.append(std::to_string(magnitude / 10));
  out.push_back('.');
  out.push_back(static_cast<char>('0' + magnitude % 10));
}

}  // namespace weir
