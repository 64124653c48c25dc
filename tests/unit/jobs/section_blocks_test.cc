#include "jobs/engine/sections/section_blocks.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/api/step_error.h"
#include "jobs/engine/sections/record_lengths.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> BlocksOf(const Records& records) {
  testing::MemoryRun run;
  SectionWriter writer(run);
  EXPECT_TRUE(writer.Begin(0).ok());
  for (const auto& [key, value] : records) EXPECT_TRUE(writer.Add(key, value).ok());
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_EQ(run.records(), static_cast<std::int64_t>(records.size()));
  return records.empty() ? std::vector<std::string>() : run.sections().at(0);
}

absl::StatusOr<Records> ReadBack(const std::vector<std::string>& blocks) {
  testing::MemorySource source(blocks);
  SectionReader reader(source);
  Records records;
  SectionRecord record;
  while (true) {
    const auto more = reader.Next(record);
    if (!more.ok()) return more.status();
    if (!*more) return records;
    records.emplace_back(record.key, record.value);
  }
}

RC_GTEST_PROP(SectionBlocksProperty, RecordsComeBack, ()) {
  auto records = *rc::gen::arbitrary<Records>();
  // Some that fill a block to the last byte and some that need several.
  const auto large = *rc::gen::container<std::vector<int>>(
      rc::gen::element(1, 127, 128, 16384, (256 << 10) - 20, (256 << 10) - 11, (256 << 10) - 10,
                       (256 << 10) - 5, 256 << 10, 600 << 10));
  for (std::size_t i = 0; i < large.size() && i < 4; ++i) {
    const std::string bytes(static_cast<std::size_t>(large[i]), 'L');
    records.insert(
        records.begin() + static_cast<std::ptrdiff_t>(records.size() / 2),
        i % 2 == 0 ? std::pair(bytes, std::string("v")) : std::pair(std::string(), bytes));
  }
  const auto back = ReadBack(BlocksOf(records));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == records);
}

RC_GTEST_PROP(SectionBlocksProperty, DamageIsAnErrorOrOtherRecordsNeverACrash, ()) {
  auto blocks = *rc::gen::arbitrary<std::vector<std::string>>();
  std::erase(blocks, "");
  for (std::string& block : blocks) block[0] = static_cast<char>(block[0] & 3);
  const auto back = ReadBack(blocks);
  RC_ASSERT(back.ok() || back.status().code() == absl::StatusCode::kDataLoss);
}

// As values that Combine lets grow; the program that writes them is not what is wrong.
TEST(SectionBlocks, APairBeyondTheLimitNamesItsKeyAndIsAnErrorOfTheJob) {
  testing::MemoryRun run;
  SectionWriter writer(run);
  ASSERT_TRUE(writer.Begin(0).ok());
  // A value that says that it is so long; nothing of it is looked at.
  const std::string shown(1000, 'v');
  const std::string_view value(shown.data(), kPairBytesMax - 7);
  const auto error = StepErrorOf(writer.Add("some key", value));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kUserError);
  EXPECT_NE(error->message.find("'some key'"), std::string::npos) << error->message;
  EXPECT_NE(error->message.find("134217729 bytes"), std::string::npos) << error->message;
  EXPECT_FALSE(error->advice.empty());
}

TEST(SectionBlocks, RecordThatBreaksOffIsDamage) {
  auto blocks = BlocksOf({{std::string(600 << 10, 'k'), "v"}});
  ASSERT_EQ(blocks.size(), 3u);
  blocks.pop_back();
  EXPECT_EQ(ReadBack(blocks).status().code(), absl::StatusCode::kDataLoss);
  blocks.push_back(BlocksOf({{"a", "b"}})[0]);
  EXPECT_EQ(ReadBack(blocks).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace weir
