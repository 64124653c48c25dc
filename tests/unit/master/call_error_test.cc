#include "runtime/master/workers/call_error.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

RegisteredWorker Worker() {
  RegisteredWorker worker;
  worker.identity.set_name("worker-3");
  worker.identity.set_control_endpoint("host3:7001");
  return worker;
}

TEST(CallErrorTest, SilenceIsUnreachable) {
  for (const absl::Status& status :
       {absl::UnavailableError("x"), absl::DeadlineExceededError("x")}) {
    const v1::JobError error = ErrorOfCall(Worker(), "map 3", status);
    EXPECT_EQ(error.code(), job_error::kWorkerUnreachable);
    EXPECT_EQ(error.worker(), "worker-3");
    EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << "others may answer";
    EXPECT_TRUE(absl::StrContains(error.message(), "map 3"));
    EXPECT_TRUE(absl::StrContains(error.advice(), "host3:7001"));
  }
}

TEST(CallErrorTest, RefusalOfAnOldEpochIsALoss) {
  EXPECT_EQ(ErrorOfCall(Worker(), "map 3", absl::AbortedError("stale")).code(),
            job_error::kWorkerLost);
  EXPECT_EQ(ErrorOfCall(Worker(), "map 3", absl::NotFoundError("no job")).code(),
            job_error::kWorkerLost);
}

TEST(CallErrorTest, WhatOneRefusesWithoutANameIsItsOwnFault) {
  for (const absl::Status& status :
       {absl::UnimplementedError("x"), absl::InvalidArgumentError("x"), absl::InternalError("x"),
        absl::FailedPreconditionError("x"), absl::ResourceExhaustedError("x")}) {
    const v1::JobError error = ErrorOfCall(Worker(), "map 3", status);
    EXPECT_EQ(error.code(), job_error::kInternal) << status;
    EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << status;
    EXPECT_EQ(error.worker(), "worker-3");
    EXPECT_TRUE(absl::StrContains(error.message(), "refused map 3")) << status;
    EXPECT_FALSE(LeaseMayTell(status));
  }
}

TEST(CallErrorTest, ErrorsThatTheWorkerNamedStay) {
  v1::JobError named = MakeJobError(job_error::kDiskFull, "no space", "free some");
  named.set_worker("somebody");
  const v1::JobError error = ErrorOfCall(
      Worker(), "map 3", StatusFromJobError(absl::StatusCode::kResourceExhausted, named));
  EXPECT_EQ(error.code(), job_error::kDiskFull);
  EXPECT_EQ(error.worker(), "somebody");
  EXPECT_EQ(error.advice(), "free some");
}

}  // namespace
}  // namespace weir::master
