// Client and server over a real loopback connection.

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "runtime/base/fd.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/rpc/broken_off.h"
#include "runtime/rpc/grpc/call_status.h"
#include "runtime/rpc/grpc/grpc_clients.h"
#include "runtime/rpc/grpc/grpc_server.h"
#include "runtime/rpc/grpc/server_call.h"
#include "tests/unit/rpc/every_method.h"
#include "tests/unit/rpc/grpc_fixture.h"
#include "tests/unit/rpc/scripted_servers.h"

namespace weir::rpc {
namespace {

TEST_F(GrpcTest, CallsReachTheServiceOnItsLoop) {
  OnServer([&] { jobs_.before_answer = [&] { EXPECT_TRUE(server_loop_.IsCurrent()); }; });
  const auto answer = SubmitJob("wordcount");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->job_id(), "job-of-wordcount");
}

TEST_F(GrpcTest, EveryMethodOfEveryServiceReachesItsHandler) {
  RecordingServer<JobService> jobs;
  RecordingServer<ClusterService> cluster;
  RecordingServer<WorkerService> worker;
  server_->Close();
  Serve("127.0.0.1:0", kOurs, {.jobs = &jobs.api, .cluster = &cluster.api, .worker = &worker.api});
  EXPECT_EQ(EveryMethod<JobService>(loop_, *clients_->ConnectJobs(endpoint_)).Answers(),
            RefusalsOfAll<JobService>());
  EXPECT_EQ(EveryMethod<ClusterService>(loop_, *clients_->ConnectCluster(endpoint_)).Answers(),
            RefusalsOfAll<ClusterService>());
  EXPECT_EQ(EveryMethod<WorkerService>(loop_, *clients_->Connect(endpoint_)).Answers(),
            RefusalsOfAll<WorkerService>());
  OnServer([&] {
    EXPECT_EQ(jobs.taken, NamesOf(JobService::Methods()));
    EXPECT_EQ(cluster.taken, NamesOf(ClusterService::Methods()));
    EXPECT_EQ(worker.taken, NamesOf(WorkerService::Methods()));
  });
  server_->Close();
}

TEST_F(GrpcTest, JobErrorsCrossWhole) {
  v1::JobError error = MakeJobError(job_error::kInvalidJob, "no job 'wc'", "see 'weir jobs'");
  error.set_stderr_tail(std::string(4096, 'e'));
  const auto refuse = [&] {
    jobs_.refusal = StatusFromJobError(absl::StatusCode::kInvalidArgument, error);
  };
  OnServer(refuse);
  const auto answer = SubmitJob("wc");
  EXPECT_TRUE(absl::IsInvalidArgument(answer.status()));
  EXPECT_EQ(JobErrorFromStatus(answer.status()).SerializeAsString(), error.SerializeAsString());
  // Beyond what trailers hold, the error arrives without the user's output.
  error.set_stderr_tail(std::string(100'000, 'e'));
  OnServer(refuse);
  const auto shorter = SubmitJob("wc");
  EXPECT_EQ(JobErrorFromStatus(shorter.status()).code(), job_error::kInvalidJob);
  EXPECT_EQ(JobErrorFromStatus(shorter.status()).stderr_tail(), "");
}

TEST_F(GrpcTest, SilentServiceEndsAtTheDeadline) {
  OnServer([&] { jobs_.silent = true; });
  const auto answer = Submit({}, absl::Milliseconds(100));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
  OnServer([&] { jobs_.silent = false; });
  EXPECT_TRUE(SubmitJob("x").ok());
}

TEST_F(GrpcTest, AServerWaitsForOthersOfAGroupLongerThanTheMasterDoes) {
  EXPECT_GE(LongestCall<JoinGroup>(), limits::kGroupWaitMax + limits::kCallTimeout);
  EXPECT_EQ(LongestCall<GetStatus>(), kServerCallMax);
}

TEST_F(GrpcTest, UnreachablePeerIsNamedAtOnce) {
  endpoint_ = "127.0.0.1:1";
  const auto answer = SubmitJob("x");
  EXPECT_TRUE(absl::IsUnavailable(answer.status()));
  EXPECT_FALSE(IsBrokenOff(answer.status()));
  EXPECT_NE(answer.status().message().find("cannot reach 127.0.0.1:1"), absl::string_view::npos)
      << answer.status();
}

class IfGoneTest : public GrpcTest {
 protected:
  bool Gone(const std::string& endpoint, absl::Duration timeout = kPatience) {
    std::optional<bool> answer;
    loop_.Post([&] {
      clients_->AskIfGone(endpoint, timeout, [&](bool gone) {
        EXPECT_TRUE(loop_.IsCurrent());
        answer = gone;
      });
    });
    loop_.RunUntil([&] { return answer.has_value(); });
    return *answer;
  }
};

TEST_F(IfGoneTest, OnceItsProcessIsGone) {
  EXPECT_TRUE(SubmitJob("x").ok());
  EXPECT_FALSE(Gone(endpoint_));
  server_->Close();
  server_.reset();
  EXPECT_TRUE(Gone(endpoint_));
}

TEST_F(IfGoneTest, OneThatCameBackIsNotWhateverAnEarlierAttemptSaw) {
  const std::string endpoint = endpoint_;
  server_->Close();
  server_.reset();
  EXPECT_FALSE(SubmitJob("x").ok());
  EXPECT_TRUE(Gone(endpoint));
  Serve(endpoint, kOurs, {.jobs = &jobs_.api});
  EXPECT_FALSE(Gone(endpoint));
}

TEST_F(IfGoneTest, SilenceAndOtherFailuresTellNothing) {
  const Fd stopped(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(stopped.get(), raw, size), 0);
  ASSERT_EQ(listen(stopped.get(), 8), 0);
  ASSERT_EQ(getsockname(stopped.get(), raw, &size), 0);
  // Accepted by the kernel alone, as for a stopped process.
  EXPECT_FALSE(
      Gone("127.0.0.1:" + std::to_string(ntohs(address.sin_port)), absl::Milliseconds(200)));
  // Nobody's address: cannot be connected to, which is not the word of its host.
  EXPECT_FALSE(Gone("255.255.255.255:7001", absl::Milliseconds(500)));
  EXPECT_FALSE(Gone("no-such-host.invalid:7001", absl::Milliseconds(500)));
}

TEST_F(IfGoneTest, IsAnsweredEvenIfTheClientsEnd) {
  std::optional<bool> answer;
  loop_.Post([&] {
    clients_->AskIfGone("127.0.0.1:1", kPatience, [&](bool gone) { answer = gone; });
    clients_.reset();
  });
  loop_.RunUntil([&] { return answer.has_value(); });
}

class HoldOpenTest : public GrpcTest {
 protected:
  std::unique_ptr<Subscription> Hold(const std::string& endpoint) {
    std::unique_ptr<Subscription> held;
    bool made = false;
    loop_.Post([&] {
      held = clients_->HoldOpen(endpoint, [this](bool was_open) {
        EXPECT_TRUE(loop_.IsCurrent());
        ended_ = was_open;
      });
      EXPECT_FALSE(ended_) << "inside the caller's turn";
      made = true;
    });
    loop_.RunUntil([&] { return made; });
    return held;
  }
  std::optional<bool> ended_;
};

TEST_F(HoldOpenTest, BreaksWithTheProcess) {
  const auto held = Hold(endpoint_);
  // The connection is open by the time that a call made after it is answered.
  EXPECT_TRUE(SubmitJob("x").ok());
  EXPECT_FALSE(ended_);
  server_->Close();
  server_.reset();
  loop_.RunUntil([&] { return ended_.has_value(); });
  EXPECT_TRUE(*ended_);
}

TEST_F(HoldOpenTest, WasNeverOpenWhereNobodyListens) {
  const auto held = Hold("127.0.0.1:1");
  loop_.RunUntil([&] { return ended_.has_value(); });
  EXPECT_FALSE(*ended_);
}

TEST_F(HoldOpenTest, SaysNothingOnceItIsLeft) {
  auto held = Hold(endpoint_);
  EXPECT_TRUE(SubmitJob("x").ok());
  bool left = false;
  loop_.Post([&] {
    held.reset();
    left = true;
  });
  loop_.RunUntil([&] { return left; });
  server_->Close();
  server_.reset();
  EXPECT_FALSE(SubmitJob("x").ok());
  EXPECT_FALSE(ended_);
}

TEST_F(GrpcTest, OversizedMessagesAreRefusedBothWaysAndDoNoHarm) {
  v1::SubmitRequest request;
  request.mutable_spec()->set_output(
      std::string(static_cast<std::size_t>(limits::kMessageBytesMax) + 1, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(Submit(request).status()));
  EXPECT_EQ(CallRaw("/weir.v1.JobService/Submit", request.SerializeAsString()).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Submits(), 0);
  OnServer([&] { jobs_.log_bytes = static_cast<std::size_t>(limits::kMessageBytesMax) + 1; });
  auto client = clients_->ConnectJobs(endpoint_);
  std::optional<absl::StatusOr<v1::GetLogsResponse>> logs;
  loop_.Post([&] { client->Send<GetLogs>({}, kPatience, Into(logs)); });
  loop_.RunUntil([&] { return logs.has_value(); });
  EXPECT_TRUE(absl::IsResourceExhausted(logs->status())) << logs->status();
  EXPECT_TRUE(SubmitJob("x").ok());
}

TEST_F(GrpcTest, BytesThatAreNoMessageNeverReachTheService) {
  const std::string whole = [] {
    v1::SubmitRequest request;
    request.mutable_spec()->set_job(std::string(100, 'w'));
    return request.SerializeAsString();
  }();
  EXPECT_FALSE(CallRaw("/weir.v1.JobService/Submit", whole.substr(0, 50)).ok());
  EXPECT_FALSE(CallRaw("/weir.v1.JobService/Submit", "\xff\xff\xff\xff").ok());
  EXPECT_EQ(CallRaw("/weir.v1.JobService/NoSuch", whole).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Submits(), 0);
  EXPECT_TRUE(SubmitJob("x").ok());
}

TEST_F(GrpcTest, GarbageOnThePortDoesNoHarm) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    std::string bytes(4096, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    // Every other one begins as HTTP/2 does.
    if (round % 2 == 1) bytes.insert(0, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    (void)!send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  EXPECT_TRUE(SubmitJob("x").ok());
}

TEST_F(GrpcTest, WatchStreamsInOrderThenTellsTheEnd) {
  OnServer([&] { jobs_.watched = 5; });
  auto client = clients_->ConnectJobs(endpoint_);
  std::vector<std::int64_t> seen;
  std::optional<absl::Status> end;
  std::unique_ptr<Subscription> subscription;
  loop_.Post([&] {
    subscription = client->Subscribe<Watch>(
        {}, [&](v1::JobStatus status) { seen.push_back(status.sequence()); },
        [&](absl::Status status) { end = status; });
  });
  loop_.RunUntil([&] { return end.has_value(); });
  EXPECT_TRUE(end->ok()) << *end;
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST_F(GrpcTest, LeavingAWatchEndsItsSubscription) {
  OnServer([&] {
    jobs_.endless = true;
    jobs_.watched = 1;
  });
  auto client = clients_->ConnectJobs(endpoint_);
  int seen = 0;
  auto subscription = client->Subscribe<Watch>(
      {}, [&](v1::JobStatus) { ++seen; }, [&](absl::Status) { ADD_FAILURE() << "left"; });
  loop_.RunUntil([&] { return seen == 1; });
  subscription.reset();
  // The service hears of it on its own loop.
  bool gone = false;
  std::function<void()> look = [&] {
    const bool none = jobs_.subscriptions == 0;
    loop_.Post([&, none] {
      gone = none;
      if (!gone) loop_.RunAt(loop_.Now() + absl::Milliseconds(5), [&] { server_loop_.Post(look); });
    });
  };
  server_loop_.Post(look);
  loop_.RunUntil([&] { return gone; });
}

TEST_F(GrpcTest, ClosingTheServerEndsWhatIsOpen) {
  OnServer([&] {
    jobs_.silent = true;
    jobs_.endless = true;
    jobs_.watched = 1;
  });
  auto client = clients_->ConnectJobs(endpoint_);
  std::optional<absl::StatusOr<v1::SubmitResponse>> answer;
  std::optional<absl::Status> end;
  int seen = 0;
  std::unique_ptr<Subscription> subscription;
  loop_.Post([&] {
    subscription = client->Subscribe<Watch>(
        {}, [&](v1::JobStatus) { ++seen; }, [&](absl::Status status) { end = status; });
    client->Send<rpc::Submit>({}, kPatience, Into(answer));
  });
  loop_.RunUntil([&] { return seen == 1; });
  server_->Close();
  loop_.RunUntil([&] { return answer && end; });
  EXPECT_TRUE(absl::IsUnavailable(answer->status())) << answer->status();
  EXPECT_TRUE(absl::IsUnavailable(*end)) << *end;
  EXPECT_TRUE(IsBrokenOff(answer->status()) && IsBrokenOff(*end)) << "it was there";
}

// Of some 6000 calls to masters that were told to stop, 16 ended so.
TEST(CallStatusTest, ACallThatAServerDropsIsBrokenOffAndNotCancelled) {
  const grpc::Status dropped(grpc::StatusCode::CANCELLED, "CANCELLED");
  const absl::Status by_peer = FromGrpcStatus(dropped, "host:1", Canceller::kPeer);
  EXPECT_TRUE(absl::IsUnavailable(by_peer)) << by_peer;
  EXPECT_TRUE(IsBrokenOff(by_peer)) << by_peer;
  EXPECT_THAT(by_peer.message(), ::testing::HasSubstr("host:1"));
  EXPECT_TRUE(absl::IsCancelled(FromGrpcStatus(dropped, "host:1", Canceller::kThisProcess)));
  const grpc::Status in_words(grpc::StatusCode::CANCELLED, "the calibration has gone on");
  EXPECT_TRUE(absl::IsCancelled(FromGrpcStatus(in_words, "host:1", Canceller::kPeer)));
}

TEST(CallStatusTest, ANameThatOnlyTheMachineKnowsComesWithAdvice) {
  const auto said = [](const std::string& text) {
    const grpc::Status unknown(grpc::StatusCode::UNAVAILABLE,
                               "DNS resolution failed for node7.local:7117: " + text);
    return std::string(FromGrpcStatus(unknown, "node7.local:7117", Canceller::kPeer).message());
  };
  EXPECT_THAT(said("C-ares status is not ARES_SUCCESS: Domain name not found"),
              ::testing::HasSubstr("set GRPC_DNS_RESOLVER=native"));
  EXPECT_THAT(said("UNKNOWN: Name or service not known"),
              ::testing::Not(::testing::HasSubstr("GRPC_DNS_RESOLVER")));
}

TEST_F(GrpcTest, ClientsThatEndCancelTheirCalls) {
  OnServer([&] { jobs_.silent = true; });
  auto client = clients_->ConnectJobs(endpoint_);
  std::optional<absl::StatusOr<v1::SubmitResponse>> answer, late;
  loop_.Post([&] {
    client->Send<rpc::Submit>({}, kPatience, Into(answer));
    clients_.reset();
    client->Send<rpc::Submit>({}, kPatience, Into(late));
  });
  loop_.RunUntil([&] { return answer && late; });
  EXPECT_TRUE(absl::IsCancelled(answer->status())) << answer->status();
  EXPECT_TRUE(absl::IsCancelled(late->status())) << late->status();
}

TEST_F(GrpcTest, HealthFollowsTheRole) {
  EXPECT_EQ(Health("weir.master"), -static_cast<int>(grpc::StatusCode::NOT_FOUND));
  server_->SetServing("weir.master", true);
  EXPECT_EQ(Health("weir.master"), 1);
  server_->SetServing("weir.master", false);
  EXPECT_EQ(Health("weir.master"), 2);
}

// One question over grpc.reflection.v1alpha, whose request and answer it reads and writes raw.
class Reflection final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Reflection(const std::string& endpoint, const std::string& question)
      : stub_(grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials())),
        slice_(question),
        request_(&slice_, 1) {
    stub_.PrepareBidiStreamingCall(
        &context_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {}, this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(response_.Dump(&slices).ok());
    for (const grpc::Slice& part : slices) {
      answer_.append(reinterpret_cast<const char*>(part.begin()), part.size());
    }
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    EXPECT_TRUE(status.ok()) << status.error_message();
    done_.set_value(answer_);
  }
  std::string Answer() { return done_.get_future().get(); }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::Slice slice_;
  grpc::ByteBuffer request_, response_;
  std::string answer_;
  std::promise<std::string> done_;
};

TEST_F(GrpcTest, ReflectionNamesServicesAndDescribesMethods) {
  RecordingServer<ClusterService> cluster;
  RecordingServer<WorkerService> worker;
  server_->Close();
  Serve("127.0.0.1:0", kOurs, {.jobs = &jobs_.api, .cluster = &cluster.api, .worker = &worker.api});
  // ServerReflectionRequest: 7 = list_services, 4 = file_containing_symbol.
  const std::string services = Reflection(endpoint_, "\x3a\x01*").Answer();
  for (const char* service :
       {"weir.v1.JobService", "weir.v1.ClusterService", "weir.v1.WorkerService"}) {
    EXPECT_NE(services.find(service), std::string::npos) << service;
  }
  const std::string symbol = "weir.v1.JobService.Watch";
  const std::string question = "\x22" + std::string(1, static_cast<char>(symbol.size())) + symbol;
  const std::string file = Reflection(endpoint_, question).Answer();
  EXPECT_NE(file.find("ReportTransferRequest"), std::string::npos);
  server_->Close();
}

TEST_F(GrpcTest, ListensAgainAfterAMomentWithoutDescriptors) {
  server_->SetServing("weir.master", true);
  ASSERT_TRUE(SubmitJob("before").ok());
  EXPECT_FALSE(server_->deaf());
  const Fd caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int connected =
      connect(caller.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  for (int i = 0; i < 2000 && !server_->deaf(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(connected, 0);
  ASSERT_TRUE(server_->deaf());

  const int port = server_->port();
  const absl::Status listening = server_->ListenAgain();
  ASSERT_TRUE(listening.ok()) << listening;
  EXPECT_FALSE(server_->deaf());
  EXPECT_EQ(server_->port(), port);
  // The first may still go out on a connection that is closed meanwhile.
  absl::Status after = SubmitJob("after").status();
  for (int i = 0; i < 10 && !after.ok(); ++i) after = SubmitJob("after").status();
  EXPECT_TRUE(after.ok()) << after;
  EXPECT_EQ(Health("weir.master"), 1) << "SERVING, as it was told before";
}

TEST_F(GrpcTest, TakenAddressIsRefused) {
  const auto second = GrpcServer::Start(endpoint_, kOurs, server_loop_, {.jobs = &jobs_.api});
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
}

}  // namespace
}  // namespace weir::rpc
