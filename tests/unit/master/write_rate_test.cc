#include "runtime/master/output/write_rate.h"

#include <cerrno>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/errno_status.h"
#include "runtime/master/output/output_probe.h"
#include "tests/sim/memory_storage.h"
#include "tests/unit/worker/manual_loop.h"

namespace weir::master {
namespace {

// A disk that takes a while for each synced file and a while for each byte; each byte takes a while
// to be copied, too. Names begin with sizes.
class WriteRateTest : public ::testing::Test {
 protected:
  WriteRateTest() { EXPECT_TRUE(storage_.MakeDirectory("/out").ok()); }

  double Measure(absl::Duration a_file, double bytes_per_s) {
    storage_.SetGate([=, this](const char* called, const std::string& path) -> absl::Status {
      if (std::string(called) != "write") return absl::OkStatus();
      const bool copied = path.ends_with(kCopied);
      std::string_view name = path;
      name.remove_prefix(name.rfind('/') + 1);
      name = name.substr(0, name.find('-'));
      EXPECT_TRUE(paths_.insert(path).second) << path << " once more";
      double bytes = 0;
      EXPECT_TRUE(absl::SimpleAtod(std::string(name), &bytes)) << path;
      loop_.Freeze(absl::Seconds(bytes / kCopiedPerS));
      if (copied) return absl::OkStatus();
      loop_.Freeze(a_file + absl::Seconds(bytes / bytes_per_s));
      loop_.Freeze(hindered_[written_.size()]);
      written_.push_back(bytes);
      return absl::OkStatus();
    });
    paths_.clear();
    const double seconds_per_byte = MeasureWriteSeconds(storage_, loop_, "/out/r");
    storage_.SetGate(nullptr);
    EXPECT_EQ(storage_.Paths(), (std::vector<std::string>{"/", "/out"})) << "leaves nothing";
    return seconds_per_byte;
  }

  static constexpr std::string_view kCopied = "-copied";
  static constexpr double kCopiedPerS = 2e9;
  sim::MemoryStorage storage_;
  worker::ManualLoop loop_;
  std::vector<double> written_;
  std::set<std::string> paths_;
  std::map<std::size_t, absl::Duration> hindered_;  // by how much, by numbers of files
};

TEST_F(WriteRateTest, WhatAnyFileTakesDoesNotCount) {
  for (const absl::Duration a_file : {absl::ZeroDuration(), absl::Milliseconds(5)}) {
    EXPECT_NEAR(Measure(a_file, 4e8) * 4e8, 1, 1e-3);
  }
}

TEST_F(WriteRateTest, SlowDisksAreNotKeptBusy) {
  EXPECT_NEAR(Measure(absl::Milliseconds(20), 1e7) * 1e7, 1, 1e-3);
  EXPECT_EQ(written_, (std::vector<double>{65536, 65536, 1 << 20})) << "which took 0.1 s";
  written_.clear();
  Measure(absl::Milliseconds(1), 4e8);
  EXPECT_EQ(written_, (std::vector<double>{65536, 65536, 2 << 20, 2 << 20}));
}

TEST_F(WriteRateTest, SmallFilesNeedNotAgreeToTheMicrosecond) {
  hindered_ = {{0, absl::Microseconds(250)}};
  EXPECT_NEAR(Measure(absl::Microseconds(100), 4e8) * 4e8, 1, 1e-3);
  EXPECT_EQ(written_, (std::vector<double>{65536, 65536, 2 << 20, 2 << 20}));
}

TEST_F(WriteRateTest, TriesThatOthersHinderedAreLeftOut) {
  // One small one, one large one.
  hindered_ = {{0, absl::Milliseconds(8)}, {3, absl::Milliseconds(8)}};
  EXPECT_NEAR(Measure(absl::Milliseconds(1), 4e8) * 4e8, 1, 1e-3);
  EXPECT_EQ(written_, (std::vector<double>{65536, 65536, 65536, 2 << 20, 2 << 20, 2 << 20}));
}

TEST_F(WriteRateTest, NothingIsKnownOfADiskThatFailsOrTakesNoTime) {
  EXPECT_EQ(Measure(absl::Milliseconds(1), 1e30), 0);
  storage_.SetGate([](const char* called, const std::string&) {
    return std::string(called) == "write" ? ErrnoStatus(ENOSPC, "full") : absl::OkStatus();
  });
  EXPECT_EQ(MeasureWriteSeconds(storage_, loop_, "/out/r"), 0);
  storage_.SetGate(nullptr);
  EXPECT_EQ(storage_.Paths(), (std::vector<std::string>{"/", "/out"}));
}

TEST_F(WriteRateTest, SomebodyElsesTrialIsLeftAlone) {
  ASSERT_TRUE(storage_.MakeDirectory(TrialDirectory("/out/r")).ok());
  EXPECT_EQ(MeasureWriteSeconds(storage_, loop_, "/out/r"), 0);
  EXPECT_TRUE(storage_.Stat(TrialDirectory("/out/r")).ok());
}

}  // namespace
}  // namespace weir::master
