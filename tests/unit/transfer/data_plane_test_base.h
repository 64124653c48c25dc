#pragma once

// What data plane tests share: transfer threads, an event loop, runs to send, a raw socket that
// speaks the protocol badly.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asio/executor_work_guard.hpp"
#include "asio/io_context.hpp"
#include "runtime/base/fd.h"
#include "runtime/env/event_loop.h"
#include "runtime/format/xxh3_stream.h"
#include "runtime/transfer/data_plane.h"
#include "runtime/transfer/frame.h"
#include "tests/unit/format/scratch_file.h"

namespace weir::transfer {

/// Runs what is posted on the thread that calls RunUntil. Has no timers: the data plane needs none.
class QueueLoop : public env::EventLoop {
 public:
  MonoTime Now() const override {
    return MonoTime::FromNanos(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  void Post(env::Task task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  TimerId RunAt(MonoTime, env::Task) override { return 0; }
  void CancelTimer(TimerId) override {}
  bool IsCurrent() const override { return true; }

  /// False when `patience` ran out first.
  bool RunUntil(const std::function<bool()>& done,
                std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      if (!RunOne()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

 private:
  bool RunOne() {
    env::Task task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }

  std::mutex mutex_;
  std::deque<env::Task> tasks_;  // guarded by mutex_
};

/// Two transfer threads, as a daemon has.
class TransferThreads {
 public:
  TransferThreads() : guard_(context_.get_executor()) {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { context_.run(); });
  }
  /// Waits until nothing is left to run: whatever was closed must end by itself.
  void Join() {
    guard_.reset();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  ~TransferThreads() {
    context_.stop();
    if (!threads_.empty()) Join();
  }
  asio::any_io_executor executor() { return context_.get_executor(); }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::vector<std::thread> threads_;
};

/// A blocking client that may say anything.
class RawPeer {
 public:
  explicit RawPeer(const std::string& endpoint) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    sockaddr generic{};
    std::memcpy(&generic, &address, sizeof generic);
    if (::connect(fd_.get(), &generic, sizeof generic) != 0) fd_.Reset();
  }
  explicit RawPeer(Fd accepted) : fd_(std::move(accepted)) {}

  bool connected() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  bool Send(const std::string& bytes) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  /// What came until the end of the stream, `max_bytes`, or silence for `patience_ms`.
  std::string Receive(std::size_t max_bytes = std::string::npos, int patience_ms = 10'000) {
    std::string all;
    while (all.size() < max_bytes) {
      pollfd fd{fd_.get(), POLLIN, 0};
      if (::poll(&fd, 1, patience_ms) != 1) break;
      char bytes[64 << 10];
      const ssize_t got =
          ::recv(fd_.get(), bytes, std::min(sizeof bytes, max_bytes - all.size()), 0);
      if (got <= 0) {
        ended_ = true;
        break;
      }
      all.append(bytes, static_cast<std::size_t>(got));
    }
    return all;
  }
  bool ended() const { return ended_; }
  /// Tells the other end that no more comes.
  void EndOfStream() { ::shutdown(fd_.get(), SHUT_WR); }
  void Close() { fd_.Reset(); }

 private:
  Fd fd_;
  bool ended_ = false;
};

/// Listens like a data server and does what the test says.
class RawListener {
 public:
  /// Of `backlog` 0: one connection that nobody accepts keeps all others from an answer.
  explicit RawListener(int backlog = 8) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr generic{};
    std::memcpy(&generic, &address, sizeof generic);
    socklen_t bytes = sizeof generic;
    if (::bind(fd_.get(), &generic, bytes) != 0 || ::listen(fd_.get(), backlog) != 0 ||
        ::getsockname(fd_.get(), &generic, &bytes) != 0) {
      std::abort();
    }
    std::memcpy(&address, &generic, sizeof address);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  const std::string& endpoint() const { return endpoint_; }
  RawPeer Accept() { return RawPeer(Fd(::accept(fd_.get(), nullptr, nullptr))); }
  void Close() { fd_.Reset(); }

 private:
  Fd fd_;
  std::string endpoint_;
};

inline constexpr std::int64_t kMiB = 1 << 20;
inline constexpr char kJob[] = "j-20260101-000000-abcd";

inline JobKey TestKey() { return {kJob, 7, 3, 2}; }

/// Bytes that differ from place to place.
inline std::string TestBytes(std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::uint32_t state = 12345;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

class DataPlaneTest : public testing::Test {
 protected:
  static constexpr absl::Duration kSilence = absl::Milliseconds(400);

  void SetUp() override {
    // As every process of weir does: sendfile knows no MSG_NOSIGNAL.
    ::signal(SIGPIPE, SIG_IGN);
    catalog_->AddJob(TestKey());
  }

  void StartServer(DataServerOptions options) {
    auto server = MakeDataServer(threads_.executor(), catalog_, loop_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void StartServer() {
    DataServerOptions options;
    options.silence = kSilence;
    StartServer(options);
  }
  void StartFetcher() {
    FetcherOptions options;
    options.silence = kSilence;
    options.connect_timeout = kSilence;
    fetcher_ = MakeFetcher(threads_.executor(), loop_, options);
  }

  std::string Publish(const std::string& run_id, std::int64_t bytes) {
    const std::string content = TestBytes(bytes);
    format::WriteAll(folder_.File(run_id + ".run"), content);
    EXPECT_TRUE(catalog_->Publish(kJob, run_id, {folder_.File(run_id + ".run"), bytes}).ok());
    return content;
  }
  v1::DataRequest Request(const std::string& run_id, std::int64_t bytes) {
    v1::DataRequest request;
    request.set_job_id(kJob);
    request.set_job_token(TestKey().token);
    request.set_master_epoch(TestKey().master_epoch);
    request.set_plan_epoch(TestKey().plan_epoch);
    request.set_run_id(run_id);
    request.set_bytes(bytes);
    request.set_credit_bytes(limits::kFetchCreditBytes);
    return request;
  }
  FetchOrder Order(const std::string& run_id, std::int64_t bytes) {
    FetchOrder order;
    order.key = TestKey();
    order.peer_name = "w1";
    order.peer_endpoint = server_ != nullptr ? server_->endpoint() : "";
    order.run_id = run_id;
    order.bytes = bytes;
    order.destination_path = folder_.File("received");
    return order;
  }

  /// How the answer of a sender begins that sends `body` in one frame.
  static std::string AnswerHead(const std::string& body) {
    FrameHeader header{FrameKind::kData, static_cast<std::uint32_t>(body.size()), 0};
    header.checksum = format::Xxh3(body, FrameSeed(header.kind, header.body_bytes));
    std::string encoded(kFrameHeaderBytes, '\0');
    EncodeFrameHeader(header, encoded.data());
    return EncodeStatus(absl::OkStatus()) + encoded;
  }

  /// The proof that the server is unharmed. Requires: run 1.1 is published.
  void ExpectServes() {
    RawPeer peer(server_->endpoint());
    ASSERT_TRUE(peer.Send(EncodeRequest(Request("1.1", 10))));
    const std::string accepted = EncodeStatus(absl::OkStatus());
    const std::string answer = peer.Receive(accepted.size() + kFrameHeaderBytes + 10);
    EXPECT_EQ(answer.substr(0, accepted.size()), accepted);
    EXPECT_EQ(answer.substr(accepted.size() + kFrameHeaderBytes), TestBytes(10));
  }

  /// What one fetch came to.
  struct Outcome {
    std::vector<std::int64_t> marks;  // as nearly_done told them
    std::optional<absl::StatusOr<FetchResult>> result;
  };
  std::shared_ptr<Outcome> Begin(FetchOrder order) {
    auto outcome = std::make_shared<Outcome>();
    fetcher_->Fetch(
        std::move(order), [outcome](std::int64_t mark) { outcome->marks.push_back(mark); },
        [outcome](absl::StatusOr<FetchResult> result) { outcome->result = std::move(result); });
    return outcome;
  }
  absl::Status Finish(const std::shared_ptr<Outcome>& outcome) {
    if (!loop_.RunUntil([&outcome] { return outcome->result.has_value(); })) {
      return absl::UnknownError("the fetch never ended");
    }
    return outcome->result->status();
  }
  absl::Status FetchNow(FetchOrder order) { return Finish(Begin(std::move(order))); }

  format::ScratchFolder folder_;
  QueueLoop loop_;
  std::shared_ptr<PublishedRuns> catalog_ = std::make_shared<PublishedRuns>();
  TransferThreads threads_;
  std::unique_ptr<DataServer> server_;
  std::unique_ptr<Fetcher> fetcher_;
};

}  // namespace weir::transfer
