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
/// Jobs run one at a time, in the order they were submitted, because a plan assumes that the
/// network is its own. Every change of a job's state is in the journal before it is acted on.
/// Thread-safety: on the loop only, constructor and destructor too. Nothing here blocks: files, the
///   journal and planning go to the pools. Replies may come before the call returns; watch
///   callbacks never do.
/// Failure semantics: a lost worker or a failed order ends the job with a named error; it is
/// terminal
///   within 10 s of being noticed, answer or no answer. After a restart past jobs are listed and
///   unfinished ones are FAILED with MASTER_RESTARTED.
/// Bounds: limits::kWorkersMax workers, kJobsQueuedMax waiting jobs, kJobsRememberedMax jobs in
/// all. Checked by: tests/unit/master, tests/sim.
class Master final {
 public:
  Master(const MasterSeams& seams, MasterOptions options);
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  /// Reads the journal, settles what an earlier master left, then serves. Until `on_ready` every
  /// call is answered with kUnavailable. Errors: what Journal says; the master then never serves.
  void Start(absl::AnyInvocable<void(absl::Status)> on_ready);

  /// Ends every unfinished job with a named error, releases its workers and stops accepting;
  /// `on_stopped` comes within 10 s. The way to a clean exit of the process.
  void Shutdown(absl::AnyInvocable<void()> on_stopped);

  /// What users and workers may ask. On the loop only.
  const rpc::JobApi& jobs() const;
  const rpc::ClusterApi& cluster() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::master
