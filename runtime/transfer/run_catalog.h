#pragma once

// What a data server may give away. Upstream: the worker daemon publishes the runs of its jobs.
// Downstream: DataServer asks once a request, and sends only what it was told.

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::transfer {

/// Proof that the one who asks takes part in the job, in its present generation.
struct JobKey {
  std::string job_id;
  std::uint64_t token = 0;
  std::int64_t master_epoch = 0;
  std::int64_t plan_epoch = 0;
};

/// One immutable file of sections.
struct RunFile {
  std::string path;
  std::int64_t bytes = 0;
  /// Probe bytes: the file holds one block (limits::kBlockBytesMax), served over and over until
  /// `bytes` are through. The receiver ends a probe by hanging up.
  bool probe = false;
};

/// Says which file a run is, or refuses.
///
/// Thread-safety: called on transfer threads; must neither block nor touch a disk.
class RunCatalog {
 public:
  virtual ~RunCatalog() = default;
  /// Errors: kNotFound (job or run unknown), kPermissionDenied (wrong token), kAborted (the asker's
  /// generation is not the job's).
  virtual absl::StatusOr<RunFile> Find(const JobKey& key, const std::string& run_id) const = 0;
};

/// The runs that one daemon has published, by job.
///
/// Thread-safety: safe; the lock is a leaf.
/// Failure semantics: keeps no durable state; a restarted daemon has published nothing.
/// Checked by: tests/unit/transfer/published_runs_test.cc.
class PublishedRuns : public RunCatalog {
 public:
  /// Starts a job, or gives a known one a new key and drops its runs.
  void AddJob(const JobKey& key);
  /// Makes a run available. Errors: kNotFound when the job was not added or was removed meanwhile.
  absl::Status Publish(const std::string& job_id, const std::string& run_id, RunFile file);
  /// Takes a run back: later requests for it are refused. Unknown ones are ignored.
  void Withdraw(const std::string& job_id, const std::string& run_id);
  /// Forgets the job and all its runs.
  void RemoveJob(const std::string& job_id);

  absl::StatusOr<RunFile> Find(const JobKey& key, const std::string& run_id) const override;

 private:
  struct Job {
    JobKey key;
    absl::btree_map<std::string, RunFile> runs;
  };

  mutable std::mutex mutex_;
  absl::btree_map<std::string, Job> jobs_;  // guarded by mutex_
};

}  // namespace weir::transfer
