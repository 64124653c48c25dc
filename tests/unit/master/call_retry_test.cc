#include "runtime/master/workers/call_retry.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/sim/virtual_time.h"

namespace weir::master {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr absl::Duration kAttempt = absl::Seconds(2);
constexpr absl::Duration kTotal = absl::Seconds(5);

class CallRetryTest : public testing::Test {
 protected:
  // What a peer does with the try that comes at that time since the start: answers at once, or,
  // with no value, never.
  using Peer = std::function<std::optional<absl::Status>(absl::Duration)>;

  absl::Status Call(const Peer& peer) {
    std::optional<absl::Status> outcome;
    const MonoTime begin = time_.now();
    auto attempt = [&](absl::Duration timeout, absl::AnyInvocable<void(absl::Status)> answered) {
      ++num_tries_;
      const std::optional<absl::Status> answer = peer(time_.now() - begin);
      if (answer) return answered(*answer);
      auto late = std::make_shared<absl::AnyInvocable<void(absl::Status)>>(std::move(answered));
      loop_->RunAt(time_.now() + timeout, [late, timeout] {
        (*late)(absl::DeadlineExceededError(
            absl::StrCat("StartStep: no answer within ", absl::FormatDuration(timeout))));
      });
    };
    CallWithRetry(*loop_, random_, CallBudget{kAttempt, kTotal}, attempt,
                  [&outcome](absl::Status status) { outcome = std::move(status); });
    while (!outcome && time_.RunNext()) {
    }
    EXPECT_LE(time_.now() - begin, kTotal);
    return outcome.value_or(absl::UnknownError("never answered"));
  }

  sim::VirtualTime time_;
  std::shared_ptr<sim::ProcessLoop> loop_ = std::make_shared<sim::ProcessLoop>(time_);
  sim::SeededRandom random_{1};
  int num_tries_ = 0;
};

TEST_F(CallRetryTest, SaysHowLongItWaitedInAllNotForHowLongInItsLastTry) {
  const absl::Status silent = Call([](absl::Duration) { return std::nullopt; });
  EXPECT_EQ(num_tries_, 3) << "the last of them cut short";
  EXPECT_TRUE(absl::IsDeadlineExceeded(silent)) << silent;
  EXPECT_EQ(silent.message(), "StartStep: no answer within 2s (asked 3 times in 5s)");
}

TEST_F(CallRetryTest, KeepsTheReasonWhenTheLastTryHadNoTimeToFindOne) {
  const absl::Status refused = Call([](absl::Duration since) -> std::optional<absl::Status> {
    if (since > absl::Milliseconds(4000)) return std::nullopt;
    return absl::UnavailableError("cannot reach w1: Connection refused");
  });
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Connection refused"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(absl::StrCat("(asked ", num_tries_, " times in 5s)")));
  EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("no answer")));
}

TEST_F(CallRetryTest, PassesOnWhatDoesNotHelpToAskAgain) {
  const absl::Status aborted = Call([](absl::Duration) { return absl::AbortedError("old epoch"); });
  EXPECT_EQ(aborted, absl::AbortedError("old epoch"));
  EXPECT_EQ(num_tries_, 1);
  num_tries_ = 0;
  EXPECT_TRUE(Call([this](absl::Duration) {
                return num_tries_ < 3 ? absl::UnavailableError("not yet") : absl::OkStatus();
              }).ok());
  EXPECT_EQ(num_tries_, 3);
}

TEST_F(CallRetryTest, WhatWasGarbledOnItsWayIsAskedAgainAFewTimes) {
  for (const absl::Status& garbled :
       {absl::UnimplementedError("x"), absl::InternalError("x"), absl::UnknownError("x"),
        absl::InvalidArgumentError("x"), absl::ResourceExhaustedError("x"),
        absl::DataLossError("x")}) {
    num_tries_ = 0;
    EXPECT_TRUE(
        Call([&](absl::Duration) { return num_tries_ < 3 ? garbled : absl::OkStatus(); }).ok())
        << garbled;
    num_tries_ = 0;
    EXPECT_EQ(Call([&](absl::Duration) { return garbled; }), garbled);
    EXPECT_EQ(num_tries_, 3) << garbled;
  }
  num_tries_ = 0;
  const absl::Status named = StatusFromJobError(absl::StatusCode::kInternal,
                                                MakeJobError(job_error::kUserError, "it threw"));
  EXPECT_EQ(Call([&](absl::Duration) { return named; }), named);
  EXPECT_EQ(num_tries_, 1) << "what it names does not pass";
}

TEST_F(CallRetryTest, TimeBeyondItsBudgetIsTheCallersOwn) {
  constexpr CallBudget kBudget{kAttempt, kTotal};
  const MonoTime asked = time_.now();
  EXPECT_EQ(StoodStillInCall(asked, kBudget, asked + absl::Seconds(3)), absl::ZeroDuration());
  EXPECT_EQ(StoodStillInCall(asked, kBudget, asked + kTotal), absl::ZeroDuration());
  EXPECT_EQ(StoodStillInCall(asked, kBudget, asked + kTotal + absl::Minutes(1)), absl::Minutes(1));
}

}  // namespace
}  // namespace weir::master
