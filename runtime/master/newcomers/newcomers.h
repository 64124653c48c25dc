#pragma once

// Workers that join while a job's plan runs, until it takes them: when the planner is asked whether
// they would get anything, and who is prepared. Pure. Upstream: JobRun. Downstream: nothing.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/mono_time.h"
#include "runtime/master/workers/worker_table.h"

namespace weir::master {

/// Least time between two questions to the planner about new workers: as between two edits for one
/// worker (kEditPauseS).
inline constexpr absl::Duration kNewcomerPause = absl::Seconds(5);
/// After each answer that they would get nothing the pause doubles, up to this. It begins anew when
/// another worker joins or the plan is edited.
inline constexpr absl::Duration kNewcomerPauseMax = absl::Seconds(40);
/// Names of workers in one plan, alive or lost: steps that are done, and what was read of them,
/// stay with who did them, so that a plan forgets nobody. Four times as many as may be alive; a job
/// whose machines are replaced under new names beyond that goes on with those that it has, and is
/// planned again for all once they are gone.
inline constexpr std::size_t kPlanNamesMax = 4000;

/// The workers that are there and that the plan in hand does not name.
///
/// Each is seen, prepared once the planner would give it something, and then at hand for every
/// edit, whatever that is for; the edit that names it makes it one of the plan. Who cannot be
/// prepared, or used, is left alone as long as it keeps its registration.
/// Thread-safety: none; control loop only. Time: passed in, must not go backwards.
/// Checked by: tests/unit/master/newcomers_test.cc.
class Newcomers {
 public:
  /// `alive`: all those who are there and not of the plan. `plan_edit`: how often that was edited.
  /// Returns who is not among them any more though its lease holds (it drains): it is to let go of
  /// the job, if it has it. `room`: how many the plan may still name; beyond that nobody is seen.
  std::vector<RegisteredWorker> Look(absl::Span<const RegisteredWorker> alive, int plan_edit,
                                     std::size_t room = kPlanNamesMax);
  /// Those about whom the planner is to be asked now: all that are seen, or prepared already. None:
  /// it is not to be asked, since nobody is new, or too early, or an answer is awaited.
  std::vector<RegisteredWorker> TakeQuestion(MonoTime now);
  /// The answer: whether they would get anything. Then they are to be prepared. Who was lost
  /// meanwhile is not.
  void Answered(bool worth_it);
  /// All that were to be prepared are. Returns whether there were any.
  bool Prepared();
  /// This one gets nothing of the job. Returns whether it was to be prepared.
  bool Refuse(const std::string& name);
  /// Nobody that is known now gets anything of the job.
  void RefuseAll();

  enum class Stage { kSeen, kPreparing, kPrepared, kRefused };
  /// Forgets one that is lost, and returns where it was; nothing: it is not known.
  std::optional<Stage> Lost(WorkerId worker, Epoch epoch);
  /// In the order in which they came.
  std::vector<RegisteredWorker> Of(Stage stage) const;
  /// Has the edited plan that names them taken them; they are none of these any more. Nothing: one
  /// of them is not prepared any more.
  std::optional<std::vector<RegisteredWorker>> Take(absl::Span<const std::string> names);

 private:
  struct Newcomer {
    RegisteredWorker worker;
    Stage stage = Stage::kSeen;
    bool asked = false;  // it is part of the question under way
  };

  std::vector<Newcomer> newcomers_;
  int plan_edit_ = 0;
  bool asking_ = false;
  std::optional<MonoTime> asked_at_;  // last
  absl::Duration pause_ = kNewcomerPause;
};

}  // namespace weir::master
