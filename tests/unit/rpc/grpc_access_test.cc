// Who may call: a token on loopback, a certificate with TLS, everybody with --insecure.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
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

}  // namespace
}  // namespace weir::rpc
