#include "runtime/rpc/wire_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/base/job_errors.h"
#include "runtime/rpc/broken_off.h"
#include "runtime/rpc/not_ready.h"
#include "weir/v1/services.pb.h"

namespace weir::rpc {
namespace {

using testing::HasSubstr;

TEST(WireVersion, ThisVersionTheOneBeforeAndProgramsWithoutNumbersAreUnderstood) {
  EXPECT_EQ(kWireVersion - kWireVersionOldest, 1) << "N and N-1";
  v1::SubmitRequest request;
  EXPECT_TRUE(
      CheckWireVersion(request.wire_version(), request.wire_version_oldest(), "client").ok())
      << "from before there were numbers";
  StampWireVersion(request);
  EXPECT_TRUE(
      CheckWireVersion(request.wire_version(), request.wire_version_oldest(), "client").ok());
  EXPECT_TRUE(CheckWireVersion(kWireVersionOldest, 0, "client").ok());
}

TEST(WireVersion, ANewerPeerThatStillSpeaksOursIsUnderstood) {
  EXPECT_TRUE(CheckWireVersion(kWireVersion + 1, kWireVersion, "worker").ok());
}

TEST(WireVersion, OthersAreRefusedNamingBothAndWhatToUpgrade) {
  const absl::Status newer = CheckWireVersion(kWireVersion + 5, kWireVersion + 4, "worker");
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(JobErrorFromStatus(newer).code(), job_error::kWrongVersion);
  EXPECT_THAT(std::string(newer.message()), HasSubstr("the worker speaks versions 6 to 7"));
  EXPECT_THAT(std::string(newer.message()), HasSubstr("this master versions 1 to 2"));
  EXPECT_THAT(std::string(newer.message()), HasSubstr("upgrade the master"));
  const absl::Status older = CheckWireVersion(-3, -4, "client");
  EXPECT_THAT(std::string(older.message()), HasSubstr("upgrade the client"));
}

TEST(NotReady, IsToldFromOtherAnswersAndFromNone) {
  EXPECT_TRUE(absl::IsUnavailable(NotReadyError("starting")));
  EXPECT_TRUE(IsNotReady(NotReadyError("starting")));
  EXPECT_FALSE(IsNotReady(absl::UnavailableError("connection refused")));
  EXPECT_FALSE(IsNotReady(StatusFromJobError(
      absl::StatusCode::kUnavailable, MakeJobError(job_error::kInputUnreadable, "in is away"))));
}

TEST(BrokenOff, IsUnavailableAndToldFromAPeerThatNobodyReached) {
  EXPECT_TRUE(absl::IsUnavailable(BrokenOffError("socket closed")));
  EXPECT_TRUE(IsBrokenOff(BrokenOffError("socket closed")));
  EXPECT_FALSE(IsBrokenOff(absl::UnavailableError("connection refused")));
  EXPECT_FALSE(IsBrokenOff(NotReadyError("starting")));
}

}  // namespace
}  // namespace weir::rpc
