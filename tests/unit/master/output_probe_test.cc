#include "runtime/master/output/output_probe.h"

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/output/staged_output.h"
#include "tests/sim/memory_storage.h"

namespace weir::master {
namespace {

class OutputProbeTest : public ::testing::Test {
 protected:
  OutputProbeTest() : places_("/out/r", "j-1") { EXPECT_TRUE(storage_.MakeDirectory("/out").ok()); }
  /// Stages on a file system that answers EIO to one kind of call.
  absl::Status StageWithout(const std::string& operation, bool overwrite) {
    storage_.SetGate([operation](const char* called, const std::string& path) {
      // The staging directory and its marker are made before the probe.
      const bool probed = operation != "mkdir" && operation != "write"
                              ? called == operation
                              : called == operation && path.find("probe") != std::string::npos;
      return probed ? ErrnoStatus(EIO, path) : absl::OkStatus();
    });
    absl::Status staged = StageOutput(storage_, places_, overwrite);
    storage_.SetGate(nullptr);
    return staged;
  }

  sim::MemoryStorage storage_;
  const OutputPlaces places_;
};

TEST_F(OutputProbeTest, LeavesNothingButTheMarker) {
  for (const bool exchanges : {true, false}) {
    storage_ = sim::MemoryStorage();
    storage_.SetExchanges(exchanges);
    ASSERT_TRUE(storage_.MakeDirectory("/out").ok());
    ASSERT_TRUE(storage_.MakeDirectory("/out/r").ok());
    ASSERT_TRUE(storage_.WriteSized("/out/r/x", 1).ok());
    ASSERT_TRUE(StageOutput(storage_, places_, true).ok());
    EXPECT_EQ(storage_.Paths(), (std::vector<std::string>{"/", "/out", "/out/r", places_.staging,
                                                          places_.marker, "/out/r/x"}));
  }
}

TEST_F(OutputProbeTest, SaysWhatTheFileSystemCannotDo) {
  const std::pair<const char*, const char*> cases[] = {
      {"mkdir", "cannot hold a directory with a file"},
      {"write", "cannot hold a directory with a file"},
      {"rename", "cannot rename a directory"},
      {"exchange", "cannot exchange two directories"},
      {"sync", "cannot sync a directory"},
      {"remove", "cannot remove a directory"},
  };
  for (const auto& [operation, what] : cases) {
    storage_ = sim::MemoryStorage();
    ASSERT_TRUE(storage_.MakeDirectory("/out").ok());
    const absl::Status staged = StageWithout(operation, true);
    EXPECT_EQ(JobErrorFromStatus(staged).code(), job_error::kOutputUnusable) << operation;
    EXPECT_NE(staged.message().find(absl::StrCat("the file system of /out/r ", what)),
              std::string::npos)
        << staged;
  }
}

TEST_F(OutputProbeTest, OldOutputThatCannotBeMovedIsFoundBeforeTheJobRuns) {
  ASSERT_TRUE(storage_.MakeDirectory("/out/r").ok());
  storage_.SetMountPoint("/out/r");
  const absl::Status staged = StageOutput(storage_, places_, true);
  EXPECT_EQ(JobErrorFromStatus(staged).code(), job_error::kOutputUnusable);
  EXPECT_NE(staged.message().find("cannot move the old output"), std::string::npos) << staged;
  EXPECT_TRUE(storage_.Stat("/out/r").ok());
}

TEST_F(OutputProbeTest, NothingIsExchangedForAJobThatDoesNotOverwrite) {
  EXPECT_TRUE(StageWithout("exchange", false).ok());
}

}  // namespace
}  // namespace weir::master
