// Runs: what is written comes back; whatever else the file holds is found out.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "runtime/base/errno_status.h"
#include "runtime/format/block.h"
#include "runtime/format/run_check.h"
#include "runtime/format/run_reader.h"
#include "runtime/format/run_writer.h"
#include "tests/unit/format/scratch_file.h"

namespace weir::format {
namespace {

using testing::HasSubstr;

using Blocks = std::vector<std::string>;

absl::StatusOr<Blocks> ReadSection(const std::string& path, std::int64_t offset,
                                   std::int64_t bytes) {
  absl::StatusOr<std::unique_ptr<RunReader>> reader = RunReader::Open(path, offset, bytes);
  if (!reader.ok()) return reader.status();
  Blocks blocks;
  while (true) {
    const absl::StatusOr<absl::Span<const char>> block = (*reader)->NextBlock();
    if (!block.ok()) return block.status();
    if (block->empty()) return blocks;
    blocks.emplace_back(block->data(), block->size());
  }
}

absl::StatusOr<v1::RunInfo> WriteRun(const std::string& path,
                                     const std::vector<std::pair<int, Blocks>>& sections,
                                     v1::Codec codec = v1::CODEC_NONE) {
  absl::StatusOr<std::unique_ptr<RunWriter>> writer = RunWriter::Create(path, codec);
  if (!writer.ok()) return writer.status();
  for (const auto& [consumer, blocks] : sections) {
    const absl::Status begun = (*writer)->BeginSection(consumer);
    if (!begun.ok()) return begun;
    for (const std::string& block : blocks) {
      const absl::Status appended = (*writer)->Append(block, 2);
      if (!appended.ok()) return appended;
    }
  }
  return (*writer)->Finish("4.1");
}

// Blocks that were made ready on other threads, before their turn, are the blocks of Append.
TEST(RunTest, ReadyBlocksAreTheBlocksOfAppend) {
  const std::string text = [] {
    std::string lines;
    for (int i = 0; i < 40'000; ++i) lines += "line " + std::to_string(i * 7919 % 1000) + "\n";
    return lines;
  }();
  for (const v1::Codec codec : {v1::CODEC_NONE, v1::CODEC_LZ4, v1::CODEC_ZSTD}) {
    const ScratchFolder folder;
    const std::vector<std::pair<int, Blocks>> sections = {
        {1, {text, text.substr(7), "x"}}, {2, {}}, {4, {text.substr(0, 100'000)}}};
    const auto plain = WriteRun(folder.File("plain"), sections, codec);
    ASSERT_TRUE(plain.ok()) << plain.status();
    auto writer = RunWriter::Create(folder.File("ready"), codec);
    ASSERT_TRUE(writer.ok()) << writer.status();
    std::vector<std::vector<ReadyBlock>> ready(sections.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < sections.size(); ++i) {
      threads.emplace_back([&, i] {
        for (const std::string& block : sections[i].second) {
          (*writer)->Ready(sections[i].first, block, 2, ready[i].emplace_back());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < sections.size(); ++i) {
      ASSERT_TRUE((*writer)->BeginSection(sections[i].first).ok());
      for (const ReadyBlock& block : ready[i]) ASSERT_TRUE((*writer)->AppendReady(block).ok());
    }
    auto info = (*writer)->Finish("4.1");
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_TRUE(ReadAll(folder.File("ready")) == ReadAll(folder.File("plain")));
    info->set_path(plain->path());
    EXPECT_EQ(info->SerializeAsString(), plain->SerializeAsString());
  }
}

TEST(RunTest, ReadyBlocksAreRefusedAsAppendRefusesThem) {
  const ScratchFolder folder;
  auto writer = RunWriter::Create(folder.File("run"), v1::CODEC_LZ4);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ReadyBlock early;
  (*writer)->Ready(0, "block", 1, early);
  EXPECT_EQ((*writer)->AppendReady(early).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE((*writer)->BeginSection(0).ok());
  const std::string too_long(kBlockBytesMax + 1, 'x');
  for (const std::string& block : {std::string(), too_long}) {
    ReadyBlock ready;
    (*writer)->Ready(0, block, 1, ready);
    EXPECT_EQ((*writer)->AppendReady(ready), (*writer)->Append(block, 1));
  }
  EXPECT_TRUE((*writer)->AppendReady(early).ok());
}

TEST(RunTest, KeepsSectionsApartAndLeavesEmptyOnesOut) {
  const ScratchFolder folder;
  const std::string path = folder.File("4.1.run");
  const auto info = WriteRun(path, {{0, {"alpha", "beta"}}, {1, {}}, {5, {"gamma"}}});
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->run_id(), "4.1");
  EXPECT_EQ(info->path(), path);
  ASSERT_EQ(info->sections_size(), 2);
  EXPECT_EQ(info->sections(0).consumer_step(), 0);
  EXPECT_EQ(info->sections(0).records(), 4);
  EXPECT_EQ(info->sections(1).consumer_step(), 5);
  EXPECT_EQ(info->sections(1).offset(), info->sections(0).bytes());
  EXPECT_EQ(info->bytes(), info->sections(1).offset() + info->sections(1).bytes());
  EXPECT_EQ(static_cast<std::int64_t>(ReadAll(path).size()), info->bytes());

  const auto first = ReadSection(path, 0, info->sections(0).bytes());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(*first, testing::ElementsAre("alpha", "beta"));
  const auto second = ReadSection(path, info->sections(1).offset(), info->sections(1).bytes());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(*second, testing::ElementsAre("gamma"));
}

TEST(RunTest, IsCheckedWhole) {
  const ScratchFolder folder;
  const std::string path = folder.File("4.1.run");
  const auto info = WriteRun(path, {{0, {"alpha", "beta"}}, {5, {"gamma"}}});
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(CheckRun(*info).ok());
  const std::string whole = ReadAll(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_EQ(CheckRun(*info).code(), absl::StatusCode::kDataLoss) << "byte " << i;
  }
  std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() - 1);
  EXPECT_EQ(CheckRun(*info).code(), absl::StatusCode::kDataLoss);
}

TEST(RunTest, AnEmptyRunIsAnEmptyFile) {
  const ScratchFolder folder;
  const auto info = WriteRun(folder.File("r"), {});
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->bytes(), 0);
  const auto blocks = ReadSection(folder.File("r"), 0, 0);
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_TRUE(blocks->empty());
}

TEST(RunTest, RefusesBlocksOutOfBoundsAndSectionsOutOfOrder) {
  const ScratchFolder folder;
  const auto writer = RunWriter::Create(folder.File("r"), v1::CODEC_NONE);
  ASSERT_TRUE(writer.ok());
  constexpr auto kRefused = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ((*writer)->Append("x", 1).code(), kRefused);
  ASSERT_TRUE((*writer)->BeginSection(3).ok());
  EXPECT_EQ((*writer)->BeginSection(3).code(), kRefused);
  EXPECT_EQ((*writer)->Append("", 0).code(), kRefused);
  EXPECT_EQ((*writer)->Append("x", -1).code(), kRefused);
  EXPECT_EQ((*writer)->Append(std::string((1 << 20) + 1, 'x'), 1).code(), kRefused);
  EXPECT_TRUE((*writer)->Append(std::string(1 << 20, 'x'), 1).ok());
}

TEST(RunTest, AnUnfinishedRunLeavesNoFile) {
  const ScratchFolder folder;
  {
    const auto writer = RunWriter::Create(folder.File("r"), v1::CODEC_NONE);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->BeginSection(0).ok());
    ASSERT_TRUE((*writer)->Append("x", 1).ok());
  }
  EXPECT_EQ(RunReader::Open(folder.File("r"), 0, 0).status().code(), absl::StatusCode::kNotFound);
}

TEST(RunTest, NeverWritesOverAnExistingRun) {
  const ScratchFolder folder;
  ASSERT_TRUE(WriteRun(folder.File("r"), {{0, {"old"}}}).ok());
  const absl::Status again = WriteRun(folder.File("r"), {}).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(again.message(), HasSubstr(folder.File("r")));
}

// Exit codes of FillDisk.
constexpr int kAsExpected = 0;
constexpr int kWrongStatus = 1;
constexpr int kNoMount = 2;

// Runs in a child: a file system of 64 KiB that only this process sees.
int FillDisk(const std::string& folder) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") != 0) {
    return kNoMount;
  }
  const auto writer = RunWriter::Create(folder + "/r", v1::CODEC_NONE);
  if (!writer.ok() || !(*writer)->BeginSection(0).ok()) return kWrongStatus;
  const absl::Status full = (*writer)->Append(std::string(1 << 20, 'x'), 1);
  const bool named = std::string(full.message()).find(folder + "/r") != std::string::npos;
  return IsDiskFull(full) && absl::IsResourceExhausted(full) && named ? kAsExpected : kWrongStatus;
}

TEST(RunTest, AFullDiskIsNamedWithThePath) {
  const ScratchFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(FillDisk(folder.File("").substr(0, folder.File("").size() - 1)));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoMount) GTEST_SKIP() << "not allowed to mount a small tmpfs here";
  EXPECT_EQ(WEXITSTATUS(status), kAsExpected);
}

class RunOfCodec : public testing::TestWithParam<v1::Codec> {};

INSTANTIATE_TEST_SUITE_P(Codecs, RunOfCodec,
                         testing::Values(v1::CODEC_NONE, v1::CODEC_LZ4, v1::CODEC_ZSTD));

TEST_P(RunOfCodec, EveryTruncationIsFound) {
  const ScratchFolder folder;
  const auto info =
      WriteRun(folder.File("r"), {{0, {"alpha", std::string(200, 'b'), "gamma"}}}, GetParam());
  ASSERT_TRUE(info.ok());
  const std::string whole = ReadAll(folder.File("r"));
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    WriteAll(folder.File("cut"), whole.substr(0, bytes));
    const absl::Status status = ReadSection(folder.File("cut"), 0, info->bytes()).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << bytes;
    ASSERT_THAT(status.message(), HasSubstr(folder.File("cut")));
    ASSERT_THAT(status.message(), HasSubstr("at byte"));
  }
}

TEST_P(RunOfCodec, EveryFlippedBitIsFound) {
  const ScratchFolder folder;
  const auto info =
      WriteRun(folder.File("r"), {{0, {"alpha", "be"}}, {1, {std::string(300, 'z')}}}, GetParam());
  ASSERT_TRUE(info.ok());
  const std::string whole = ReadAll(folder.File("r"));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    WriteAll(folder.File("flipped"), flipped);
    const absl::Status status = ReadSection(folder.File("flipped"), 0, info->bytes()).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << bit;
  }
}

TEST_P(RunOfCodec, SaysWhatItsSectionsWouldBeUnpacked) {
  const ScratchFolder folder;
  const std::string even(1000, 'z');
  const auto info = WriteRun(folder.File("r"), {{0, {even, even}}, {1, {"short"}}}, GetParam());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->sections(0).unpacked_bytes(), 2 * (kBlockHeaderBytes + 1000));
  EXPECT_EQ(info->sections(1).unpacked_bytes(), kBlockHeaderBytes + 5);
  // What does not shrink stays as it is.
  EXPECT_EQ(info->sections(1).bytes(), kBlockHeaderBytes + 5);
  if (GetParam() == v1::CODEC_NONE) {
    EXPECT_EQ(info->sections(0).bytes(), info->sections(0).unpacked_bytes());
  } else {
    EXPECT_LT(info->sections(0).bytes(), 2 * (kBlockHeaderBytes + 50));
  }
  ASSERT_EQ(info->trials_size(), 2);
  EXPECT_EQ(info->trials(0).raw_bytes(), 2005);
  EXPECT_LT(info->trials(0).packed_bytes(), 100);
}

TEST(RunTest, BlocksThatStandForOthersCountAsThose) {
  const ScratchFolder folder;
  const auto writer = RunWriter::Create(folder.File("r"), v1::CODEC_NONE);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->BeginSection(0).ok());
  ASSERT_TRUE((*writer)->AppendStandIn("blocks", 7, 1000).ok());
  ReadyBlock ready;
  (*writer)->Ready(0, "more", 5, ready);
  ready.stands_for_bytes = 600;
  ASSERT_TRUE((*writer)->AppendReady(ready).ok());
  // One that is larger than what it stands for, as of a single record.
  ASSERT_TRUE((*writer)->AppendStandIn("a long path", 1, 4).ok());
  const auto info = (*writer)->Finish("1.1");
  ASSERT_TRUE(info.ok()) << info.status();
  ASSERT_EQ(info->sections_size(), 1);
  EXPECT_EQ(info->sections(0).bytes(), 3 * kBlockHeaderBytes + 6 + 4 + 11);
  EXPECT_EQ(info->sections(0).unpacked_bytes(), 3 * kBlockHeaderBytes + 1000 + 600 + 11);
  EXPECT_EQ(info->sections(0).records(), 13);
  EXPECT_EQ(info->trials_size(), 0) << "codecs were not tried on what the job's data is not";
}

TEST(RunTest, CodecsAreTriedWhereSomebodyAsks) {
  const ScratchFolder folder;
  for (const auto& [tries, wanted] :
       {std::pair(TryCodecs::kYes, 2), std::pair(TryCodecs::kNo, 0)}) {
    const std::string path = folder.File(absl::StrCat("r", wanted));
    const auto writer = RunWriter::Create(path, v1::CODEC_LZ4, tries);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->BeginSection(0).ok());
    ASSERT_TRUE((*writer)->Append(std::string(1000, 'z'), 1).ok());
    ReadyBlock ready;
    (*writer)->Ready(0, std::string(1000, 'y'), 1, ready);
    ASSERT_TRUE((*writer)->AppendReady(ready).ok());
    const auto info = (*writer)->Finish("1.1");
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->trials_size(), wanted);
  }
}

TEST(RunTest, AnErrorIsRepeated) {
  const ScratchFolder folder;
  WriteAll(folder.File("r"), "nothing that a run begins with, but long enough");
  const auto reader = RunReader::Open(folder.File("r"), 0, 40);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->NextBlock().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*reader)->NextBlock().status().code(), absl::StatusCode::kDataLoss);
}

TEST(RunTest, ImpossibleRangesAreRefused) {
  const ScratchFolder folder;
  WriteAll(folder.File("r"), "x");
  constexpr auto kRefused = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(RunReader::Open(folder.File("r"), -1, 1).status().code(), kRefused);
  EXPECT_EQ(RunReader::Open(folder.File("r"), 0, -1).status().code(), kRefused);
  EXPECT_EQ(RunReader::Open(folder.File("r"), INT64_MAX, 2).status().code(), kRefused);
}

RC_GTEST_PROP(RunProperty, BlocksComeBackAsWritten, ()) {
  const ScratchFolder folder;
  std::vector<std::pair<int, Blocks>> sections;
  const int num_sections = *rc::gen::inRange(0, 6);
  for (int consumer = 0; consumer < num_sections; ++consumer) {
    Blocks blocks = *rc::gen::container<Blocks>(rc::gen::nonEmpty<std::string>());
    // Some blocks larger than the writer's buffer.
    if (*rc::gen::inRange(0, 8) == 0) {
      blocks.emplace_back(static_cast<std::size_t>(*rc::gen::inRange(1, 1 << 20)), 'x');
    }
    sections.emplace_back(2 * consumer, std::move(blocks));
  }
  const auto codec = *rc::gen::element(v1::CODEC_NONE, v1::CODEC_LZ4, v1::CODEC_ZSTD);
  const auto info = WriteRun(folder.File("r"), sections, codec);
  RC_ASSERT(info.ok());
  int next = 0;
  for (const auto& [consumer, blocks] : sections) {
    if (blocks.empty()) continue;
    const v1::RunSection& section = info->sections(next++);
    RC_ASSERT(section.consumer_step() == consumer);
    RC_ASSERT(section.records() == static_cast<std::int64_t>(2 * blocks.size()));
    const auto read = ReadSection(folder.File("r"), section.offset(), section.bytes());
    RC_ASSERT(read.ok());
    RC_ASSERT(*read == blocks);
  }
  RC_ASSERT(next == info->sections_size());
}

RC_GTEST_PROP(RunProperty, ShiftedOrShortenedSectionsAreFound, ()) {
  const ScratchFolder folder;
  const auto info = WriteRun(folder.File("r"), {{0, {std::string(100, 'a'), std::string(50, 'b')}},
                                                {1, {std::string(10, 'c')}}});
  RC_ASSERT(info.ok());
  // Any range that is not a union of neighbouring blocks (ends at 0, 132, 214, 256) is an error.
  const auto begin = *rc::gen::inRange<std::int64_t>(0, 256);
  const auto end = *rc::gen::inRange<std::int64_t>(begin + 1, 257);
  const auto at_border = [](std::int64_t at) {
    return at == 0 || at == 132 || at == 214 || at == 256;
  };
  RC_PRE(!at_border(begin) || !at_border(end));
  RC_ASSERT(ReadSection(folder.File("r"), begin, end - begin).status().code() ==
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace weir::format
