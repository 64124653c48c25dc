#pragma once

// What every room of the master may stand on: loop, pools, files, workers and journal, all behind
// interfaces. Upstream: runtime/app, tests/sim (wiring).

#include "jobs/api/job_definition.h"
#include "runtime/env/event_loop.h"
#include "runtime/env/storage.h"
#include "runtime/master/journal/journal.h"
#include "runtime/rpc/api.h"

namespace weir::master {

/// What the master stands on. All of it outlives the Master, and the pools' work is drained before
/// it goes.
struct MasterSeams {
  env::EventLoop& loop;
  /// Files, of which some lie on disks that answer late or never.
  env::WorkPool& disk_pool;
  /// Planning.
  env::WorkPool& compute_pool;
  env::Storage& storage;
  env::Random& random;
  env::WallClock& wall_clock;
  rpc::WorkerConnector& connector;
  Journal& journal;
  const JobCatalog& catalog;
  /// The journal's own, so that no job waits for the disk of another; null: `disk_pool`.
  env::WorkPool* journal_pool = nullptr;
  /// Those who list inputs, so that no job waits to be published for a path of another one that
  /// never answers; null: `disk_pool`.
  env::WorkPool* list_pool = nullptr;
  /// Those who look at outputs that an earlier master left, so that no job waits to be staged for
  /// one that never answers; null: `disk_pool`.
  env::WorkPool* settle_pool = nullptr;
};

}  // namespace weir::master
