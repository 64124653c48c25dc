#pragma once

// The master: accepts jobs, plans them, conducts them, publishes their output and remembers them.
// Upstream: runtime/rpc (handlers), runtime/app (wiring). Downstream: planner/job, the workers.

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/master/options/master_options.h"
#include "runtime/master/options/master_seams.h"
#include "runtime/rpc/api.h"

namespace weir::master {

/// Serves users (JobService) and workers (ClusterService).
///
/// As many jobs run at once as fit (JobQueue); a plan assumes that the network is its own, so the
/// transfers of jobs are ordered among each other (PortArbiter). Every change of a job's state is
/// in the journal before it is acted on. Thread-safety: on the loop only, constructor and
/// destructor too. Nothing here blocks: files, the
///   journal and planning go to the pools. Replies may come before the call returns; watch
///   callbacks never do.
/// Failure semantics: a lost worker or a failed order ends the job with a named error; it is
/// terminal
///   within 10 s of being noticed, answer or no answer. After a restart past jobs are listed and
///   unfinished ones go on: those that had begun from their beginning, ahead of the others.
/// Bounds: limits::kWorkersMax workers, kJobsQueuedMax waiting jobs, kJobsRememberedMax jobs in
/// all. Checked by: tests/unit/master, tests/sim.
class Master final {
 public:
  Master(const MasterSeams& seams, MasterOptions options);
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  /// Reads the journal, settles what an earlier master left, then serves. Until `on_ready` every
  /// call is answered with kUnavailable. Jobs whose outputs have not answered within
  /// limits::kSettleWait are settled behind that (master_settle.cc). Errors: what Journal says; the
  /// master then never serves.
  void Start(absl::AnyInvocable<void(absl::Status)> on_ready);

  /// Stops accepting, awaits what is being published or ended, and leaves every other unfinished
  /// job to the next master; where there will be none (MasterOptions::journal_outlives) it ends
  /// them with a named error. `on_stopped` comes within 10 s. The way to a clean exit of the
  /// process.
  void Shutdown(absl::AnyInvocable<void()> on_stopped);

  /// What users and workers may ask. On the loop only.
  const rpc::JobApi& jobs() const;
  const rpc::ClusterApi& cluster() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::master
