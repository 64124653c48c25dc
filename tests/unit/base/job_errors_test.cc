#include "runtime/base/job_errors.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"

namespace weir {
namespace {

TEST(JobErrors, SurviveTheWayThroughAStatus) {
  v1::JobError error = MakeJobError(job_error::kBadRecord, "row has no ';'", "mend the file");
  error.set_worker("w1");
  error.set_step("map 3");
  error.set_file("/data/a.txt");
  error.set_byte_offset(17);
  const absl::Status status = StatusFromJobError(absl::StatusCode::kInvalidArgument, error);
  EXPECT_TRUE(CarriesJobError(status));
  EXPECT_EQ(status.message(), "row has no ';'");
  EXPECT_EQ(JobErrorFromStatus(status).SerializeAsString(), error.SerializeAsString());
}

TEST(JobErrors, FullDiskHasItsOwnCode) {
  EXPECT_EQ(JobErrorFromStatus(ErrnoStatus(ENOSPC, "write run")).code(), job_error::kDiskFull);
  EXPECT_EQ(JobErrorFromStatus(ErrnoStatus(ENOENT, "open a")).code(), job_error::kInputNotFound);
  EXPECT_EQ(JobErrorFromStatus(ErrnoStatus(EACCES, "open a")).code(), job_error::kInputUnreadable);
}

TEST(JobErrors, AFileThatMayNotGrowIsNoInput) {
  const v1::JobError error = JobErrorFromStatus(ErrnoStatus(EFBIG, "write part-00000"));
  EXPECT_EQ(error.code(), job_error::kOutputUnusable);
  EXPECT_EQ(error.advice(), AdviceForErrno(EFBIG));
}

TEST(JobErrors, AFailedDiskIsNoQuestionOfPermissions) {
  for (const int error_number : {EIO, ESTALE}) {
    const v1::JobError error = JobErrorFromStatus(ErrnoStatus(error_number, "read a"));
    EXPECT_EQ(error.code(), job_error::kInputUnreadable);
    EXPECT_EQ(error.advice(), AdviceForErrno(error_number));
  }
}

TEST(JobErrors, StatusWithoutPayloadGetsTheNearestCode) {
  EXPECT_FALSE(CarriesJobError(absl::InternalError("x")));
  EXPECT_EQ(JobErrorFromStatus(absl::InternalError("x")).code(), job_error::kInternal);
  EXPECT_EQ(JobErrorFromStatus(absl::DataLossError("x")).code(), job_error::kDataLoss);
  EXPECT_EQ(JobErrorFromStatus(absl::CancelledError("x")).code(), job_error::kCancelled);
  EXPECT_EQ(JobErrorFromStatus(absl::InternalError("why")).message(), "why");
}

TEST(JobErrors, DescriptionSaysWhatWhoWhereAndWhatToDo) {
  v1::JobError error = MakeJobError(job_error::kTaskCrashed, "task was killed by SIGSEGV",
                                    "read its output with 'weir logs'");
  error.set_worker("w1");
  error.set_step("map 3");
  EXPECT_EQ(DescribeJobError(error),
            "TASK_CRASHED: task was killed by SIGSEGV (worker w1, map 3); read its output with "
            "'weir logs'");
  EXPECT_EQ(DescribeJobError(MakeJobError(job_error::kInternal, "x")), "INTERNAL: x");
}

TEST(DescribeJobError, GivesAnOffsetOnlyWhereThereIsAPlace) {
  v1::JobError missing = MakeJobError(job_error::kInputNotFound, "no such input: /a");
  missing.set_file("/a");
  EXPECT_EQ(DescribeJobError(missing), "INPUT_NOT_FOUND: no such input: /a");
  v1::JobError first_record = MakeJobError(job_error::kBadRecord, "not a row");
  first_record.set_file("/a");
  EXPECT_EQ(DescribeJobError(first_record), "BAD_RECORD: not a row (/a at byte 0)");
}

}  // namespace
}  // namespace weir
