#include "runtime/transfer/data_server.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "asio/co_spawn.hpp"
#include "asio/detached.hpp"
#include "asio/ip/tcp.hpp"
#include "asio/post.hpp"
#include "asio/steady_timer.hpp"
#include "asio/strand.hpp"
#include "runtime/base/log.h"
#include "runtime/base/log_rate.h"
#include "runtime/transfer/await.h"
#include "runtime/transfer/congestion_control.h"
#include "runtime/transfer/data_plane.h"
#include "runtime/transfer/frame.h"
#include "runtime/transfer/frame_stream.h"
#include "runtime/transfer/listen.h"
#include "runtime/transfer/run_source.h"
#include "runtime/transfer/session.h"
#include "runtime/transfer/stranger_connections.h"
#include "runtime/transfer/thrown.h"

namespace weir::transfer {
namespace {

using asio::ip::tcp;

// Read for the checksum in pieces that stay in the processor's cache until sendfile comes by.
constexpr std::int64_t kChecksumPieceBytes = 128 << 10;
// After a failed accept (no descriptors left), before the next try.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
// Lines about connections that broke, were turned away or spoke no protocol: whoever reaches the
// port can cause them.
constexpr absl::Duration kWarnEvery = absl::Seconds(5);

// All state of a server. Its strand serialises everything but the counters.
class Server : public std::enable_shared_from_this<Server> {
 public:
  Server(const asio::any_io_executor& executor, std::shared_ptr<const RunCatalog> catalog,
         const env::EventLoop& loop, DataServerOptions options)
      : strand_(asio::make_strand(executor)),
        acceptor_(strand_),
        pause_(strand_),
        expiry_(strand_),
        catalog_(std::move(catalog)),
        loop_(loop),
        options_(std::move(options)),
        congestion_(ChooseCongestionControl(options_.congestion_control, KernelMayUse)),
        piece_(static_cast<std::size_t>(kChecksumPieceBytes)),
        strangers_(options_.strangers_max, options_.first_request) {}

  absl::Status Listen();
  void Start() { asio::co_spawn(strand_, Accept(shared_from_this()), asio::detached); }
  std::string endpoint() const { return endpoint_; }

  void CancelJob(const std::string& job_id) {
    asio::post(strand_, [self = shared_from_this(), job_id] { self->CancelOnStrand(job_id); });
  }
  void SetRates(const std::string& job_id, std::vector<SendRate> rates, std::function<void()> set) {
    asio::post(strand_,
               [self = shared_from_this(), job_id, rates = std::move(rates), set = std::move(set)] {
                 self->SetRatesOnStrand(job_id, rates);
                 set();
               });
  }
  void CountSegments(std::function<void(SegmentCounts)> counted) {
    asio::post(strand_, [self = shared_from_this(), counted = std::move(counted)] {
      for (const auto& [id, session] : self->sessions_) session->CountSegments(self->segments_);
      counted(self->segments_);
      self->segments_.queue_s = 0;
    });
  }
  void Close() {
    asio::post(strand_, [self = shared_from_this()] { self->CloseOnStrand(); });
  }
  DataServerCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  // Named coroutines; each holds its own share of what it uses.
  static asio::awaitable<void> Accept(std::shared_ptr<Server> self);
  static asio::awaitable<void> Serve(std::shared_ptr<Server> self,
                                     std::shared_ptr<Session> session);
  asio::awaitable<absl::Status> ServeRequests(Session& session);
  asio::awaitable<absl::Status> Answer(Session& session, v1::DataRequest request);
  asio::awaitable<absl::Status> TakeTurn(const v1::DataRequest& request, const DataSocket& socket);
  asio::awaitable<absl::Status> Send(Session& session, const RunSource& source,
                                     OnePort::Id port_use);
  void Tune(Session& session, const v1::DataRequest& request);

  // Lets those that wait for the port ask again.
  void WakeTurns() {
    for (const auto& [job, turn] : turns_) turn->cancel();
  }
  // For what strangers can cause.
  void Warn(std::string_view sentence, const std::string& reason);
  void TryAdmit(tcp::socket accepted);
  void Admit(tcp::socket accepted);
  void CloseStranger(StrangerConnections::Id id, const absl::Status& why);
  void CloseStrangersInTime();
  absl::Status AcceptToken(Session& session);
  void EndSend(Session& session);
  void Forget(const Session& session);
  void BreakOff(const std::vector<OnePort::Id>& superseded);
  void SetRatesOnStrand(const std::string& job_id, const std::vector<SendRate>& rates);
  void CancelOnStrand(const std::string& job_id);
  void CloseOnStrand();
  template <typename Change>
  void Count(Change change) {
    const std::lock_guard lock(mutex_);
    change(counters_);
  }

  const asio::any_io_executor strand_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;   // before accepting again
  asio::steady_timer expiry_;  // of the stranger that came first
  const std::shared_ptr<const RunCatalog> catalog_;
  const env::EventLoop& loop_;
  const DataServerOptions options_;
  const CongestionChoice congestion_;
  std::string endpoint_;
  // Between reading a piece and having its checksum nobody else runs, so one is enough for all.
  std::vector<char> piece_;
  absl::btree_map<StrangerConnections::Id, std::shared_ptr<Session>> sessions_;
  StrangerConnections strangers_;  // of sessions_, those that have shown no token
  StrangerConnections::Id last_id_ = 0;
  int num_token_shown_ = 0;
  OnePort port_;
  SendRates rates_;
  // By job: the one that waits for the port; cancelled when a send ends.
  absl::btree_map<std::string, asio::steady_timer*> turns_;
  LogRate log_rate_{kWarnEvery};
  SegmentCounts segments_;
  bool closed_ = false;

  mutable std::mutex mutex_;
  DataServerCounters counters_;  // guarded by mutex_
};

absl::Status Server::Listen() {
  absl::StatusOr<std::string> endpoint =
      transfer::Listen(acceptor_, options_.listen_host, options_.port);
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = *std::move(endpoint);
  LogInfo("Data server listens", {{"endpoint", endpoint_},
                                  {"congestion_control_paced", congestion_.paced},
                                  {"congestion_control_unpaced", congestion_.unpaced},
                                  {"congestion_control_loopback", congestion_.loopback}});
  return absl::OkStatus();
}

asio::awaitable<void> Server::Accept(std::shared_ptr<Server> self) {
  while (!self->closed_) {
    auto [error, accepted] = co_await self->acceptor_.async_accept(kAwait);
    if (self->closed_) co_return;
    if (!error) {
      self->TryAdmit(std::move(accepted));
      continue;
    }
    self->Warn("Data server cannot accept", error.message());
    // Perhaps for want of a descriptor: a stranger's is the first to go.
    if (const auto stranger = self->strangers_.TakeOne()) {
      self->CloseStranger(*stranger, absl::ResourceExhaustedError(error.message()));
    }
    self->pause_.expires_after(absl::ToChronoNanoseconds(kAcceptPause));
    co_await self->pause_.async_wait(kAwait);
  }
}

void Server::Warn(std::string_view sentence, const std::string& reason) {
  const std::optional<std::int64_t> left_out = log_rate_.Admit(loop_.Now());
  if (!left_out) return;
  LogWarning(sentence, {{"reason", reason}, {"lines_left_out", *left_out}});
}

// What one connection lacks must not keep the next one out.
void Server::TryAdmit(tcp::socket accepted) {
  try {
    Admit(std::move(accepted));
  } catch (...) {
    strangers_.Remove(last_id_);
    sessions_.erase(last_id_);
    Warn("Data server cannot take a connection", StatusOfThrown("cannot serve").ToString());
  }
}

void Server::Admit(tcp::socket accepted) {
  std::error_code ignored;  // then its reads fail as well
  const std::string address = accepted.remote_endpoint(ignored).address().to_string();
  auto session = std::make_shared<Session>(++last_id_, std::move(accepted));
  sessions_[session->id] = session;
  Count([](DataServerCounters& c) { ++c.connections; });
  const bool first = strangers_.size() == 0;
  if (const auto instead = strangers_.Add(session->id, address, loop_.Now())) {
    CloseStranger(*instead, absl::ResourceExhaustedError(
                                absl::StrCat("more than ", options_.strangers_max,
                                             " connections have shown no token of a job")));
  }
  if (first) CloseStrangersInTime();
  asio::co_spawn(strand_, Serve(shared_from_this(), std::move(session)), asio::detached);
}

// Its coroutine then ends, and forgets it.
void Server::CloseStranger(StrangerConnections::Id id, const absl::Status& why) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Count([](DataServerCounters& c) { ++c.strangers_closed; });
  found->second->socket->Close(why);
}

// Runs as long as there are strangers.
void Server::CloseStrangersInTime() {
  for (const StrangerConnections::Id id : strangers_.TakeExpired(loop_.Now())) {
    CloseStranger(id, absl::DeadlineExceededError(
                          absl::StrCat("no request with the token of a job within ",
                                       absl::FormatDuration(options_.first_request))));
  }
  const std::optional<MonoTime> next = strangers_.next_expiry();
  if (!next || closed_) return;
  expiry_.expires_after(absl::ToChronoNanoseconds(*next - loop_.Now()));
  expiry_.async_wait([self = shared_from_this()](const std::error_code& cancelled) {
    if (!cancelled) self->CloseStrangersInTime();
  });
}

// From now on the connection may stay.
absl::Status Server::AcceptToken(Session& session) {
  if (session.token_shown) return absl::OkStatus();
  if (num_token_shown_ >= options_.connections_max) {
    Count([](DataServerCounters& c) { ++c.connections_refused; });
    return absl::ResourceExhaustedError(
        absl::StrCat("the sender has as many data connections as it may, connections_max ",
                     options_.connections_max));
  }
  strangers_.Remove(session.id);
  session.token_shown = true;
  ++num_token_shown_;
  return absl::OkStatus();
}

void Server::EndSend(Session& session) {
  if (session.port_use) {
    port_.End(*session.port_use);
    session.port_use.reset();
    WakeTurns();
  }
  session.job_id.clear();
}

void Server::Forget(const Session& session) {
  strangers_.Remove(session.id);
  if (session.token_shown) --num_token_shown_;
  sessions_.erase(session.id);
}

asio::awaitable<void> Server::Serve(std::shared_ptr<Server> self,
                                    std::shared_ptr<Session> session) {
  const absl::Status why = co_await CatchThrown(self->ServeRequests(*session), "cannot serve");
  self->EndSend(*session);
  // Peers come and go in good order, idle connections end; all else is worth a line.
  const bool expected = self->closed_ || why.code() == absl::StatusCode::kCancelled || why.ok();
  if (!expected) {
    self->Warn("Data connection closed",
               absl::StrCat("peer ", session->socket->peer(), ": ", why.ToString()));
  }
  session->socket->Close(why.ok() ? absl::CancelledError("closed") : why);
  self->Forget(*session);
}

// OK when the connection ended between requests.
asio::awaitable<absl::Status> Server::ServeRequests(Session& session) {
  DataSocket& socket = *session.socket;
  socket.SetSilence(options_.silence);
  bool idle = false;  // between requests, silence is in good order
  while (true) {
    const absl::StatusOr<FrameHeader> header = co_await ReadFrameHeader(socket);
    if (!header.ok()) {
      const bool in_order = socket.ended() || (idle && absl::IsDeadlineExceeded(header.status()));
      co_return in_order ? absl::OkStatus() : header.status();
    }
    socket.SetSilence(options_.silence);
    const absl::StatusOr<std::string> body =
        co_await ReadSmallBody(socket, *header, FrameKind::kRequest);
    if (!body.ok()) co_return body.status();
    absl::StatusOr<v1::DataRequest> request = DecodeRequest(*body);
    if (!request.ok()) co_return request.status();
    const absl::Status answered = co_await Answer(session, *std::move(request));
    if (!answered.ok()) co_return answered;
    socket.SetSilence(options_.idle);
    idle = true;
  }
}

// An error means that the connection is of no more use; a refusal is not an error.
asio::awaitable<absl::Status> Server::Answer(Session& session, v1::DataRequest request) {
  DataSocket& socket = *session.socket;
  session.job_id = request.job_id();
  session.transfer = request.transfer();
  session.attempt = request.attempt();
  const bool concurrent = request.concurrent();
  const std::int64_t bytes = request.bytes();
  const std::int64_t grant_ahead_bytes = request.grant_ahead_bytes();
  const std::int32_t plan_edit = request.plan_edit();
  absl::StatusOr<RunSource> source = OpenRun(*catalog_, std::move(request));
  absl::Status admitted = source.status();
  if (admitted.ok()) {
    if (absl::Status stays = AcceptToken(session); !stays.ok()) {
      // Told, for the peer would take a connection that ends for a fault of the network.
      const std::string refusal = EncodeStatus(stays);
      [[maybe_unused]] const absl::Status told = co_await socket.Write(refusal);
      co_return stays;
    }
    admitted = co_await TakeTurn(source->request, socket);
  }
  if (!admitted.ok()) {
    Count([](DataServerCounters& c) { ++c.requests_refused; });
    const std::string refusal = EncodeStatus(admitted);
    const absl::Status written = co_await socket.Write(refusal);
    session.job_id.clear();
    co_return written;
  }
  const OnePort::Id port_use =
      port_.Begin(session.job_id, bytes, grant_ahead_bytes, concurrent, plan_edit);
  session.port_use = port_use;
  const MonoTime begin = loop_.Now();
  const absl::Status sent = co_await Send(session, *source, port_use);
  const double seconds = absl::ToDoubleSeconds(loop_.Now() - begin);
  session.CountSegments(segments_);
  // One that broke off may be asked for once more, over another connection.
  if (sent.ok()) rates_.Forget(session.job_id, session.transfer, session.attempt);
  EndSend(session);
  const bool probe_over = source->probe && absl::IsUnavailable(sent);
  Count([&sent, seconds, probe_over](DataServerCounters& c) {
    ++(sent.ok() || probe_over ? c.sends : c.sends_broken);
    c.busy_s += seconds;
  });
  co_return probe_over ? absl::CancelledError("the receiver has measured enough") : sent;
}

// Waits while another send of the job is nearly done. Only one of a job may wait: plans never grant
// more.
asio::awaitable<absl::Status> Server::TakeTurn(const v1::DataRequest& request,
                                               const DataSocket& socket) {
  const std::string& job = request.job_id();
  if (!request.concurrent()) BreakOff(port_.Superseded(job, request.plan_edit()));
  OnePort::Admission admission = port_.Ask(job, request.concurrent(), request.plan_edit());
  if (admission == OnePort::Admission::kNearlyDone && !turns_.contains(job)) {
    asio::steady_timer turn(strand_);
    turns_[job] = &turn;
    const absl::Cleanup waits_no_more = [this, &job] { turns_.erase(job); };
    while (admission == OnePort::Admission::kNearlyDone && !socket.closed()) {
      turn.expires_after(absl::ToChronoNanoseconds(options_.silence));
      auto [woken] = co_await turn.async_wait(kAwait);
      if (!woken) break;  // nobody woke it: time is up
      admission = port_.Ask(job, request.concurrent(), request.plan_edit());
    }
  }
  if (admission == OnePort::Admission::kFree) co_return absl::OkStatus();
  co_return absl::FailedPreconditionError("the sender is busy with another send of the job");
}

asio::awaitable<absl::Status> Server::Send(Session& session, const RunSource& source,
                                           OnePort::Id port_use) {
  DataSocket& socket = *session.socket;
  const v1::DataRequest& request = source.request;
  Tune(session, request);
  const std::string accepted = EncodeStatus(absl::OkStatus());
  absl::Status written = co_await socket.Write(accepted, true);
  if (!written.ok()) co_return written;
  DataSocket::Moved moved = [this, port_use](std::int64_t bytes) {
    port_.Move(port_use, bytes);
    Count([bytes](DataServerCounters& c) { c.bytes += bytes; });
  };
  std::int64_t granted = std::min(request.credit_bytes(), request.bytes());
  std::int64_t sent = 0;
  while (sent < request.bytes()) {
    const std::int64_t frame_bytes = std::min(request.bytes() - sent, limits::kBlockBytesMax);
    while (sent + frame_bytes > granted) {
      const absl::StatusOr<std::string> body = co_await ReadSmallFrame(socket, FrameKind::kCredit);
      if (!body.ok()) co_return body.status();
      const absl::StatusOr<std::int64_t> credit = DecodeCredit(*body);
      if (!credit.ok()) co_return credit.status();
      if (*credit > request.bytes() - granted) {
        co_return absl::InvalidArgumentError("peer gave credit beyond what it asked for");
      }
      granted += *credit;
    }
    const std::int64_t offset = source.probe ? 0 : request.offset() + sent;
    const absl::Status frame =
        co_await SendFrame(socket, source, offset, frame_bytes, piece_, &moved);
    if (!frame.ok()) co_return frame;
    sent += frame_bytes;
    co_await socket.LetOthersRun();
  }
  co_return absl::OkStatus();
}

// Sets what the connection does not have from the send before.
void Server::Tune(Session& session, const v1::DataRequest& request) {
  DataSocket& socket = *session.socket;
  const std::int64_t pacing = rates_.Find(session.job_id, session.transfer, session.attempt)
                                  .value_or(request.pacing_bytes_per_s());
  socket.SetPacing(pacing);
  const std::string& algorithm = congestion_.For(socket.to_loopback(), pacing > 0);
  if (algorithm.empty() || algorithm == session.congestion_control) return;
  session.congestion_control = algorithm;
  const absl::Status set = socket.SetCongestionControl(algorithm);
  if (!set.ok()) LogWarning("Data connection is not tuned", {{"reason", set.ToString()}});
}

void Server::BreakOff(const std::vector<OnePort::Id>& superseded) {
  for (const auto& [id, session] : sessions_) {
    const bool over = session->port_use && std::find(superseded.begin(), superseded.end(),
                                                     *session->port_use) != superseded.end();
    if (over) session->socket->Close(absl::CancelledError("the plan was edited without it"));
  }
}

void Server::SetRatesOnStrand(const std::string& job_id, const std::vector<SendRate>& rates) {
  for (const SendRate& rate : rates) rates_.Set(job_id, rate);
  for (const auto& [id, session] : sessions_) {
    if (session->job_id != job_id) continue;
    const auto rate = rates_.Find(job_id, session->transfer, session->attempt);
    if (rate) session->socket->SetPacing(*rate);
  }
}

void Server::CancelOnStrand(const std::string& job_id) {
  rates_.ForgetJob(job_id);
  for (const auto& [id, session] : sessions_) {
    if (session->job_id == job_id) {
      session->socket->Close(absl::CancelledError(absl::StrCat("job ", job_id, " ends")));
    }
  }
  WakeTurns();
}

void Server::CloseOnStrand() {
  if (closed_) return;
  closed_ = true;
  std::error_code ignored;
  acceptor_.close(ignored);
  WakeTurns();
  pause_.cancel();
  expiry_.cancel();
  for (const auto& [id, session] : sessions_) {
    session->socket->Close(absl::CancelledError("the data server is closing"));
  }
}

// What callers hold: closes the shared state when they let go.
class DataServerHandle : public DataServer {
 public:
  explicit DataServerHandle(std::shared_ptr<Server> server) : server_(std::move(server)) {}
  ~DataServerHandle() override { server_->Close(); }
  std::string endpoint() const override { return server_->endpoint(); }
  void SetRates(const std::string& job_id, std::vector<SendRate> rates,
                std::function<void()> set) override {
    server_->SetRates(job_id, std::move(rates), std::move(set));
  }
  void CancelJob(const std::string& job_id) override { server_->CancelJob(job_id); }
  void CountSegments(std::function<void(SegmentCounts)> counted) override {
    server_->CountSegments(std::move(counted));
  }
  void Close() override { server_->Close(); }
  DataServerCounters counters() const override { return server_->counters(); }

 private:
  const std::shared_ptr<Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DataServer>> MakeDataServer(
    asio::any_io_executor executor, std::shared_ptr<const RunCatalog> catalog,
    const env::EventLoop& loop, DataServerOptions options) {
  auto server = std::make_shared<Server>(executor, std::move(catalog), loop, std::move(options));
  const absl::Status listening = server->Listen();
  if (!listening.ok()) return listening;
  server->Start();
  return std::make_unique<DataServerHandle>(std::move(server));
}

}  // namespace weir::transfer
