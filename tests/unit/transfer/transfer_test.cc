// Server and fetcher together, and the fetcher against senders that misbehave.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "runtime/base/fd.h"
#include "runtime/base/limits.h"
#include "runtime/transfer/run_source.h"
#include "tests/unit/transfer/data_plane_test_base.h"

namespace weir::transfer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TransferTest : public DataPlaneTest {
 protected:
  // Bytes of whoever listens there.
  FetchOrder OrderFrom(const RawListener& sender, std::int64_t bytes) {
    FetchOrder order = Order("1.1", bytes);
    order.peer_endpoint = sender.endpoint();
    return order;
  }

  void ExpectFailure(const FetchOrder& order, absl::StatusCode code, const std::string& words) {
    const absl::Status status = FetchNow(order);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
};

TEST_F(TransferTest, MovesAPieceToItsPlace) {
  StartServer();
  StartFetcher();
  const std::string content = Publish("1.1", 5 * kMiB + 17);
  FetchOrder order = Order("1.1", 3 * kMiB + 5);
  order.offset = 1000;
  order.destination_offset = 10;
  const auto outcome = Begin(order);
  ASSERT_TRUE(Finish(outcome).ok()) << outcome->result->status();
  EXPECT_EQ((*outcome->result)->bytes, order.bytes);
  EXPECT_THAT(outcome->marks, ElementsAre(0));
  EXPECT_EQ(format::ReadAll(order.destination_path).substr(10),
            content.substr(1000, static_cast<std::size_t>(order.bytes)));
  EXPECT_EQ(fetcher_->counters().bytes, order.bytes);
  ASSERT_TRUE(loop_.RunUntil([this] { return server_->counters().sends == 1; }));
  EXPECT_EQ(server_->counters().bytes, order.bytes);
}

TEST_F(TransferTest, SendsFromAFileSystemThatCannotSendFiles) {
  StartServer();
  StartFetcher();
  const std::string path = "/proc/self/limits";  // sendfile answers EINVAL
  const std::string content = format::ReadAll(path);
  ASSERT_GT(content.size(), 100u);
  const auto bytes = static_cast<std::int64_t>(content.size());
  ASSERT_TRUE(catalog_->Publish(kJob, "1.1", {path, bytes}).ok());
  const absl::Status status = FetchNow(Order("1.1", bytes));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(format::ReadAll(folder_.File("received")), content);
}

TEST_F(TransferTest, ManyMoreBytesThanCreditArrive) {
  StartServer();
  StartFetcher();
  const std::int64_t bytes = 5 * limits::kFetchCreditBytes + 1;
  const std::string content = Publish("1.1", bytes);
  const absl::Status status = FetchNow(Order("1.1", bytes));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(format::ReadAll(folder_.File("received")), content);
}

TEST_F(TransferTest, UsesOneConnectionForOneFetchAfterAnother) {
  StartServer();
  StartFetcher();
  Publish("1.1", 100);
  for (int i = 0; i < 20; ++i) {
    const absl::Status status = FetchNow(Order("1.1", 100));
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(fetcher_->counters().connections, 1);
  EXPECT_EQ(server_->counters().connections, 1);
}

TEST_F(TransferTest, ConnectsAgainToAServerThatWasStartedAnew) {
  StartServer();
  StartFetcher();
  Publish("1.1", 100);
  ASSERT_TRUE(FetchNow(Order("1.1", 100)).ok());
  DataServerOptions options;
  options.port = static_cast<std::uint16_t>(
      std::stoi(server_->endpoint().substr(server_->endpoint().rfind(':') + 1)));
  server_.reset();
  ASSERT_TRUE(loop_.RunUntil([this, &options] {
    auto server = MakeDataServer(threads_.executor(), catalog_, loop_, options);
    if (server.ok()) server_ = *std::move(server);
    return server_ != nullptr;
  }));
  const absl::Status status = FetchNow(Order("1.1", 100));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(fetcher_->counters().connections, 2);
}

TEST_F(TransferTest, RefusalsKeepTheirCodeAndNameThePeer) {
  StartServer();
  StartFetcher();
  Publish("1.1", 100);
  FetchOrder wrong_token = Order("1.1", 100);
  wrong_token.key.token = 8;
  FetchOrder stale = Order("1.1", 100);
  stale.key.plan_epoch = 1;
  FetchOrder beyond = Order("1.1", 100);
  beyond.offset = 1;
  const std::pair<FetchOrder, absl::StatusCode> all[] = {
      {wrong_token, absl::StatusCode::kPermissionDenied},
      {stale, absl::StatusCode::kAborted},
      {beyond, absl::StatusCode::kOutOfRange},
      {Order("2.1", 100), absl::StatusCode::kNotFound}};
  for (const auto& [order, code] : all) {
    ExpectFailure(order, code, "from worker w1 at 127.0.0.1:");
  }
  EXPECT_EQ(server_->counters().requests_refused, 4);
  EXPECT_TRUE(FetchNow(Order("1.1", 100)).ok()) << "a refusal does no harm";
}

TEST_F(TransferTest, AMissingFileIsNamed) {
  StartServer();
  StartFetcher();
  ASSERT_TRUE(catalog_->Publish(kJob, "1.1", {folder_.File("gone"), 100}).ok());
  ExpectFailure(Order("1.1", 100), absl::StatusCode::kNotFound, folder_.File("gone"));
}

TEST_F(TransferTest, ARunThatIsShorterThanPublishedIsDataLoss) {
  StartServer();
  StartFetcher();
  Publish("1.1", 100);
  ASSERT_TRUE(catalog_->Publish(kJob, "1.1", {folder_.File("1.1.run"), 200}).ok());
  const absl::Status status = FetchNow(Order("1.1", 200));
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("ends at byte 100"));
  EXPECT_TRUE(SenderCannotRead(status)) << "the receiver is not to blame";
}

TEST_F(TransferTest, ARunThatItsDiskDoesNotOpenIsTheSendersDataLoss) {
  StartServer();
  StartFetcher();
  // As on a disk that fails, open answers with what is no matter of names or rights (ENXIO).
  const std::string path = folder_.File("socket");
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_TRUE(catalog_->Publish(kJob, "1.1", {path, 100}).ok());
  const absl::Status status = FetchNow(Order("1.1", 100));
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot open " + path));
  EXPECT_TRUE(SenderCannotRead(status)) << "it is not a silent peer";
}

TEST_F(TransferTest, ARunForWhichThereIsNoDescriptorIsNotLost) {
  Publish("1.1", 100);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto opened = OpenRun(*catalog_, Request("1.1", 100));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(opened.status())) << opened.status();
  EXPECT_TRUE(OpenRun(*catalog_, Request("1.1", 100)).ok());
}

TEST_F(TransferTest, AnUnwritableDestinationIsNamed) {
  StartServer();
  StartFetcher();
  Publish("1.1", 100);
  FetchOrder order = Order("1.1", 100);
  order.destination_path = "/no/such/folder/received";
  ExpectFailure(order, absl::StatusCode::kNotFound, order.destination_path);
}

TEST_F(TransferTest, ASecondReceiveAtOnceIsRefused) {
  StartFetcher();
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 100);
  const auto first = Begin(order);
  RawPeer peer = sender.Accept();
  ExpectFailure(order, absl::StatusCode::kFailedPrecondition, "busy with another receive");
  peer.Close();
  sender.Accept().Close();  // it asks once more
  EXPECT_EQ(Finish(first).code(), absl::StatusCode::kUnavailable);
}

TEST_F(TransferTest, ASecondSendAtOnceIsRefused) {
  StartServer();
  StartFetcher();
  Publish("1.1", 8 * kMiB);
  RawPeer slow(server_->endpoint());
  slow.Send(EncodeRequest(Request("1.1", 8 * kMiB)));
  ASSERT_EQ(slow.Receive(1).size(), 1u);
  ExpectFailure(Order("1.1", 100), absl::StatusCode::kFailedPrecondition, "busy with another send");
}

TEST_F(TransferTest, ASendGrantedDuringTheTailOfAnotherWaitsItsTurn) {
  StartServer();
  StartFetcher();
  Publish("1.1", 2 * kMiB);
  RawPeer slow(server_->endpoint());
  v1::DataRequest request = Request("1.1", 2 * kMiB);
  request.set_credit_bytes(kMiB);
  request.set_grant_ahead_bytes(kMiB);
  slow.Send(EncodeRequest(request));
  slow.Receive(kMiB);  // the first frame; without credit the second one is what is left
  const auto next = Begin(Order("1.1", 100));
  EXPECT_FALSE(
      loop_.RunUntil([&next] { return next->result.has_value(); }, std::chrono::milliseconds(100)));
  slow.Send(EncodeCredit(kMiB));
  slow.Receive(kMiB);
  EXPECT_TRUE(Finish(next).ok()) << next->result->status();
}

TEST_F(TransferTest, ConcurrentFetchesRunBesideEachOther) {
  StartServer();
  StartFetcher();
  const std::string content = Publish("1.1", 8 * kMiB);
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (int i = 0; i < 8; ++i) {
    FetchOrder order = Order("1.1", kMiB);
    order.offset = i * kMiB;
    order.destination_offset = i * kMiB;
    order.concurrent = true;
    outcomes.push_back(Begin(order));
  }
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(Finish(outcome).ok()) << outcome->result->status();
  }
  EXPECT_EQ(format::ReadAll(folder_.File("received")), content);
}

TEST_F(TransferTest, NearlyDoneComesBeforeTheEndAndLetsTheNextReceiveBegin) {
  StartFetcher();
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 100);
  order.grant_ahead_bytes = 60;
  order.look_ahead_bytes = 40;
  const auto first = Begin(order);
  RawPeer peer = sender.Accept();
  peer.Receive(EncodeRequest(Request("1.1", 100)).size());
  peer.Send(AnswerHead(std::string(100, 'x')) + std::string(39, 'x'));
  EXPECT_FALSE(
      loop_.RunUntil([&first] { return !first->marks.empty(); }, std::chrono::milliseconds(50)));
  peer.Send("x");
  EXPECT_TRUE(loop_.RunUntil([&first] { return !first->marks.empty(); }));
  EXPECT_EQ(Finish(Begin(order)).code(), absl::StatusCode::kFailedPrecondition)
      << "granted ahead, but the line is still busy";
  peer.Send(std::string(19, 'x'));
  EXPECT_FALSE(
      loop_.RunUntil([&first] { return first->marks.size() > 1; }, std::chrono::milliseconds(50)));
  peer.Send("x");
  EXPECT_TRUE(loop_.RunUntil([&first] { return first->marks.size() > 1; }));
  EXPECT_THAT(first->marks, ElementsAre(60, 40));
  const auto second = Begin(order);
  RawPeer next_peer = sender.Accept();
  EXPECT_TRUE(next_peer.connected());
  EXPECT_FALSE(first->result.has_value());
}

TEST_F(TransferTest, AConnectionThatBreaksBeforeTheAnswerIsReplacedOnce) {
  StartFetcher();
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 3);
  const auto outcome = Begin(order);
  const std::size_t request_bytes = EncodeRequest(Request("1.1", 3)).size();
  { sender.Accept().Receive(request_bytes); }
  RawPeer again = sender.Accept();
  EXPECT_EQ(again.Receive(request_bytes).size(), request_bytes);
  again.Send(AnswerHead("abc") + "abc");
  EXPECT_TRUE(Finish(outcome).ok()) << outcome->result->status();
  EXPECT_EQ(format::ReadAll(folder_.File("received")), "abc");

  const auto second = Begin(order);
  again.Receive(request_bytes);
  again.Close();
  { sender.Accept().Receive(request_bytes); }
  EXPECT_EQ(Finish(second).code(), absl::StatusCode::kUnavailable) << "once, not for ever";
}

TEST_F(TransferTest, ASilentSenderIsNamedWithinTheSilenceTime) {
  StartFetcher();
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 100);
  const MonoTime begin = loop_.Now();
  ExpectFailure(order, absl::StatusCode::kDeadlineExceeded, "worker w1");
  EXPECT_LT(loop_.Now() - begin, 4 * kSilence);
}

TEST_F(TransferTest, ASenderThatStopsMidWayIsNamed) {
  StartFetcher();
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 100);
  const auto outcome = Begin(order);
  RawPeer peer = sender.Accept();
  peer.Send(EncodeStatus(absl::OkStatus()));
  EXPECT_EQ(Finish(outcome).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(BytesBefore(outcome->result->status()), 0);
}

TEST_F(TransferTest, WhatArrivedBeforeItBrokeOffIsTold) {
  StartFetcher();
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 100);
  const auto outcome = Begin(order);
  RawPeer peer = sender.Accept();
  peer.Send(AnswerHead("abc") + "abc");
  EXPECT_EQ(Finish(outcome).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(BytesBefore(outcome->result->status()), 3);
}

TEST_F(TransferTest, ASlowSenderIsNotSilent) {
  StartFetcher();
  RawListener sender;
  constexpr std::size_t kPieces = 10;
  const std::string body = TestBytes(kPieces * 1000);
  FetchOrder order = OrderFrom(sender, static_cast<std::int64_t>(body.size()));
  const auto outcome = Begin(order);
  RawPeer peer = sender.Accept();
  peer.Send(AnswerHead(body));
  // Twice the silence time in all, with a few bytes now and then.
  for (std::size_t i = 0; i < kPieces; ++i) {
    std::this_thread::sleep_for(absl::ToChronoMilliseconds(kSilence / 5));
    peer.Send(body.substr(i * 1000, 1000));
  }
  EXPECT_TRUE(Finish(outcome).ok()) << outcome->result->status();
  EXPECT_TRUE(format::ReadAll(folder_.File("received")) == body);
}

TEST_F(TransferTest, AnUnreachableSenderIsNamed) {
  StartFetcher();
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 100);
  sender.Close();
  ExpectFailure(order, absl::StatusCode::kUnavailable, "cannot connect");
  order.peer_endpoint = "nowhere";
  EXPECT_EQ(FetchNow(order).code(), absl::StatusCode::kInvalidArgument);
  order.peer_endpoint = "127.0.0.1:99999";
  EXPECT_EQ(FetchNow(order).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TransferTest, EveryFlippedBitOnTheWireIsFound) {
  StartFetcher();
  RawListener sender;
  const std::string body = TestBytes(40);
  const std::string answer = AnswerHead(body) + body;
  FetchOrder order = OrderFrom(sender, 40);
  for (std::size_t bit = 0; bit < answer.size() * 8; ++bit) {
    std::string flipped = answer;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto outcome = Begin(order);
    RawPeer peer = sender.Accept();
    peer.Send(flipped);
    // A length that grew makes the fetcher wait for more; the end of the stream tells it.
    ::usleep(100);
    peer.Close();
    const absl::Status status = Finish(outcome);
    ASSERT_TRUE(absl::IsDataLoss(status) || absl::IsUnavailable(status)) << bit << " " << status;
  }
}

TEST_F(TransferTest, CancellingAJobEndsItsFetchesAndSends) {
  StartServer();
  StartFetcher();
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 100);
  const auto outcome = Begin(order);
  RawPeer peer = sender.Accept();
  fetcher_->CancelJob("another job");
  fetcher_->CancelJob(kJob);
  EXPECT_EQ(Finish(outcome).code(), absl::StatusCode::kCancelled);

  Publish("1.1", 8 * kMiB);
  RawPeer receiver(server_->endpoint());
  receiver.Send(EncodeRequest(Request("1.1", 8 * kMiB)));
  receiver.Receive(1);
  server_->CancelJob(kJob);
  receiver.Receive(std::string::npos, 5'000);
  EXPECT_TRUE(receiver.ended());
}

TEST_F(TransferTest, CancellingATransferEndsNoOther) {
  StartFetcher();
  RawListener first_sender, second_sender;
  FetchOrder first = OrderFrom(first_sender, 100);
  FetchOrder second = OrderFrom(second_sender, 4);
  first.transfer = 1;
  second.transfer = 2;
  first.concurrent = second.concurrent = true;
  const auto cancelled = Begin(first);
  const auto other = Begin(second);
  RawPeer first_peer = first_sender.Accept();
  RawPeer second_peer = second_sender.Accept();
  fetcher_->Cancel("another job", 2);
  fetcher_->Cancel(kJob, 3);
  fetcher_->Cancel(kJob, 1);
  EXPECT_EQ(Finish(cancelled).code(), absl::StatusCode::kCancelled);
  first_peer.Receive(std::string::npos, 5'000);
  EXPECT_TRUE(first_peer.ended()) << "its sender sends on";
  const std::string body = TestBytes(4);
  second_peer.Send(AnswerHead(body) + body);
  EXPECT_TRUE(Finish(other).ok());
}

TEST_F(TransferTest, NothingIsLeftAfterClose) {
  StartServer();
  StartFetcher();
  Publish("1.1", 100);
  ASSERT_TRUE(FetchNow(Order("1.1", 100)).ok());
  RawListener sender;
  FetchOrder order = OrderFrom(sender, 100);
  const auto outcome = Begin(order);
  RawPeer peer = sender.Accept();
  RawPeer half_open(server_->endpoint());
  half_open.Send("WR");
  fetcher_->Close();
  EXPECT_EQ(Finish(outcome).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(FetchNow(Order("1.1", 100)).code(), absl::StatusCode::kCancelled);
  server_.reset();
  fetcher_.reset();
  threads_.Join();  // returns only when no coroutine, timer or socket waits any more
}

}  // namespace
}  // namespace weir::transfer
