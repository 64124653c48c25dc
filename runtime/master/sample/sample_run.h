#pragma once

// Carries out one sample on the workers, as a small job of its own: the effects around
// SampleMachine. Upstream: JobRun, the master's dry runs. Downstream: JobReservation,
// rpc::WorkerApi.

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/event_loop.h"
#include "runtime/master/sample/sample_machine.h"
#include "runtime/master/workers/job_reservation.h"
#include "runtime/master/workers/worker_table.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// Name of the small job that samples for `job_id`, and the other way round (empty: it is none).
std::string SampleId(const std::string& job_id);
std::string JobOfSample(const std::string& sample_id);

/// One sample.
///
/// Failure semantics: whatever goes wrong (a worker lost, user code that fails) ends the sample,
///   never the job: the job is then planned without, and meets a bad record itself if it is one.
///   When the budget is over, what the machine can tell so far is the answer, if it is anything.
///   The workers are released in any case.
/// Thread-safety: on the loop only. Bounds: `budget` from Start to the answer.
/// Checked by: tests/unit/master/sample_test.cc, tests/sim.
class SampleRun {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<v1::JobShapeLearned>)>;

  /// `fence`: job id (SampleId) and master epoch.
  SampleRun(env::EventLoop& loop, env::Random& random, v1::Fence fence,
            std::vector<RegisteredWorker> workers);

  /// `done` comes once, unless Stop comes before.
  void Start(const v1::JobSpec& spec, SampleMachine machine, absl::Duration budget, Done done);
  /// Ends it without an answer.
  void Stop();
  /// `released` comes once the workers are released, perhaps at once. Call after Start.
  void WhenReleased(absl::AnyInvocable<void()> released);
  bool released() const { return released_; }

  absl::Status TakeReport(const v1::ReportStepRequest& report);
  /// `why`: "was lost: ...".
  void WorkerLost(WorkerId worker, Epoch epoch, const std::string& why);

 private:
  void Send(std::vector<SampleOrder> orders);
  void SendOne(const SampleOrder& order);
  void End(absl::StatusOr<v1::JobShapeLearned> outcome);
  double Elapsed() const;

  env::EventLoop& loop_;
  env::Random& random_;
  const v1::Fence fence_;
  const std::vector<RegisteredWorker> workers_;
  JobReservation hold_;
  std::unique_ptr<SampleMachine> machine_;
  Done done_;
  MonoTime began_;
  bool ended_ = false;
  bool released_ = false;
  std::vector<absl::AnyInvocable<void()>> on_released_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
