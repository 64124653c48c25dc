#include "runtime/transfer/fetcher.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "asio/co_spawn.hpp"
#include "asio/detached.hpp"
#include "asio/post.hpp"
#include "asio/steady_timer.hpp"
#include "asio/strand.hpp"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/whole_write.h"
#include "runtime/transfer/data_plane.h"
#include "runtime/transfer/data_socket.h"
#include "runtime/transfer/frame.h"
#include "runtime/transfer/frame_stream.h"
#include "runtime/transfer/idle_connections.h"
#include "runtime/transfer/one_port.h"
#include "runtime/transfer/thrown.h"

namespace weir::transfer {
namespace {

// Credit is given back in this many parts: few frames, and the sender never runs dry.
constexpr std::int64_t kCreditsOnTheWay = 4;

constexpr std::string_view kReceiving = "cannot receive";

// Marks of an order that are still ahead, the next one last.
std::vector<std::int64_t> MarksOf(const FetchOrder& order) {
  if (order.grant_ahead_bytes == order.look_ahead_bytes) return {order.look_ahead_bytes};
  return {order.look_ahead_bytes, order.grant_ahead_bytes};
}

// One order on its way. `done` is emptied when it is called.
struct ActiveFetch {
  FetchOrder order;
  std::shared_ptr<Fetcher::NearlyDone> nearly_done;  // null = nobody asks
  std::vector<std::int64_t> marks;                   // ahead, the next one last
  Fetcher::Done done;
  std::shared_ptr<DataSocket> socket;
  bool connected = false;                         // a connection used before
  std::optional<std::int64_t> bytes_read_before;  // set when it asks
  OnePort::Id port_use = 0;
  MonoTime requested;
  std::optional<MonoTime> first_byte;
  std::int64_t written_bytes = 0;  // and verified
  // Probes only.
  std::optional<asio::steady_timer> probe_end;
  bool probe_over = false;
  double window_bytes = 0;
  MonoTime last_byte;
};

// Sockets wake up for many bytes at once: spreads them over the time in which they came, so that
// those of a wake-up across the border of the window count in part.
void CountInWindow(ActiveFetch& fetch, std::int64_t bytes, MonoTime now) {
  const MonoTime before = fetch.first_byte ? fetch.last_byte : fetch.requested;
  const MonoTime from = fetch.requested + fetch.order.probe->from;
  const MonoTime to = fetch.requested + fetch.order.probe->to;
  const double span = absl::ToDoubleSeconds(now - before);
  const double inside = absl::ToDoubleSeconds(std::min(now, to) - std::max(before, from));
  if (inside < 0 || (span <= 0 && now >= to)) return;
  fetch.window_bytes += static_cast<double>(bytes) * (span > 0 ? inside / span : 1);
}

// What a finished fetch tells. A probe whose bytes were through before its window was has a shorter
// one.
FetchResult ResultOf(const ActiveFetch& fetch, double seconds) {
  FetchResult result{fetch.order.bytes, seconds, 0};
  if (fetch.first_byte)
    result.first_byte_s = absl::ToDoubleSeconds(*fetch.first_byte - fetch.requested);
  if (!fetch.order.probe) return result;
  const absl::Duration until =
      fetch.probe_over ? fetch.order.probe->to
                       : std::min(fetch.order.probe->to, fetch.last_byte - fetch.requested);
  result.bytes = std::llround(fetch.window_bytes);
  result.seconds =
      absl::ToDoubleSeconds(std::max(until - fetch.order.probe->from, absl::ZeroDuration()));
  return result;
}

std::string DescribeFetch(const FetchOrder& order) {
  return absl::StrCat("cannot fetch ", order.bytes, " bytes of run ", order.run_id, " of job ",
                      order.key.job_id, " from worker ", order.peer_name, " at ",
                      order.peer_endpoint);
}

// Keeps code and payloads (errno of a full disk), and says of which fetch it is.
absl::Status ErrorOfFetch(const FetchOrder& order, const absl::Status& why) {
  absl::Status status(why.code(), absl::StrCat(DescribeFetch(order), ": ", why.message()));
  why.ForEachPayload([&status](absl::string_view url, const absl::Cord& payload) {
    status.SetPayload(url, payload);
  });
  return status;
}

absl::Status WriteAt(const Fd& file, const std::string& path, std::string_view bytes,
                     std::int64_t offset) {
  const int refusal = WriteWhole(bytes, [&file, offset](std::string_view left, std::int64_t done) {
    return ::pwrite(file.get(), left.data(), left.size(), offset + done);
  });
  return refusal == 0 ? absl::OkStatus()
                      : ErrnoStatus(refusal, absl::StrCat("cannot write ", path));
}

v1::DataRequest MakeRequest(const FetchOrder& order, std::int64_t credit_bytes) {
  v1::DataRequest request;
  request.set_job_id(order.key.job_id);
  request.set_job_token(order.key.token);
  request.set_master_epoch(order.key.master_epoch);
  request.set_plan_epoch(order.key.plan_epoch);
  request.set_run_id(order.run_id);
  request.set_offset(order.offset);
  request.set_bytes(order.bytes);
  request.set_credit_bytes(credit_bytes);
  request.set_pacing_bytes_per_s(order.pacing_bytes_per_s);
  request.set_grant_ahead_bytes(order.grant_ahead_bytes);
  request.set_concurrent(order.concurrent);
  request.set_plan_edit(order.plan_edit);
  request.set_transfer(order.transfer);
  request.set_attempt(order.attempt);
  return request;
}

// All state of a fetcher. Its strand serialises everything but the counters.
class FetchState : public std::enable_shared_from_this<FetchState> {
 public:
  FetchState(const asio::any_io_executor& executor, env::EventLoop& loop, FetcherOptions options)
      : strand_(asio::make_strand(executor)), loop_(loop), options_(std::move(options)) {}

  void Fetch(FetchOrder order, Fetcher::NearlyDone nearly_done, Fetcher::Done done) {
    auto fetch = std::make_shared<ActiveFetch>();
    fetch->order = std::move(order);
    fetch->marks = MarksOf(fetch->order);
    if (nearly_done) {
      fetch->nearly_done = std::make_shared<Fetcher::NearlyDone>(std::move(nearly_done));
    }
    fetch->done = std::move(done);
    asio::post(strand_,
               [self = shared_from_this(), fetch = std::move(fetch)] { self->Begin(fetch); });
  }
  void Cancel(const std::string& job_id, std::int32_t transfer) {
    asio::post(strand_, [self = shared_from_this(), job_id, transfer] {
      self->CancelOnStrand(job_id, transfer);
    });
  }
  void CancelJob(const std::string& job_id) {
    asio::post(strand_, [self = shared_from_this(), job_id] { self->CancelOnStrand(job_id); });
  }
  void Close() {
    asio::post(strand_, [self = shared_from_this()] { self->CloseOnStrand(); });
  }
  FetcherCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  // Named coroutine; holds its own share of what it uses.
  static asio::awaitable<void> Run(std::shared_ptr<FetchState> self,
                                   std::shared_ptr<ActiveFetch> fetch);
  asio::awaitable<absl::Status> Transfer(ActiveFetch& fetch);
  static void EndProbeInTime(const std::shared_ptr<ActiveFetch>& fetch);
  asio::awaitable<absl::Status> AwaitAcceptance(DataSocket& socket);
  asio::awaitable<absl::Status> Receive(ActiveFetch& fetch);
  asio::awaitable<absl::Status> ReceiveInto(const Fd& file, ActiveFetch& fetch);
  asio::awaitable<absl::StatusOr<std::int64_t>> ReceiveFrame(ActiveFetch& fetch, char* into,
                                                             std::int64_t bytes_left,
                                                             DataSocket::Moved* moved);

  void Begin(const std::shared_ptr<ActiveFetch>& fetch);
  void CountReceived(ActiveFetch& fetch, std::int64_t bytes);
  void Finish(ActiveFetch& fetch, const absl::Status& status, double seconds);
  void BreakOff(const std::vector<OnePort::Id>& superseded);
  void CancelOnStrand(const std::string& job_id, std::optional<std::int32_t> transfer = {});
  void CloseOnStrand();
  void PutIdle(const std::string& endpoint, std::shared_ptr<DataSocket> socket);
  template <typename Change>
  void Count(Change change) {
    const std::lock_guard lock(mutex_);
    change(counters_);
  }

  const asio::any_io_executor strand_;
  env::EventLoop& loop_;
  const FetcherOptions options_;
  std::set<std::shared_ptr<ActiveFetch>> active_;
  IdleConnections<DataSocket> idle_;
  OnePort port_;
  bool closed_ = false;

  mutable std::mutex mutex_;
  FetcherCounters counters_;  // guarded by mutex_
};

void FetchState::Begin(const std::shared_ptr<ActiveFetch>& fetch) {
  const FetchOrder& order = fetch->order;
  absl::Status refused;
  if (closed_) {
    refused = absl::CancelledError("the fetcher is closed");
  } else if (order.bytes <= 0 || order.offset < 0 || order.destination_offset < 0) {
    refused =
        absl::InvalidArgumentError(absl::StrCat("impossible order: offset ", order.offset,
                                                ", destination offset ", order.destination_offset));
  } else if (port_.Ask(order.key.job_id, order.concurrent, order.plan_edit) ==
             OnePort::Admission::kBusy) {
    refused = absl::FailedPreconditionError("this worker is busy with another receive of the job");
  }
  if (!refused.ok()) return Finish(*fetch, refused, 0);
  if (!order.concurrent) BreakOff(port_.Superseded(order.key.job_id, order.plan_edit));
  fetch->port_use = port_.Begin(order.key.job_id, order.bytes, order.look_ahead_bytes,
                                order.concurrent, order.plan_edit);
  fetch->socket = idle_.Take(order.peer_endpoint);
  fetch->connected = fetch->socket != nullptr;
  if (!fetch->connected) fetch->socket = std::make_shared<DataSocket>(strand_);
  active_.insert(fetch);
  asio::co_spawn(strand_, Run(shared_from_this(), fetch), asio::detached);
}

asio::awaitable<void> FetchState::Run(std::shared_ptr<FetchState> self,
                                      std::shared_ptr<ActiveFetch> fetch) {
  const MonoTime begin = self->loop_.Now();
  EndProbeInTime(fetch);
  absl::Status status = co_await CatchThrown(self->Transfer(*fetch), kReceiving);
  const bool unanswered = fetch->bytes_read_before == fetch->socket->bytes_read();
  if (absl::IsUnavailable(status) && unanswered && !self->closed_) {
    // The peer, or something between, gave the connection up while it was idle or new: nothing was
    // sent for this request, so once more on another one.
    fetch->socket->Close(status);
    fetch->socket = std::make_shared<DataSocket>(self->strand_);
    fetch->connected = false;
    status = co_await CatchThrown(self->Transfer(*fetch), kReceiving);
  }
  if (status.ok()) {
    self->PutIdle(fetch->order.peer_endpoint, fetch->socket);
  } else {
    fetch->socket->Close(status);
  }
  fetch->probe_end.reset();
  if (fetch->probe_over && fetch->first_byte) status = absl::OkStatus();
  self->port_.End(fetch->port_use);
  self->active_.erase(fetch);
  self->Finish(*fetch, status, absl::ToDoubleSeconds(self->loop_.Now() - begin));
}

void FetchState::EndProbeInTime(const std::shared_ptr<ActiveFetch>& fetch) {
  if (!fetch->order.probe) return;
  fetch->probe_end.emplace(fetch->socket->executor());
  fetch->probe_end->expires_after(absl::ToChronoNanoseconds(fetch->order.probe->end));
  fetch->probe_end->async_wait([weak = std::weak_ptr(fetch)](const std::error_code& error) {
    const std::shared_ptr<ActiveFetch> over = weak.lock();
    if (error || over == nullptr || over->socket->closed()) return;
    over->probe_over = true;
    over->socket->Close(absl::DeadlineExceededError("no byte before the end of the probe"));
  });
}

asio::awaitable<absl::Status> FetchState::Transfer(ActiveFetch& fetch) {
  absl::Status status;
  if (!fetch.connected) {
    Count([](FetcherCounters& c) { ++c.connections; });
    fetch.socket->SetSilence(options_.connect_timeout);
    status = co_await fetch.socket->Connect(fetch.order.peer_endpoint);
    if (!status.ok()) co_return status;
  }
  fetch.socket->SetSilence(options_.silence);
  const std::string request = EncodeRequest(MakeRequest(fetch.order, options_.credit_bytes));
  fetch.requested = loop_.Now();
  fetch.bytes_read_before = fetch.socket->bytes_read();
  status = co_await fetch.socket->Write(request);
  if (!status.ok()) co_return status;
  status = co_await AwaitAcceptance(*fetch.socket);
  if (!status.ok()) co_return status;
  co_return co_await Receive(fetch);
}

asio::awaitable<absl::Status> FetchState::AwaitAcceptance(DataSocket& socket) {
  const absl::StatusOr<std::string> body = co_await ReadSmallFrame(socket, FrameKind::kStatus);
  if (!body.ok()) co_return body.status();
  absl::Status accepted;
  const absl::Status decoded = DecodeStatus(*body, accepted);
  if (!decoded.ok()) co_return decoded;
  co_return SaidBySender(std::move(accepted));
}

asio::awaitable<absl::Status> FetchState::Receive(ActiveFetch& fetch) {
  const std::string& path = fetch.order.destination_path;
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) co_return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  const absl::Status received = co_await ReceiveInto(file, fetch);
  if (::close(file.Release()) == 0) co_return received;
  const int refusal = errno;
  // Network file systems report a full disk only here; nobody knows what they kept of the bytes.
  fetch.written_bytes = 0;
  co_return received.ok() ? ErrnoStatus(refusal, absl::StrCat("cannot close ", path)) : received;
}

asio::awaitable<absl::Status> FetchState::ReceiveInto(const Fd& file, ActiveFetch& fetch) {
  const FetchOrder& order = fetch.order;
  std::vector<char> frame(static_cast<std::size_t>(std::min(order.bytes, limits::kBlockBytesMax)));
  DataSocket::Moved moved = [this, &fetch](std::int64_t bytes) { CountReceived(fetch, bytes); };
  std::int64_t& written_bytes = fetch.written_bytes = 0;
  std::int64_t granted = std::min(options_.credit_bytes, order.bytes);
  while (written_bytes < order.bytes) {
    const absl::StatusOr<std::int64_t> bytes =
        co_await ReceiveFrame(fetch, frame.data(), order.bytes - written_bytes, &moved);
    if (!bytes.ok()) co_return bytes.status();
    const absl::Status written =
        WriteAt(file, order.destination_path, {frame.data(), static_cast<std::size_t>(*bytes)},
                order.destination_offset + written_bytes);
    if (!written.ok()) co_return written;
    written_bytes += *bytes;
    Count([&bytes](FetcherCounters& c) { c.bytes += *bytes; });
    co_await fetch.socket->LetOthersRun();
    const std::int64_t credit =
        std::min(written_bytes + options_.credit_bytes, order.bytes) - granted;
    const bool all = granted + credit == order.bytes;
    if (credit == 0 || (!all && credit < options_.credit_bytes / kCreditsOnTheWay)) continue;
    granted += credit;
    const std::string credit_frame = EncodeCredit(credit);
    const absl::Status sent = co_await fetch.socket->Write(credit_frame);
    if (!sent.ok()) co_return sent;
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<std::int64_t>> FetchState::ReceiveFrame(ActiveFetch& fetch,
                                                                       char* into,
                                                                       std::int64_t bytes_left,
                                                                       DataSocket::Moved* moved) {
  DataSocket& socket = *fetch.socket;
  const absl::StatusOr<FrameHeader> header = co_await ReadFrameHeader(socket);
  if (!header.ok()) co_return header.status();
  if (header->kind == FrameKind::kStatus) {
    const absl::StatusOr<std::string> body =
        co_await ReadSmallBody(socket, *header, FrameKind::kStatus);
    if (!body.ok()) co_return body.status();
    absl::Status why;
    const absl::Status decoded = DecodeStatus(*body, why);
    if (!decoded.ok()) co_return decoded;
    if (!why.ok()) co_return SaidBySender(std::move(why));
  }
  if (header->kind != FrameKind::kData || header->body_bytes > bytes_left) {
    co_return absl::DataLossError("the sender breaks the protocol: no data where due");
  }
  // In as many reads as marks make of it, because a read is not woken for every byte.
  for (std::int64_t done = 0; done < header->body_bytes;) {
    const std::int64_t left = bytes_left - done;
    const std::int64_t mark = fetch.marks.empty() ? 0 : fetch.marks.back();
    const std::int64_t piece =
        std::min(header->body_bytes - done, mark < left ? left - mark : left);
    const absl::Status read =
        co_await socket.Read(into + done, static_cast<std::size_t>(piece), moved);
    if (!read.ok()) co_return read;
    done += piece;
  }
  const absl::Status checked = CheckBody(*header, {into, header->body_bytes});
  if (!checked.ok()) co_return checked;
  co_return header->body_bytes;
}

void FetchState::CountReceived(ActiveFetch& fetch, std::int64_t bytes) {
  const MonoTime now = loop_.Now();
  if (fetch.order.probe) CountInWindow(fetch, bytes, now);
  if (!fetch.first_byte) fetch.first_byte = now;
  fetch.last_byte = now;
  const std::int64_t left = port_.Move(fetch.port_use, bytes);
  for (; !fetch.marks.empty() && left <= fetch.marks.back(); fetch.marks.pop_back()) {
    if (fetch.nearly_done == nullptr) continue;
    loop_.Post([call = fetch.nearly_done, mark = fetch.marks.back()] { (*call)(mark); });
  }
}

void FetchState::Finish(ActiveFetch& fetch, const absl::Status& status, double seconds) {
  Count([&status, seconds](FetcherCounters& c) {
    ++(status.ok() ? c.fetches : c.fetches_failed);
    c.busy_s += seconds;
  });
  absl::StatusOr<FetchResult> result = ResultOf(fetch, seconds);
  if (!status.ok()) {
    result = WithBytesBefore(ErrorOfFetch(fetch.order, status), fetch.written_bytes);
  }
  loop_.Post([done = std::exchange(fetch.done, nullptr), result = std::move(result)]() mutable {
    done(std::move(result));
  });
}

void FetchState::BreakOff(const std::vector<OnePort::Id>& superseded) {
  for (const std::shared_ptr<ActiveFetch>& fetch : active_) {
    const bool over =
        std::find(superseded.begin(), superseded.end(), fetch->port_use) != superseded.end();
    if (over) fetch->socket->Close(absl::CancelledError("the plan was edited without it"));
  }
}

void FetchState::CancelOnStrand(const std::string& job_id, std::optional<std::int32_t> transfer) {
  for (const std::shared_ptr<ActiveFetch>& fetch : active_) {
    const FetchOrder& order = fetch->order;
    if (order.key.job_id != job_id || (transfer && order.transfer != *transfer)) continue;
    fetch->socket->Close(absl::CancelledError(transfer ? "it is wanted no more" : "the job ends"));
  }
}

void FetchState::CloseOnStrand() {
  closed_ = true;
  for (const std::shared_ptr<ActiveFetch>& fetch : active_) {
    fetch->socket->Close(absl::CancelledError("the fetcher is closed"));
  }
  idle_.CloseAll(absl::CancelledError("the fetcher is closed"));
}

void FetchState::PutIdle(const std::string& endpoint, std::shared_ptr<DataSocket> socket) {
  if (closed_) return socket->Close(absl::CancelledError("the fetcher is closed"));
  socket->CloseWhenIdleFor(options_.idle);
  idle_.Put(endpoint, std::move(socket));
}

// What callers hold: closes the shared state when they let go.
class FetcherHandle : public Fetcher {
 public:
  explicit FetcherHandle(std::shared_ptr<FetchState> state) : state_(std::move(state)) {}
  ~FetcherHandle() override { state_->Close(); }
  void Fetch(FetchOrder order, NearlyDone nearly_done, Done done) override {
    state_->Fetch(std::move(order), std::move(nearly_done), std::move(done));
  }
  void Cancel(const std::string& job_id, std::int32_t transfer) override {
    state_->Cancel(job_id, transfer);
  }
  void CancelJob(const std::string& job_id) override { state_->CancelJob(job_id); }
  void Close() override { state_->Close(); }
  FetcherCounters counters() const override { return state_->counters(); }

 private:
  const std::shared_ptr<FetchState> state_;
};

}  // namespace

std::unique_ptr<Fetcher> MakeFetcher(asio::any_io_executor executor, env::EventLoop& loop,
                                     FetcherOptions options) {
  return std::make_unique<FetcherHandle>(
      std::make_shared<FetchState>(executor, loop, std::move(options)));
}

}  // namespace weir::transfer
