// Two probers over a real data plane.

#include "runtime/worker/prober.h"

#include <memory>
#include <thread>

#include "asio/executor_work_guard.hpp"
#include "asio/io_context.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/limits.h"
#include "runtime/env/real/blocking_work_pool.h"
#include "runtime/transfer/data_plane.h"
#include "runtime/worker/supervise/task_processes.h"
#include "tests/unit/worker/fake_peers.h"
#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;

// One worker's ends of the data plane, without a daemon.
struct Peer {
  Peer(env::AsioEventLoop& loop, env::WorkPool& disk_pool, asio::any_io_executor executor)
      : tasks({}, loop, loop),
        server(*transfer::MakeDataServer(
            executor, std::shared_ptr<const transfer::RunCatalog>(std::shared_ptr<void>(), &runs),
            loop, {})),
        fetcher(transfer::MakeFetcher(executor, loop, {})),
        prober(std::make_unique<Prober>(WorkerSeams{.loop = loop,
                                                    .disk_pool = disk_pool,
                                                    .tasks = tasks,
                                                    .random = random,
                                                    .storage = storage,
                                                    .cluster = master.api,
                                                    .runs = runs,
                                                    .server = *server,
                                                    .fetcher = *fetcher})) {}
  transfer::PublishedRuns runs;
  env::KernelRandom random;
  env::PosixStorage storage;
  FakeMaster master;
  TaskProcesses tasks;
  std::unique_ptr<transfer::DataServer> server;
  std::unique_ptr<transfer::Fetcher> fetcher;
  std::unique_ptr<Prober> prober;
};

class ProberTest : public testing::Test {
 protected:
  ProberTest()
      : disk_thread_([this] { disk_.Serve(); }),
        transfer_thread_([this] { transfers_.run(); }),
        sender_(std::make_unique<Peer>(loop_, disk_, transfers_.get_executor())),
        receiver_(std::make_unique<Peer>(loop_, disk_, transfers_.get_executor())) {}
  ~ProberTest() override {
    bool stopped = false;
    loop_.Post([&] {
      sender_->prober.reset();
      receiver_->prober.reset();
      stopped = true;
    });
    loop_.RunUntil([&] { return stopped; });
    // What the probers left to the disk pool uses the peers' storage.
    disk_.Close();
    disk_thread_.join();
    sender_.reset();
    receiver_.reset();
    guard_.reset();
    transfers_.stop();
    transfer_thread_.join();
  }

  static v1::ProbeRequest Order(std::uint64_t token) {
    v1::ProbeRequest request;
    request.mutable_fence()->set_job_id("c-1");
    request.mutable_fence()->set_master_epoch(3);
    request.set_token(token);
    return request;
  }
  static v1::ProbeRequest ServeOrder(std::uint64_t token) {
    v1::ProbeRequest request = Order(token);
    request.mutable_serve()->set_bytes_max(limits::kProbeBytesMax);
    request.mutable_serve()->set_seconds(30);
    return request;
  }
  v1::ProbeRequest FetchOrder(std::uint64_t token) const {
    v1::ProbeRequest request = Order(token);
    request.mutable_fetch()->set_source_endpoint(sender_->server->endpoint());
    request.mutable_fetch()->set_source_worker("sender");
    request.mutable_fetch()->set_round_trips(3);
    request.mutable_fetch()->set_warm_up_s(0.05);
    request.mutable_fetch()->set_window_s(0.1);
    request.mutable_fetch()->set_tail_s(0.02);
    request.mutable_fetch()->set_bytes_max(limits::kProbeBytesMax);
    return request;
  }
  absl::StatusOr<v1::ProbeResponse> Ask(Peer& peer, const v1::ProbeRequest& request) {
    std::optional<absl::StatusOr<v1::ProbeResponse>> answer;
    loop_.Post([&] {
      peer.prober->Take(request, directory_.path(), [&](auto response) { answer = response; });
    });
    loop_.RunUntil([&] { return answer.has_value(); });
    return *answer;
  }

  ScratchDirectory directory_;
  env::AsioEventLoop loop_;
  env::BlockingWorkPool disk_;
  asio::io_context transfers_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{transfers_.get_executor()};
  std::thread disk_thread_;
  std::thread transfer_thread_;
  std::unique_ptr<Peer> sender_;
  std::unique_ptr<Peer> receiver_;
};

TEST_F(ProberTest, MeasuresRateAndLatencyOverTheDataPlane) {
  ASSERT_TRUE(Ask(*sender_, ServeOrder(77)).ok());
  for (int i = 0; i < 3; ++i) {
    const auto answer = Ask(*receiver_, FetchOrder(77));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_DOUBLE_EQ(answer->seconds(), 0.1);
    EXPECT_GT(answer->bytes(), 0);
    EXPECT_LE(answer->bytes(), FetchOrder(77).fetch().bytes_max());
    EXPECT_GT(answer->first_byte_s(), 0);
    EXPECT_GE(answer->busy_s(), 0.15);
  }
  EXPECT_EQ(sender_->server->counters().sends_broken, 0) << "a probe's end is no fault";
}

TEST_F(ProberTest, TakesNothingThatCameLateOrTwice) {
  ASSERT_TRUE(Ask(*sender_, ServeOrder(77)).ok());
  v1::ProbeRequest request = FetchOrder(77);
  request.mutable_fetch()->set_round(2);
  ASSERT_TRUE(Ask(*receiver_, request).ok());
  EXPECT_THAT(Ask(*receiver_, request).status().ToString(),
              testing::AllOf(HasSubstr("ABORTED"), HasSubstr("sender was asked for in round 2")));
  request.mutable_fetch()->set_round(1);
  EXPECT_THAT(Ask(*receiver_, request).status().ToString(),
              testing::AllOf(HasSubstr("ABORTED"), HasSubstr("round 2 has begun")));
  request.mutable_fetch()->set_round(3);
  EXPECT_TRUE(Ask(*receiver_, request).ok());
  request.mutable_fetch()->set_round(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(*receiver_, request).status()));
}

TEST_F(ProberTest, ALaterRoundEndsWhatIsLeftOfTheOneBefore) {
  ASSERT_TRUE(Ask(*sender_, ServeOrder(77)).ok());
  v1::ProbeRequest old = FetchOrder(77);
  old.mutable_fetch()->set_round(1);
  old.mutable_fetch()->set_window_s(2.5);
  old.mutable_fetch()->set_bytes_max(limits::kProbeBytesMax);
  std::optional<absl::StatusOr<v1::ProbeResponse>> old_answer;
  loop_.Post([&] {
    receiver_->prober->Take(old, directory_.path(), [&](auto response) { old_answer = response; });
  });
  // One that is granted as transfers are, which a sender refuses while another is in the middle.
  v1::ProbeRequest next = FetchOrder(77);
  next.mutable_fetch()->set_round(2);
  next.mutable_fetch()->set_round_trips(0);
  next.mutable_fetch()->set_ordered(true);
  next.mutable_fetch()->set_bytes_max(1 << 20);
  const auto answer = Ask(*receiver_, next);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->bytes(), 1 << 20);
  loop_.RunUntil([&] { return old_answer.has_value(); });
  EXPECT_TRUE(absl::IsCancelled(old_answer->status())) << old_answer->status();
}

TEST_F(ProberTest, AProbeThatRunsOutOfBytesHasAShorterWindow) {
  ASSERT_TRUE(Ask(*sender_, ServeOrder(77)).ok());
  v1::ProbeRequest request = FetchOrder(77);
  request.mutable_fetch()->set_warm_up_s(0);
  request.mutable_fetch()->set_window_s(2);
  request.mutable_fetch()->set_bytes_max(5 << 20);
  const auto answer = Ask(*receiver_, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->bytes(), 5 << 20);
  EXPECT_LT(answer->seconds(), 2);
}

TEST_F(ProberTest, OrderedFetchesGoOneAfterTheOtherAndAreAnsweredAheadOfTheirEnd) {
  ASSERT_TRUE(Ask(*sender_, ServeOrder(77)).ok());
  v1::ProbeRequest ordered = Order(77);
  v1::ProbeRequest::Fetch& fetch = *ordered.mutable_fetch();
  fetch.set_source_endpoint(sender_->server->endpoint());
  fetch.set_source_worker("sender");
  fetch.set_ordered(true);
  fetch.set_bytes_max(2 << 20);
  fetch.set_pacing_bytes_per_s(20 << 20);
  fetch.set_look_ahead_bytes(16 << 10);
  fetch.set_grant_ahead_bytes(1 << 20);
  // The second comes when half of the first is left, and waits for its second mark.
  v1::ProbeRequest last = ordered;
  last.mutable_fetch()->set_grant_ahead_bytes(0);
  std::vector<MonoTime> answered;
  const MonoTime began = loop_.Now();
  const auto ended = [&](auto response) {
    EXPECT_TRUE(response.ok()) << response.status();
    answered.push_back(loop_.Now());
  };
  loop_.Post([&] {
    receiver_->prober->Take(ordered, directory_.path(), [&](auto response) {
      ended(response);
      receiver_->prober->Take(last, directory_.path(), ended);
    });
  });
  loop_.RunUntil([&] { return answered.size() == 2; });
  EXPECT_GT(answered[1] - answered[0], absl::Milliseconds(100)) << "a paced fetch takes 100 ms";
  EXPECT_GT(answered[1] - began, absl::Milliseconds(150));
  EXPECT_EQ(receiver_->fetcher->counters().fetches, 2);
  EXPECT_EQ(receiver_->fetcher->counters().fetches_failed, 0);
}

TEST_F(ProberTest, TellsWhatTcpHasSent) {
  ASSERT_TRUE(Ask(*sender_, ServeOrder(77)).ok());
  v1::ProbeRequest count = Order(77);
  count.mutable_count();
  const auto before = Ask(*sender_, count);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->segments_sent(), 0);
  v1::ProbeRequest request = FetchOrder(77);
  request.mutable_fetch()->set_warm_up_s(0);
  request.mutable_fetch()->set_window_s(2);
  request.mutable_fetch()->set_bytes_max(5 << 20);
  ASSERT_TRUE(Ask(*receiver_, request).ok());
  const auto after = Ask(*sender_, count);
  ASSERT_TRUE(after.ok()) << after.status();
  // A segment of loopback is at most 64 KB.
  EXPECT_GE(after->segments_sent(), (5 << 20) / (64 << 10));
  EXPECT_GE(after->segments_resent(), 0);
  EXPECT_GE(after->queue_s(), 0);
}

TEST_F(ProberTest, OnlyTheMastersTokenOpensIt) {
  ASSERT_TRUE(Ask(*sender_, ServeOrder(77)).ok());
  const auto wrong = Ask(*receiver_, FetchOrder(78));
  EXPECT_TRUE(absl::IsPermissionDenied(wrong.status())) << wrong.status();
  v1::ProbeRequest stop = Order(77);
  stop.mutable_stop();
  ASSERT_TRUE(Ask(*sender_, stop).ok());
  const auto stopped = Ask(*receiver_, FetchOrder(77));
  EXPECT_TRUE(absl::IsNotFound(stopped.status())) << stopped.status();
  EXPECT_THAT(std::string(stopped.status().message()), HasSubstr("sender"));
}

TEST_F(ProberTest, OrdersBeyondTheBoundsAreRefused) {
  v1::ProbeRequest serve = ServeOrder(77);
  serve.mutable_serve()->set_bytes_max(limits::kProbeBytesMax + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(*sender_, serve).status()));
  serve = ServeOrder(77);
  serve.mutable_serve()->set_seconds(1e9);
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(*sender_, serve).status()));
  v1::ProbeRequest fetch = FetchOrder(77);
  fetch.mutable_fetch()->set_window_s(100);
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(*receiver_, fetch).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(*receiver_, Order(77)).status()));
  fetch = FetchOrder(77);
  fetch.mutable_fetch()->set_ordered(true);
  fetch.mutable_fetch()->set_look_ahead_bytes(100);
  fetch.mutable_fetch()->set_grant_ahead_bytes(99);
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(*receiver_, fetch).status()));
  fetch.mutable_fetch()->set_grant_ahead_bytes(0);
  fetch.mutable_fetch()->set_pacing_bytes_per_s(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(*receiver_, fetch).status()));
}

TEST_F(ProberTest, AnUnreachableSenderIsTheSendersFault) {
  v1::ProbeRequest request = FetchOrder(77);
  request.mutable_fetch()->set_source_endpoint("127.0.0.1:1");
  EXPECT_TRUE(absl::IsFailedPrecondition(Ask(*receiver_, request).status()));
}

}  // namespace
}  // namespace weir::worker
