// How long the disk takes for what is not in memory, on a disk that a test describes.

#include "runtime/master/input/cold_input.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/env/real/posix_storage.h"
#include "tests/unit/worker/manual_loop.h"

namespace weir::master {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;

constexpr double kCopiedPerS = 4e9;

// Files of a disk that takes a while for each byte that is not in memory; whatever is read stays
// there. Time passes on the loop.
class DiskOfColdFiles final : public env::PosixStorage {
 public:
  explicit DiskOfColdFiles(worker::ManualLoop& loop) : loop_(loop) {}

  absl::StatusOr<std::vector<std::int64_t>> NotInMemory(
      const std::string& path, const std::vector<std::int64_t>& offsets) override {
    if (!bytes_of.contains(path)) return absl::NotFoundError(path);
    num_asked += offsets.size();
    loop_.Freeze(ask_takes);
    if (gone_once_asked) bytes_of.erase(path);
    std::vector<std::int64_t> missing;
    std::copy_if(offsets.begin(), offsets.end(), std::back_inserter(missing), is_missing);
    return missing;
  }
  absl::StatusOr<std::string> ReadAt(const std::string& path, std::int64_t offset,
                                     std::int64_t bytes_max) override {
    const auto file = bytes_of.find(path);
    if (file == bytes_of.end()) return absl::NotFoundError(path);
    const std::int64_t bytes = std::clamp<std::int64_t>(file->second - offset, 0, bytes_max);
    reads.push_back(offset);
    const bool cold = is_missing(offset) && read_before_.insert({path, offset}).second;
    loop_.Freeze(absl::Seconds(static_cast<double>(bytes) / kCopiedPerS));
    if (cold) loop_.Freeze(absl::Seconds(static_cast<double>(bytes) / bytes_per_s));
    return std::string(static_cast<std::size_t>(bytes), 'x');
  }

  std::map<std::string, std::int64_t> bytes_of;
  std::function<bool(std::int64_t offset)> is_missing = [](std::int64_t) { return true; };
  double bytes_per_s = 8e8;
  absl::Duration ask_takes = absl::ZeroDuration();
  bool gone_once_asked = false;
  std::size_t num_asked = 0;
  std::vector<std::int64_t> reads;  // where

 private:
  worker::ManualLoop& loop_;
  std::set<std::pair<std::string, std::int64_t>> read_before_;
};

InputList ListOf(const std::vector<std::int64_t>& sizes) {
  InputList input;
  for (const std::int64_t bytes : sizes) {
    input.files.push_back({"/in/" + std::to_string(input.files.size()), bytes, {}});
    input.total_bytes += bytes;
  }
  return input;
}

class ColdInputTest : public ::testing::Test {
 protected:
  // Seconds per byte of an input of such files.
  double Measure(const std::vector<std::int64_t>& sizes) {
    const InputList input = ListOf(sizes);
    for (const InputFile& file : input.files) disk_.bytes_of[file.path] = file.bytes;
    return MeasureColdReadSeconds(disk_, loop_, PlacesToAsk(input, /*seed=*/1234567));
  }

  worker::ManualLoop loop_;
  DiskOfColdFiles disk_{loop_};
};

TEST_F(ColdInputTest, NothingIsReadOfWhatIsInMemory) {
  disk_.is_missing = [](std::int64_t) { return false; };
  EXPECT_EQ(Measure({512'000'000}), 0);
  EXPECT_EQ(disk_.num_asked, static_cast<std::size_t>(kAskedPlaces));
  EXPECT_THAT(disk_.reads, IsEmpty());
}

TEST_F(ColdInputTest, ThePartThatIsMissingTakesWhatTheDiskTakes) {
  EXPECT_NEAR(Measure({512'000'000}) * 8e8, 1, 1e-3) << "without what copying takes";
  EXPECT_EQ(disk_.reads.size(), 8u) << "four pieces, twice";
}

TEST_F(ColdInputTest, HalfOfItTakesHalfOfThat) {
  constexpr std::int64_t kHalf = 256'000'000;
  disk_.is_missing = [](std::int64_t offset) { return offset >= kHalf; };
  EXPECT_NEAR(Measure({2 * kHalf}) * 8e8, 0.5, 1e-3);
  EXPECT_EQ(disk_.reads.size(), 8u);
  EXPECT_THAT(disk_.reads, Each(Ge(kHalf))) << "only what is missing says what the disk takes";
}

TEST_F(ColdInputTest, ATenthMayBeMissing) {
  // A place every 2 MB.
  disk_.is_missing = [](std::int64_t offset) { return offset < 50'000'000; };
  EXPECT_EQ(Measure({512'000'000}), 0) << "25 of 256";
  EXPECT_THAT(disk_.reads, IsEmpty());
  disk_.is_missing = [](std::int64_t offset) { return offset < 54'000'000; };
  EXPECT_NEAR(Measure({512'000'000}) * 8e8, 27.0 / 256, 1e-3);
}

TEST_F(ColdInputTest, ASlowDiskReadsOnePiece) {
  disk_.bytes_per_s = 1e7;
  EXPECT_NEAR(Measure({512'000'000}) * 1e7, 1, 1e-3);
  EXPECT_EQ(disk_.reads.size(), 2u) << "it took 0.4 s";
}

TEST_F(ColdInputTest, WhatCannotBeToldTakesNoTime) {
  disk_.bytes_per_s = 1e30;
  EXPECT_EQ(Measure({512'000'000}), 0) << "a disk as fast as memory";
  disk_.bytes_per_s = 8e8;
  disk_.reads.clear();
  EXPECT_EQ(Measure(std::vector<std::int64_t>(4000, 100'000)), 0) << "seeks count more";
  EXPECT_THAT(disk_.reads, IsEmpty());
  disk_.ask_takes = absl::Milliseconds(60);
  EXPECT_EQ(Measure({512'000'000}), 0) << "a file system that answers late";
  EXPECT_THAT(disk_.reads, IsEmpty());
}

TEST_F(ColdInputTest, NothingIsToldOfAFileThatVanishes) {
  disk_.gone_once_asked = true;
  EXPECT_EQ(Measure({512'000'000}), 0);
  const InputList input = ListOf({512'000'000});
  EXPECT_EQ(MeasureColdReadSeconds(disk_, loop_, PlacesToAsk(input, 1)), 0) << "before that";
  EXPECT_THAT(disk_.reads, IsEmpty());
}

TEST_F(ColdInputTest, NobodyAsksOfASmallInput) {
  EXPECT_THAT(PlacesToAsk(ListOf({kAskedInputBytes - 1}), 1), IsEmpty());
  EXPECT_EQ(PlacesToAsk(ListOf({kAskedInputBytes}), 1).size(), 1u);
  EXPECT_EQ(Measure({kAskedInputBytes - 1}), 0);
  EXPECT_EQ(disk_.num_asked, 0u);
}

TEST_F(ColdInputTest, PlacesLieInFilesByTheirBytes) {
  // One every 1 562 500 bytes: 64 in the first file.
  const std::vector<FilePlaces> places = PlacesToAsk(ListOf({100'000'000, 0, 300'000'000}), 5);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].path, "/in/0");
  EXPECT_EQ(places[0].offsets.size(), 64u);
  EXPECT_EQ(places[0].offsets.front(), 5);
  EXPECT_EQ(places[0].offsets.back(), 5 + 63 * 1'562'500);
  EXPECT_EQ(places[1].path, "/in/2");
  EXPECT_EQ(places[1].file_bytes, 300'000'000);
  EXPECT_EQ(places[1].offsets.size(), 192u);
  EXPECT_EQ(places[1].offsets.front(), 5) << "of the file";
}

}  // namespace
}  // namespace weir::master
