// What the answer to one probe says.

#include "runtime/master/calibrate/probe_answer.h"

#include "gtest/gtest.h"

namespace weir::master {
namespace {

TEST(ProbeAnswer, ARateIsBytesOverTheWindow) {
  v1::ProbeResponse response;
  response.set_bytes(3000);
  response.set_seconds(1.5);
  response.set_first_byte_s(0.25);
  response.set_busy_s(2);
  const ProbeOutcome outcome = OutcomeOf(response, 2.5);
  EXPECT_DOUBLE_EQ(outcome.bytes, 3000);
  EXPECT_DOUBLE_EQ(outcome.bytes_per_s, 2000);
  EXPECT_DOUBLE_EQ(outcome.first_byte_s, 0.25);
  EXPECT_DOUBLE_EQ(outcome.control_s, 0.5);
}

TEST(ProbeAnswer, AWindowOfNoLengthHasNoRate) {
  v1::ProbeResponse response;
  response.set_bytes(3000);
  const ProbeOutcome outcome = OutcomeOf(response, 1);
  EXPECT_DOUBLE_EQ(outcome.bytes, 3000);
  EXPECT_DOUBLE_EQ(outcome.bytes_per_s, 0);
}

TEST(ProbeAnswer, AnOrderTakesNoTimeWhereTheReceiverWasBusyForLonger) {
  v1::ProbeResponse response;
  response.set_busy_s(2);
  EXPECT_DOUBLE_EQ(OutcomeOf(response, 1.5).control_s, 0);
}

TEST(ProbeAnswer, AReceiverThatDoesNotAnswerIsLostItself) {
  EXPECT_EQ(LostEnd(absl::UnavailableError("refused")), FlowEnd::kReceiver);
  EXPECT_EQ(LostEnd(absl::DeadlineExceededError("silent")), FlowEnd::kReceiver);
  EXPECT_EQ(LostEnd(absl::AbortedError("another epoch")), FlowEnd::kReceiver);
  EXPECT_EQ(LostEnd(absl::CancelledError("ended")), FlowEnd::kReceiver);
}

TEST(ProbeAnswer, AllElseAReceiverSaysOfItsSender) {
  EXPECT_EQ(LostEnd(absl::FailedPreconditionError("no bytes came")), FlowEnd::kSender);
  EXPECT_EQ(LostEnd(absl::NotFoundError("nobody there")), FlowEnd::kSender);
  EXPECT_EQ(LostEnd(absl::InternalError("a bug")), FlowEnd::kSender);
}

}  // namespace
}  // namespace weir::master
