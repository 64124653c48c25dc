#include "runtime/transfer/send_rates.h"

#include <gtest/gtest.h>

namespace weir::transfer {
namespace {

TEST(SendRatesTest, OfAnAttemptTheHighestNumberCounts) {
  SendRates rates;
  EXPECT_EQ(rates.Find("j", 3, 1), std::nullopt);
  EXPECT_TRUE(rates.Set("j", {3, 1, 2, 200}));
  EXPECT_FALSE(rates.Set("j", {3, 1, 1, 100})) << "older";
  EXPECT_FALSE(rates.Set("j", {3, 1, 2, 201})) << "twice";
  EXPECT_EQ(rates.Find("j", 3, 1), 200);
  EXPECT_TRUE(rates.Set("j", {3, 1, 7, 700}));
  EXPECT_EQ(rates.Find("j", 3, 1), 700);
}

TEST(SendRatesTest, JobsTransfersAndAttemptsAreApart) {
  SendRates rates;
  EXPECT_TRUE(rates.Set("j", {3, 1, 1, 100}));
  EXPECT_EQ(rates.Find("k", 3, 1), std::nullopt);
  EXPECT_EQ(rates.Find("j", 4, 1), std::nullopt);
  EXPECT_EQ(rates.Find("j", 3, 2), std::nullopt);
  EXPECT_TRUE(rates.Set("k", {3, 1, 1, 200}));
  EXPECT_TRUE(rates.Set("j", {4, 1, 1, 300}));
  EXPECT_TRUE(rates.Set("j", {3, 2, 1, 400}));
  EXPECT_EQ(rates.Find("j", 3, 1), 100);
  EXPECT_EQ(rates.size(), 4u);
}

TEST(SendRatesTest, KeepsNothingOfWhatHasEnded) {
  SendRates rates;
  rates.Set("j", {3, 1, 5, 100});
  rates.Set("j", {3, 2, 5, 100});
  rates.Set("k", {3, 1, 5, 100});
  rates.Forget("j", 3, 1);
  rates.Forget("j", 9, 1);
  rates.Forget("x", 3, 1);
  EXPECT_EQ(rates.Find("j", 3, 1), std::nullopt);
  EXPECT_EQ(rates.Find("j", 3, 2), 100);
  rates.ForgetJob("j");
  EXPECT_EQ(rates.Find("j", 3, 2), std::nullopt);
  EXPECT_EQ(rates.size(), 1u);
  EXPECT_TRUE(rates.Set("j", {3, 1, 1, 50})) << "its numbers begin anew";
}

TEST(SendRatesTest, IsBoundedByJob) {
  SendRates rates(2);
  for (int transfer : {5, 6, 7}) rates.Set("j", {transfer, 1, 1, 100});
  rates.Set("k", {1, 1, 1, 100});
  EXPECT_EQ(rates.size(), 3u);
  EXPECT_EQ(rates.Find("j", 5, 1), std::nullopt) << "the lowest has gone";
  EXPECT_EQ(rates.Find("j", 7, 1), 100);
  rates.Set("j", {7, 1, 2, 200});
  EXPECT_EQ(rates.Find("j", 6, 1), 100) << "one that is there takes no room";
}

}  // namespace
}  // namespace weir::transfer
