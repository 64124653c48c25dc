#pragma once

// Whose fault it is that a plan failed, and what follows. Pure. Upstream: JobRun, with the errors
// of steps, transfers and preparations. Downstream: JobRun plans again or ends the job.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/mono_time.h"
#include "runtime/master/workers/worker_leases.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// A fault counts for so long, and beyond that until a step was committed after it: a job of days
/// outlives a bad hour each week, and one that gets nowhere between its faults ends all the same.
inline constexpr absl::Duration kFaultForgotten = absl::Minutes(60);

/// A worker that is alive, under its present registration, and the room in its work directory.
struct DiskRoom {
  std::string worker;
  Epoch epoch = 0;
  std::string disk;  // workers of one name stand on one file system; empty: nobody else does
  std::int64_t free_bytes = 0;    // 0 = not known
  std::int64_t needed_bytes = 0;  // by the plan that failed; 0 = not known
};

/// What the step that failed was given: "map" and bytes [begin, end) of the job's input, the
/// concatenation of its files. A step that reads no file has an empty range; what is no step, no
/// kind.
struct StepInput {
  std::string kind;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// How another worker may come to run a step that failed.
enum class StepMoves {
  kNever,     // the plan cannot be edited: loops, and plans that were given
  kWithPlan,  // nobody else of the plan is left: another plan is needed
  kAlone,     // the plan is edited for it
};

/// What became of the plan.
struct BlameVerdict {
  /// Another plan is made, without the workers that are left out; else the job ends with `error`.
  bool plan_again = false;
  /// It is enough that another worker runs the step that failed.
  bool elsewhere = false;
  /// It is enough that its worker, the only one, runs the step again.
  bool once_more = false;
  v1::JobError error;
  /// Workers whose disks are full, new among those left out: nothing brings them back.
  std::vector<std::string> without_room = {};
};

/// Tells faults of workers from those of the job.
///
/// - A worker's work directory that is full, fails or is lost, a run that it cannot read any more,
///   and its silence where it keeps its lease, are that worker's fault: the job goes on without it.
/// - A task process that dies may be either's. It gets one more try on another worker, or where it
///   was if nobody else is there; where that dies of input that it shares with the first, it is the
///   job's. A worker is left out when its tasks die a second time, or at once where a step cannot
///   be moved alone.
/// - What the job's code says of itself or of a record (USER_ERROR, BAD_RECORD) may be either's as
///   well: its machine may lack an interpreter, or its memory be bad. Where the step can be moved
///   and another machine is there, it counts as a task that died, and it is the job's only once a
///   worker elsewhere says so of the same input. Where one does that step after all, whose
///   word it was is to blame (Refuted). Else it ends the job as it is.
/// - What happens between two workers is nobody's: another plan is made for all.
/// - All else - the output, the input - ends the job as it is.
///
/// A worker is left out under its registration: one that was started again may have been mended.
/// Those left out for anything but a full disk are taken back where nobody else is alive. Full
/// disks are left out as often as there are such workers; everything else makes a job be planned
/// again limits::kWorkerFaultsMax times at most, of those faults that count (kFaultForgotten). What
/// crashed is remembered for the job's life: it may be slower than that. A given plan names its
/// workers: none is left out, and only what may pass by itself is tried again.
///
/// Thread-safety: none. Time: passed in, must not go backwards. Failure semantics: a later master
/// begins with nobody left out. Checked by: tests/unit/master/step_blame_test.cc, tests/sim.
class StepBlame {
 public:
  explicit StepBlame(bool given_plan) : given_plan_(given_plan) {}

  /// A step, transfer or preparation of a plan failed, or its making. `alive`: everybody, also who
  /// was left out. `moves`: of the step.
  BlameVerdict Failed(v1::JobError error, const StepInput& input, absl::Span<const DiskRoom> alive,
                      MonoTime now, StepMoves moves = StepMoves::kNever);
  /// A step of the job was done, once more or for the first time: it gets somewhere.
  void StepCommitted(MonoTime now) { committed_ = now; }
  /// `worker` has done this step, of this input: returns those whose code had failed of it there,
  /// each once. From here on their word of it counts for nothing.
  std::vector<std::string> Refuted(const std::string& step, const StepInput& input,
                                   const std::string& worker);
  /// Which of these workers, everybody alive, the next plan does without. All of them: no disk has
  /// room (NoRoom).
  std::vector<std::string> LeftOut(absl::Span<const DiskRoom> alive) const;
  /// DISK_FULL with who has how much room. `error`: what was found first, or nothing.
  v1::JobError NoRoom(v1::JobError error) const;

 private:
  enum class Fault { kJob, kFullDisk, kWorker, kCrash, kWord, kExchange };
  // A task that died, or code that failed in it, by its word.
  struct Ending {
    std::string worker;
    std::string disk;
    std::string step;
    StepInput input;
    bool died = false;
    bool refuted = false;
  };
  static Fault FaultOf(const v1::JobError& error);
  static bool Confirms(const Ending& now, const Ending& before, bool nobody_else);
  BlameVerdict DiskFull(v1::JobError error, absl::Span<const DiskRoom> alive);
  BlameVerdict OfWorkerOrJob(v1::JobError error, const StepInput& input,
                             absl::Span<const DiskRoom> alive, MonoTime now, StepMoves moves);
  BlameVerdict OfWorker(v1::JobError error, absl::Span<const DiskRoom> alive, MonoTime now);
  /// Counts a fault; whether the job goes on after so many.
  bool GoesOnAfterOneMore(MonoTime now);
  /// Whether anybody else can take its part.
  bool AnyBeside(const std::string& worker, absl::Span<const DiskRoom> alive) const;
  /// The same, on a file system of its own: most likely another machine.
  bool AnyOnAnotherMachine(const std::string& worker, absl::Span<const DiskRoom> alive) const;
  /// Leaves a worker out, if there is another one to take its part.
  bool LeaveOut(const std::string& worker, absl::Span<const DiskRoom> alive);
  bool HasNoRoom(const DiskRoom& room) const;
  bool IsLeftOut(const DiskRoom& room) const;

  const bool given_plan_;
  std::vector<MonoTime> faults_;       // those that count; never more than one too many
  std::optional<MonoTime> committed_;  // the last step
  std::vector<Ending> endings_;
  absl::btree_map<std::string, Epoch> left_out_;    // for anything but a full disk
  absl::btree_map<std::string, DiskRoom> no_room_;  // by worker, as it was when that was found
};

}  // namespace weir::master
