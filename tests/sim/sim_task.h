#pragma once

// Tasks that charge virtual time instead of running user code. Upstream: the worker daemon, through
// TaskLauncher. Downstream: sized files, the world's trace.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobs/api/element.h"
#include "runtime/worker/task_launcher.h"
#include "tests/sim/contents.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/sim_process.h"

namespace weir::sim {

/// Makes the tasks of one worker and knows those that are not gone.
class SimTasks final : public worker::TaskLauncher {
 public:
  explicit SimTasks(SimProcess& process) : process_(process) {}
  std::unique_ptr<worker::JobTask> MakeTask(worker::JobTask::Listener listener) override;
  /// Ids of the jobs whose tasks live.
  const std::multiset<std::string>& jobs() const { return jobs_; }

 private:
  SimProcess& process_;
  std::multiset<std::string> jobs_;
};

/// The task of one job, as fast as the worker's model says.
///
/// It breaks a promise of the world, with a sentence, when a step begins while another runs or
/// finds inputs that are not there whole.
class SimTask final : public worker::JobTask {
 public:
  SimTask(SimProcess& process, std::multiset<std::string>& jobs, Listener listener)
      : process_(process), jobs_(jobs), listener_(std::move(listener)) {}
  ~SimTask() override;

  absl::Status Start(const std::string& directory, const v1::TaskCommand::Start& start) override;
  absl::Status Run(v1::TaskCommand::Run run) override;
  void Stop(env::Task done) override;
  bool ended() const override { return state_ == State::kNew || state_ == State::kGone; }
  std::optional<Progress> progress() const override;
  std::string OutputTailBytes(std::size_t bytes_max) const override;

 private:
  enum class State { kNew, kStarting, kIdle, kRunning, kLingering, kStopping, kGone };
  void After(absl::Duration delay, env::Task task);
  void Disarm();
  void End();
  absl::Status CheckInputs() const;
  void FinishStep();
  /// How the process ends in place of a result; nothing: it goes on.
  std::optional<v1::JobError> EarlyEnd() const;
  void Hang();
  absl::Status WriteOutput(std::int64_t output_bytes, v1::StepResult& result);
  Content ContentOfInputs() const;
  Content ContentOfLoop();
  std::vector<const Content*> Operands() const;
  bool loops() const { return loop_.has_value(); }
  std::int64_t places() const { return loops() ? kLoopPlaces : kTablePlaces; }
  void KeepContents() const;
  std::int64_t plan_epoch() const { return run_.fence().plan_epoch(); }
  PlanOfJob plan() const { return {job_id_, run_.fence().master_epoch(), plan_epoch()}; }
  // The first input whose bytes are not what was written; empty: none.
  std::string DamagedInput() const;

  SimProcess& process_;
  std::multiset<std::string>& jobs_;
  Listener listener_;
  State state_ = State::kNew;
  std::string job_id_;
  // Of a loop: what stays of the input, and the iteration that ends it.
  struct Loop {
    LoopPlace resident;
    std::int64_t converges = -1;
  };
  std::optional<Loop> loop_;
  v1::TaskCommand::Run run_;
  std::int64_t input_bytes_ = 0;
  Content content_;  // what the step makes; empty where nobody knows
  MonoTime began_;
  absl::Duration takes_;
  bool hangs_ = false;      // the step that runs will have no end
  MonoTime lingers_until_;  // killed, it does not die before that
  std::optional<env::EventLoop::TimerId> timer_;
};

}  // namespace weir::sim
