#pragma once

// The workers that hold one job: told to prepare it, later to let go of it.
// Upstream: JobRun. Downstream: rpc::WorkerApi.

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/event_loop.h"
#include "runtime/master/workers/worker_table.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

/// Prepares and releases one job on its workers.
///
/// Thread-safety: on the loop only. Failure semantics: a worker that does not answer in time is let
///   go all the same; it is told to release the job by the answer to its heartbeat.
/// Checked by: tests/unit/master/job_reservation_test.cc, master_test.cc, tests/sim.
class JobReservation {
 public:
  JobReservation(env::EventLoop& loop, env::Random& random) : loop_(loop), random_(random) {}

  /// Tells `workers` to prepare. `prepared` comes once all are ready, perhaps at once; `failed` for
  /// each that is not. Neither comes after Stop, Release or WithdrawPreparation. `request` lacks
  /// only the workers' epochs; only those that held runs of the plan that it keeps are told to keep
  /// them, and nobody is told the job's list of inputs. Called again, under a higher plan epoch, it
  /// takes over workers that prepared under an earlier one. A worker that does not answer, or knows
  /// nothing of its lease, is asked for limits::kPeerPatience: if it is gone, its lease says so
  /// before.
  void Prepare(std::vector<RegisteredWorker> workers, v1::PrepareJobRequest request,
               absl::AnyInvocable<void()> prepared, absl::AnyInvocable<void(v1::JobError)> failed);
  /// Calls nobody back about the last Prepare any more; workers that prepared stay reserved.
  void WithdrawPreparation() { ++preparation_; }
  /// Prepares no more.
  void Stop() { stopped_ = true; }
  /// Has every worker that was told to prepare end its task and clean up; `released` comes when all
  /// have, or when `budget` is over, perhaps at once. A worker that does not answer is asked again,
  /// and says again what its task printed. Call once.
  void Release(absl::Duration budget, absl::AnyInvocable<void()> released);
  /// Has one worker end its task and clean up now; the others go on. It is not to prepare this job
  /// again. What it does not answer is asked again by Release.
  void LetGo(WorkerId worker);
  /// A lost worker holds nothing. Returns true when its release was awaited.
  bool WorkerLost(WorkerId worker);

  /// Whether this registration of a worker was told to prepare, and not yet to let go.
  bool Holds(const RegisteredWorker& worker) const {
    const auto reserved = reserved_.find(worker.id);
    return reserved != reserved_.end() && reserved->second.worker.epoch == worker.epoch;
  }

  /// What the task processes printed last, from the workers that answered.
  const std::vector<v1::WorkerLog>& logs() const { return logs_; }

 private:
  /// One worker, and the fence under which it was told last.
  struct Reserved {
    RegisteredWorker worker;
    v1::Fence fence;
  };

  void PrepareOn(const Reserved& reserved, v1::PrepareJobRequest request, MonoTime since);
  void ReleaseOn(const Reserved& reserved, absl::Duration budget);
  void ReleaseAnswered(WorkerId worker);

  env::EventLoop& loop_;
  env::Random& random_;
  std::string job_id_;
  std::int64_t preparation_ = 0;  // grows with each Prepare and each withdrawal
  absl::AnyInvocable<void()> prepared_;
  absl::AnyInvocable<void(v1::JobError)> failed_;
  absl::AnyInvocable<void()> released_;
  std::size_t preparing_ = 0;
  bool stopped_ = false;
  /// Told to prepare, not yet known to have cleaned up.
  absl::btree_map<WorkerId, Reserved> reserved_;
  absl::btree_set<WorkerId> releasing_;  // asked to release, still awaited
  std::vector<v1::WorkerLog> logs_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
