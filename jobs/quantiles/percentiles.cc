#include "jobs/quantiles/percentiles.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::quantiles {
namespace {

constexpr std::int64_t kOnePercent = 1'000'000;

// "99.9" -> 99900000; -1 for anything that is not a number from 0 to 100 with at most six decimals.
std::int64_t ParseMillionths(std::string_view text) {
  std::int64_t number = 0;
  int decimals = -1;
  bool digits = false;
  for (const char c : text) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9' || decimals == 6 || number > 100 * kOnePercent) return -1;
    number = number * 10 + (c - '0');
    digits = true;
    if (decimals >= 0) ++decimals;
  }
  if (!digits) return -1;
  for (int i = decimals < 0 ? 0 : decimals; i < 6; ++i) {
    number *= 10;
    if (number > 100 * kOnePercent) return -1;
  }
  return number <= 100 * kOnePercent ? number : -1;
}

}  // namespace

absl::StatusOr<std::vector<Percentile>> ParsePercentiles(std::string_view text) {
  std::vector<Percentile> percentiles;
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    Percentile one;
    one.text = std::string(part);
    one.millionths = ParseMillionths(one.text);
    if (one.millionths < 0 || percentiles.size() == kPercentilesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter 'percentiles' is '", std::string(text), "'; it must be 1 to ", kPercentilesMax,
          " numbers from 0 to 100, with at most six decimals, parted by commas"));
    }
    percentiles.push_back(std::move(one));
  }
  return percentiles;
}

std::int64_t RankOf(const Percentile& percentile, std::int64_t count) {
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(percentile.millionths) * (count - 1) /
                                   (100 * kOnePercent));
}

}  // namespace weir::quantiles
