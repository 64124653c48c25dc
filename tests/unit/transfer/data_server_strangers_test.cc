// Connections that have shown no token: what they may cost, and that peers get in beside them.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/transfer/data_plane_test_base.h"

namespace weir::transfer {
namespace {

constexpr int kSilentPeers = 2300;

std::int64_t ResidentBytes() {
  std::int64_t all_pages = 0;
  std::int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

class DataServerStrangersTest : public DataPlaneTest {
 protected:
  void SetUp() override {
    DataPlaneTest::SetUp();
    Publish("1.1", 8 * kMiB);
  }
  // Both ends of each connection are in this process.
  static void OpenManyFiles() {
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    ASSERT_GE(files.rlim_max, static_cast<rlim_t>(2 * kSilentPeers)) << "raise ulimit -Hn";
  }
  std::vector<RawPeer> SilentPeers(int number) {
    const std::int64_t before = server_->counters().connections;
    std::vector<RawPeer> peers;
    for (int i = 0; i < number; ++i) peers.emplace_back(server_->endpoint());
    EXPECT_TRUE(loop_.RunUntil(
        [this, before, number] { return server_->counters().connections == before + number; }));
    return peers;
  }
  static bool IsServed(RawPeer& peer, const v1::DataRequest& request) {
    const std::size_t answer_bytes = EncodeStatus(absl::OkStatus()).size() + kFrameHeaderBytes +
                                     static_cast<std::size_t>(request.bytes());
    return peer.Send(EncodeRequest(request)) &&
           peer.Receive(answer_bytes, 5'000).size() == answer_bytes;
  }
};

TEST_F(DataServerStrangersTest, ManySilentConnectionsCostNoBuffersAndKeepNobodyOut) {
  OpenManyFiles();
  StartServer(DataServerOptions{});
  StartFetcher();
  ASSERT_TRUE(FetchNow(Order("1.1", 8 * kMiB)).ok());
  const std::int64_t before = ResidentBytes();
  const std::vector<RawPeer> silent = SilentPeers(kSilentPeers);
  // A buffer of 128 KiB each would be 287 MiB.
  EXPECT_LT(ResidentBytes() - before, 32 * kMiB);
  // The last ones may have connected before the server looked at them.
  EXPECT_TRUE(loop_.RunUntil([this] {
    return server_->counters().strangers_closed >= kSilentPeers - limits::kDataStrangersMax;
  }));
  EXPECT_EQ(server_->counters().connections_refused, 0);
  // On the connection that there is, and on a new one.
  EXPECT_TRUE(FetchNow(Order("1.1", 8 * kMiB)).ok());
  StartFetcher();
  const absl::Status fetched = FetchNow(Order("1.1", 8 * kMiB));
  EXPECT_TRUE(fetched.ok()) << fetched;
}

TEST_F(DataServerStrangersTest, AFetchGoesOnWhileStrangersComeAndGo) {
  DataServerOptions options;
  options.strangers_max = 4;
  StartServer(options);
  StartFetcher();
  FetchOrder order = Order("1.1", 8 * kMiB);
  order.pacing_bytes_per_s = 32 * kMiB;
  const std::shared_ptr<Outcome> outcome = Begin(order);
  ASSERT_TRUE(loop_.RunUntil([this] { return server_->counters().bytes > 0; }));
  const std::vector<RawPeer> silent = SilentPeers(100);
  // The last ones may have connected before the server looked at them.
  EXPECT_TRUE(loop_.RunUntil([this] { return server_->counters().strangers_closed >= 96; }));
  EXPECT_EQ(server_->counters().strangers_closed, 96);
  EXPECT_TRUE(Finish(outcome).ok());
  EXPECT_EQ(fetcher_->counters().connections, 1);
}

TEST_F(DataServerStrangersTest, BytesDoNotExtendTheTimeForTheFirstRequest) {
  DataServerOptions options;
  options.first_request = absl::Milliseconds(300);
  StartServer(options);
  RawPeer trickling(server_->endpoint());
  const std::string request = EncodeRequest(Request("1.1", 10));
  std::size_t sent = 0;
  while (!trickling.ended() && sent + 1 < request.size()) {
    trickling.Send(request.substr(sent++, 1));
    trickling.Receive(1, 20);
  }
  EXPECT_TRUE(trickling.ended()) << "after " << sent << " bytes";
  EXPECT_EQ(server_->counters().strangers_closed, 1);
}

TEST_F(DataServerStrangersTest, AWrongTokenDoesNotLetAConnectionStay) {
  DataServerOptions options;
  options.first_request = absl::Milliseconds(300);
  StartServer(options);
  v1::DataRequest request = Request("1.1", 10);
  request.set_job_token(TestKey().token + 1);
  RawPeer wrong(server_->endpoint());
  ASSERT_TRUE(wrong.Send(EncodeRequest(request)));
  EXPECT_FALSE(wrong.Receive(std::string::npos, 5'000).empty()) << "the refusal";
  EXPECT_TRUE(wrong.ended());
  EXPECT_EQ(server_->counters().requests_refused, 1);
}

TEST_F(DataServerStrangersTest, AConnectionThatShowedItsTokenOutlivesStrangers) {
  DataServerOptions options;
  options.first_request = absl::Milliseconds(100);
  options.strangers_max = 1;
  StartServer(options);
  RawPeer peer(server_->endpoint());
  ASSERT_TRUE(IsServed(peer, Request("1.1", 10)));
  RawPeer displaced(server_->endpoint());
  RawPeer expired(server_->endpoint());
  EXPECT_TRUE(displaced.Receive(1, 5'000).empty());
  EXPECT_TRUE(expired.Receive(1, 5'000).empty());
  EXPECT_TRUE(displaced.ended() && expired.ended());
  EXPECT_TRUE(IsServed(peer, Request("1.1", 10)));
}

TEST_F(DataServerStrangersTest, TurnsPeersAwayWhenThereAreTooMany) {
  DataServerOptions options;
  options.connections_max = 3;
  StartServer(options);
  std::vector<RawPeer> peers;
  for (int i = 0; i < 3; ++i) {
    peers.emplace_back(server_->endpoint());
    ASSERT_TRUE(IsServed(peers.back(), Request("1.1", 10)));
  }
  RawPeer refused(server_->endpoint());
  ASSERT_TRUE(refused.Send(EncodeRequest(Request("1.1", 10))));
  EXPECT_FALSE(refused.Receive(std::string::npos, 5'000).empty()) << "the reason";
  EXPECT_TRUE(refused.ended());
  EXPECT_EQ(server_->counters().connections_refused, 1);
  StartFetcher();
  const absl::Status fetched = FetchNow(Order("1.1", 10));
  EXPECT_TRUE(absl::IsResourceExhausted(fetched)) << fetched;
  EXPECT_NE(fetched.message().find("connections_max 3"), std::string::npos) << fetched;
  EXPECT_EQ(fetcher_->counters().connections, 1) << "another one would fare no better";
  peers.clear();
  ASSERT_TRUE(loop_.RunUntil([this] {
    RawPeer again(server_->endpoint());
    return IsServed(again, Request("1.1", 10));
  }));
}

}  // namespace
}  // namespace weir::transfer
