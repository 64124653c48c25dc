#pragma once

// The one thread that runs the steps of a task, one after another, so that the main thread stays
// free for the daemon. Upstream: task.cc. Downstream: step_runner.h.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jobs/api/program.h"
#include "runtime/base/fd.h"
#include "runtime/task/task_environment.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

/// Runs steps in the order in which they are added.
///
/// Thread-safety: methods by one thread (the task's main thread).
/// Ownership: the destructor cancels, then waits until the running step has returned.
/// Checked by: tests/unit/task/task_test.cc.
class StepThread {
 public:
  /// Starts the threads of the slots, too. Requires: program outlives the object.
  /// Errors: kResourceExhausted (descriptors), kUnavailable (threads).
  static absl::StatusOr<std::unique_ptr<StepThread>> Start(JobProgram& program,
                                                           const v1::TaskCommand::Start& start,
                                                           const TaskEnvironment& environment);
  ~StepThread();
  StepThread(const StepThread&) = delete;
  StepThread& operator=(const StepThread&) = delete;

  void Add(v1::TaskCommand::Run run);
  /// Forgets the steps that wait and asks the running one to end.
  void Cancel();
  /// True while a step runs or waits.
  bool busy() const;

  /// Becomes readable when a result is there; TakeResults clears it.
  int result_fd() const;
  std::vector<v1::StepResult> TakeResults();
  /// Returns how far the running step is, if one runs.
  std::optional<v1::TaskEvent::Progress> progress() const;

 private:
  struct State;
  explicit StepThread(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // Shared with the thread, which leaves its lock after the destructor is told that it is done.
  std::shared_ptr<State> state_;
};

}  // namespace weir::task
