// What `weir submit` sends, and what it refuses before a job runs.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/job_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/job_spec.h"
#include "tests/unit/client/scripted_master_test_base.h"

namespace weir::client {
namespace {

class SubmitTest : public ScriptedMasterTest {};

TEST_F(SubmitTest, SubmitSendsAbsolutePathsAndPrintsTheId) {
  EXPECT_EQ(Submit(SomeJob(), host_), kExitOk);
  EXPECT_EQ(out_.str(), "j-1\n");
  EXPECT_EQ(master_.spec.inputs(0), dir_ + "/in");
  EXPECT_EQ(master_.spec.inputs(1), "/abs/*");
  EXPECT_EQ(master_.spec.output(), dir_ + "/out");
  EXPECT_EQ(master_.spec.idempotency_key().size(), 16u);
}

TEST_F(SubmitTest, AnEmptyInputIsNotTheCurrentDirectory) {
  SubmitOptions options = SomeJob();
  options.job.inputs = {""};
  EXPECT_EQ(Submit(options, host_), kExitUsage);
  EXPECT_NE(err_.str().find("input is ''"), std::string::npos) << err_.str();
}

TEST_F(SubmitTest, WhatIsNoPathIsRefusedBeforeAnythingStarts) {
  host_.connect = [](const MasterAddress&) -> absl::StatusOr<std::unique_ptr<Session>> {
    ADD_FAILURE() << "the master was asked";
    return absl::UnavailableError("not here");
  };
  const std::vector<std::tuple<std::string, std::string, std::string, int>> places = {
      {"s3://bucket/key", "INVALID_JOB", "not with s3:// addresses", kExitUsage},
      {"http://host/x", "INVALID_JOB", "mount the store", kExitUsage},
      {"hdfs://name/x", "INVALID_JOB", "mount the store", kExitUsage},
      {"file:///data/x", "INVALID_JOB", "name the path alone", kExitUsage},
      {"-", "INVALID_JOB", "write standard input to a file first", kExitUsage},
      {"gone\xff", "INPUT_UNREADABLE", "is not UTF-8: gone?", kExitRefused},
  };
  for (const auto& [place, code, says, exit_code] : places) {
    err_.str("");
    SubmitOptions options = SomeJob();
    options.job.inputs = {"in", place};
    EXPECT_EQ(Submit(options, host_), exit_code) << place;
    EXPECT_NE(err_.str().find(code), std::string::npos) << err_.str();
    EXPECT_NE(err_.str().find(says), std::string::npos) << err_.str();
    EXPECT_EQ(err_.str().find(dir_), std::string::npos) << err_.str();
  }
  SubmitOptions options = SomeJob();
  options.job.output = "s3://bucket/out";
  EXPECT_EQ(Submit(options, host_), kExitUsage);
  options.job.output = "o\xff";
  EXPECT_EQ(Submit(options, host_), kExitRefused);
}

TEST_F(SubmitTest, WhatGoesWithTheJobHasANameInUtf8) {
  Put("script\xff", "x");
  Put("script", "x");
  Put("lib\xff.so", "x");
  SubmitOptions options = SomeJob();
  options.job.files = {{"script\xff", "script\xff", false}};
  EXPECT_EQ(Submit(options, host_), kExitUsage);
  EXPECT_NE(err_.str().find("the name of a file that goes with the job is not UTF-8: script?"),
            std::string::npos)
      << err_.str();
  EXPECT_NE(err_.str().find("PATH#NAME"), std::string::npos) << err_.str();
  options.job.files = {{"script", "s\xff", true}};
  EXPECT_EQ(Submit(options, host_), kExitUsage);
  options.job.files.clear();
  options.job.module = "lib\xff.so";
  host_.ask_module = [](const v1::ModuleRequest&,
                        absl::Duration) -> absl::StatusOr<v1::ModuleAnswer> {
    ADD_FAILURE() << "a process was asked";
    return absl::UnavailableError("not here");
  };
  err_.str("");
  EXPECT_NE(Submit(options, host_), kExitOk);
  EXPECT_NE(err_.str().find("the path of the module is not UTF-8"), std::string::npos)
      << err_.str();
}

TEST_F(SubmitTest, APathMayLookLikeAnAddress) {
  SubmitOptions options = SomeJob();
  options.job.inputs = {"./s3://x", "./-", "a:b"};
  EXPECT_EQ(Submit(options, host_), kExitOk) << err_.str();
}

TEST_F(SubmitTest, APictureThatCannotBeWrittenIsToldBeforeTheJob) {
  Put("file", "x");
  for (const std::string gantt : {"nosuch/g.svg", "file/g.svg", "."}) {
    err_.str("");
    SubmitOptions options = SomeJob();
    options.pictures.gantt = gantt;
    EXPECT_EQ(Submit(options, host_), kExitUsage) << gantt;
    EXPECT_NE(err_.str().find("--gantt"), std::string::npos) << err_.str();
    EXPECT_EQ(master_.spec.job(), "") << "submitted all the same";
  }
}

TEST_F(SubmitTest, APictureMayGoToADevice) {
  SubmitOptions options = SomeJob();
  options.pictures = {.gantt = "/dev/null", .trace = "null"};
  std::filesystem::create_symlink("/dev/null", dir_ + "/null");
  EXPECT_EQ(Submit(options, host_), kExitOk) << err_.str();
}

TEST_F(SubmitTest, APictureThatWasNotWrittenIsNoSuccess) {
  // This master knows no plan.
  master_.statuses = {InState(v1::JOB_STATE_SUCCEEDED)};
  SubmitOptions options = SomeJobToWaitFor();
  EXPECT_EQ(Submit(options, host_), kExitOk) << "none was asked for";
  options.pictures.gantt = "g.svg";
  EXPECT_EQ(Submit(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("the result of the job is kept"), std::string::npos) << err_.str();
}

TEST_F(SubmitTest, NeverReplacesTheCurrentDirectoryOrOneAboveIt) {
  SubmitOptions options = SomeJob();
  options.job.overwrite = true;
  for (const char* output : {".", "./", "..", "x/..", "/"}) {
    err_.str("");
    options.job.output = output;
    EXPECT_EQ(Submit(options, host_), kExitRefused) << output;
    EXPECT_NE(err_.str().find("OUTPUT_EXISTS"), std::string::npos) << err_.str();
    EXPECT_NE(err_.str().find("current directory"), std::string::npos) << err_.str();
    EXPECT_EQ(master_.spec.job(), "") << "submitted all the same";
  }
  options.job.output = dir_ + "x";
  EXPECT_EQ(Submit(options, host_), kExitOk) << "beside it, with a name that begins alike";
}

TEST_F(SubmitTest, RefusalsBecomeExitCodes) {
  const std::vector<std::pair<absl::Status, int>> refusals = {
      {absl::InvalidArgumentError("no job 'wordcuont'"), kExitUsage},
      {absl::UnavailableError("cannot reach 127.0.0.1:1"), kExitMasterUnreachable},
      {absl::DeadlineExceededError("no answer"), kExitMasterUnreachable},
      {StatusFromJobError(absl::StatusCode::kAlreadyExists,
                          MakeJobError(job_error::kOutputExists, "out is there", "--overwrite")),
       kExitRefused},
      {StatusFromJobError(absl::StatusCode::kUnavailable,
                          MakeJobError(job_error::kInputUnreadable, "in: Input/output error")),
       kExitRefused},
      {StatusFromJobError(absl::StatusCode::kInvalidArgument,
                          MakeJobError(job_error::kInputUnreadable, "in is a socket")),
       kExitRefused},
      {absl::ResourceExhaustedError("queue is full"), kExitRefused},
      {absl::InternalError("a bug"), kExitInternal},
  };
  for (const auto& [status, code] : refusals) {
    err_.str("");
    master_.refusal = status;
    SubmitOptions options = SomeJob();
    options.grace = {absl::ZeroDuration(), /*given=*/true};
    EXPECT_EQ(Submit(options, host_), code) << status;
    EXPECT_NE(err_.str().find(std::string(status.message())), std::string::npos);
  }
}

TEST(AbsolutePath, StartsWhereTheUserIs) {
  EXPECT_EQ(AbsolutePath("a/b", "/home/u"), "/home/u/a/b");
  EXPECT_EQ(AbsolutePath("a", "/"), "/a");
  EXPECT_EQ(AbsolutePath("/x", "/home/u"), "/x");
  EXPECT_EQ(AbsolutePath(".", "/home/u"), "/home/u");
}

}  // namespace
}  // namespace weir::client
