#include "runtime/transfer/congestion_control.h"

#include <gtest/gtest.h>

#include <set>

namespace weir::transfer {
namespace {

MayUse Only(std::set<std::string> known) {
  return [known = std::move(known)](const std::string& name) { return known.contains(name); };
}

TEST(CongestionControlTest, ChoosesByKindOfSend) {
  const CongestionChoice choice = ChooseCongestionControl("", Only({"reno", "bbr", "cubic"}));
  EXPECT_EQ(choice.For(/*to_loopback=*/false, /*is_paced=*/true), "bbr");
  EXPECT_EQ(choice.For(false, false), "reno");
  EXPECT_EQ(choice.For(true, true), "cubic");
  EXPECT_EQ(choice.For(true, false), "cubic");
}

TEST(CongestionControlTest, FallsBackToWhatThereIs) {
  const CongestionChoice plain = ChooseCongestionControl("", Only({"reno"}));
  EXPECT_EQ(plain.paced, "reno");
  EXPECT_EQ(plain.unpaced, "reno");
  EXPECT_EQ(plain.loopback, "") << "left as the system has it";
  EXPECT_EQ(ChooseCongestionControl("", Only({})).paced, "");
  EXPECT_EQ(ChooseCongestionControl("warp", Only({"reno"})).paced, "reno");
}

TEST(CongestionControlTest, AFlagHoldsForEverySend) {
  const CongestionChoice choice = ChooseCongestionControl("dctcp", Only({"reno", "dctcp"}));
  EXPECT_EQ(choice.paced, "dctcp");
  EXPECT_EQ(choice.unpaced, "dctcp");
  EXPECT_EQ(choice.loopback, "dctcp");
}

TEST(CongestionControlTest, TheKernelKnowsRenoAndNoNonsense) {
  EXPECT_TRUE(KernelMayUse("reno"));
  EXPECT_FALSE(KernelMayUse("no-such-control"));
}

}  // namespace
}  // namespace weir::transfer
