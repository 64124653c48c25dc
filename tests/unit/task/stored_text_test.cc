#include "runtime/task/stored_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "jobs/engine/part_text.h"

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

// A part that the reducer writes itself.
class Part : public PartSink {
 public:
  absl::Status Append(std::string_view bytes, std::int64_t of_bytes) override {
    text.append(bytes);
    records += of_bytes;
    return absl::OkStatus();
  }
  std::string text;
  std::int64_t records = 0;
};

TEST(TextRunSinkTest, ResultsWithoutTextCountAsLittleAsInAPartOfTheirOwn) {
  const std::vector<std::vector<std::string>> all_lines = {
      {"", "a\n", "", "b\n", ""}, {"", ""}, {"a\n"}, {}};
  for (const std::vector<std::string>& lines : all_lines) {
    Part part;
    Blocks blocks;
    TextRunSink sink(blocks);
    PartText own(part), through_run(sink);
    std::int64_t written = 0;
    for (const std::string& line : lines) {
      ASSERT_EQ(own.Add([&line](std::string& out) { out += line; }), absl::OkStatus());
      ASSERT_EQ(through_run.Add([&line](std::string& out) { out += line; }), absl::OkStatus());
      // Their own flushes, as of pieces that slots make: some have no text at all.
      ASSERT_EQ(own.Flush(), absl::OkStatus());
      ASSERT_EQ(through_run.Flush(), absl::OkStatus());
      written += line.empty() ? 0 : 1;
    }
    std::string joined;
    std::int64_t records = 0;
    for (const auto& [block, of_block] : blocks.blocks) {
      joined += block;
      records += of_block;
    }
    EXPECT_EQ(joined, part.text);
    EXPECT_EQ(records, written);
    EXPECT_EQ(part.records, written);
    EXPECT_EQ(own.records(), written) << "as what the step says it has made";
  }
}

TEST(TextRunSinkTest, PassesErrorsOn) {
  Blocks blocks;
  blocks.fail = true;
  TextRunSink sink(blocks);
  EXPECT_EQ(sink.Append("text", 1).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weir::task
