// Which losses of workers a job tells one by one.

#include "runtime/master/resume/told_losses.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace weir::master {
namespace {

using Losses = google::protobuf::RepeatedPtrField<v1::WorkerLoss>;

void Lose(int number, std::int64_t plan_epoch, Losses& losses) {
  v1::WorkerLoss& loss = *losses.Add();
  loss.set_worker("w" + std::to_string(number));
  loss.set_why("was lost");
  loss.set_edit("what was done about it");
  loss.set_plan_epoch(plan_epoch);
  loss.set_unix_ms(number);
}

TEST(ToldLosses, AsManyAsAnybodyReadsAreToldOneByOne) {
  Losses losses;
  for (int number = 0; number < kLossesToldMax; ++number) {
    Lose(number, 1, losses);
    SumUpOldLosses(losses);
  }
  ASSERT_EQ(losses.size(), kLossesToldMax);
  EXPECT_EQ(losses[0].worker(), "w0");
  EXPECT_EQ(losses[0].edit(), "what was done about it");
}

TEST(ToldLosses, AJobThatLosesWorkersForDaysTellsTheLastOnes) {
  constexpr int kLost = 5000;
  Losses losses;
  for (int number = 0; number < kLost; ++number) {
    Lose(number, number + 1, losses);
    SumUpOldLosses(losses);
    ASSERT_LE(losses.size(), kLossesToldMax);
  }
  ASSERT_EQ(losses.size(), kLossesToldMax);
  EXPECT_TRUE(IsSumOfLosses(losses[0]));
  EXPECT_FALSE(losses[0].why().empty());
  EXPECT_NE(losses[0].plan_epoch(), 0) << "no plan is to be made for it";
  for (int l = 1; l < kLossesToldMax; ++l) {
    EXPECT_FALSE(IsSumOfLosses(losses[l]));
    EXPECT_EQ(losses[l].worker(), "w" + std::to_string(kLost - kLossesToldMax + l));
  }
}

TEST(ToldLosses, ThoseForWhichNoPlanWasMadeYetStay) {
  constexpr int kTogether = 3 * kLossesToldMax;
  Losses losses;
  Lose(0, 1, losses);
  Lose(1, 1, losses);
  for (int number = 2; number < kTogether; ++number) {
    Lose(number, 0, losses);
    SumUpOldLosses(losses);
  }
  ASSERT_EQ(losses.size(), kTogether - 1);
  EXPECT_TRUE(IsSumOfLosses(losses[0]));
  EXPECT_EQ(losses[1].worker(), "w2");
  for (v1::WorkerLoss& loss : losses) loss.set_plan_epoch(2);
  SumUpOldLosses(losses);
  ASSERT_EQ(losses.size(), kLossesToldMax);
  EXPECT_TRUE(IsSumOfLosses(losses[0]));
  EXPECT_EQ(losses[1].worker(), "w" + std::to_string(kTogether - kLossesToldMax + 1));
}

}  // namespace
}  // namespace weir::master
