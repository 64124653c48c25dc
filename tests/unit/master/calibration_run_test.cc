// How a calibration ends when peers do not answer, on virtual time.

#include "runtime/master/calibrate/calibration_run.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/limits.h"
#include "tests/sim/memory_journal.h"
#include "tests/sim/memory_storage.h"
#include "tests/sim/virtual_time.h"
#include "tests/unit/master/no_connections.h"

namespace weir::master {
namespace {

constexpr double kLinkRate = 1e7;

class CalibrationRunTest : public testing::Test {
 protected:
  using ProbeCall = rpc::Call<rpc::Probe>;

  void Begin(const std::vector<std::string>& names, absl::Duration at_most) {
    std::vector<RegisteredWorker> workers;
    for (const std::string& name : names) {
      RegisteredWorker& worker = workers.emplace_back();
      worker.id = static_cast<WorkerId>(workers.size());
      worker.identity.set_name(name);
      worker.identity.set_data_endpoint(name + ":1");
      worker.api = std::make_shared<rpc::WorkerApi>(std::make_shared<ToTest>(ToTest{this}));
    }
    run_ = std::make_unique<CalibrationRun>(
        CalibrationRun::Context{seams_, journal_writer_, 1, {}, [this] { ++num_ended_; }}, "c-1",
        at_most, std::move(workers));
    run_->Begin();
  }
  void RunFor(absl::Duration duration) {
    const MonoTime end = time_.now() + duration;
    time_.At(end, nullptr, [] {});
    while (time_.now() < end) ASSERT_TRUE(time_.RunNext());
  }
  // As a user who follows it.
  absl::StatusOr<v1::CalibrateResponse> AskFor(absl::Duration duration) {
    const MonoTime end = time_.now() + duration;
    absl::StatusOr<v1::CalibrateResponse> answer = run_->Answer();
    while (time_.now() < end && answer.ok() && !answer->done()) {
      RunFor(absl::Milliseconds(250));
      answer = run_->Answer();
    }
    return answer;
  }

  bool answers_ = true;
  std::string silent_sender_;  // accepts, and then says nothing
  int num_ended_ = 0;

 private:
  struct ToTest {
    CalibrationRunTest* test;

    template <typename Call>
    typename Call::Taken Carry(Call call) {
      if constexpr (std::is_same_v<Call, ProbeCall>) test->Take(std::move(call));
      return typename Call::Taken();
    }
  };

  void Take(ProbeCall call) {
    if (!answers_) return unanswered_.push_back(std::move(call));
    const v1::ProbeRequest::Fetch& fetch = call.request.fetch();
    if (!call.request.has_fetch() || fetch.source_worker() != silent_sender_) {
      const double seconds = fetch.warm_up_s() + fetch.window_s() + fetch.tail_s();
      v1::ProbeResponse response;
      response.set_bytes(static_cast<std::int64_t>(kLinkRate * fetch.window_s()));
      response.set_seconds(fetch.window_s());
      response.set_first_byte_s(1e-3);
      response.set_busy_s(seconds);
      return ReplyAfter(absl::Seconds(seconds), std::move(call), std::move(response));
    }
    // The silence of a transfer is looked at in quarters of it, so that it may last one more.
    const absl::Duration noticed = limits::kTransferSilence * 1.25;
    if (call.timeout < noticed) {
      const absl::Duration timeout = call.timeout;
      return ReplyAfter(timeout, std::move(call), absl::DeadlineExceededError("no answer"));
    }
    ReplyAfter(noticed, std::move(call), absl::FailedPreconditionError("no byte moved for 6s"));
  }
  void ReplyAfter(absl::Duration delay, ProbeCall call, absl::StatusOr<v1::ProbeResponse> answer) {
    loop_->RunAt(time_.now() + delay,
                 [reply = std::move(call.reply), answer = std::move(answer)]() mutable {
                   reply(std::move(answer));
                 });
  }

  sim::VirtualTime time_;
  std::shared_ptr<sim::ProcessLoop> loop_ = std::make_shared<sim::ProcessLoop>(time_);
  sim::SeededRandom random_{1};
  sim::SimWorkPool pool_{loop_, random_};
  sim::MemoryStorage storage_;
  sim::SimWallClock wall_clock_{time_};
  NoConnections connector_;
  sim::MemoryJournal journal_;
  JobCatalog catalog_;
  const MasterSeams seams_{*loop_,      pool_,      pool_,    storage_, random_,
                           wall_clock_, connector_, journal_, catalog_};
  JournalWriter journal_writer_{*loop_, pool_, journal_};
  std::vector<ProbeCall> unanswered_;

 protected:
  std::unique_ptr<CalibrationRun> run_;
};

TEST_F(CalibrationRunTest, EndsWhenNobodyAsksThoughNoAnswerComes) {
  answers_ = false;
  Begin({"a", "b"}, absl::Seconds(120));
  RunFor(limits::kCalibrationUnasked - absl::Seconds(1));
  EXPECT_FALSE(run_->over());
  RunFor(absl::Seconds(2));
  EXPECT_TRUE(run_->over());
  EXPECT_EQ(num_ended_, 1);
  EXPECT_TRUE(absl::IsCancelled(run_->Answer().status())) << run_->Answer().status();
}

TEST_F(CalibrationRunTest, EndsWhenItsTimeIsOverThoughNoAnswerComes) {
  answers_ = false;
  Begin({"a", "b"}, absl::Seconds(20));
  EXPECT_TRUE(AskFor(absl::Seconds(19) + limits::kCalibrationOverdue).ok());
  const auto answer = AskFor(absl::Seconds(2));
  EXPECT_TRUE(absl::IsFailedPrecondition(answer.status())) << answer.status();
  RunFor(absl::Seconds(1));
  EXPECT_EQ(num_ended_, 1);
}

TEST_F(CalibrationRunTest, ASilentSenderIsLeftOutAndNotWhoeverWaitsForIt) {
  silent_sender_ = "b";
  Begin({"a", "b", "c"}, absl::Seconds(120));
  const auto answer = AskFor(absl::Seconds(120));
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_TRUE(answer->done());
  std::vector<std::string> names;
  for (const auto& port : answer->network().ports()) names.push_back(port.worker());
  EXPECT_THAT(names, testing::ElementsAre("a", "c"));
}

TEST_F(CalibrationRunTest, OneThatIsAskedAfterGoesOn) {
  Begin({"a", "b"}, absl::Seconds(120));
  const auto answer = AskFor(absl::Seconds(120));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->done());
  RunFor(limits::kCalibrationUnasked + absl::Seconds(1));
  EXPECT_TRUE(run_->Answer().ok()) << "its result stays";
}

}  // namespace
}  // namespace weir::master
