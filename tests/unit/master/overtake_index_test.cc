#include "runtime/master/schedule/overtake_index.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace weir::master {
namespace {

TEST(OvertakeIndex, FindsWhatAScanFinds) {
  std::mt19937 random(5);
  for (const std::int32_t num_places : {0, 1, 2, 3, 7, 8, 9, 100}) {
    OvertakeIndex index(num_places);
    std::vector<double> values(static_cast<std::size_t>(num_places), OvertakeIndex::kNever);
    for (int change = 0; change < 500 && num_places > 0; ++change) {
      const std::size_t place = random() % values.size();
      const double drawn[] = {OvertakeIndex::kNever, OvertakeIndex::kAlways,
                              static_cast<double>(random() % 10)};
      values[place] = drawn[random() % 3];
      index.Set(static_cast<std::int32_t>(place), values[place]);
      const double most = static_cast<double>(random() % 11);
      const auto too_large = [most](double value) { return value > most; };
      for (std::int32_t from = 0; from <= num_places; ++from) {
        std::int32_t expected = from;
        while (expected < num_places && !too_large(values[static_cast<std::size_t>(expected)])) {
          ++expected;
        }
        ASSERT_EQ(index.First(from, too_large), expected);
      }
    }
    EXPECT_EQ(index.First(num_places, [](double) { return true; }), num_places);
  }
}

}  // namespace
}  // namespace weir::master
