#include "runtime/task/spill_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/task_memory.h"
#include "runtime/format/run_writer.h"
#include "runtime/task/counting_io.h"
#include "tests/unit/format/scratch_file.h"

namespace weir::task {
namespace {

using testing::HasSubstr;

class SpillFilesTest : public testing::Test {
 protected:
  std::unique_ptr<SpillFile> Written(SpillFiles& files) {
    auto file = files.New();
    EXPECT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->BeginSection(1).ok());
    EXPECT_TRUE((*file)->Append("one", 1).ok());
    EXPECT_TRUE((*file)->Append("more of one", 1).ok());
    EXPECT_TRUE((*file)->BeginSection(4).ok());
    EXPECT_TRUE((*file)->Append("four", 1).ok());
    EXPECT_TRUE((*file)->Finish().ok());
    return *std::move(file);
  }

  static std::string All(const SpillFile& file, int consumer) {
    auto source = file.Open(consumer);
    EXPECT_TRUE(source.ok()) << source.status();
    std::string text;
    while (true) {
      const auto block = (*source)->NextBlock();
      EXPECT_TRUE(block.ok()) << block.status();
      if (!block.ok() || block->empty()) return text;
      text.append(block->data(), block->size());
    }
  }

  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.File(""))) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  format::ScratchFolder folder_;
  StepActivity activity_;
  SpillFiles files_{folder_.File("spill-3-1-"), activity_};
};

TEST_F(SpillFilesTest, SectionsComeBackAndAreCounted) {
  const auto file = Written(files_);
  EXPECT_EQ(All(*file, 1), "onemore of one");
  EXPECT_EQ(All(*file, 4), "four");
  for (const int none : {0, 2, 5}) EXPECT_EQ(All(*file, none), "");
  EXPECT_GT(activity_.counters()[std::string(kSpilledBytes)], 18);
  EXPECT_EQ(activity_.input_bytes(), 0) << "nobody's input";
  EXPECT_EQ(activity_.output_bytes(), 0);
}

TEST_F(SpillFilesTest, FilesGoWithTheirObjects) {
  auto first = Written(files_);
  auto second = Written(files_);
  EXPECT_EQ(Files(), (std::set<std::string>{"spill-3-1-0", "spill-3-1-1"}));
  first.reset();
  EXPECT_EQ(Files(), std::set<std::string>{"spill-3-1-1"});
  second.reset();
  // One that is not finished goes, too.
  auto unfinished = files_.New();
  ASSERT_TRUE(unfinished.ok());
  ASSERT_TRUE((*unfinished)->BeginSection(0).ok());
  EXPECT_EQ(Files().size(), 1u);
  unfinished->reset();
  EXPECT_TRUE(Files().empty());
}

TEST_F(SpillFilesTest, WhatAKilledProcessLeftIsReplaced) {
  format::WriteAll(folder_.File("spill-3-1-0"), "of a process that is gone");
  EXPECT_EQ(All(*Written(files_), 4), "four");
}

TEST_F(SpillFilesTest, DamageIsTheFaultOfThisDisk) {
  const auto file = Written(files_);
  std::string bytes = format::ReadAll(folder_.File("spill-3-1-0"));
  bytes[bytes.find("four")] ^= 1;
  format::WriteAll(folder_.File("spill-3-1-0"), bytes);
  auto source = file->Open(4);
  ASSERT_TRUE(source.ok()) << source.status();
  const absl::Status damaged = (*source)->NextBlock().status();
  EXPECT_NE(ErrnoOf(damaged), 0) << damaged;
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("spill-3-1-0"));
  EXPECT_EQ(All(*file, 1), "onemore of one");
}

TEST_F(SpillFilesTest, AFolderThatIsGoneIsNamed) {
  SpillFiles nowhere(folder_.File("none/spill-"), activity_);
  const absl::Status status = nowhere.New().status();
  EXPECT_NE(ErrnoOf(status), 0) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("none/spill-0"));
}

TEST_F(SpillFilesTest, ThoseOfAKilledTaskGoWhenTheNextStartsAndNothingElseDoes) {
  for (const char* name : {"spill-0-1-0", "spill-12-3-45", "spill-0-1-", "spill-data", "spill-1-2",
                           "spill-1-2-3-4", "spill-a-1-2", "run-1"}) {
    std::ofstream(folder_.File(name)) << "x";
  }
  RemoveSpills(folder_.File(""));
  EXPECT_EQ(Files(), (std::set<std::string>{"spill-0-1-", "spill-data", "spill-1-2",
                                            "spill-1-2-3-4", "spill-a-1-2", "run-1"}));
  RemoveSpills(folder_.File("none"));
}

// Slots share a section by its blocks.
TEST(OpenInput, CountsTheBlocksOfASection) {
  const format::ScratchFolder folder;
  const std::string path = folder.File("run");
  auto writer = format::RunWriter::Create(path, v1::CODEC_NONE);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->BeginSection(0).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*writer)->Append(std::string(1000, 'x'), 1).ok());
  const auto run = (*writer)->Finish("1");
  ASSERT_TRUE(run.ok());
  v1::StepInput input;
  input.set_path(path);
  input.set_bytes(run->sections(0).bytes());
  StepActivity activity(/*skip_bad=*/0);
  const auto source = OpenInput(input, activity);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->CountBlocks(9), 3);
  EXPECT_EQ((*source)->CountBlocks(2), 2);
  EXPECT_EQ((*source)->NextBlock()->size(), 1000u) << "the first one is still there";
}

}  // namespace
}  // namespace weir::task
