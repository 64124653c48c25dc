#include "runtime/transfer/idle_connections.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir::transfer {
namespace {

struct FakeConnection {
  bool ReadyForReuse() const { return is_ready && !is_closed; }
  void Close(const absl::Status& why) {
    is_closed = true;
    closed_why = why;
  }
  bool closed() const { return is_closed; }

  bool is_ready = true;
  bool is_closed = false;
  absl::Status closed_why;
};

using Idle = IdleConnections<FakeConnection>;

std::shared_ptr<FakeConnection> PutOne(Idle& idle, const std::string& endpoint) {
  auto connection = std::make_shared<FakeConnection>();
  idle.Put(endpoint, connection);
  return connection;
}

TEST(IdleConnections, TheOneThatCameLastIsUsedAgainFirst) {
  Idle idle;
  const auto first = PutOne(idle, "a:1");
  const auto second = PutOne(idle, "a:1");
  EXPECT_EQ(idle.Take("b:1"), nullptr);
  EXPECT_EQ(idle.Take("a:1"), second);
  EXPECT_EQ(idle.Take("a:1"), first);
  EXPECT_EQ(idle.Take("a:1"), nullptr);
  EXPECT_EQ(idle.size(), 0u);
}

TEST(IdleConnections, WhatThePeerHasClosedIsNotUsedAgain) {
  Idle idle;
  const auto whole = PutOne(idle, "a:1");
  const auto ended = PutOne(idle, "a:1");
  ended->is_ready = false;
  EXPECT_EQ(idle.Take("a:1"), whole);
  EXPECT_TRUE(absl::IsUnavailable(ended->closed_why));
  EXPECT_FALSE(whole->is_closed);
}

TEST(IdleConnections, AskingForAnEndpointLeavesNothingOfItBehind) {
  Idle idle;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(idle.Take(absl::StrCat("a:", i)), nullptr);
  EXPECT_EQ(idle.num_endpoints(), 0u);
  PutOne(idle, "a:1")->is_ready = false;
  EXPECT_EQ(idle.Take("a:1"), nullptr);
  EXPECT_EQ(idle.num_endpoints(), 0u);
}

// Workers that are started anew listen elsewhere each time: nobody asks for where they were.
TEST(IdleConnections, ThoseThatEndedGoThoughNobodyAsksForThem) {
  Idle idle;
  std::vector<std::shared_ptr<FakeConnection>> whole;
  for (int i = 0; i < 40; ++i) whole.push_back(PutOne(idle, absl::StrCat("lasting:", i)));
  for (int i = 0; i < 10'000; ++i) {
    PutOne(idle, absl::StrCat("a:", i))->is_closed = true;
    EXPECT_LE(idle.size(), 2 * whole.size() + Idle::kKeptMin);
    EXPECT_LE(idle.num_endpoints(), idle.size());
  }
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(idle.Take(absl::StrCat("lasting:", i)), whole[static_cast<std::size_t>(i)]);
  }
}

TEST(IdleConnections, AllAreClosedWithTheReasonGiven) {
  Idle idle;
  const auto first = PutOne(idle, "a:1");
  const auto second = PutOne(idle, "b:1");
  idle.CloseAll(absl::CancelledError("the fetcher is closed"));
  EXPECT_TRUE(absl::IsCancelled(first->closed_why));
  EXPECT_TRUE(absl::IsCancelled(second->closed_why));
  EXPECT_EQ(idle.size(), 0u);
  EXPECT_EQ(idle.Take("a:1"), nullptr);
}

}  // namespace
}  // namespace weir::transfer
