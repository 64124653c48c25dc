#include "runtime/master/learning/two_costs.h"

namespace weir::master {

std::optional<TwoCosts> FitTwoCosts(absl::Span<const TwoParts> measured) {
  double first_first = 0;
  double first_second = 0;
  double second_second = 0;
  double first_one = 0;
  double second_one = 0;
  for (const TwoParts& one : measured) {
    if (!(one.sum > 0)) continue;
    const double first = one.first / one.sum;
    const double second = one.second / one.sum;
    first_first += first * first;
    first_second += first * second;
    second_second += second * second;
    first_one += first;
    second_one += second;
  }
  const double diagonal = first_first * second_second;
  const double determinant = diagonal - first_second * first_second;
  if (!(determinant > kParallel * diagonal)) return std::nullopt;
  return TwoCosts{(first_one * second_second - second_one * first_second) / determinant,
                  (second_one * first_first - first_one * first_second) / determinant};
}

}  // namespace weir::master
