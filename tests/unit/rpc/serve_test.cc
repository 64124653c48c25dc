// What stands between a call and its handler.

#include "runtime/rpc/serve.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::rpc {
namespace {

struct Server {
  void Handle(Call<Heartbeat> call) {
    ++heartbeats;
    call.Acknowledge(absl::OkStatus());
  }
  template <typename Method>
  void Handle(Call<Method> call) {
    call.reply(absl::UnimplementedError(Method::kName));
  }
  absl::Status Admit(ClusterService) const { return admitted; }
  void Malformed(Heartbeat, const v1::HeartbeatRequest& request, const absl::Status& why) {
    refused.push_back(request.free_disk_bytes());
    EXPECT_TRUE(absl::IsInvalidArgument(why)) << why;
  }

  absl::Status admitted;
  int heartbeats = 0;
  std::vector<std::int64_t> refused;
  const ClusterApi api = ApiOf<ClusterService>(*this);
};

absl::Status Beat(const Server& server, std::int64_t free_disk_bytes) {
  v1::HeartbeatRequest request;
  request.set_free_disk_bytes(free_disk_bytes);
  absl::Status answer = absl::UnknownError("none");
  server.api.Send<Heartbeat>(request, [&](const auto& response) { answer = response.status(); });
  return answer;
}

TEST(ServeTest, ASoundRequestReachesItsHandler) {
  Server server;
  EXPECT_TRUE(Beat(server, 5).ok());
  EXPECT_EQ(server.heartbeats, 1);
}

TEST(ServeTest, WhatTheRowRefusesDoesNotAndTheServerHearsOfIt) {
  Server server;
  EXPECT_TRUE(absl::IsInvalidArgument(Beat(server, -5)));
  EXPECT_EQ(server.heartbeats, 0);
  EXPECT_EQ(server.refused, std::vector<std::int64_t>{-5});
}

TEST(ServeTest, AServerThatDoesNotServeHearsNothing) {
  Server server;
  server.admitted = absl::UnavailableError("starting");
  EXPECT_EQ(Beat(server, 5), server.admitted);
  EXPECT_EQ(Beat(server, -5), server.admitted);
  EXPECT_EQ(server.heartbeats, 0);
  EXPECT_TRUE(server.refused.empty());
}

TEST(ServeTest, MethodsWithoutSuchHooksAreRefusedAllTheSame) {
  Server server;
  absl::Status answer;
  server.api.Send<Register>({}, [&](const auto& response) { answer = response.status(); });
  EXPECT_TRUE(absl::IsInvalidArgument(answer)) << answer;
}

struct StreamingServer {
  template <typename Method>
  requires(Method::kStreams) std::unique_ptr<Subscription> Handle(Call<Method>) {
    ++opened;
    return std::make_unique<Subscription>();
  }
  template <typename Method>
  void Handle(Call<Method> call) {
    call.reply(absl::UnimplementedError(Method::kName));
  }

  int opened = 0;
  const JobApi api = ApiOf<JobService>(*this);
};

TEST(ServeTest, AStreamThatItsRowRefusesEndsBeforeItsHandlerHearsOfIt) {
  StreamingServer server;
  absl::Status end;
  const auto on_end = [&end](absl::Status status) { end = std::move(status); };
  const auto refused = server.api.Subscribe<DryRunPieces>(
      {}, [](const v1::PlanPiece&) {}, on_end);
  EXPECT_TRUE(absl::IsInvalidArgument(end)) << end;
  EXPECT_EQ(server.opened, 0);
  const auto taken = server.api.Subscribe<GetPlanPieces>(
      {}, [](const v1::PlanPiece&) {}, on_end);
  EXPECT_EQ(server.opened, 1);
}

}  // namespace
}  // namespace weir::rpc
