#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "jobs/api/readers.h"
#include "jobs/api/scan/byte_scan.h"
#include "jobs/api/scan/mark_scan.h"

namespace weir {
namespace {

constexpr std::size_t kStepBytes = 16;
constexpr std::size_t kMaskBytes = 64;

// Bit i tells whether line[i] is a comma; false for a line with a quote, and for one whose size is
// not 16 to 64.
bool FindCommas(std::string_view line, std::uint64_t& commas) {
  if (line.size() < kStepBytes || line.size() > kMaskBytes) return false;
  std::uint64_t quotes = 0;
  commas = 0;
  for (std::size_t next = 0; next < line.size(); next += kStepBytes) {
    // The last step looks at some bytes a second time.
    const std::size_t at = std::min(next, line.size() - kStepBytes);
    commas |= static_cast<std::uint64_t>(EqualMask16(line.data() + at, ',')) << at;
    quotes |= static_cast<std::uint64_t>(EqualMask16(line.data() + at, '"')) << at;
  }
  return quotes == 0;
}

}  // namespace

std::uint32_t* CsvRows::FindEnds(const char* line, const char* end, std::uint32_t* ends) {
  std::uint32_t* last = FindEitherBefore(line, std::min<std::int64_t>(kStripBytes, end - line), ',',
                                         '\n', '"', 0, ends);
  while (last != ends && line[last[-1]] != '\n') --last;
  return last;
}

bool CsvRows::Split(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  row_.line = line;
  row_.fields.clear();
  std::uint64_t commas = 0;
  if (FindCommas(line, commas)) {
    std::size_t begin = 0;
    for (; commas != 0; commas &= commas - 1) {
      const auto comma = static_cast<std::size_t>(std::countr_zero(commas));
      row_.fields.emplace_back(line.data() + begin, comma - begin);
      begin = comma + 1;
    }
    row_.fields.emplace_back(line.data() + begin, line.size() - begin);
    return true;
  }
  unquoted_.clear();
  // Views into it are taken while it fills: a line never grows by unquoting.
  unquoted_.reserve(line.size());
  std::size_t at = 0;
  while (true) {
    if (at < line.size() && line[at] == '"') {
      const std::size_t begin = unquoted_.size();
      for (++at;; ++at) {
        if (at >= line.size()) return false;
        if (line[at] == '"' && (++at >= line.size() || line[at] != '"')) break;
        unquoted_.push_back(line[at]);
      }
      row_.fields.push_back(std::string_view(unquoted_).substr(begin));
      if (at < line.size() && line[at] != ',') return false;
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      row_.fields.push_back(line.substr(at, comma - at));
      at = comma;
    }
    if (at >= line.size()) return true;
    ++at;
  }
}

}  // namespace weir
