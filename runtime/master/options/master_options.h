#pragma once

// What the master is told at its start: the network's numbers and its own name. Upstream:
// runtime/app, from flags. Downstream: Master.

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "planner/job/job_shape.h"
#include "runtime/base/limits.h"
#include "runtime/master/options/network_spec.h"
#include "runtime/master/options/sample_policy.h"

namespace weir::master {

struct MasterOptions {
  /// Written into manifests and the journal.
  std::string version = "0.1.0";
  /// Where artifacts of jobs are kept; made with the first one. Empty: they are refused.
  std::string artifact_directory;

  /// C of the network model: seconds per byte of one channel. Default: 1 Gbit/s.
  double channel_seconds_per_byte = 1.0 / 1.25e8;
  /// The same between workers that hand runs over in place (a hard link, whatever its size); used
  /// when all workers of a job share one hand-over domain.
  double handover_seconds_per_byte = 1.0 / 2e10;
  /// Start-up of one transfer: grant, request and report.
  double latency_s = 1e-3;
  double handover_latency_s = 2e-4;
  /// l: channels of the bisection, as one cut over all pairs; 0 = the network has no such limit.
  std::int32_t bisection_channels = 0;
  /// Rates, slow ports and cuts by names of workers; what it gives goes before the numbers above.
  /// Does not concern hand-over, which uses no network.
  NetworkSpec network;
  planner::Origin network_origin = planner::Origin::kDefault;
  /// The same as calibration found it, now or before a restart; kept current by Master. Goes behind
  /// `network` and before the defaults above; its cuts do not count when bisection_channels is set.
  NetworkSpec measured;
  /// S: mapper j starts at (j + 1) S, seconds.
  double map_startup_s = 0;
  /// What a map step and a reduce step take whatever their size (order, spec, files, report), until
  /// a job's own runs say it better. Measured on an idle machine of 2 cores.
  double map_overhead_s = 2e-3;
  double reduce_startup_s = 4e-3;
  SamplePolicy sampling;

  /// Writing output, seconds per byte, when all workers are on one machine. Elsewhere the output is
  /// taken to lie behind the network and to be stored at C (004, section 3).
  double local_store_seconds_per_byte = 1.0 / 1e9;
  /// Measure it instead where a job will write much and no run of it told how long its parts take
  /// (ADR 0054), and the disk of a large input that is not in memory (ADR 0062). Only where master
  /// and workers are on one machine.
  bool measure_disks = false;
  /// Cores that the slots of all workers share, where they are on one machine with the master; 0 =
  /// not known, each slot is taken to have one.
  double shared_cores = 0;

  /// Share of a pair's rate that senders of ordered transfers are paced at; 0 = unpaced. Counts
  /// payload bytes, as calibration does: headers take 4.4 % of a link on top of them. What is left
  /// is for the acknowledgements of the other direction, 2.2 % (docs/adr/0007). Only where the rate
  /// is measured or given; pacing at a guess would only slow.
  double pacing_fraction = 0.97;
  /// Share of a link that transfers without an order get together (fetch from all): on an emulated
  /// network such shuffles took 1.03 to 1.18 times the bound, so a plan in order is chosen unless
  /// its grants cost more. Only where the rate is measured or given.
  double sharing_fraction = 0.9;
  /// Bytes left of a transfer at which the next one of its ports may begin, so that the line does
  /// not wait for a request; at most half of the smallest switch buffer. 0 = only at its end. Its
  /// end is reported earlier by what arrives while messages are on their way (GrantDelay). Only
  /// where the rate is measured or given, and not for hand-over.
  std::int64_t look_ahead_bytes = 16 << 10;

  /// Ended jobs that status and list answer for, and for how long after their end.
  std::int64_t jobs_kept = limits::kJobsRememberedMax;
  absl::Duration jobs_kept_for = limits::kJobsRememberedFor;
  /// Another master will open the journal when this one has ended. False where both are made for
  /// one run: what is unfinished when it is shut down then fails.
  bool journal_outlives = true;
  /// Most jobs that run at once (JobQueue). >= 1; 1 = one after the other.
  std::int32_t running_jobs_max = 4;

  /// How long a job waits for workers that it cannot do without, once they are lost.
  absl::Duration worker_grace = limits::kWorkerGrace;

  /// How often a watch stream hears of progress that is not a change of state.
  absl::Duration progress_interval = absl::Milliseconds(200);
};

}  // namespace weir::master
