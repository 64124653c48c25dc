#pragma once

// What is written down beside each published run, so that a daemon that was killed finds it in its
// next life. Upstream: WorkerJob, as steps are done. Downstream: WorkerDaemon, at its start.

#include <functional>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "runtime/env/storage.h"
#include "runtime/worker/job_paths.h"
#include "weir/v1/services.pb.h"

namespace weir::worker {

/// Reads all blocks of a run. Errors: kDataLoss where one is not what was written.
using RunCheck = std::function<absl::Status(const v1::RunInfo& run)>;

/// Writes one file for each of these runs, or writes it anew.
///
/// Not synced: such a file is of use only as long as the run beside it is, and that is not synced
/// either. One that was cut short is known by its hash. Blocking. Errors: as Storage.
absl::Status WriteHeldRecords(env::Storage& storage, const JobPaths& paths,
                              const v1::HeldJob& held);

/// Whether anything is written down in a job's directory. Blocking.
bool HasHeldRecords(env::Storage& storage, const std::string& job_root);

/// Returns, by id, the jobs in a daemon's directory of which runs are whole, and removes whatever
/// else lies there.
///
/// Model: a run is whole if what was written down of it is, it is as long as that says, and its
///   sections lie in it. While a machine is up, its kernel has all that the task wrote, and readers
///   check each block; after a restart of the machine, bytes may be lost, so each of them is read
///   by `check` first (null: no such run is kept). Of several plans of a job the last one counts.
/// Blocking; O(bytes of the runs) after a restart of the machine, else O(runs).
/// Failure semantics: what cannot be read is removed. A job that cannot be removed is logged, and
///   returned without runs.
/// Checked by: tests/unit/worker/held_records_test.cc.
absl::btree_map<std::string, v1::HeldJob> FindHeldJobs(env::Storage& storage,
                                                       const std::string& worker_directory,
                                                       const RunCheck& check);

}  // namespace weir::worker
