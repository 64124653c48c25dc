// Properties of every edit: random jobs of the ordinary builders, stopped at a random moment, lose
// random workers, once and again; CheckEdit, which knows nothing of the editor, accepts each edit,
// and the job comes to its end.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "planner/edit/added_workers.h"
#include "planner/edit/check_edit.h"
#include "planner/edit/edit_plan.h"
#include "planner/edit/edited_plan.h"
#include "planner/edit/order_rest.h"
#include "planner/edit/rest_plan.h"
#include "planner/job/builders/plan_job.h"
#include "planner/job/builders/tree_plan.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_combined.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "tests/unit/master/tree_plans.h"
#include "tests/unit/planner_edit/any_added.h"
#include "tests/unit/planner_edit/progress_of.h"
#include "tests/unit/planner_job/random_job.h"
#include "tests/unit/planner_plan/cut_rates.h"

namespace weir::planner {
namespace {

std::int32_t DrawBetween(std::int32_t from, std::int32_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int32_t>(from, to + 1));
}

Plan DrawPlan(PlanMethod method) {
  const RandomJob job = DrawJob(DrawBetween(0, 2) == 0 ? JobKind::kAny : JobKind::kBusy);
  RC_PRE(job.cluster.workers.size() >= 2);
  absl::StatusOr<Plan> plan = PlanJob(job.shape, job.cluster, PlanningOptions{method});
  RC_ASSERT(plan.ok());
  RC_ASSERT(CheckPlan(*plan) == absl::OkStatus());
  return *std::move(plan);
}

// A moment of the run from now_s on: anywhere, or exactly where something ends.
Seconds DrawMoment(const Prediction& prediction, Seconds now_s) {
  const Seconds left_s = std::max(0.0, prediction.makespan_s - now_s);
  if (DrawBetween(0, 1) == 0 && !prediction.transfers.empty()) {
    const auto last = static_cast<std::int32_t>(prediction.transfers.size()) - 1;
    return std::max(now_s, prediction.transfers[At(DrawBetween(0, last))].finish_s);
  }
  return now_s + left_s * DrawBetween(0, 1000) / 1000;
}

// 1 to all but one of those that are left; none where only one is.
std::vector<WorkerIndex> DrawLost(const PlanState& state, std::int32_t num_workers) {
  std::vector<WorkerIndex> present;
  for (WorkerIndex w = 0; w < num_workers; ++w) {
    if (state.gone.empty() || !state.gone[At(w)]) present.push_back(w);
  }
  std::vector<WorkerIndex> lost;
  const auto most = static_cast<std::int32_t>(present.size()) - 1;
  for (std::int32_t left = most > 0 ? DrawBetween(1, most) : 0; left > 0; --left) {
    const auto which =
        present.begin() + DrawBetween(0, static_cast<std::int32_t>(present.size()) - 1);
    lost.push_back(*which);
    present.erase(which);
  }
  return lost;
}

struct Run {
  Plan plan;
  Prediction prediction;
  PlanState state;
  // Runs that lay on workers when they were lost, with the input that they were made from.
  struct Kept {
    WorkerIndex worker;
    StepIndex step;
    Bytes input_end;
  };
  std::vector<Kept> kept = {};
};

// What changes at this moment: workers are lost, may come back with some of the runs that they
// kept, may be slow; others are there for the first time.
PlanChange DrawChange(const PlanState& state, const Run& run) {
  PlanChange change;
  const std::int32_t num_workers = run.plan.network.num_workers;
  change.lost = DrawLost(state, num_workers);
  for (WorkerIndex w = 0; w < num_workers; ++w) {
    if (state.gone.empty() || !state.gone[At(w)] || DrawBetween(0, 1) == 0) continue;
    PlanChange::Joined joined{w, {}};
    for (const Run::Kept& kept : run.kept) {
      const bool same = run.plan.steps[At(kept.step)].input_end == kept.input_end;
      if (kept.worker == w && same && DrawBetween(0, 2) > 0) joined.runs.push_back(kept.step);
    }
    change.joined.push_back(joined);
  }
  if (DrawBetween(0, 1) == 0) {
    for (WorkerIndex w = 0; w < num_workers; ++w) {
      change.rate_factor.push_back(*rc::gen::element(1.0, 1.0, 0.5, 0.1, 2.0));
    }
    change.pace = *rc::gen::element(1.0, 1.0, 0.4);
  }
  if (DrawBetween(0, 2) == 0) {
    for (WorkerIndex w = 0; w < num_workers; ++w) {
      change.port_factor.push_back(*rc::gen::element(1.0, 1.0, 0.5, 0.1, 2.0));
    }
  }
  if (DrawBetween(0, 2) == 0) change.lost.clear();
  if (DrawBetween(0, 2) == 0) {
    change.added = AnyAdded(run.plan, static_cast<std::uint64_t>(DrawBetween(0, 1'000'000)));
  }
  change.whole_steps = DrawBetween(0, 3) == 0;
  return change;
}

RunsStay DrawRunsStay() {
  return DrawBetween(0, 2) == 0 ? RunsStay::kUntilRead : RunsStay::kToTheEnd;
}

// What fails at this moment: workers get nothing new, steps fail under way, runs and what has
// arrived of them are damaged.
PlanChange DrawFaults(const Run& run, PlanState* state) {
  PlanChange change;
  if (DrawBetween(0, 2) == 0) change.lost = DrawLost(*state, run.plan.network.num_workers);
  for (WorkerIndex w = 0; w < run.plan.network.num_workers; ++w) {
    if (DrawBetween(0, 3) == 0) change.closed.push_back(w);
  }
  if (DrawBetween(0, 1) == 0) change.closed_stay_s = DrawBetween(0, 10);
  for (std::size_t s = 0; s < run.plan.steps.size(); ++s) {
    const auto step = static_cast<StepIndex>(s);
    if (state->run_there[s] && DrawBetween(0, 5) == 0) change.runs_lost.push_back(step);
    if (state->steps[s] != WorkState::kUnderWay || DrawBetween(0, 2) > 0) continue;
    state->steps[s] = WorkState::kWaiting;
    state->step_began_s[s] = -1;
    if (DrawBetween(0, 1) == 0) change.elsewhere.push_back(step);
  }
  for (const Section& section : run.plan.sections) {
    if (state->steps[At(section.consumer)] != WorkState::kWaiting || DrawBetween(0, 7) > 0)
      continue;
    change.sections_lost.push_back({section.producer, section.consumer});
  }
  return change;
}

enum class Changes { kLost, kAll, kFaults };

// Goes on to a random moment, changes workers, and goes on with the edit.
PlanEdit ChangeWorkers(Changes what, RunsStay runs, Run* run) {
  const Seconds moment_s = DrawMoment(run->prediction, run->state.now_s);
  PlanState state = ProgressOf(run->plan, run->prediction, run->state, moment_s, runs);
  const PlanChange change =
      what == Changes::kAll ? DrawChange(state, *run)
      : what == Changes::kFaults
          ? DrawFaults(*run, &state)
          : PlanChange{.lost = DrawLost(state, run->plan.network.num_workers)};
  const absl::StatusOr<PlanEdit> edit = EditPlan(run->plan, state, change);
  RC_LOG() << edit.status() << "\n";
  RC_ASSERT(edit.ok());
  RC_LOG() << "at " << moment_s << " s: " << edit->why << "\n";
  const absl::Status checked = CheckEdit(run->plan, state, change, *edit);
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
  RC_ASSERT(edit->prediction.makespan_s >= moment_s * (1 - 1e-9) ||
            edit->prediction.makespan_s == run->prediction.makespan_s);
  for (std::size_t s = 0; s < state.steps.size(); ++s) {
    const ComputeStep& step = run->plan.steps[s];
    if (edit->state.gone[At(step.worker)] && state.run_there[s]) {
      run->kept.push_back({step.worker, static_cast<StepIndex>(s), step.input_end});
    }
  }
  *run = {edit->plan, edit->prediction, edit->state, run->kept};
  return *edit;
}

void ExpectTheEnd(const Run& run) {
  const PlanState end = ProgressOf(run.plan, run.prediction, run.state,
                                   run.prediction.makespan_s * (1 + 1e-9), RunsStay::kToTheEnd);
  for (const WorkState work : end.steps) RC_ASSERT(work == WorkState::kDone);
  for (const WorkState work : end.transfers) RC_ASSERT(work == WorkState::kDone);
}

void CheckEditsOf(Plan plan, Changes what = Changes::kLost) {
  const absl::StatusOr<Prediction> prediction = Predict(plan);
  RC_ASSERT(prediction.ok());
  Run run{plan, *prediction, NothingDone(plan)};
  const RunsStay runs = DrawRunsStay();
  for (std::int32_t edits = DrawBetween(1, 3); edits > 0; --edits) ChangeWorkers(what, runs, &run);
  ExpectTheEnd(run);
}

RC_GTEST_PROP(EditPlanProperty, EditsOfEvenPlansAreRight, ()) {
  CheckEditsOf(DrawPlan(PlanMethod::kEven));
}

// Also when workers come back, with runs or without, and are slower or faster than planned.
RC_GTEST_PROP(EditPlanProperty, EditsAfterAnyChangeAreRight, ()) {
  CheckEditsOf(DrawPlan(PlanMethod::kEven), Changes::kAll);
}

RC_GTEST_PROP(EditPlanProperty, EditsAfterAnyFaultAreRight, ()) {
  CheckEditsOf(DrawPlan(PlanMethod::kEven), Changes::kFaults);
}

RC_GTEST_PROP(EditPlanProperty, EditsOfLoadPlansAreRight, ()) {
  CheckEditsOf(DrawPlan(PlanMethod::kLoad));
}

RC_GTEST_PROP(EditPlanProperty, EditsOfPlansThatFetchFromAllAreRight, ()) {
  Plan plan = DrawPlan(PlanMethod::kEven);
  RC_ASSERT(OrderFetchAll(&plan, DrawBetween(0, 3)).ok());
  CheckEditsOf(std::move(plan));
}

RC_GTEST_PROP(EditPlanProperty, EditsOfPlansByRatesAreRight, ()) {
  Plan plan = DrawPlan(PlanMethod::kEven);
  RC_SUCCEED_IF(plan.network.seconds_per_byte == 0);
  // Ports of these networks may carry a byte a second.
  RC_ASSERT(OrderRestByRates(0, &plan).ok());
  CheckEditsOf(std::move(plan));
}

RC_GTEST_PROP(EditPlanProperty, EditsOfPlansWhoseRatesChangeAreRight, ()) {
  Plan plan = DrawPlan(PlanMethod::kEven);
  RC_SUCCEED_IF(plan.network.seconds_per_byte == 0);
  RC_ASSERT(OrderByRatesOverTime(&plan).ok());
  CheckEditsOf(std::move(plan));
}

RC_GTEST_PROP(EditPlanProperty, EditsOfPlansByLanesAreRight, ()) {
  Plan plan = DrawPlan(PlanMethod::kEven);
  RC_SUCCEED_IF(plan.network.seconds_per_byte == 0);
  plan.network.transfer_gap_s = DrawBetween(0, 2);
  plan.port_lanes = DrawBetween(2, 4);
  plan.transfer_order = TransferOrder::kRates;
  RC_ASSERT(OrderRestByLanes(0, &plan).ok());
  CheckEditsOf(std::move(plan));
}

Plan DrawTree() {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  RC_LOG() << "seed " << seed << "\n";
  Plan plan = master::RandomTreePlan(seed);
  RC_PRE(plan.network.num_workers >= 2);
  return plan;
}

// Several layers, some of them shuffled, several roots, and workers with several maps.
RC_GTEST_PROP(EditPlanProperty, EditsOfJobsThatCombineAreRight, ()) {
  const RandomJob job = DrawCombinedJob();
  RC_PRE(job.cluster.workers.size() >= 2 && CanCombine(job.shape));
  const Plan shuffle = *PlanJob(job.shape, job.cluster, PlanningOptions{PlanMethod::kEven});
  const absl::StatusOr<TreePlans> trees = TreePlansOfJob(job.shape, job.cluster, shuffle);
  RC_PRE(trees.ok());
  CheckEditsOf(trees->plan, *rc::gen::element(Changes::kLost, Changes::kAll, Changes::kFaults));
}

RC_GTEST_PROP(EditPlanProperty, EditsOfTreesAreRight, ()) {
  CheckEditsOf(DrawTree(), *rc::gen::element(Changes::kLost, Changes::kAll, Changes::kFaults));
}

// Every place of every partial result still reaches the root once, whichever maps were cut.
RC_GTEST_PROP(EditPlanProperty, EditedTreesCombineAllOnce, ()) {
  const Plan plan = DrawTree();
  Run run{plan, *Predict(plan), NothingDone(plan)};
  const RunsStay runs = DrawRunsStay();
  for (std::int32_t edits = DrawBetween(1, 3); edits > 0; --edits) {
    const PlanEdit edit = ChangeWorkers(Changes::kLost, runs, &run);
    const absl::Status combined = CheckCombined(edit.plan);
    RC_LOG() << combined << "\n";
    RC_ASSERT(combined.ok());
    RC_TAG(edit.plan.steps.size() > plan.steps.size(), !edit.redone.empty());
  }
}

// What is done on workers that are there stays done.
RC_GTEST_PROP(EditPlanProperty, OnlyStepsOfLostWorkersOfATreeAreMadeAgain, ()) {
  const Plan plan = DrawTree();
  Run run{plan, *Predict(plan), NothingDone(plan)};
  const PlanEdit edit = ChangeWorkers(Changes::kLost, RunsStay::kToTheEnd, &run);
  for (const StepIndex step : edit.redone)
    RC_ASSERT(edit.state.gone[At(plan.steps[At(step)].worker)]);
}

RC_GTEST_PROP(EditPlanProperty, TheRestKeepsTheCuts, ()) {
  const Plan plan = DrawPlan(PlanMethod::kEven);
  Run run{plan, *Predict(plan), NothingDone(plan)};
  const PlanEdit edit = ChangeWorkers(Changes::kLost, RunsStay::kToTheEnd, &run);
  RestPlan rest = RestOf(edit.plan, edit.state);
  RC_ASSERT(AdoptPrediction(&rest.plan).ok());
  const std::vector<double> most = MostAcrossCuts(rest.plan, PlannedTransfers(rest.plan));
  for (std::size_t cut = 0; cut < most.size(); ++cut) {
    RC_ASSERT(most[cut] <= plan.network.cuts[cut].channels * (1 + 1e-6));
  }
}

// What was done at the moment of a loss, and is not on the lost worker or needed from it, stays:
// with every run still there, only steps of lost workers are made again.
RC_GTEST_PROP(EditPlanProperty, OnlyStepsOfLostWorkersAreMadeAgain, ()) {
  const Plan plan = DrawPlan(PlanMethod::kEven);
  Run run{plan, *Predict(plan), NothingDone(plan)};
  const PlanEdit edit = ChangeWorkers(Changes::kLost, RunsStay::kToTheEnd, &run);
  for (const StepIndex step : edit.redone)
    RC_ASSERT(edit.state.gone[At(plan.steps[At(step)].worker)]);
}

RC_GTEST_PROP(EditPlanProperty, NobodyLostNothingMoves, ()) {
  const Plan plan = DrawPlan(PlanMethod::kEven);
  const Prediction prediction = *Predict(plan);
  const PlanState state = ProgressOf(plan, prediction, NothingDone(plan), DrawMoment(prediction, 0),
                                     RunsStay::kToTheEnd);
  const absl::StatusOr<PlanEdit> edit = EditPlan(plan, state, {});
  RC_ASSERT(edit.ok());
  RC_ASSERT(CheckEdit(plan, state, {}, *edit) == absl::OkStatus());
  RC_ASSERT(edit->redone.empty());
  RC_ASSERT(edit->moved_again == 0);
  RC_ASSERT(edit->plan.steps.size() == plan.steps.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    RC_ASSERT(edit->plan.steps[s].worker == plan.steps[s].worker);
  }
}

// When all ends that goes on as it is, ordered as the ways of an edit are.
Seconds EndUnchanged(const Plan& plan, const PlanState& state) {
  const WorkLeft left = FindWorkLeft(
      plan, state, std::vector<bool>(At(plan.network.num_workers), true), PartlyRead::kMadeAgain);
  EditedPlan same =
      ApplyHomes(plan, state, left, std::vector<std::vector<StepHome>>(plan.steps.size()));
  return OrderRest(OrderEffort::kList, &same)->makespan_s;
}

// New workers bring kMoveGain of what is left, or are left alone. Steps that wait move, no others.
RC_GTEST_PROP(EditPlanProperty, NewWorkersAreWorthIt, ()) {
  const Plan plan = DrawPlan(PlanMethod::kEven);
  const Prediction prediction = *Predict(plan);
  const PlanState state = ProgressOf(plan, prediction, NothingDone(plan), DrawMoment(prediction, 0),
                                     RunsStay::kToTheEnd);
  PlanChange change;
  change.added = AnyAdded(plan, static_cast<std::uint64_t>(DrawBetween(0, 1'000'000)));
  const absl::StatusOr<PlanEdit> edit = EditPlan(plan, state, change);
  RC_LOG() << edit.status() << "\n";
  RC_ASSERT(edit.ok());
  RC_ASSERT(CheckEdit(plan, state, change, *edit) == absl::OkStatus());
  RC_ASSERT(edit->redone.empty());
  RC_ASSERT(edit->moved_again == 0);
  bool moves = edit->plan.steps.size() > plan.steps.size();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const bool moved = edit->plan.steps[s].worker != plan.steps[s].worker;
    RC_ASSERT(!moved || state.steps[s] == WorkState::kWaiting);
    moves = moves || moved;
  }
  RC_TAG(moves);
  Plan extended = plan;
  PlanState idle = state;
  RC_ASSERT(AddWorkers(change.added, &extended, &idle) == absl::OkStatus());
  const Seconds unchanged_s = EndUnchanged(extended, idle);
  const Seconds least_gain_s = moves ? kMoveGain * (unchanged_s - state.now_s) : 0;
  RC_ASSERT(edit->prediction.makespan_s <= unchanged_s - least_gain_s + 1e-9 * unchanged_s);
}

// Ways to spoil an edit; each says whether there was anything to spoil.
using Spoil = std::function<bool(PlanEdit*)>;

template <typename Item>
std::optional<std::size_t> DrawOne(const std::vector<Item>& items,
                                   const std::function<bool(std::size_t)>& fits) {
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (fits(i)) fitting.push_back(i);
  }
  if (fitting.empty()) return std::nullopt;
  return fitting[At(DrawBetween(0, static_cast<std::int32_t>(fitting.size()) - 1))];
}

std::vector<Spoil> Spoils() {
  const auto waiting_transfer = [](PlanEdit* edit) {
    return DrawOne(edit->plan.transfers, [edit](std::size_t t) {
      return edit->state.transfers[t] == WorkState::kWaiting;
    });
  };
  const auto begins = [](PlanEdit* edit, StepIndex step) {
    return edit->state.steps[At(step)] == WorkState::kWaiting;
  };
  return {[=](PlanEdit* edit) {  // a section less, not of an empty range of input
            const auto section = DrawOne(edit->plan.sections, [&](std::size_t i) {
              const ComputeStep& maker = edit->plan.steps[At(edit->plan.sections[i].producer)];
              return begins(edit, edit->plan.sections[i].consumer) &&
                     (!maker.kind->reads_input() || maker.input_bytes > 0);
            });
            if (!section) return false;
            edit->plan.sections.erase(edit->plan.sections.begin() +
                                      static_cast<std::ptrdiff_t>(*section));
            return true;
          },
          [=](PlanEdit* edit) {  // a section twice
            const auto section = DrawOne(edit->plan.sections, [&](std::size_t i) {
              return begins(edit, edit->plan.sections[i].consumer);
            });
            if (section) edit->plan.sections.push_back(edit->plan.sections[*section]);
            return section.has_value();
          },
          [=](PlanEdit* edit) {  // work on a lost worker
            const auto step = DrawOne(edit->plan.steps, [&](std::size_t s) {
              return begins(edit, static_cast<StepIndex>(s));
            });
            if (!step) return false;
            const auto& gone = edit->state.gone;
            edit->plan.steps[*step].worker =
                static_cast<WorkerIndex>(std::find(gone.begin(), gone.end(), true) - gone.begin());
            return true;
          },
          [=](PlanEdit* edit) {  // a worker that nobody has added
            ++edit->plan.network.num_workers;
            return true;
          },
          [=](PlanEdit* edit) {  // a byte twice
            const auto transfer = waiting_transfer(edit);
            if (transfer) ++edit->plan.transfers[*transfer].bytes;
            return transfer.has_value();
          },
          [=](PlanEdit* edit) {  // said to have arrived
            const auto transfer = waiting_transfer(edit);
            if (!transfer) return false;
            edit->state.transfers[*transfer] = WorkState::kDone;
            edit->state.transfer_began_s[*transfer] = edit->state.transfer_ended_s[*transfer] = 0;
            return true;
          },
          [=](PlanEdit* edit) {  // from a run that is gone
            const auto transfer = DrawOne(edit->plan.transfers, [edit](std::size_t t) {
              const auto producer = At(edit->plan.transfers[t].producer);
              return edit->state.transfers[t] != WorkState::kDone &&
                     edit->state.steps[producer] == WorkState::kDone;
            });
            if (!transfer) return false;
            edit->state.run_there[At(edit->plan.transfers[*transfer].producer)] = false;
            return true;
          },
          [=](PlanEdit* edit) {  // before it can
            const auto step = DrawOne(edit->plan.steps, [&](std::size_t s) {
              return begins(edit, static_cast<StepIndex>(s));
            });
            if (!step || edit->plan.steps[*step].start_s == 0) return false;
            edit->plan.steps[*step].start_s *= 0.9;
            return true;
          }};
}

RC_GTEST_PROP(EditPlanProperty, CheckEditNoticesWhatIsSpoiled, ()) {
  const Plan plan = DrawPlan(PlanMethod::kEven);
  const Prediction prediction = *Predict(plan);
  const PlanState state = ProgressOf(plan, prediction, NothingDone(plan), DrawMoment(prediction, 0),
                                     RunsStay::kToTheEnd);
  const PlanChange change{.lost = DrawLost(state, plan.network.num_workers)};
  PlanEdit edit = *EditPlan(plan, state, change);
  RC_ASSERT(CheckEdit(plan, state, change, edit) == absl::OkStatus());
  const std::vector<Spoil> spoils = Spoils();
  const std::int32_t which = DrawBetween(0, static_cast<std::int32_t>(spoils.size()) - 1);
  RC_PRE(spoils[At(which)](&edit));
  RC_LOG() << "spoiled in way " << which << "\n";
  RC_ASSERT(!CheckEdit(plan, state, change, edit).ok());
}

RC_GTEST_PROP(EditPlanProperty, SameInputSameEdit, ()) {
  const Plan plan = DrawPlan(PlanMethod::kEven);
  const Prediction prediction = *Predict(plan);
  const PlanState state = ProgressOf(plan, prediction, NothingDone(plan), DrawMoment(prediction, 0),
                                     RunsStay::kToTheEnd);
  const PlanChange change{.lost = DrawLost(state, plan.network.num_workers)};
  const PlanEdit a = *EditPlan(plan, state, change);
  const PlanEdit b = *EditPlan(plan, state, change);
  RC_ASSERT(a.why == b.why);
  RC_ASSERT(a.plan.send_order == b.plan.send_order);
  RC_ASSERT(a.plan.channel_order == b.plan.channel_order);
  RC_ASSERT(a.prediction.makespan_s == b.prediction.makespan_s);
}

}  // namespace
}  // namespace weir::planner
