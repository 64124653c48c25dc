// Properties of the straggler watch on random plans of the ordinary builders: nobody is named where
// steps and transfers only vary, or all are slower; a slow worker is, soon; and what an edit makes
// of it is right and comes to its end.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/edit/check_edit.h"
#include "planner/job/builders/plan_job.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "runtime/master/stragglers/straggler_watch.h"
#include "tests/unit/master/watched_run.h"
#include "tests/unit/planner_job/random_job.h"

namespace weir::master {
namespace {

using planner::At;
using planner::Plan;
using planner::PlanMethod;
using planner::Reality;
using planner::Seconds;

std::int32_t DrawBetween(std::int32_t from, std::int32_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int32_t>(from, to + 1));
}

Plan DrawPlan(planner::JobKind kind) {
  const planner::RandomJob job = planner::DrawJob(kind);
  const PlanMethod method =
      *rc::gen::element(PlanMethod::kEven, PlanMethod::kLoad, PlanMethod::kFetchAll);
  planner::PlanningOptions options{method};
  absl::StatusOr<Plan> plan = planner::PlanJob(job.shape, job.cluster, options);
  RC_ASSERT(plan.ok());
  return *std::move(plan);
}

Heard DrawHeard() { return *rc::gen::element(Heard::kBytes, Heard::kNothing); }

Reality DrawReality() {
  return {.noise = 0.25, .seed = static_cast<std::uint64_t>(DrawBetween(0, 1 << 30))};
}

void Log(const Plan& plan, const Reality& reality, const WatchedRun& run) {
  RC_LOG() << "seed " << reality.seed << ", planned " << plan.summary.makespan_s << " s, took "
           << run.makespan_s << " s\n";
  for (const WatchedRun::Named& named : run.named) {
    RC_LOG() << named.at_s << " s: " << named.decision.why << "; " << named.edit.why << "\n";
  }
}

RC_GTEST_PROP(StragglerWatchProperty, WhereStepsOnlyVaryNobodyIsNamed, ()) {
  const Plan plan = DrawPlan(planner::JobKind::kAny);
  const Reality reality = DrawReality();
  const WatchedRun run = RunWatched(plan, reality, DrawHeard(), Edits::kNone);
  Log(plan, reality, run);
  RC_ASSERT(run.named.empty());
}

RC_GTEST_PROP(StragglerWatchProperty, WhereAllAreSlowerNobodyIsNamed, ()) {
  const Plan plan = DrawPlan(planner::JobKind::kAny);
  Reality reality = DrawReality();
  reality.noise = 0.1;
  const double rate = *rc::gen::element(0.7, 0.4, 0.1);
  reality.rate.assign(At(plan.network.num_workers), rate);
  reality.port_rate.assign(At(plan.network.num_workers), rate);
  const WatchedRun run = RunWatched(plan, reality, DrawHeard(), Edits::kNone);
  Log(plan, reality, run);
  RC_ASSERT(run.named.empty());
}

// By half as much again after the time of its map step, or once the others have ended theirs.
RC_GTEST_PROP(StragglerWatchProperty, ASlowWorkerIsNamedSoon, ()) {
  const Plan plan = DrawPlan(planner::JobKind::kBusy);
  const auto slow = static_cast<std::size_t>(DrawBetween(0, plan.network.num_workers - 1));
  Reality reality = DrawReality();
  reality.rate.assign(At(plan.network.num_workers), 1);
  reality.rate[slow] = 0.1;
  const planner::TrueRun truth(plan, reality);
  Seconds step_s = 0, others_s = 0;
  Seconds began_s = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const planner::ComputeStep& step = plan.steps[s];
    if (step.layer != 0) continue;
    if (At(step.worker) == slow) {
      step_s = step.duration_s;
      began_s = truth.times().steps[s].start_s;
    } else {
      others_s = std::max(others_s, truth.times().steps[s].finish_s);
    }
  }
  RC_PRE(step_s > 2 && others_s > 0);
  const Heard heard = DrawHeard();
  const WatchedRun run = RunWatched(plan, reality, heard, Edits::kNone);
  Log(plan, reality, run);
  RC_ASSERT(!run.named.empty());
  RC_ASSERT(run.named[0].decision.workers ==
            std::vector<planner::WorkerIndex>{static_cast<planner::WorkerIndex>(slow)});
  // The others, with whom it is compared, may take 1.25 times as long as planned.
  const Seconds silent_s = began_s + kSilentTimes * step_s * 1.25;
  const Seconds looks_s = std::max(0.5, truth.makespan_s() / 4000);
  RC_ASSERT(run.named[0].at_s <= std::max(silent_s, others_s) + 3 * looks_s);
}

RC_GTEST_PROP(StragglerWatchProperty, EditsForStragglersAreRightAndEnd, ()) {
  const Plan plan = DrawPlan(planner::JobKind::kBusy);
  Reality reality = DrawReality();
  const std::int32_t num_workers = plan.network.num_workers;
  reality.rate.assign(At(num_workers), 1);
  reality.port_rate.assign(At(num_workers), 1);
  std::vector<double>& slow = DrawBetween(0, 1) == 0 ? reality.rate : reality.port_rate;
  slow[At(DrawBetween(0, num_workers - 1))] = *rc::gen::element(0.05, 0.1, 0.3);
  const Seconds idle_s = planner::TrueRun(plan, reality).makespan_s();
  const WatchedRun run =
      RunWatched(plan, reality, DrawHeard(), Edits::kTaken,
                 [](const Plan& before, const planner::PlanState& state,
                    const planner::PlanChange& change, const planner::PlanEdit& edit) {
                   const absl::Status checked = planner::CheckEdit(before, state, change, edit);
                   RC_LOG() << checked << "\n";
                   RC_ASSERT(checked.ok());
                 });
  Log(plan, reality, run);
  RC_LOG() << "without edits " << idle_s << " s\n";
  RC_ASSERT(run.named.size() < 100u);
  // An edit that is made on a guess may cost something; not much.
  RC_ASSERT(run.makespan_s <= 1.5 * idle_s + 5);
}

}  // namespace
}  // namespace weir::master
