#pragma once

// Client and server over a real loopback connection, for tests of what passes between them.

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

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
#include "runtime/rpc/grpc/grpc_clients.h"
#include "runtime/rpc/grpc/grpc_server.h"
#include "tests/unit/rpc/scripted_servers.h"

namespace weir::rpc {

inline constexpr absl::Duration kPatience = absl::Seconds(20);
inline const Security kOurs = {
    .tls = std::nullopt, .insecure = false, .token = std::string(64, 'a')};

class GrpcTest : public testing::Test {
 protected:
  GrpcTest() { Serve("127.0.0.1:0", kOurs, {.jobs = &jobs_.api}); }
  ~GrpcTest() override {
    clients_.reset();
    if (server_) server_->Close();
    server_loop_.Stop();
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }

  void Serve(const std::string& address, const Security& security, const Services& services) {
    auto server = GrpcServer::Start(address, security, server_loop_, services);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    endpoint_ = "127.0.0.1:" + std::to_string(server_->port());
    if (!thread_.joinable()) thread_ = std::thread([this] { server_loop_.Run(); });
  }

  // Runs `touch` on the loop of the services, which may touch them at any time.
  void OnServer(const std::function<void()>& touch) {
    bool done = false;
    server_loop_.Post([&] {
      touch();
      loop_.Post([&done] { done = true; });
    });
    loop_.RunUntil([&done] { return done; });
  }
  int Submits() {
    int submits = 0;
    OnServer([&] { submits = jobs_.submits; });
    return submits;
  }

  template <typename Response>
  Reply<Response> Into(std::optional<absl::StatusOr<Response>>& answer) {
    return [&answer, this](absl::StatusOr<Response> response) {
      EXPECT_TRUE(loop_.IsCurrent());
      EXPECT_FALSE(answer.has_value()) << "answered twice";
      answer = std::move(response);
    };
  }

  absl::StatusOr<v1::SubmitResponse> Submit(v1::SubmitRequest request,
                                            absl::Duration timeout = kPatience) {
    auto client = clients_->ConnectJobs(endpoint_);
    std::optional<absl::StatusOr<v1::SubmitResponse>> answer;
    loop_.Post([&] { client->Send<rpc::Submit>(std::move(request), timeout, Into(answer)); });
    loop_.RunUntil([&] { return answer.has_value(); });
    return *answer;
  }

  absl::StatusOr<v1::SubmitResponse> SubmitJob(const std::string& job) {
    v1::SubmitRequest request;
    request.mutable_spec()->set_job(job);
    return Submit(std::move(request));
  }

  // One raw unary call: method and bytes as given.
  grpc::Status CallRaw(const std::string& method, const std::string& bytes,
                       std::string* response_bytes = nullptr) {
    grpc::GenericStub stub(grpc::CreateChannel(endpoint_, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + kOurs.token);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::optional<grpc::Status> outcome;
    stub.UnaryCall(
        &context, method, grpc::StubOptions(), &request, &response,
        [&](const grpc::Status& status) { loop_.Post([&outcome, status] { outcome = status; }); });
    loop_.RunUntil([&] { return outcome.has_value(); });
    if (outcome->ok() && response_bytes) {
      std::vector<grpc::Slice> slices;
      EXPECT_TRUE(response.Dump(&slices).ok());
      for (const grpc::Slice& part : slices) {
        response_bytes->append(reinterpret_cast<const char*>(part.begin()), part.size());
      }
    }
    return *outcome;
  }

  // Serialized grpc.health.v1.HealthCheckRequest; the answer's second byte is the state.
  int Health(const std::string& role) {
    std::string response;
    const std::string request = "\x0a" + std::string(1, static_cast<char>(role.size())) + role;
    const grpc::Status status = CallRaw("/grpc.health.v1.Health/Check", request, &response);
    if (!status.ok()) return -static_cast<int>(status.error_code());
    return response.size() < 2 ? 0 : response[1];
  }

  env::AsioEventLoop server_loop_;
  env::AsioEventLoop loop_;
  ScriptedJobs jobs_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<GrpcClients> clients_ = std::make_unique<GrpcClients>(loop_, kOurs);
  std::string endpoint_;
  std::thread thread_;
};

}  // namespace weir::rpc
