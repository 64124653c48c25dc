#pragma once

// The daemon's end of the socket to one task process: whole messages in, whole messages out, never
// blocking. Upstream: TaskSupervisor (commands). Downstream: the task process (events).

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/base/task_frame.h"
#include "runtime/env/event_loop.h"
#include "weir/v1/steps.pb.h"

namespace weir::worker {

/// Sends commands to a task process and delivers its events, on the loop.
/// Bounds: reads at most kReadBytes a turn, so that a task that talks without end cannot starve the
///   loop.
/// Ownership: `fd` stays the caller's and must outlive this. No callback comes after destruction;
///   a callback may not destroy the channel.
class TaskChannel {
 public:
  static constexpr std::size_t kReadBytes = 64 << 10;

  using OnEvent = absl::AnyInvocable<void(v1::TaskEvent)>;
  /// OK: the task closed its end; kInvalidArgument: it sent what is not an event. Called at most
  /// once.
  using OnEnd = absl::AnyInvocable<void(absl::Status)>;

  TaskChannel(int fd, std::unique_ptr<env::FdWatch> watch, OnEvent on_event, OnEnd on_end);

  /// Errors: kResourceExhausted (longer than a frame may be). A task that is gone is not an error
  /// here;
  ///   its end is told by OnEnd.
  absl::Status Send(const v1::TaskCommand& command);
  /// Delivers what has arrived already; for the last words of a task that has ended.
  void Drain();

 private:
  enum class ReadOutcome { kMore, kNothingNow, kEnd };
  ReadOutcome ReadOnce();
  void ReadTurn();
  void WriteTurn();
  void End(absl::Status status);

  const int fd_;
  std::unique_ptr<env::FdWatch> watch_;
  OnEvent on_event_;
  OnEnd on_end_;
  TaskFrameReader reader_;
  UnsentFrames unsent_;
  bool write_pending_ = false;
  bool ended_ = false;
};

}  // namespace weir::worker
