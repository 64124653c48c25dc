#include "runtime/master/output/output_probe.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/env/real/posix_storage.h"
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

class RealOutputTest : public ::testing::Test {
 protected:
  RealOutputTest() {
    char name[] = "/tmp/weir-output-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~RealOutputTest() override { std::filesystem::remove_all(directory_); }
  v1::JobError ErrorOf(const std::string& output, bool overwrite = false) {
    v1::JobSpec spec;
    spec.set_output(output);
    spec.set_overwrite(overwrite);
    const absl::Status checked = CheckOutput(storage_, spec);
    return checked.ok() ? v1::JobError() : JobErrorFromStatus(checked);
  }
  bool Empty() const { return std::filesystem::is_empty(directory_); }

  env::PosixStorage storage_;
  std::string directory_;
};

TEST_F(RealOutputTest, ANameThatLeavesNoRoomForTheStagingDirectoryIsRefused) {
  EXPECT_EQ(ErrorOf(directory_ + "/" + std::string(200, 'a')).code(), "");
  for (const std::size_t bytes : {250, 255, 300}) {
    const v1::JobError error = ErrorOf(directory_ + "/" + std::string(bytes, 'a'));
    EXPECT_EQ(error.code(), job_error::kOutputUnusable) << bytes;
    EXPECT_NE(error.message().find(absl::StrCat("has ", bytes, " bytes")), std::string::npos)
        << error.message();
    EXPECT_EQ(error.advice(), "choose a shorter name");
  }
  EXPECT_TRUE(Empty());
}

TEST_F(RealOutputTest, ALinkToNowhereIsNoPlaceForAnOutput) {
  std::filesystem::create_symlink("nowhere", directory_ + "/out");
  for (const bool overwrite : {false, true}) {
    const v1::JobError error = ErrorOf(directory_ + "/out", overwrite);
    EXPECT_EQ(error.code(), job_error::kOutputUnusable);
    EXPECT_NE(error.message().find("link that leads nowhere"), std::string::npos);
  }
}

TEST_F(RealOutputTest, WhereNoDirectoryCanBeMadeIsRefusedAtOnce) {
  for (const char* output : {"/proc/out", "/sys/out"}) {
    EXPECT_EQ(ErrorOf(output).code(), job_error::kOutputUnusable) << output;
  }
  EXPECT_EQ(ErrorOf(directory_ + "/out").code(), "");
  EXPECT_TRUE(Empty()) << "the trial left something";
}

}  // namespace
}  // namespace weir::master
