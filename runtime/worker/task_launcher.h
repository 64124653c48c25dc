#pragma once

// The task of a job as its daemon sees it: who starts one, hands it steps, and hears how they
// ended. Upstream: WorkerJob (orders). Downstream: processes of the machine
// (runtime/worker/supervise); tests/sim runs tasks in virtual time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/env/event_loop.h"
#include "weir/v1/steps.pb.h"

namespace weir::worker {

/// What runs one job's steps on one worker, one step at a time.
///
/// Thread-safety: on the loop only. Callbacks come from the loop, never inside a call to this; they
///   may call this, but not destroy it.
/// Ownership: destruction ends the task and waits until it is gone; Stop first to avoid the wait.
///   One that could not be ended is left behind.
class JobTask {
 public:
  struct Listener {
    absl::AnyInvocable<void()> on_ready;
    absl::AnyInvocable<void(v1::StepResult)> on_result;
    /// At most once, and not for a task that ends by Stop. Without worker and step.
    absl::AnyInvocable<void(v1::JobError)> on_failed;
  };
  /// The step that runs now.
  struct Progress {
    int step = 0;
    std::int64_t input_bytes_done = 0;
    std::string status = {};  // one line of the job's code; empty: none
  };

  virtual ~JobTask() = default;
  /// Starts the task in `directory`; on_ready or on_failed follows. Call once.
  /// Errors: it could not be started; on_failed is then not called.
  virtual absl::Status Start(const std::string& directory, const v1::TaskCommand::Start& start) = 0;
  /// Hands over a step; on_result or on_failed follows. Errors: kFailedPrecondition (not ready, or
  /// another step runs).
  virtual absl::Status Run(v1::TaskCommand::Run run) = 0;
  /// Ends the task and calls `done` when nothing of it is left. Call once.
  virtual void Stop(env::Task done) = 0;
  /// Whether nothing of it runs: destruction does not wait. One that failed may live on for as long
  /// as a disk does not answer it.
  virtual bool ended() const = 0;

  virtual std::optional<Progress> progress() const = 0;
  /// The end of what it wrote to stdout and stderr, also after its end.
  virtual std::string OutputTailBytes(std::size_t bytes_max) const = 0;
};

/// Makes the task of each job.
class TaskLauncher {
 public:
  virtual ~TaskLauncher() = default;
  /// Returns a task that is not started.
  virtual std::unique_ptr<JobTask> MakeTask(JobTask::Listener listener) = 0;
};

}  // namespace weir::worker
