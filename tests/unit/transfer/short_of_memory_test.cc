// The data plane where memory runs out in the middle: what it was about ends, and nothing else
// does.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <string>

#include "runtime/base/errno_status.h"
#include "tests/unit/transfer/data_plane_test_base.h"

namespace weir::transfer {
namespace {

/// Finds no memory the next time that it is asked for the time, once it is told so.
class ShortLoop : public QueueLoop {
 public:
  MonoTime Now() const override {
    if (short_.exchange(false)) throw std::bad_alloc();
    return QueueLoop::Now();
  }
  void RunShort() const { short_ = true; }

 private:
  mutable std::atomic<bool> short_ = false;
};

/// Has the runs of another one, and memory run short behind the first that it is asked for.
class ShorteningCatalog : public RunCatalog {
 public:
  ShorteningCatalog(std::shared_ptr<const RunCatalog> runs, const ShortLoop& loop)
      : runs_(std::move(runs)), loop_(loop) {}
  absl::StatusOr<RunFile> Find(const JobKey& key, const std::string& run_id) const override {
    if (first_.exchange(false)) loop_.RunShort();
    return runs_->Find(key, run_id);
  }

 private:
  const std::shared_ptr<const RunCatalog> runs_;
  const ShortLoop& loop_;
  mutable std::atomic<bool> first_ = true;
};

class ShortOfMemoryTest : public DataPlaneTest {
 protected:
  // The loop goes before the threads do.
  void TearDown() override {
    server_.reset();
    fetcher_.reset();
    threads_.Join();
  }

  void StartShortServer(std::shared_ptr<const RunCatalog> catalog) {
    DataServerOptions options;
    options.silence = absl::Seconds(60);
    options.first_request = absl::Seconds(60);
    auto server = MakeDataServer(threads_.executor(), std::move(catalog), short_loop_, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  ShortLoop short_loop_;
};

TEST_F(ShortOfMemoryTest, AFetchEndsAndSaysSo) {
  FetcherOptions options;
  options.silence = absl::Seconds(60);
  fetcher_ = MakeFetcher(threads_.executor(), short_loop_, options);
  for (const bool runs_short : {true, false}) {
    RawListener sender;
    FetchOrder order = Order("1.1", 3);
    order.peer_endpoint = sender.endpoint();
    const auto outcome = Begin(order);
    RawPeer peer = sender.Accept();
    const std::size_t request_bytes = kFrameHeaderBytes + 1;
    ASSERT_EQ(peer.Receive(request_bytes).size(), request_bytes);
    if (runs_short) short_loop_.RunShort();
    const std::string body = "abc";
    ASSERT_TRUE(peer.Send(AnswerHead(body) + body));
    ASSERT_TRUE(short_loop_.RunUntil([&outcome] { return outcome->result.has_value(); }))
        << "nobody would ever hear of it";
    const absl::Status status = outcome->result->status();
    EXPECT_EQ(ErrnoOf(status), runs_short ? ENOMEM : 0) << status;
    EXPECT_EQ(status.ok(), !runs_short) << "the port is free again: " << status;
  }
}

TEST_F(ShortOfMemoryTest, ASendEndsAndThePortIsFreeAgain) {
  Publish("1.1", kMiB);
  StartShortServer(std::make_shared<ShorteningCatalog>(catalog_, short_loop_));
  RawPeer peer(server_->endpoint());
  ASSERT_TRUE(peer.Send(EncodeRequest(Request("1.1", 10))));
  EXPECT_EQ(peer.Receive(), "");
  EXPECT_TRUE(peer.ended()) << "it shall not wait";
  ExpectServes();
}

TEST_F(ShortOfMemoryTest, AConnectionThatCannotBeTakenIsNotTheLast) {
  Publish("1.1", kMiB);
  StartShortServer(catalog_);
  short_loop_.RunShort();
  RawPeer peer(server_->endpoint());
  EXPECT_EQ(peer.Receive(), "");
  EXPECT_TRUE(peer.ended()) << "it shall not wait";
  ExpectServes();
}

}  // namespace
}  // namespace weir::transfer
