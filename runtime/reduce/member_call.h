#pragma once

// One call of one member: carries out its part of the plan. Upstream: Member. Downstream: sockets,
// CombineThread.

#include <poll.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/reduce/member.h"
#include "runtime/reduce/steady_time.h"

namespace weir::reduce {

/// Sends, receives and combines in the orders of the program, all three at once.
///
/// - Sends: one at a time, in order; each begins once its step is done and its receiver's window
///   reaches it, and ends when all but kTailBytes of it have left the socket.
/// - Receives: one at a time, in order. What others send meanwhile waits in their sockets; their
///   window keeps it below the window of the program and one message.
/// - Steps: in order, on the caller's thread where they are short, else on the group's.
/// Failure semantics: ends when a member dies, leaves, aborts or differs, or when nothing moves.
/// Checked by: tests/unit/reduce/group_test.cc.
class MemberCall {
 public:
  MemberCall(Member& member, const Signature& call, char* data, const Operation::Fold& fold);
  ~MemberCall();

  absl::Status Run();

 private:
  /// Where the message of a receive is, until it is combined.
  struct Arrival {
    std::vector<char> bytes;
    bool done = false;
  };

  /// What a socket is waited for, or the thread that combines.
  enum class Awaits { kWords, kLoss, kFlush, kCombined, kData, kRoom };
  /// All of it at once.
  struct Awaited {
    void Add(Awaits what, std::int32_t peer, int fd, short events) {
      polls.push_back({fd, events, 0});
      of.emplace_back(what, peer);
    }
    std::vector<pollfd> polls;
    std::vector<std::pair<Awaits, std::int32_t>> of;
  };

  bool Done() const;
  /// Waits until something can move, and moves it; `only_looks`: what can by now.
  absl::Status Wait(bool only_looks);
  /// In the order in which it is seen to.
  Awaited WhatIsAwaited();
  /// `peer`: none of kCombined; `events`: of its socket, one at least.
  absl::Status SeeTo(Awaits what, std::int32_t peer, int events);
  Silence SilenceNow() const;
  absl::Status LostHost(std::int32_t peer) const;
  void Progress();
  double Now() const;
  // Sockets of the peer, as Mesh has them.
  int FdFrom(std::int32_t peer) const { return member_.mesh_.from[planner::At(peer)].get(); }
  int FdTo(std::int32_t peer) const { return member_.mesh_.to[planner::At(peer)].get(); }
  FrameHeader HeaderOf(FrameKind kind) const;
  char* At(std::int64_t place) { return data_ + place * program_.place_bytes; }

  // Receiving.
  absl::Status Receive();
  absl::Status ReceiveHeader();
  /// Lets the socket of the message that is due wake this member once enough of it is there.
  void Gather(std::int32_t peer);
  char* TargetOf(std::size_t receive);
  void GrantAhead();
  // Computing.
  bool StepReady() const;
  void RunSteps();
  void FoldStep(std::size_t step);
  void StepDone();
  // Sending.
  /// Errors: kUnavailable when the next message waits for a grant of a member that has left.
  absl::Status RoomMayCome() const;
  bool SendReady() const;
  absl::Status Send();
  /// How much of what it was given the peer's socket may hold unsent and still take more.
  void SetSendAhead(std::int32_t peer, std::int64_t bytes);
  // Hearing.
  absl::Status Hear(std::int32_t peer);
  absl::Status HearOne(std::int32_t peer, const FrameHeader& header);
  void Inquire();
  absl::Status TooLate() const;
  std::string WaitsFor() const;

  Member& member_;
  const Signature call_;
  char* const data_;
  const Operation::Fold& fold_;
  const MemberProgram& program_;
  const planner::Plan& plan_;
  planner::ActualRun& run_;
  const double begin_s_;

  std::vector<Arrival> arrivals_;
  std::size_t next_receive_ = 0;
  /// Of the message under way: what came of its header, and of its body.
  char header_[kFrameHeaderBytes] = {};
  std::size_t header_bytes_ = 0;
  std::int64_t body_bytes_ = 0;
  std::int64_t received_bytes_ = 0;
  std::int64_t staged_bytes_ = 0;
  std::size_t next_grant_ = 0;

  std::size_t next_step_ = 0;
  double step_begin_s_ = 0;

  std::vector<bool> granted_;  // by position in program_.sends
  std::size_t next_send_ = 0;
  char send_header_[kFrameHeaderBytes] = {};
  std::size_t send_header_bytes_ = 0;
  std::int64_t sent_bytes_ = 0;
  bool sending_ = false;
  /// Whose socket still holds the tail of the last message: a message to somebody else would share
  /// the port with it, and both would be late. kNoIndex: nobody's.
  std::int32_t tail_peer_ = planner::kNoIndex;

  double last_progress_s_ = 0;
  bool inquired_ = false;
};

}  // namespace weir::reduce
