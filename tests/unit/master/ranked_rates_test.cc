#include "runtime/master/stragglers/ranked_rates.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/master/stragglers/port_rates.h"

namespace weir::master {
namespace {

TEST(RankedRatesTest, LeavesOutWhatIsNamed) {
  RankedRates rates;
  EXPECT_EQ(rates.MedianWithout({}), std::nullopt);
  rates.Assign({3, 1, 2, 2});
  EXPECT_EQ(rates.MedianWithout({}), 2);
  EXPECT_EQ(rates.MedianWithout({1}), 2);
  EXPECT_EQ(rates.MedianWithout({2, 2}), 1);
  EXPECT_EQ(rates.MedianWithout({1, 3}), 2);
  rates.Replace(1, 5);
  EXPECT_EQ(rates.MedianWithout({2}), 3);
  rates.Assign({7});
  EXPECT_EQ(rates.MedianWithout({7}), std::nullopt);
}

// Few different values, so that many are equal.
RC_GTEST_PROP(RankedRatesProperty, MediansAreThoseOfTheRest, ()) {
  const auto value = rc::gen::map(rc::gen::inRange(0, 6), [](int n) { return n / 5.0; });
  auto values = *rc::gen::container<std::vector<double>>(value);
  RankedRates rates;
  rates.Assign(values);
  for (const double next : *rc::gen::container<std::vector<double>>(value)) {
    if (values.empty() || *rc::gen::inRange(0, 3) == 0) {
      rates.Replace(std::nullopt, next);
      values.push_back(next);
    } else {
      double& changed = values[*rc::gen::inRange<std::size_t>(0, values.size())];
      rates.Replace(changed, next);
      changed = next;
    }
  }
  std::vector<double> without, rest = values;
  for (const int most = *rc::gen::inRange(0, 3); !rest.empty() && std::ssize(without) < most;) {
    const auto it = rest.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(rest));
    without.push_back(*it);
    rest.erase(it);
  }
  RC_ASSERT(rates.MedianWithout(without) == LowerMedian(rest));
}

}  // namespace
}  // namespace weir::master
