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

constexpr std::uint32_t kNothingBefore = ~std::uint32_t{0};
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

const std::uint32_t* CsvRows::FindEnds(const char* line, const char* end, Ends& ends) {
  ends.fields[0] = kNothingBefore;
  return FindFieldsBefore(line, std::min<std::int64_t>(kStripBytes, end - line), ',', '\n', '"',
                          ends.fields.data() + 1, ends.rows.data());
}

bool CsvRows::Split(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  row_.line = line;
  ends_.assign(1, kNothingBefore);
  std::uint64_t commas = 0;
  const char* text = line.data();
  if (FindCommas(line, commas)) {
    for (; commas != 0; commas &= commas - 1) {
      ends_.push_back(static_cast<std::uint32_t>(std::countr_zero(commas)));
    }
    ends_.push_back(static_cast<std::uint32_t>(line.size()));
  } else if (line.find('"') == std::string_view::npos) {
    for (std::size_t comma;
         (comma = line.find(',', ends_.back() + 1U)) != std::string_view::npos;) {
      ends_.push_back(static_cast<std::uint32_t>(comma));
    }
    ends_.push_back(static_cast<std::uint32_t>(line.size()));
  } else {
    if (!Unquote(line)) return false;
    text = unquoted_.data();
  }
  row_.fields = {text, ends_.data() + 1, ends_.size() - 1};
  return true;
}

// All fields one behind the other, a byte between them.
bool CsvRows::Unquote(std::string_view line) {
  unquoted_.clear();
  for (std::size_t at = 0;;) {
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size()) return false;
        if (line[at] == '"' && (++at >= line.size() || line[at] != '"')) break;
        unquoted_.push_back(line[at]);
      }
      if (at < line.size() && line[at] != ',') return false;
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      unquoted_.append(line, at, comma - at);
      at = comma;
    }
    ends_.push_back(static_cast<std::uint32_t>(unquoted_.size()));
    unquoted_.push_back(',');
    if (at >= line.size()) break;
    ++at;
  }
  // As behind the fields of a block.
  unquoted_.append(static_cast<std::size_t>(kBlockSlackBytes), '\0');
  return true;
}

}  // namespace weir
