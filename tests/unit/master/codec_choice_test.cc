#include "runtime/master/planning/codec_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::master {
namespace {

using ::testing::HasSubstr;

TEST(CodecChoiceTest, NamesOfCodecsAndNobodysChoice) {
  EXPECT_EQ(*ParseCodecChoice(""), std::nullopt);
  EXPECT_EQ(*ParseCodecChoice("auto"), std::nullopt);
  EXPECT_EQ(*ParseCodecChoice("none"), planner::Codec::kNone);
  EXPECT_EQ(*ParseCodecChoice("lz4"), planner::Codec::kLz4);
  EXPECT_EQ(*ParseCodecChoice("zstd"), planner::Codec::kZstd);
}

TEST(CodecChoiceTest, OtherNamesAreRefusedWithThoseThatExist) {
  for (const char* name : {"snappy", "LZ4", " zstd", "unknown"}) {
    const absl::Status status = ParseCodecChoice(name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(status.message(), HasSubstr(name));
    EXPECT_THAT(status.message(), HasSubstr("auto (the planner decides), none, lz4, zstd"));
  }
}

}  // namespace
}  // namespace weir::master
