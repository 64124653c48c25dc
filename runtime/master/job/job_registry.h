#pragma once

// All jobs that the master remembers, as users see them. Upstream: JobRun. Downstream: WatchHub,
// JobApi handlers.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/limits.h"
#include "runtime/master/job/watch_hub.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

/// Keeps the status of every remembered job, in the order of submission.
/// Thread-safety: control strand only. Bounds: `jobs_max`; the oldest ended ones go, and all that
/// ended longer than `age_max` ago. Checked by: tests/unit/master/job_registry_test.cc.
class JobRegistry {
 public:
  JobRegistry(WatchHub& watch_hub, std::int64_t jobs_max, absl::Duration age_max)
      : watch_hub_(watch_hub), jobs_max_(jobs_max), age_max_(age_max) {}

  /// Adds a job, newest. Returns the ids of the jobs forgotten for it, oldest first. Takes time in
  /// proportion to these, however many are remembered.
  std::vector<std::string> Add(v1::JobStatus status, std::int64_t now_unix_ms);
  /// Replaces a job's status, numbers it and tells its watchers. Returns the number.
  std::int64_t Update(v1::JobStatus status);
  /// Errors: kNotFound naming the id and what to do.
  absl::StatusOr<const v1::JobStatus*> Find(const std::string& job_id) const;
  /// The job that a client submitted under this key, if any.
  const v1::JobStatus* FindByKey(const std::string& idempotency_key) const;
  bool Knows(const std::string& job_id) const { return jobs_.contains(job_id); }
  /// Newest first, as long as they have no more than `bytes_max` together. Others that are wanted
  /// are counted as left out, as is one that has more by itself.
  v1::ListJobsResponse List(std::int32_t max_jobs,
                            std::size_t bytes_max = limits::kJobListBytesMax) const;

 private:
  using Number = std::int64_t;  // in the order of submission
  struct Job {
    v1::JobStatus status;
    Number number = 0;
  };

  /// The job has this status from now on.
  void Take(v1::JobStatus status, Job& job);
  /// Those that are to be forgotten now.
  absl::btree_set<Number> TooMany(std::int64_t now_unix_ms) const;
  /// Returns the id.
  std::string Forget(Number number);

  WatchHub& watch_hub_;
  const std::int64_t jobs_max_;
  const absl::Duration age_max_;
  absl::btree_map<std::string, Job> jobs_;
  absl::btree_map<std::string, std::string> id_by_key_;
  absl::btree_map<Number, std::string> order_;  // ids
  // Of those that ended, also by when they did, in milliseconds.
  absl::btree_set<Number> ended_;
  absl::btree_set<std::pair<std::int64_t, Number>> ended_at_;
  Number last_number_ = 0;
};

}  // namespace weir::master
