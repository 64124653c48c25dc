#include "runtime/master/stragglers/ranked_rates.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace weir::master {

void RankedRates::Assign(std::vector<double> values) {
  values_ = std::move(values);
  std::sort(values_.begin(), values_.end());
}

void RankedRates::Replace(std::optional<double> was, double value) {
  const auto to = std::upper_bound(values_.begin(), values_.end(), value);
  if (!was) {
    values_.insert(to, value);
    return;
  }
  // Only what lies between both places moves.
  const auto from = std::lower_bound(values_.begin(), values_.end(), *was);
  assert(from != values_.end() && *from == *was);
  *from = value;
  if (from < to) {
    std::rotate(from, from + 1, to);
  } else {
    std::rotate(to, from, from + 1);
  }
}

std::optional<double> RankedRates::MedianWithout(absl::Span<const double> without) const {
  if (values_.size() <= without.size()) return std::nullopt;
  const auto place_of = [this](double value) {
    const auto place = std::lower_bound(values_.begin(), values_.end(), value);
    assert(place != values_.end() && *place == value);
    return static_cast<std::size_t>(place - values_.begin());
  };
  std::size_t median = (values_.size() - without.size() - 1) / 2;
  if (without.size() == 1) {
    median += place_of(without[0]) <= median ? 1 : 0;
  } else if (without.size() == 2) {
    const auto [less, more] = std::minmax(without[0], without[1]);
    const std::size_t first = place_of(less);
    const std::size_t second = less == more ? first + 1 : place_of(more);
    median += first <= median ? 1 : 0;
    median += second <= median ? 1 : 0;
  }
  return values_[median];
}

}  // namespace weir::master
