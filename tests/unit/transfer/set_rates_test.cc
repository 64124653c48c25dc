// Sends whose pacing is changed: what the kernel knows of their sockets, not how long they take.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/transfer/data_plane_test_base.h"

namespace weir::transfer {
namespace {

constexpr std::uint64_t kUnpaced = ~std::uint64_t{0};

// Address and port of one end of a socket; empty where it has none.
std::string EndOf(int fd, int (*which)(int, sockaddr*, socklen_t*)) {
  sockaddr_in address{};
  sockaddr generic{};
  socklen_t bytes = sizeof generic;
  if (which(fd, &generic, &bytes) != 0 || generic.sa_family != AF_INET) return "";
  std::memcpy(&address, &generic, sizeof address);
  return std::to_string(ntohl(address.sin_addr.s_addr)) + ":" +
         std::to_string(ntohs(address.sin_port));
}

class SetRatesTest : public DataPlaneTest {
 protected:
  void SetUp() override {
    DataPlaneTest::SetUp();
    StartServer({});  // nobody is silent for too long
    Publish("1.1", 8 * kMiB);
  }

  v1::DataRequest RequestOf(int transfer, int attempt, std::int64_t pacing) {
    v1::DataRequest request = Request("1.1", 2 * kMiB);
    request.set_credit_bytes(kMiB);  // so that it waits in the middle
    request.set_concurrent(true);
    request.set_transfer(transfer);
    request.set_attempt(attempt);
    request.set_pacing_bytes_per_s(pacing);
    return request;
  }
  /// Asks, and reads as far as the credit goes: from then on the send waits.
  static void AskForHalf(RawPeer& peer, const v1::DataRequest& request) {
    ASSERT_TRUE(peer.Send(EncodeRequest(request)));
    const std::size_t half = EncodeStatus(absl::OkStatus()).size() + kFrameHeaderBytes + kMiB;
    ASSERT_EQ(peer.Receive(half).size(), half);
  }
  static void TakeTheRest(RawPeer& peer) {
    ASSERT_TRUE(peer.Send(EncodeCredit(kMiB)));
    ASSERT_EQ(peer.Receive(kFrameHeaderBytes + kMiB).size(), kFrameHeaderBytes + kMiB);
  }
  /// What the server's end of this connection is paced at, as the kernel says.
  static std::uint64_t PacingOf(const RawPeer& peer) {
    const std::string near = EndOf(peer.fd(), ::getsockname);
    for (int fd = 3; fd < 1024; ++fd) {
      if (near.empty() || EndOf(fd, ::getpeername) != near) continue;
      std::uint64_t rate = 0;
      socklen_t bytes = sizeof rate;
      EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &bytes), 0);
      EXPECT_EQ(bytes, sizeof rate);
      return rate;
    }
    ADD_FAILURE() << "the server has no such connection";
    return 0;
  }
  void Set(std::vector<SendRate> rates, const std::string& job = kJob) {
    std::atomic<int> set = 0;
    server_->SetRates(job, std::move(rates), [&set] { ++set; });
    ASSERT_TRUE(loop_.RunUntil([&set] { return set > 0; }));
    EXPECT_EQ(set, 1);
  }
};

TEST_F(SetRatesTest, ASendThatWaitsForCreditHasItAtOnce) {
  RawPeer peer(server_->endpoint());
  AskForHalf(peer, RequestOf(3, 1, 50 * kMiB));
  EXPECT_EQ(PacingOf(peer), 50u * kMiB);
  Set({{3, 1, 1, 80 * kMiB}});
  EXPECT_EQ(PacingOf(peer), 80u * kMiB);
  Set({{3, 1, 2, 20 * kMiB}});
  EXPECT_EQ(PacingOf(peer), 20u * kMiB);
  TakeTheRest(peer);
  // The connection is used again, for a transfer that nothing was set for.
  AskForHalf(peer, RequestOf(4, 1, 0));
  EXPECT_EQ(PacingOf(peer), kUnpaced);
}

TEST_F(SetRatesTest, ASendInFullFlowHasItAtOnce) {
  v1::DataRequest request = RequestOf(3, 1, 64 << 10);  // takes two minutes so
  request.set_bytes(8 * kMiB);
  request.set_credit_bytes(8 * kMiB);
  RawPeer peer(server_->endpoint());
  ASSERT_TRUE(peer.Send(EncodeRequest(request)));
  ASSERT_EQ(peer.Receive(1).size(), 1u);
  EXPECT_EQ(PacingOf(peer), 64u << 10);
  Set({{3, 1, 1, 1 << 30}});
  EXPECT_EQ(PacingOf(peer), 1u << 30);
  // It could not end so soon if what waits at the socket went on as it began.
  ASSERT_TRUE(loop_.RunUntil([&] {
    peer.Receive(kMiB, 50);
    return server_->counters().sends == 1;
  }));
}

TEST_F(SetRatesTest, ARateThatComesBeforeItsRequestCounts) {
  Set({{3, 1, 1, 30 * kMiB}, {3, 2, 1, 40 * kMiB}});
  RawPeer first(server_->endpoint());
  AskForHalf(first, RequestOf(3, 1, 50 * kMiB));
  RawPeer second(server_->endpoint());
  AskForHalf(second, RequestOf(3, 2, 50 * kMiB));
  RawPeer other(server_->endpoint());
  AskForHalf(other, RequestOf(4, 1, 50 * kMiB));
  EXPECT_EQ(PacingOf(first), 30u * kMiB);
  EXPECT_EQ(PacingOf(second), 40u * kMiB) << "each attempt has its own";
  EXPECT_EQ(PacingOf(other), 50u * kMiB);
}

TEST_F(SetRatesTest, AnOlderNumberDoesNothing) {
  RawPeer peer(server_->endpoint());
  AskForHalf(peer, RequestOf(3, 1, 50 * kMiB));
  Set({{3, 1, 2, 20 * kMiB}});
  Set({{3, 1, 1, 10 * kMiB}});
  EXPECT_EQ(PacingOf(peer), 20u * kMiB);
  Set({{3, 1, 2, 11 * kMiB}});
  EXPECT_EQ(PacingOf(peer), 20u * kMiB);
}

TEST_F(SetRatesTest, WhatIsNotKnownIsAnsweredAndTouchesNobody) {
  RawPeer peer(server_->endpoint());
  AskForHalf(peer, RequestOf(3, 1, 50 * kMiB));
  Set({});
  Set({{4, 1, 1, 10 * kMiB}, {3, 2, 1, 10 * kMiB}});
  Set({{3, 1, 1, 10 * kMiB}}, "j-of-another");
  EXPECT_EQ(PacingOf(peer), 50u * kMiB);
  TakeTheRest(peer);
}

TEST_F(SetRatesTest, AReceiverFromBeforeKeepsItsPacing) {
  RawPeer peer(server_->endpoint());
  AskForHalf(peer, RequestOf(0, 0, 50 * kMiB));
  Set({{0, 1, 1, 10 * kMiB}});
  EXPECT_EQ(PacingOf(peer), 50u * kMiB);
}

TEST_F(SetRatesTest, ASendThatHasEndedLeavesNothing) {
  Set({{3, 1, 5, 30 * kMiB}});
  RawPeer peer(server_->endpoint());
  AskForHalf(peer, RequestOf(3, 1, 50 * kMiB));
  TakeTheRest(peer);
  AskForHalf(peer, RequestOf(3, 1, 50 * kMiB));
  EXPECT_EQ(PacingOf(peer), 50u * kMiB);
}

TEST_F(SetRatesTest, ASendThatBrokeOffMayBeAskedForOnceMore) {
  Set({{3, 1, 5, 30 * kMiB}});
  {
    RawPeer peer(server_->endpoint());
    AskForHalf(peer, RequestOf(3, 1, 50 * kMiB));
  }
  ASSERT_TRUE(loop_.RunUntil([this] { return server_->counters().sends_broken == 1; }));
  RawPeer again(server_->endpoint());
  AskForHalf(again, RequestOf(3, 1, 50 * kMiB));
  EXPECT_EQ(PacingOf(again), 30u * kMiB);
}

TEST_F(SetRatesTest, CancelJobForgets) {
  Set({{3, 1, 5, 30 * kMiB}});
  server_->CancelJob(kJob);
  RawPeer peer(server_->endpoint());
  AskForHalf(peer, RequestOf(3, 1, 50 * kMiB));
  EXPECT_EQ(PacingOf(peer), 50u * kMiB);
  Set({{3, 1, 1, 20 * kMiB}});
  EXPECT_EQ(PacingOf(peer), 20u * kMiB) << "its numbers begin anew";
}

TEST_F(SetRatesTest, AFetcherNamesItsSend) {
  fetcher_ = MakeFetcher(threads_.executor(), loop_, {});  // nobody is silent for too long
  FetchOrder order = Order("1.1", 8 * kMiB);
  order.transfer = 9;
  order.attempt = 2;
  order.pacing_bytes_per_s = 64 << 10;  // takes two minutes so
  const auto outcome = Begin(std::move(order));
  ASSERT_TRUE(loop_.RunUntil([this] { return server_->counters().bytes > 0; }));
  Set({{9, 2, 1, 1 << 30}});
  EXPECT_EQ(Finish(outcome), absl::OkStatus());
  EXPECT_TRUE(format::ReadAll(folder_.File("received")) == TestBytes(8 * kMiB));
}

}  // namespace
}  // namespace weir::transfer
