// Properties of the straggler watch on random plans of the ordinary builders: nobody is named where
// steps and transfers only vary, or all are slower; a slow worker is, soon; what an edit makes of
// it is right and comes to its end; and all decisions are those of one that looks at everything.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
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

bool Same(const WorkerRates& a, const WorkerRates& b) {
  return a.compute == b.compute && a.send == b.send && a.receive == b.receive;
}

bool Same(const std::optional<StragglerDecision>& a, const std::optional<StragglerDecision>& b) {
  if (!a || !b) return !a && !b;
  return a->workers == b->workers && a->why == b->why && a->change.pace == b->change.pace &&
         a->change.rate_factor == b->change.rate_factor &&
         a->change.port_factor == b->change.port_factor;
}

// To the bit, with all that a run may do: any worker and port may be slow or fast, and the plan is
// edited, or not, whenever somebody is named. That medians are those of all the others is for
// ranked_rates_test.cc.
RC_GTEST_PROP(StragglerWatchProperty, DecidesAsOneThatLooksAtEverythingEachTime, ()) {
  Plan in_hand = DrawPlan(*rc::gen::element(planner::JobKind::kAny, planner::JobKind::kBusy));
  Reality reality = DrawReality();
  reality.noise = *rc::gen::element(0.0, 0.25, 0.9);
  std::mt19937_64 random(reality.seed);
  const auto any_rates = [&](double fastest) {
    std::vector<double> rates;
    for (std::int32_t w = 0; w < in_hand.network.num_workers; ++w) {
      rates.push_back(std::array{1.0, 1.0, 1.0, 0.4, 0.05, fastest}[random() % 6]);
    }
    return rates;
  };
  reality.rate = any_rates(3);
  // Given even where ports are as planned: an edit that takes some for slow has other lanes in
  // cuts.
  reality.port_rate.assign(At(in_hand.network.num_workers), 1);
  if (random() % 2 == 0) reality.port_rate = any_rates(1);
  planner::TrueRun run(in_hand, reality);
  StragglerWatch told(in_hand), untold(in_hand);
  planner::PlanState before = planner::NothingDone(in_hand);
  const Heard heard = DrawHeard();
  int named = 0;
  const Seconds look_s = std::max(0.5, run.makespan_s() / 500);
  for (Seconds now_s = look_s; !run.finished(); now_s += look_s) {
    run.Advance(now_s);
    if (run.finished()) break;
    const planner::PlanState& state = run.state();
    std::vector<planner::TransferIndex> moved_on;
    for (std::size_t t = 0; t < state.transfers.size(); ++t) {
      const bool moved = state.transfers[t] != before.transfers[t];
      if (moved || random() % 8 == 0) moved_on.push_back(static_cast<planner::TransferIndex>(t));
    }
    before = state;
    const std::vector<planner::Bytes> bytes =
        heard == Heard::kBytes ? run.BytesHeard() : std::vector<planner::Bytes>{};
    told.Observe({.state = state, .step_bytes_done = bytes, .moved_on = moved_on});
    untold.Observe({.state = state, .step_bytes_done = bytes});
    RC_LOG() << "seed " << reality.seed << ", at " << now_s << " s, edits " << named << "\n";
    RC_ASSERT(Same(told.Rates(), untold.Rates()));
    const std::optional<StragglerDecision> decision = untold.Decide();
    RC_ASSERT(Same(told.Decide(), decision));
    if (!decision || random() % 3 == 0 || ++named > 20) continue;
    const planner::PlanEdit edit = *planner::EditPlan(in_hand, state, decision->change);
    run.TakeEdit(edit, decision->change);
    in_hand = edit.plan;
    told.TakeEdit(in_hand, run.state(), edit.transfer_was, decision->change);
    untold.TakeEdit(in_hand, run.state(), edit.transfer_was, decision->change);
    before = planner::NothingDone(in_hand);
  }
  RC_TAG(named);
}

}  // namespace
}  // namespace weir::master
