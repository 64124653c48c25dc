#include "runtime/base/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace weir {

int EditDistance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: a swap looks two rows back.
  std::vector<int> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string NearestName(std::string_view given, absl::Span<const std::string> known) {
  // Longer words than any name of ours are never a typo; the table stays small.
  constexpr std::size_t kLettersMax = 64;
  if (given.empty() || given.size() > kLettersMax) return "";
  const std::string wanted = absl::AsciiStrToLower(std::string(given));
  std::string nearest;
  int nearest_distance = std::max(1, static_cast<int>(given.size()) / 3) + 1;
  for (const std::string& name : known) {
    const int distance = EditDistance(wanted, absl::AsciiStrToLower(name));
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string SuggestName(std::string_view given, absl::Span<const std::string> known) {
  const std::string nearest = NearestName(given, known);
  return nearest.empty() ? "" : absl::StrCat(" Did you mean '", nearest, "'?");
}

}  // namespace weir
