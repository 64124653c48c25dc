#include "runtime/rpc/in_process/in_process.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "runtime/env/real/asio_event_loop.h"
#include "tests/unit/rpc/every_method.h"
#include "tests/unit/rpc/scripted_servers.h"

namespace weir::rpc {
namespace {

class InProcessTest : public testing::Test {
 protected:
  template <typename Response>
  Reply<Response> Into(std::optional<absl::StatusOr<Response>>& answer) {
    return [&answer, this](absl::StatusOr<Response> response) {
      EXPECT_TRUE(loop_.IsCurrent());
      EXPECT_FALSE(answer.has_value()) << "answered twice";
      answer = std::move(response);
    };
  }

  env::AsioEventLoop loop_;
  ScriptedJobs target_;
};

TEST_F(InProcessTest, NeverAnswersInsideTheCall) {
  auto client = ConnectInProcess(loop_, loop_, target_.api);
  std::optional<absl::StatusOr<v1::SubmitResponse>> answer;
  loop_.Post([&] {
    v1::SubmitRequest request;
    request.mutable_spec()->set_job("wordcount");
    client->Send<Submit>(request, Into(answer));
    EXPECT_EQ(target_.submits, 0);
    EXPECT_FALSE(answer);
  });
  loop_.RunUntil([&] { return answer.has_value(); });
  EXPECT_EQ((*answer)->job_id(), "job-of-wordcount");
}

template <typename Service>
void ExpectEveryMethodArrives(env::AsioEventLoop& loop) {
  RecordingServer<Service> server;
  auto client = ConnectInProcess(loop, loop, server.api);
  EXPECT_EQ(EveryMethod<Service>(loop, *client).Answers(), RefusalsOfAll<Service>());
  EXPECT_EQ(server.taken, NamesOf(typename Service::Methods()));
}

TEST_F(InProcessTest, EveryMethodReachesItsHandler) {
  ExpectEveryMethodArrives<JobService>(loop_);
  ExpectEveryMethodArrives<ClusterService>(loop_);
  ExpectEveryMethodArrives<WorkerService>(loop_);
}

TEST_F(InProcessTest, SilenceEndsAtTheDeadlineAndALateAnswerIsDropped) {
  target_.silent = true;
  auto client = ConnectInProcess(loop_, loop_, target_.api);
  std::optional<absl::StatusOr<v1::SubmitResponse>> answer;
  loop_.Post([&] { client->Send<Submit>({}, absl::Milliseconds(10), Into(answer)); });
  loop_.RunUntil([&] { return answer.has_value(); });
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer->status()));
  EXPECT_EQ(answer->status().message(), "Submit: no answer within 10ms");
  ASSERT_EQ(target_.kept.size(), 1u);
  loop_.Post([&] { target_.kept[0](v1::SubmitResponse()); });
  bool settled = false;
  loop_.Post([&] { loop_.Post([&] { settled = true; }); });
  loop_.RunUntil([&] { return settled; });
}

TEST_F(InProcessTest, CallsCrossBetweenTwoLoops) {
  env::AsioEventLoop server;
  std::thread thread([&] { server.Run(); });
  {
    auto client = ConnectInProcess(loop_, server, target_.api);
    target_.before_answer = [&] { EXPECT_TRUE(server.IsCurrent()); };
    std::optional<absl::StatusOr<v1::SubmitResponse>> answer;
    loop_.Post([&] { client->Send<Submit>({}, Into(answer)); });
    loop_.RunUntil([&] { return answer.has_value(); });
    EXPECT_TRUE(answer->ok());
  }
  server.Stop();
  thread.join();
}

TEST_F(InProcessTest, WatchStreamsInOrderThenEndsOnce) {
  target_.watched = 3;
  auto client = ConnectInProcess(loop_, loop_, target_.api);
  std::vector<std::int64_t> seen;
  std::optional<absl::Status> end;
  auto subscription = client->Subscribe<Watch>(
      {}, [&](v1::JobStatus status) { seen.push_back(status.sequence()); },
      [&](absl::Status status) { end = status; });
  loop_.RunUntil([&] { return end.has_value(); });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(target_.subscriptions, 1);
  subscription.reset();
  loop_.RunUntil([&] { return target_.subscriptions == 0; });
}

TEST_F(InProcessTest, NothingArrivesAfterTheSubscriptionIsGone) {
  target_.watched = 3;
  auto client = ConnectInProcess(loop_, loop_, target_.api);
  client->Subscribe<Watch>(
      {}, [](v1::JobStatus) { ADD_FAILURE(); }, [](absl::Status) { ADD_FAILURE(); });
  bool settled = false;
  loop_.Post([&] { loop_.Post([&] { settled = true; }); });
  loop_.RunUntil([&] { return settled && target_.subscriptions == 0; });
}

TEST_F(InProcessTest, WorkersAreFoundByEndpoint) {
  InProcessWorkers workers(loop_);
  RecordingServer<WorkerService> worker;
  workers.Announce("worker:1", loop_, worker.api);
  std::optional<absl::StatusOr<v1::ReleaseJobResponse>> reached, missed;
  loop_.Post([&] {
    workers.Connect("worker:1")->Send<ReleaseJob>({}, Into(reached));
    workers.Connect("worker:2")->Send<ReleaseJob>({}, Into(missed));
  });
  loop_.RunUntil([&] { return reached && missed; });
  EXPECT_TRUE(absl::IsAborted(reached->status()));
  EXPECT_EQ(worker.taken, std::vector<std::string>{"ReleaseJob"});
  EXPECT_TRUE(absl::IsUnavailable(missed->status()));
  EXPECT_EQ(missed->status().message(), "ReleaseJob: no worker listens at worker:2");
}

TEST_F(InProcessTest, OnlyAWorkerThatWasWithdrawnIsGone) {
  InProcessWorkers workers(loop_);
  RecordingServer<WorkerService> worker;
  workers.Announce("worker:1", loop_, worker.api);
  std::optional<bool> before, after;
  loop_.Post([&] {
    workers.AskIfGone("worker:1", absl::Seconds(5), [&](bool gone) { before = gone; });
    workers.Withdraw("worker:1");
    workers.AskIfGone("worker:1", absl::Seconds(5), [&](bool gone) { after = gone; });
    EXPECT_FALSE(before || after) << "inside the caller's turn";
  });
  loop_.RunUntil([&] { return before && after; });
  EXPECT_FALSE(*before);
  EXPECT_TRUE(*after);
}

}  // namespace
}  // namespace weir::rpc
