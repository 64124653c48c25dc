// Against real servers: gRPC's own, and one that speaks no TLS.

#include "runtime/rpc/grpc/tls_probe.h"

#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/rpc/grpc/grpc_server.h"
#include "tests/unit/rpc/certificates.h"
#include "tests/unit/rpc/scripted_servers.h"

namespace weir::rpc {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(10);

class TlsProbeTest : public testing::Test {
 protected:
  ~TlsProbeTest() override {
    if (server_) server_->Close();
    loop_.Stop();
    thread_.join();
  }
  // Serves with this identity; without one, in plain text.
  std::string Serve(std::optional<TlsIdentity> identity) {
    if (server_) server_->Close();
    const bool plain = !identity;
    auto server = GrpcServer::Start("127.0.0.1:0", {.tls = std::move(identity), .insecure = plain},
                                    loop_, {.jobs = &jobs_.api});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    return "127.0.0.1:" + std::to_string(server_->port());
  }
  static absl::Status Try(const std::string& peer, const TlsIdentity& ours) {
    return TryTlsHandshake(peer, {.tls = ours, .insecure = false}, kPatience);
  }
  static std::string Reason(const std::string& peer, const TlsIdentity& ours) {
    const absl::Status refused = Try(peer, ours);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("TLS with " + peer + " fails: "));
    return std::string(refused.message());
  }

  env::AsioEventLoop loop_;
  ScriptedJobs jobs_;
  std::unique_ptr<GrpcServer> server_;
  std::thread thread_{[this] { loop_.Run(); }};
  const CertificateAuthority authority_;
};

TEST_F(TlsProbeTest, SaysNothingWhereCallsWork) {
  const std::string peer = Serve(authority_.Issue("127.0.0.1"));
  const absl::Status works = Try(peer, authority_.Issue("client"));
  EXPECT_TRUE(works.ok()) << works;
}

TEST_F(TlsProbeTest, SaysNothingWhereThereIsNoTlsToTryOrNobodyAnswers) {
  EXPECT_TRUE(TryTlsHandshake(Serve(std::nullopt), {}, kPatience).ok());
  EXPECT_TRUE(Try("127.0.0.1:1", authority_.Issue("client")).ok());
  EXPECT_TRUE(Try("unix:/nowhere", authority_.Issue("client")).ok());
}

TEST_F(TlsProbeTest, NamesAServerThatAnotherAuthoritySigned) {
  const std::string peer = Serve(CertificateAuthority().Issue("127.0.0.1"));
  EXPECT_THAT(Reason(peer, authority_.Issue("client")),
              AllOf(HasSubstr("its certificate (subject CN=127.0.0.1"),
                    HasSubstr("is not signed by the authority"), HasSubstr("--tls-ca")));
}

TEST_F(TlsProbeTest, NamesAServerWhoseCertificateHasExpired) {
  const std::string peer =
      Serve(authority_.Issue("127.0.0.1", {.begins_s = -7200, .ends_s = -3600}));
  EXPECT_THAT(Reason(peer, authority_.Issue("client")),
              AllOf(HasSubstr("its certificate (subject CN=127.0.0.1"), HasSubstr("has expired")));
}

TEST_F(TlsProbeTest, NamesAServerOfAnotherName) {
  const std::string peer = Serve(authority_.Issue("master.example"));
  EXPECT_THAT(Reason(peer, authority_.Issue("client")),
              AllOf(HasSubstr("CN=master.example"), HasSubstr("is not made out for this host")));
}

TEST_F(TlsProbeTest, NamesOurCertificateWhenTheServerRefusesIt) {
  const std::string peer = Serve(authority_.Issue("127.0.0.1"));
  TlsIdentity stranger = CertificateAuthority().Issue("stranger");
  stranger.authority_pem = authority_.Issue("client").authority_pem;
  EXPECT_THAT(Reason(peer, stranger), AllOf(HasSubstr("it refuses the certificate of --tls-cert"),
                                            HasSubstr("CN=stranger")));
  EXPECT_THAT(Reason(peer, authority_.Issue("old", {.begins_s = -7200, .ends_s = -3600})),
              AllOf(HasSubstr("it refuses the certificate of --tls-cert"), HasSubstr("CN=old")));
}

TEST_F(TlsProbeTest, NamesAPeerWithoutTls) {
  EXPECT_THAT(Reason(Serve(std::nullopt), authority_.Issue("client")),
              HasSubstr("it does not answer with TLS"));
}

}  // namespace
}  // namespace weir::rpc
