// Who may call: a token on loopback, a certificate with TLS, everybody with --insecure.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/rpc/grpc/caller_rules.h"
#include "runtime/rpc/grpc/grpc_clients.h"
#include "runtime/rpc/grpc/grpc_server.h"
#include "tests/unit/rpc/certificates.h"
#include "tests/unit/rpc/every_method.h"
#include "tests/unit/rpc/grpc_fixture.h"

namespace weir::rpc {
namespace {

TEST_F(GrpcTest, OnlyWhoShowsTheTokenIsServed) {
  RecordingServer<ClusterService> cluster;
  RecordingServer<WorkerService> worker;
  server_->Close();
  Serve("127.0.0.1:0", kOurs, {.jobs = &jobs_.api, .cluster = &cluster.api, .worker = &worker.api});
  for (const std::string& token :
       {std::string(), std::string(64, 'b'), std::string(63, 'a'), std::string(65, 'a')}) {
    clients_ = std::make_unique<GrpcClients>(
        loop_, Security{.tls = std::nullopt, .insecure = false, .token = token});
    const absl::Status refused = SubmitJob("x").status();
    EXPECT_TRUE(absl::IsUnauthenticated(refused)) << refused;
    EXPECT_NE(refused.message().find("--token-file"), absl::string_view::npos) << refused;
    // What a worker hears, and logs, whose token is that of before.
    EXPECT_NE(refused.message().find("start master and workers again"), absl::string_view::npos);
    std::optional<absl::Status> watched;
    auto jobs = clients_->ConnectJobs(endpoint_);
    auto subscription = jobs->Subscribe<Watch>(
        {}, [](const v1::JobStatus&) { ADD_FAILURE() << "watched"; },
        [&](absl::Status status) { watched = std::move(status); });
    std::optional<absl::StatusOr<v1::RegisterResponse>> registered;
    clients_->ConnectCluster(endpoint_)->Send<rpc::Register>({}, Into(registered));
    std::optional<absl::StatusOr<v1::StartStepResponse>> started;
    clients_->Connect(endpoint_)->Send<rpc::StartStep>({}, Into(started));
    loop_.RunUntil([&] { return watched && registered && started; });
    EXPECT_TRUE(absl::IsUnauthenticated(*watched)) << *watched;
    EXPECT_TRUE(absl::IsUnauthenticated(registered->status()));
    EXPECT_TRUE(absl::IsUnauthenticated(started->status()));
  }
  EXPECT_EQ(Submits(), 0);
  clients_ = std::make_unique<GrpcClients>(loop_, kOurs);
  EXPECT_TRUE(SubmitJob("x").ok());
  server_->Close();
}

TEST_F(GrpcTest, WithTheWordInsecureEverybodyIsServed) {
  server_->Close();
  Serve("127.0.0.1:0", {.tls = std::nullopt, .insecure = true, .token = kOurs.token},
        {.jobs = &jobs_.api});
  clients_ = std::make_unique<GrpcClients>(loop_, Security{});
  EXPECT_TRUE(SubmitJob("x").ok());
}

TEST_F(GrpcTest, TlsNeedsACertificateOfTheSameAuthority) {
  const CertificateAuthority ours, strangers;
  server_->Close();
  const Security server_side = {.tls = ours.Issue("127.0.0.1"), .insecure = false};
  Serve("127.0.0.1:0", server_side, {.jobs = &jobs_.api});
  // Plain text.
  const absl::Status plain = SubmitJob("x").status();
  EXPECT_NE(plain.message().find("does it want TLS (--tls-cert"), absl::string_view::npos) << plain;
  // A certificate that somebody else signed.
  TlsIdentity wrong = strangers.Issue("client");
  wrong.authority_pem = server_side.tls->authority_pem;
  clients_ = std::make_unique<GrpcClients>(loop_, Security{.tls = wrong, .insecure = false});
  EXPECT_FALSE(SubmitJob("x").ok());
  // A server that somebody else signed.
  clients_ = std::make_unique<GrpcClients>(
      loop_, Security{.tls = strangers.Issue("client"), .insecure = false});
  EXPECT_FALSE(SubmitJob("x").ok());
  EXPECT_EQ(Submits(), 0);
  clients_ = std::make_unique<GrpcClients>(
      loop_, Security{.tls = ours.Issue("client"), .insecure = false});
  const auto answer = SubmitJob("x");
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST(CallerRoles, OneWithoutRolesMayCallEverythingAndOneWithThemOnlyTheirs) {
  for (const std::vector<std::string>& uris :
       {std::vector<std::string>(), {"https://example.org/weir:client"}}) {
    EXPECT_TRUE(CheckRoles(uris, "w1", "weir.v1.JobService", "client").ok());
  }
  EXPECT_TRUE(
      CheckRoles({"weir:worker", "weir:client"}, "w1", "weir.v1.JobService", "client").ok());
  // A role that nothing answers gives no rights.
  for (const char* uri : {"weir:worker", "weir:clients", "weir:"}) {
    const absl::Status refused = CheckRoles({uri}, "w1", "weir.v1.JobService", "client");
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << uri;
    for (const char* said : {"CN=w1", uri, "weir.v1.JobService", "URI:weir:client"}) {
      EXPECT_NE(refused.message().find(said), absl::string_view::npos) << refused;
    }
  }
}

TEST_F(GrpcTest, ACertificateIsAnsweredByTheServicesOfItsRoles) {
  const CertificateAuthority authority;
  RecordingServer<JobService> jobs;
  RecordingServer<ClusterService> cluster;
  RecordingServer<WorkerService> worker;
  server_->Close();
  Serve("127.0.0.1:0", {.tls = authority.Issue("127.0.0.1"), .insecure = false},
        {.jobs = &jobs.api, .cluster = &cluster.api, .worker = &worker.api});
  // Of each service, whether every one of its methods was reached; else every one was refused.
  const auto all_reached = [&](const std::vector<absl::Status>& answers,
                               const std::vector<absl::Status>& reached) {
    if (answers == reached) return true;
    for (const absl::Status& answer : answers) {
      EXPECT_TRUE(absl::IsPermissionDenied(answer)) << answer;
    }
    return false;
  };
  const auto reached_by = [&](const std::string& names) {
    clients_ = std::make_unique<GrpcClients>(
        loop_, Security{.tls = authority.Issue("caller", {}, "", names), .insecure = false});
    return std::vector<bool>{
        all_reached(EveryMethod<JobService>(loop_, *clients_->ConnectJobs(endpoint_)).Answers(),
                    RefusalsOfAll<JobService>()),
        all_reached(
            EveryMethod<ClusterService>(loop_, *clients_->ConnectCluster(endpoint_)).Answers(),
            RefusalsOfAll<ClusterService>()),
        all_reached(EveryMethod<WorkerService>(loop_, *clients_->Connect(endpoint_)).Answers(),
                    RefusalsOfAll<WorkerService>())};
  };
  EXPECT_EQ(reached_by(""), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(reached_by("URI:weir:client"), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(reached_by("URI:weir:worker"), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(reached_by("URI:weir:master"), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(reached_by("URI:weir:worker,URI:weir:client"), (std::vector<bool>{true, true, false}));
  server_->Close();
}

}  // namespace
}  // namespace weir::rpc
