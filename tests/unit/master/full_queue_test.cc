// A master that holds as many jobs as it may: the whole master on virtual time.

#include <deque>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/limits.h"
#include "runtime/master/master.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class FullQueueTest : public MasterTest {
 protected:
  using Answer = std::optional<absl::StatusOr<std::string>>;

  FullQueueTest() { AddWorkers(1); }

  // Submits the job of this number. A refusal is there at once.
  Answer& Ask(std::int64_t number) {
    v1::SubmitRequest request;
    *request.mutable_spec() = Spec();
    request.mutable_spec()->set_output(absl::StrCat("/out/x", number));
    request.mutable_spec()->set_idempotency_key(absl::StrCat("k", number));
    Answer& answer = answers_.emplace_back();
    master().jobs().Send<rpc::Submit>(request, [&answer](const auto& response) {
      if (response.ok()) {
        answer = response->job_id();
      } else {
        answer = response.status();
      }
    });
    return answer;
  }

  std::deque<Answer> answers_;  // in the order of submits
};

TEST_F(FullQueueTest, TakesAsManyAsItsLimitSaysAndKnowsThoseThatAskAgain) {
  // Nothing runs in between: all of them are under way.
  for (std::int64_t i = 0; i < limits::kJobsQueuedMax; ++i) Ask(i);
  const Answer& one_more = Ask(limits::kJobsQueuedMax);
  ASSERT_TRUE(one_more) << "it was taken";
  EXPECT_TRUE(absl::IsResourceExhausted(one_more->status())) << one_more->status();
  const Answer& again = Ask(0);
  EXPECT_FALSE(again) << "its first submit is under way";
  RunFor(absl::Seconds(5));
  for (std::int64_t i = 0; i < limits::kJobsQueuedMax; ++i) {
    const Answer& answer = answers_[static_cast<std::size_t>(i)];
    ASSERT_TRUE(answer) << i;
    ASSERT_TRUE(answer->ok()) << i << ": " << answer->status();
  }
  ASSERT_TRUE(again);
  ASSERT_TRUE(again->ok()) << again->status();
  EXPECT_EQ(**again, *answers_[0].value());
  const Answer& known = Ask(1);
  ASSERT_TRUE(known);
  ASSERT_TRUE(known->ok()) << known->status();
  EXPECT_EQ(**known, *answers_[1].value()) << "accepted before";
}

}  // namespace
}  // namespace weir::master
