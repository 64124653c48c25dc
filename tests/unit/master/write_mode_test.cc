#include "runtime/master/planning/write_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::master {
namespace {

TEST(WriteMode, NamesWhatThePlannerOffers) {
  EXPECT_EQ(ParseWriteMode("")->write, planner::FinalWrite::kParts);
  EXPECT_EQ(ParseWriteMode("parts")->write, planner::FinalWrite::kParts);
  EXPECT_EQ(ParseWriteMode("one")->write, planner::FinalWrite::kOne);
  EXPECT_EQ(ParseWriteMode("parallel")->write, planner::FinalWrite::kParallel);
  EXPECT_EQ(ParseWriteMode("parallel")->channels, 0);
  EXPECT_EQ(ParseWriteMode("parallel:3")->channels, 3);
  for (const char* wrong : {"all", "parallel:", "parallel:0", "parallel:-1", "parallel:10001",
                            "parallel:x", "one:1", "Parts"}) {
    const auto unknown = ParseWriteMode(wrong);
    EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(unknown.status().message()), testing::HasSubstr("parallel:N"));
  }
}

}  // namespace
}  // namespace weir::master
