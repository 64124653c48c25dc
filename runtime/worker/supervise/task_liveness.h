#pragma once

// Decides whether the task that runs a step is alive. Pure. Upstream: TaskSupervisor, with what the
// task says and what the kernel shows of it (thread_signs.h). Downstream: TaskSupervisor ends a
// task that hangs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "runtime/base/limits.h"
#include "runtime/base/mono_time.h"

namespace weir::worker {

/// One thread of a task, or of a process that it started.
struct ThreadSign {
  int id = 0;
  /// Processor time that it has used so far.
  absl::Duration cpu;
  /// It runs, or would if it were given a processor.
  bool runnable = false;
  /// It waits in the kernel for a disk or a file server.
  bool in_io = false;
};

/// What one look at a task shows.
struct TaskSign {
  std::int64_t input_bytes = 0;
  std::int64_t output_bytes = 0;
  /// Since the last look the task has said that a read, write or sync is under way.
  bool io_under_way = false;
  std::vector<ThreadSign> threads;
};

struct LivenessBounds {
  absl::Duration silence = limits::kTaskSilence;
  absl::Duration stall = limits::kTaskStall;
  absl::Duration loop_cpu = limits::kTaskLoopCpu;
  /// Between two looks.
  absl::Duration look() const { return silence / 4; }
};

/// Why a task is taken for hung, and what to do about it.
struct HungTask {
  std::string what;
  std::string advice;
};

/// Watches one step from its start to its end.
///
/// Model: bytes read or written are progress. Processor time used or waited for, and a read, write
///   or sync under way, are life: a slow disk, a long sort and a small quota end no step. Hung is
///   what
///   - shows neither progress nor life for `silence`: it sleeps, or waits for itself;
///   - makes no progress and hardly computes for `stall`: its disk or file server is gone, or it
///     asks again and again for what does not come. Hardly: no thread used a tenth of a processor
///     or waited for one at two looks in turn, as a thread without quota does;
///   - has one thread use `loop_cpu` of processor time without progress: an endless loop.
/// Time: passed in. Time in which nobody looked, because the daemon itself stood still, does not
///   count: its task may have stood still with it.
/// Checked by: tests/unit/worker/task_liveness_test.cc.
class TaskLiveness {
 public:
  TaskLiveness(const LivenessBounds& bounds, MonoTime now)
      : bounds_(bounds), looked_(now), worked_(now), lived_(now) {}

  /// Takes a look, and says what is wrong with the task if it is hung. Call every bounds.look().
  std::optional<HungTask> Look(const TaskSign& sign, MonoTime now);

 private:
  enum class Computed { kNot, kHardly, kMuch };
  // What one thread has shown.
  struct Thread {
    absl::Duration cpu_at_progress;
    absl::Duration cpu;
    bool runnable = false;
  };

  absl::Duration TimeLooked(MonoTime now);
  Computed NoteThreads(const TaskSign& sign, bool progress, absl::Duration since);
  std::optional<HungTask> Judge(MonoTime now) const;

  const LivenessBounds bounds_;
  MonoTime looked_;
  MonoTime worked_;  // last look that showed progress, or much computing
  MonoTime lived_;   // or a little, or anything under way
  std::int64_t input_bytes_ = 0;
  std::int64_t output_bytes_ = 0;
  bool threads_known_ = false;
  absl::btree_map<int, Thread> threads_;
};

}  // namespace weir::worker
