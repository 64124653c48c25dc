#include "runtime/reduce/member_call.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/reduce/steady_time.h"

namespace weir::reduce {
namespace {

/// A step that is predicted to take less runs where the data are, without a second thread.
constexpr double kShortStepSeconds = 1e-4;
/// Messages that wait to be combined, beyond which none is granted.
constexpr std::int64_t kStagedBytesMax = 16 << 20;
constexpr std::size_t kSpareBuffers = 16;
/// What may be left of a message in its socket when the next one begins: two packets.
constexpr std::int64_t kTailBytes = 3 << 10;

/// What a member lets gather before it wakes up for it. One wake-up a packet is some 4000 a second
/// on a link of 50 Mbit/s, each of which polls all members.
constexpr std::int64_t kGatheredBytesMax = 32 << 10;

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

MemberCall::MemberCall(Member& member, const Signature& call, char* data,
                       const Operation::Fold& fold)
    : member_(member),
      call_(call),
      data_(data),
      fold_(fold),
      program_(member.last_->program),
      plan_(member.last_->plan->plan),
      run_(member.trace_.run),
      begin_s_(SteadySeconds()),
      arrivals_(program_.receives.size()) {
  for (const MemberProgram::Send& send : program_.sends) granted_.push_back(send.granted);
  while (next_grant_ < program_.receives.size() &&
         program_.receives[next_grant_].bytes_before <= program_.window_bytes) {
    ++next_grant_;
  }
  run_.steps.assign(plan_.steps.size(), {0, -1});
  run_.transfers.assign(plan_.transfers.size(), {0, -1});
  run_.transfer_bytes.assign(plan_.transfers.size(), 0);
  run_.transfer_in_flight_bytes.assign(plan_.transfers.size(), 0);
  for (const planner::StepIndex step : plan_.compute_order[planner::At(member_.rank_)]) {
    if (plan_.steps[planner::At(step)].kind->reads_input()) run_.steps[planner::At(step)] = {0, 0};
  }
}

MemberCall::~MemberCall() {
  member_.combine_.Finish();
  member_.trace_.duration_s = Now();
  run_.makespan_s = member_.trace_.duration_s;
}

double MemberCall::Now() const { return SteadySeconds() - begin_s_; }

void MemberCall::Progress() {
  last_progress_s_ = Now();
  inquired_ = false;
}

bool MemberCall::Done() const {
  return next_receive_ == program_.receives.size() && next_step_ == program_.steps.size() &&
         next_send_ == program_.sends.size();
}

absl::Status MemberCall::Run() {
  for (auto& [peer, header] : std::exchange(member_.early_, {})) {
    if (absl::Status status = HearOne(peer, header); !status.ok()) return status;
  }
  for (;;) {
    RunSteps();
    if (Done()) return absl::OkStatus();
    // Who was stopped for so long itself, with its process or its machine, may find all of it here.
    const bool last_look = SilenceNow().IsLate();
    if (absl::Status status = Wait(last_look); !status.ok()) return status;
    if (last_look && SilenceNow().IsLate()) return TooLate();
  }
}

Silence MemberCall::SilenceNow() const {
  return {Now() - last_progress_s_, absl::ToDoubleSeconds(member_.call_timeout_), inquired_,
          member_.combine_.busy()};
}

absl::Status MemberCall::Wait(bool only_looks) {
  if (absl::Status comes = RoomMayCome(); !comes.ok()) return comes;
  Awaited awaited = WhatIsAwaited();
  Silence silence = SilenceNow();
  if (silence.Inquires()) {
    Inquire();
    silence.inquired = true;
  }
  const int wait_ms = only_looks ? 0 : static_cast<int>(silence.WaitSeconds() * 1000) + 1;
  if (::poll(awaited.polls.data(), awaited.polls.size(), wait_ms) < 0) {
    return errno == EINTR ? absl::OkStatus() : ErrnoStatus(errno, "poll");
  }
  for (std::size_t i = 0; i < awaited.polls.size(); ++i) {
    if (awaited.polls[i].revents == 0) continue;
    const auto [what, peer] = awaited.of[i];
    if (absl::Status seen = SeeTo(what, peer, awaited.polls[i].revents); !seen.ok()) return seen;
  }
  return absl::OkStatus();
}

MemberCall::Awaited MemberCall::WhatIsAwaited() {
  std::vector<std::int32_t> others;
  for (std::int32_t peer = 0; peer < member_.facts_.size; ++peer) {
    if (peer != member_.rank_) others.push_back(peer);
  }
  Awaited awaited;
  for (const std::int32_t peer : others) {
    if (!member_.answers_.left(peer)) awaited.Add(Awaits::kWords, peer, FdTo(peer), POLLIN);
  }
  // For errors alone: a host that is gone while it is sent to shows on the other connection.
  for (const std::int32_t peer : others) {
    if (!member_.answers_.left(peer)) awaited.Add(Awaits::kLoss, peer, FdFrom(peer), 0);
  }
  for (const std::int32_t peer : others) {
    if (member_.answers_.Flush(peer)) awaited.Add(Awaits::kFlush, peer, FdFrom(peer), POLLOUT);
  }
  if (member_.combine_.busy()) {
    awaited.Add(Awaits::kCombined, planner::kNoIndex, member_.combine_.done_fd(), POLLIN);
  }
  if (next_receive_ < program_.receives.size()) {
    const std::int32_t peer = program_.receives[next_receive_].peer;
    Gather(peer);
    awaited.Add(Awaits::kData, peer, FdFrom(peer), POLLIN);
  }
  if (SendReady()) {
    const std::int32_t next = program_.sends[next_send_].peer;
    if (tail_peer_ == next) tail_peer_ = planner::kNoIndex;
    const std::int32_t peer = tail_peer_ == planner::kNoIndex ? next : tail_peer_;
    awaited.Add(Awaits::kRoom, peer, FdTo(peer), POLLOUT);
  }
  return awaited;
}

absl::Status MemberCall::SeeTo(Awaits what, std::int32_t peer, int events) {
  switch (what) {
    case Awaits::kWords:
      return Hear(peer);
    case Awaits::kLoss:
      if ((events & POLLERR) == 0 || member_.answers_.left(peer)) break;
      return LostHost(peer);
    case Awaits::kFlush:
      member_.answers_.Flush(peer);
      break;
    case Awaits::kCombined:
      if (member_.combine_.Taken()) StepDone();
      break;
    case Awaits::kData:
      return Receive();
    case Awaits::kRoom:
      tail_peer_ = planner::kNoIndex;
      return Send();
  }
  return absl::OkStatus();
}

absl::Status MemberCall::LostHost(std::int32_t peer) const {
  int error = 0;
  socklen_t bytes = sizeof error;
  ::getsockopt(FdFrom(peer), SOL_SOCKET, SO_ERROR, &error, &bytes);
  return absl::UnavailableError(absl::StrCat(
      member_.NameOf(peer),
      " died or left: ", ErrnoStatus(error != 0 ? error : ECONNRESET, "its connection").message()));
}

FrameHeader MemberCall::HeaderOf(FrameKind kind) const {
  FrameHeader header;
  header.kind = kind;
  header.call = member_.calls_;
  header.signature = call_;
  return header;
}

// --- Receiving.

char* MemberCall::TargetOf(std::size_t receive) {
  const MemberProgram::Receive& due = program_.receives[receive];
  if (due.folds.empty()) return At(due.begin);
  Arrival& arrival = arrivals_[receive];
  const auto bytes = static_cast<std::size_t>((due.end - due.begin) * program_.place_bytes);
  if (arrival.bytes.size() != bytes) {
    if (!member_.spare_.empty()) {
      arrival.bytes = std::move(member_.spare_.back());
      member_.spare_.pop_back();
    }
    arrival.bytes.resize(bytes);
    staged_bytes_ += static_cast<std::int64_t>(bytes);
  }
  return arrival.bytes.data();
}

void MemberCall::Gather(std::int32_t peer) {
  const MemberProgram::Receive& due = program_.receives[next_receive_];
  // What a header says may differ from what is due: it is read alone.
  auto bytes = static_cast<std::int64_t>(kFrameHeaderBytes - header_bytes_);
  if (bytes == 0) {
    const std::int64_t whole = (due.end - due.begin) * program_.place_bytes;
    bytes = std::min(whole - body_bytes_, kGatheredBytesMax);
    if (next_grant_ < program_.receives.size()) {
      // No longer than until somebody else may be told to begin.
      const std::int64_t until_grant =
          program_.receives[next_grant_].bytes_before - program_.window_bytes - received_bytes_;
      if (until_grant > 0) bytes = std::min(bytes, until_grant);
    }
  }
  const int value = static_cast<int>(std::max<std::int64_t>(bytes, 1));
  int& gathers = member_.gathers_[planner::At(peer)];
  if (gathers == value) return;
  gathers = value;
  // A kernel that refuses it wakes up more often.
  static_cast<void>(::setsockopt(FdFrom(peer), SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value));
}

absl::Status MemberCall::ReceiveHeader() {
  const MemberProgram::Receive& due = program_.receives[next_receive_];
  absl::StatusOr<FrameHeader> header = DecodeFrameHeader(header_);
  if (!header.ok()) {
    return absl::DataLossError(
        absl::StrCat(member_.NameOf(due.peer), ": ", header.status().message()));
  }
  if (header->signature != call_) return member_.Differs(due.peer, header->signature, call_);
  const auto expected = static_cast<std::uint64_t>((due.end - due.begin) * program_.place_bytes);
  if (header->kind != FrameKind::kData || header->call != member_.calls_ ||
      header->transfer != due.transfer || header->body_bytes != expected) {
    return absl::DataLossError(
        absl::StrCat(member_.NameOf(due.peer), " sent transfer ", header->transfer, " of call ",
                     header->call, " (", header->body_bytes, " bytes); transfer ", due.transfer,
                     " of call ", member_.calls_, " (", expected, " bytes) is due"));
  }
  run_.transfers[planner::At(due.transfer)].start_s = Now();
  return absl::OkStatus();
}

absl::Status MemberCall::Receive() {
  const MemberProgram::Receive& due = program_.receives[next_receive_];
  const int fd = FdFrom(due.peer);
  const std::int64_t whole = (due.end - due.begin) * program_.place_bytes;
  for (;;) {
    const bool in_header = header_bytes_ < kFrameHeaderBytes;
    char* into = in_header ? header_ + header_bytes_ : TargetOf(next_receive_) + body_bytes_;
    const std::size_t missing = in_header ? kFrameHeaderBytes - header_bytes_
                                          : static_cast<std::size_t>(whole - body_bytes_);
    if (missing > 0) {
      const ssize_t got = ::recv(fd, into, missing, 0);
      if (got < 0 && WouldBlock(errno)) return absl::OkStatus();
      if (got <= 0) {
        // Its last words may say why.
        if (absl::Status heard = Hear(due.peer); !heard.ok()) return heard;
        return absl::UnavailableError(absl::StrCat(
            member_.NameOf(due.peer), member_.answers_.left(due.peer) ? " left the group" : " died",
            " before it had sent its part of ", Describe(call_)));
      }
      Progress();
      if (in_header) {
        header_bytes_ += static_cast<std::size_t>(got);
        if (header_bytes_ < kFrameHeaderBytes) continue;
        if (absl::Status status = ReceiveHeader(); !status.ok()) return status;
      } else {
        body_bytes_ += got;
        received_bytes_ += got;
        GrantAhead();
      }
      if (body_bytes_ < whole) continue;
    }
    const char* body = TargetOf(next_receive_);
    if (absl::Status sound = CheckBody(header_, body); !sound.ok()) {
      return absl::DataLossError(
          absl::StrCat("from ", member_.NameOf(due.peer), ": ", sound.message()));
    }
    run_.transfers[planner::At(due.transfer)].finish_s = Now();
    run_.transfer_bytes[planner::At(due.transfer)] = whole;
    arrivals_[next_receive_].done = true;
    ++next_receive_;
    header_bytes_ = 0;
    body_bytes_ = 0;
    GrantAhead();
    return absl::OkStatus();
  }
}

void MemberCall::GrantAhead() {
  FrameHeader header = HeaderOf(FrameKind::kGrant);
  while (next_grant_ < program_.receives.size()) {
    const MemberProgram::Receive& next = program_.receives[next_grant_];
    // Once what has come is combined, steps and receives go on in the plan's order again.
    const bool full = staged_bytes_ > kStagedBytesMax && (member_.combine_.busy() || StepReady());
    if (next.bytes_before > received_bytes_ + program_.window_bytes || full) return;
    header.transfer = next.transfer;
    member_.answers_.Write(next.peer, SmallFrame(header, ""));
    ++next_grant_;
  }
}

// --- Computing.

bool MemberCall::StepReady() const {
  if (next_step_ == program_.steps.size()) return false;
  const std::vector<std::int32_t>& receives = program_.steps[next_step_].receives;
  return std::all_of(receives.begin(), receives.end(),
                     [&](std::int32_t receive) { return arrivals_[planner::At(receive)].done; });
}

void MemberCall::RunSteps() {
  while (!member_.combine_.busy() && StepReady()) {
    const MemberProgram::Step& step = program_.steps[next_step_];
    step_begin_s_ = Now();
    if (step.duration_s > kShortStepSeconds) {
      member_.combine_.Start([this, at = next_step_] { FoldStep(at); });
      if (member_.combine_.busy()) return;
    } else {
      FoldStep(next_step_);
    }
    StepDone();
  }
}

void MemberCall::FoldStep(std::size_t step) {
  for (const std::int32_t index : program_.steps[step].receives) {
    const MemberProgram::Receive& receive = program_.receives[planner::At(index)];
    const char* came = arrivals_[planner::At(index)].bytes.data();
    for (const MemberProgram::Fold& fold : receive.folds) {
      char* held = At(fold.begin);
      const char* other = came + (fold.begin - receive.begin) * program_.place_bytes;
      const auto n = static_cast<std::size_t>(fold.end - fold.begin);
      fold_(fold.held_left ? held : other, fold.held_left ? other : held, held, n);
    }
  }
}

void MemberCall::StepDone() {
  const MemberProgram::Step& step = program_.steps[next_step_];
  run_.steps[planner::At(step.step)] = {step_begin_s_, Now()};
  for (const std::int32_t receive : step.receives) {
    std::vector<char>& bytes = arrivals_[planner::At(receive)].bytes;
    staged_bytes_ -= static_cast<std::int64_t>(bytes.size());
    if (!bytes.empty() && member_.spare_.size() < kSpareBuffers)
      member_.spare_.push_back(std::move(bytes));
    bytes = {};
  }
  ++next_step_;
  Progress();
  GrantAhead();
}

// --- Sending.

// What a member has granted is heard before its goodbye, and it is not polled any more after that.
absl::Status MemberCall::RoomMayCome() const {
  if (next_send_ == program_.sends.size() || granted_[next_send_]) return absl::OkStatus();
  const std::int32_t peer = program_.sends[next_send_].peer;
  if (!member_.answers_.left(peer)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(member_.NameOf(peer), " left the group before it had room for the part of ",
                   member_.NameOf(member_.rank_), " in ", Describe(call_)));
}

bool MemberCall::SendReady() const {
  return next_send_ < program_.sends.size() && granted_[next_send_] &&
         planner::At(program_.sends[next_send_].after_steps) <= next_step_;
}

void MemberCall::SetSendAhead(std::int32_t peer, std::int64_t bytes) {
  const int value = static_cast<int>(bytes);
  // Kernels that do not know it keep more: later, never wrong.
  static_cast<void>(::setsockopt(FdTo(peer), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value, sizeof value));
}

absl::Status MemberCall::Send() {
  const MemberProgram::Send& send = program_.sends[next_send_];
  const std::int64_t whole = (send.end - send.begin) * program_.place_bytes;
  if (!sending_) {
    sending_ = true;
    FrameHeader header = HeaderOf(FrameKind::kData);
    header.transfer = send.transfer;
    header.body_bytes = static_cast<std::uint64_t>(whole);
    EncodeFrameHeader(header, At(send.begin), send_header_);
    run_.transfers[planner::At(send.transfer)].start_s = Now();
    if (whole > kTailBytes) SetSendAhead(send.peer, member_.mesh_.send_ahead_bytes);
  }
  const std::int64_t piece = std::min(whole - sent_bytes_, member_.mesh_.send_ahead_bytes);
  iovec parts[2] = {{send_header_ + send_header_bytes_, kFrameHeaderBytes - send_header_bytes_},
                    {At(send.begin) + sent_bytes_, static_cast<std::size_t>(piece)}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t sent = ::sendmsg(FdTo(send.peer), &message, MSG_NOSIGNAL);
  if (sent < 0 && WouldBlock(errno)) return absl::OkStatus();
  if (sent < 0) {
    const int error = errno;
    if (absl::Status heard = Hear(send.peer); !heard.ok()) return heard;
    return absl::UnavailableError(
        absl::StrCat(member_.NameOf(send.peer),
                     " died or left while it was sent to: ", ErrnoStatus(error, "send").message()));
  }
  Progress();
  const std::size_t of_header =
      std::min(static_cast<std::size_t>(sent), kFrameHeaderBytes - send_header_bytes_);
  send_header_bytes_ += of_header;
  sent_bytes_ += sent - static_cast<ssize_t>(of_header);
  if (send_header_bytes_ < kFrameHeaderBytes || sent_bytes_ < whole) return absl::OkStatus();
  run_.transfers[planner::At(send.transfer)].finish_s = Now();
  run_.transfer_bytes[planner::At(send.transfer)] = whole;
  if (whole > kTailBytes) {
    SetSendAhead(send.peer, kTailBytes);
    tail_peer_ = send.peer;
  }
  ++next_send_;
  send_header_bytes_ = 0;
  sent_bytes_ = 0;
  sending_ = false;
  return absl::OkStatus();
}

// --- Hearing.

absl::Status MemberCall::Hear(std::int32_t peer) {
  absl::StatusOr<std::vector<Answers::Answer>> answers = member_.answers_.Read(peer);
  if (!answers.ok()) {
    return absl::Status(answers.status().code(),
                        absl::StrCat(member_.NameOf(peer), ": ", answers.status().message()));
  }
  for (const Answers::Answer& answer : *answers) {
    if (answer.header.kind == FrameKind::kAbort) {
      return absl::Status(static_cast<absl::StatusCode>(answer.header.transfer), answer.body);
    }
    if (absl::Status status = HearOne(peer, answer.header); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status MemberCall::HearOne(std::int32_t peer, const FrameHeader& header) {
  if (header.kind != FrameKind::kGrant && header.kind != FrameKind::kInquiry)
    return absl::OkStatus();
  if (header.call > member_.calls_) {
    member_.early_.emplace_back(peer, header);
    return absl::OkStatus();
  }
  const std::uint64_t ago = member_.calls_ - header.call;
  if (ago >= member_.history_.size()) return absl::OkStatus();
  const Signature& ours = member_.history_[member_.history_.size() - 1 - ago];
  if (header.signature != ours) return member_.Differs(peer, header.signature, ours);
  if (header.kind == FrameKind::kInquiry || ago > 0) return absl::OkStatus();
  for (std::size_t i = next_send_; i < program_.sends.size(); ++i) {
    if (program_.sends[i].transfer != header.transfer) continue;
    if (!granted_[i]) Progress();
    granted_[i] = true;
    break;
  }
  return absl::OkStatus();
}

void MemberCall::Inquire() {
  inquired_ = true;
  const std::string frame = SmallFrame(HeaderOf(FrameKind::kInquiry), "");
  for (std::int32_t peer = 0; peer < member_.facts_.size; ++peer) {
    if (peer != member_.rank_) member_.answers_.Write(peer, frame);
  }
}

std::string MemberCall::WaitsFor() const {
  std::string waits;
  if (next_receive_ < program_.receives.size())
    waits = absl::StrCat("data of ", member_.NameOf(program_.receives[next_receive_].peer));
  if (next_send_ < program_.sends.size() && !(SendReady() && waits.empty())) {
    const std::int32_t peer = program_.sends[next_send_].peer;
    if (!granted_[next_send_]) {
      absl::StrAppend(&waits, waits.empty() ? "" : " and ", "room at ", member_.NameOf(peer));
    }
  }
  return waits.empty() ? absl::StrCat("room at ", member_.NameOf(program_.sends[next_send_].peer))
                       : waits;
}

absl::Status MemberCall::TooLate() const {
  return absl::DeadlineExceededError(absl::StrCat(member_.NameOf(member_.rank_), " has waited ",
                                                  absl::FormatDuration(member_.call_timeout_),
                                                  " for ", WaitsFor(), " in ", Describe(call_)));
}

}  // namespace weir::reduce
