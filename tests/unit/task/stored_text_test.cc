#include "runtime/task/stored_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::task {
namespace {

class Blocks : public RunSink {
 public:
  absl::Status BeginSection(int /*consumer*/) override { return absl::OkStatus(); }
  absl::Status Append(std::string_view block, std::int64_t records) override {
    if (fail) return absl::ResourceExhaustedError("disk full");
    blocks.emplace_back(std::string(block), records);
    return absl::OkStatus();
  }
  bool fail = false;
  std::vector<std::pair<std::string, std::int64_t>> blocks;
};

TEST(TextRunSinkTest, CutsLongTextIntoLegalBlocksAndCountsItsRecordsOnce) {
  Blocks blocks;
  TextRunSink sink(blocks);
  std::string text(static_cast<std::size_t>(kBlockBytesMax) * 2 + 7, 'x');
  text.back() = '\n';
  ASSERT_EQ(sink.Append(text, 42), absl::OkStatus());
  ASSERT_EQ(sink.Append("", 0), absl::OkStatus());
  ASSERT_EQ(sink.Append("end\n", 1), absl::OkStatus());
  std::string joined;
  std::int64_t records = 0;
  for (const auto& [block, of_block] : blocks.blocks) {
    EXPECT_LE(block.size(), static_cast<std::size_t>(kBlockBytesMax));
    EXPECT_FALSE(block.empty());
    joined += block;
    records += of_block;
  }
  EXPECT_EQ(joined, text + "end\n");
  EXPECT_EQ(records, 43);
  EXPECT_EQ(blocks.blocks.size(), 4U);
}

TEST(TextRunSinkTest, PassesErrorsOn) {
  Blocks blocks;
  blocks.fail = true;
  TextRunSink sink(blocks);
  EXPECT_EQ(sink.Append("text", 1).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weir::task
