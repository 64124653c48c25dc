#pragma once

// Which job begins next, and how many run at once. Pure. Upstream: Master (submits, ends, workers).
// Downstream: Master begins what it returns.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"

namespace weir::master {

/// What the queue knows of a job before it is planned.
struct JobWish {
  /// Higher ones go first; JobQueue::kPriorityMin to kPriorityMax.
  std::int32_t priority = 0;
  std::int64_t submitted_unix_ms = 0;
  /// -1: not known, and then not small.
  std::int64_t input_bytes = -1;
  /// An earlier master had begun it: it goes before all that has not begun.
  bool resumed = false;
};

/// What the workers alive have, by the one that has least.
struct WorkerRoom {
  std::int64_t num_workers = 0;
  /// What tasks may use (limited), else what was free when the worker started; 0 = not known.
  std::int64_t memory_bytes = 0;
  /// The workers keep their tasks to it.
  bool limited = false;
};

/// A job that begins now.
struct JobBegins {
  std::string job;
  /// Part of each worker's limit that its tasks may use, above 0; 1 = all.
  double memory_share = 1;
};

/// The queue of a master, and the jobs that it has let go.
///
/// Order: by the moment of submission, which each step of priority counts kPriorityStep earlier. So
///   a job waits for no job that was submitted more than (their difference in priority) *
///   kPriorityStep after it: nobody is overtaken for ever. Moments count as not going backwards, so
///   a clock that jumps changes no order.
/// Policy: as many as fit, the first in the order first.
///   - At most `running_max` run at once, and at most running_max - 1 that are not small, so that a
///     small job does not wait for long ones. 1: one at a time.
///   - Small: an input of at most kSmallInputBytes that fits the memory kept for one more job.
///   - Where workers limit their tasks (`--memory`), a job that begins alone gets the limit but
///   what
///     is kept for running_max - 1 small ones (MemoryKept each), which each such job gets. Another
///     that is not small then waits.
///   - Where they do not, nothing is limited; jobs that are not small run beside each other as long
///     as the memory that they are thought to need (MemoryNeeded) is there.
///   - While a job that is not small waits for memory or its place, none that is not small goes
///     before it.
/// Thread-safety: none. Time: none; submission moments come with the jobs.
/// Checked by: tests/unit/master/job_queue_test.cc, job_queue_property_test.cc.
class JobQueue {
 public:
  static constexpr std::int32_t kPriorityMin = -100;
  static constexpr std::int32_t kPriorityMax = 100;
  static constexpr absl::Duration kPriorityStep = absl::Minutes(10);
  /// What a machine of today reads and maps in a second or two.
  static constexpr std::int64_t kSmallInputBytes = std::int64_t{64} << 20;

  /// Requires: running_max >= 1.
  explicit JobQueue(std::int32_t running_max) : running_max_(running_max) {}

  void Add(std::string job, const JobWish& wish);
  /// Forgets a job that waits or runs. Idempotent.
  void Remove(const std::string& job);
  /// The job that begins now, running from here on; nothing when none does. Ask until there is
  /// nothing: a fresh end or submit may let several go.
  std::optional<JobBegins> TakeNext(const WorkerRoom& room);
  /// Whether TakeNext would return this job.
  bool IsNext(const std::string& job, const WorkerRoom& room) const;

  bool idle() const { return waiting_.empty() && running_.empty(); }
  bool anyone_waits() const { return !waiting_.empty(); }
  /// In the order in which they would begin.
  std::vector<std::string> waiting() const;
  /// In the order in which they began.
  std::vector<std::string> running() const;
  /// Place among those that wait, from 1; 0: it does not wait.
  std::int32_t PlaceOf(const std::string& job) const;
  /// Others that run now.
  std::vector<std::string> Beside(const std::string& job) const;
  /// Whether no other job has run at any time since this one began. False for one not running.
  bool RanAlone(const std::string& job) const;

  /// Part of each worker's limit that a job may use which begins while no other runs.
  double ShareAlone(const WorkerRoom& room) const;
  /// Bytes of memory a worker that a job is thought to need.
  static std::int64_t MemoryNeeded(std::int64_t input_bytes, std::int64_t num_workers);
  /// Bytes of memory a worker that are kept for each further job.
  static std::int64_t MemoryKept(const WorkerRoom& room);

 private:
  struct Waiting {
    std::string job;
    JobWish wish;
    std::int64_t turn_ms = 0;  // moment of submission, moved by the priority
  };
  struct Running {
    std::string job;
    bool small = false;
    std::int64_t memory_bytes = 0;  // held, or thought to be, where it is not small
    bool alone = true;
  };
  struct Found {
    std::size_t index = 0;
    Running running;
    double memory_share = 1;
  };

  static bool IsSmall(const JobWish& wish, const WorkerRoom& room);
  std::optional<Found> FindNext(const WorkerRoom& room) const;
  std::int64_t MemoryForLarge(const WorkerRoom& room) const;

  const std::int32_t running_max_;
  std::int64_t last_submitted_ms_ = 0;
  std::deque<Waiting> waiting_;  // in their order
  std::vector<Running> running_;
};

}  // namespace weir::master
