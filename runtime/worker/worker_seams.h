#pragma once

// What a worker daemon is given: the seams to its machine, the master, and the data plane.
// Upstream: runtime/app; tests/sim.

#include "runtime/env/event_loop.h"
#include "runtime/env/storage.h"
#include "runtime/rpc/api.h"
#include "runtime/transfer/data_server.h"
#include "runtime/transfer/fetcher.h"
#include "runtime/transfer/run_catalog.h"
#include "runtime/worker/held_records.h"
#include "runtime/worker/task_launcher.h"

namespace weir::worker {

/// All must outlive the daemon. `server` serves what is published in `runs`; the callbacks of
/// `fetcher` and of `cluster` come on `loop`.
struct WorkerSeams {
  env::EventLoop& loop;
  env::WorkPool& disk_pool;
  TaskLauncher& tasks;
  env::Random& random;
  env::Storage& storage;
  const rpc::ClusterApi& cluster;
  transfer::PublishedRuns& runs;
  transfer::DataServer& server;
  transfer::Fetcher& fetcher;
  /// Called on the disk pool. Null: no runs are kept over a restart of the machine.
  RunCheck check_run = nullptr;
  /// Where the work directory is looked at, apart from work that may hang there; null: disk_pool.
  env::WorkPool* look_pool = nullptr;
};

}  // namespace weir::worker
