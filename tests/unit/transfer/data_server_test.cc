// The server against peers that are not fetchers.

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/format/little_endian.h"
#include "tests/unit/transfer/data_plane_test_base.h"

namespace weir::transfer {
namespace {

class DataServerTest : public DataPlaneTest {
 protected:
  void SetUp() override {
    DataPlaneTest::SetUp();
    StartServer();
    Publish("1.1", 8 * kMiB);
  }
  // True when the server closes without a word.
  bool Refuses(const std::string& bytes) {
    RawPeer peer(server_->endpoint());
    peer.Send(bytes);
    return peer.Receive().empty() && peer.ended();
  }
};

TEST_F(DataServerTest, ClosesOnBytesThatAreNoRequest) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string garbage(1 + random() % 200, '\0');
    for (char& c : garbage) c = static_cast<char>(random());
    RawPeer peer(server_->endpoint());
    peer.Send(garbage);
    if (garbage.size() < kFrameHeaderBytes) peer.Close();
  }
  EXPECT_TRUE(Refuses("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_TRUE(Refuses(std::string("\x16\x03\x01\x02\x00", 5) + std::string(600, '\0')));
  ExpectServes();
}

TEST_F(DataServerTest, LogsOneLineInAWhileHoweverManyConnectionsBreak) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Refuses("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("Data connection closed"),
                             testing::Not(testing::ContainsRegex("closed.*\n.*closed"))));
  ExpectServes();
}

TEST_F(DataServerTest, ClosesOnOversizedFrames) {
  for (const std::uint32_t claimed : {4097u, 1u << 20, 0xffffffffu}) {
    char header[kFrameHeaderBytes];
    EncodeFrameHeader({FrameKind::kRequest, claimed, 0}, header);
    EXPECT_TRUE(Refuses(std::string(header, sizeof header))) << claimed;
  }
  ExpectServes();
}

TEST_F(DataServerTest, ClosesOnFramesThatAreNotDue) {
  EXPECT_TRUE(Refuses(EncodeStatus(absl::OkStatus())));
  EXPECT_TRUE(Refuses(EncodeCredit(100)));
  ExpectServes();
}

TEST_F(DataServerTest, ClosesOnImpossibleRequests) {
  v1::DataRequest request = Request("1.1", 10);
  request.set_bytes(-1);
  EXPECT_TRUE(Refuses(EncodeRequest(request)));
  request = Request("1.1", 10);
  request.set_offset(-1);
  EXPECT_TRUE(Refuses(EncodeRequest(request)));
  request = Request("1.1", 10);
  request.set_credit_bytes(0);
  EXPECT_TRUE(Refuses(EncodeRequest(request)));
  request = Request("1.1", 10);
  request.set_transfer(-1);
  EXPECT_TRUE(Refuses(EncodeRequest(request)));
  request = Request("1.1", 10);
  request.set_attempt(-1);
  EXPECT_TRUE(Refuses(EncodeRequest(request)));
  ExpectServes();
}

TEST_F(DataServerTest, EveryFlippedBitOfARequestIsFound) {
  const std::string request = EncodeRequest(Request("1.1", 10));
  for (std::size_t bit = 0; bit < request.size() * 8; ++bit) {
    std::string flipped = request;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    RawPeer peer(server_->endpoint());
    peer.Send(flipped);
    peer.EndOfStream();
    ASSERT_TRUE(peer.Receive(1, 5'000).empty()) << bit;
  }
  ExpectServes();
}

TEST_F(DataServerTest, ATruncatedRequestEndsWithItsConnectionOrTheSilenceTime) {
  const std::string request = EncodeRequest(Request("1.1", 10));
  for (std::size_t bytes = 0; bytes < request.size(); bytes += 7) {
    RawPeer peer(server_->endpoint());
    peer.Send(request.substr(0, bytes));
    peer.Close();
  }
  RawPeer silent(server_->endpoint());
  silent.Send(request.substr(0, 30));
  EXPECT_TRUE(silent.Receive(std::string::npos, 5'000).empty());
  EXPECT_TRUE(silent.ended());
  RawPeer mute(server_->endpoint());
  EXPECT_TRUE(mute.Receive(std::string::npos, 5'000).empty());
  EXPECT_TRUE(mute.ended());
  ExpectServes();
}

TEST_F(DataServerTest, NeverSendsBeyondTheCredit) {
  v1::DataRequest request = Request("1.1", 8 * kMiB);
  request.set_credit_bytes(2 * kMiB);
  RawPeer peer(server_->endpoint());
  peer.Send(EncodeRequest(request));
  const std::size_t accepted = EncodeStatus(absl::OkStatus()).size();
  const std::size_t frame = kFrameHeaderBytes + kMiB;
  EXPECT_EQ(peer.Receive(std::string::npos, 200).size(), accepted + 2 * frame);
  peer.Send(EncodeCredit(kMiB));
  EXPECT_EQ(peer.Receive(std::string::npos, 200).size(), frame);
  // Without further credit the silence time ends it.
  EXPECT_TRUE(peer.Receive(std::string::npos, 5'000).empty());
  EXPECT_TRUE(peer.ended());
  EXPECT_TRUE(loop_.RunUntil([this] { return server_->counters().sends_broken == 1; }));
  ExpectServes();
}

TEST_F(DataServerTest, AReceiverThatReadsNothingIsCutOff) {
  v1::DataRequest request = Request("1.1", 8 * kMiB);
  request.set_credit_bytes(8 * kMiB);
  RawPeer stopped(server_->endpoint());
  stopped.Send(EncodeRequest(request));
  ASSERT_TRUE(loop_.RunUntil([this] { return server_->counters().sends_broken == 1; }));
  ExpectServes();
}

TEST_F(DataServerTest, RefusesCreditThatNoFrameFitsIntoAndCreditForNothing) {
  v1::DataRequest request = Request("1.1", 8 * kMiB);
  request.set_credit_bytes(10);
  RawPeer small(server_->endpoint());
  small.Send(EncodeRequest(request));
  const std::string refusal = small.Receive(kFrameHeaderBytes + 1, 5'000);
  EXPECT_EQ(refusal.size(), kFrameHeaderBytes + 1);
  EXPECT_EQ(server_->counters().requests_refused, 1);

  request.set_credit_bytes(kMiB);
  RawPeer generous(server_->endpoint());
  generous.Send(EncodeRequest(request) + EncodeCredit(1 << 30));
  generous.Receive(std::string::npos, 5'000);
  EXPECT_TRUE(generous.ended());
  ExpectServes();
}

TEST_F(DataServerTest, ClosesConnectionsThatStayIdle) {
  DataServerOptions options;
  options.idle = absl::Milliseconds(200);
  StartServer(options);
  RawPeer peer(server_->endpoint());
  peer.Send(EncodeRequest(Request("1.1", 10)));
  peer.Receive(std::string::npos, 5'000);
  EXPECT_TRUE(peer.ended());
  EXPECT_EQ(server_->counters().sends_broken, 0);
}

TEST_F(DataServerTest, NamesAnAddressItCannotListenOn) {
  DataServerOptions options;
  options.listen_host = "not-a-number";
  EXPECT_EQ(MakeDataServer(threads_.executor(), catalog_, loop_, options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.listen_host = "127.0.0.1";
  options.port = static_cast<std::uint16_t>(
      std::stoi(server_->endpoint().substr(server_->endpoint().rfind(':') + 1)));
  const absl::Status taken = MakeDataServer(threads_.executor(), catalog_, loop_, options).status();
  EXPECT_FALSE(taken.ok());
  EXPECT_THAT(std::string(taken.message()), testing::HasSubstr(std::to_string(options.port)));
}

}  // namespace
}  // namespace weir::transfer
