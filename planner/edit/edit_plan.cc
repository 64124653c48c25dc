#include "planner/edit/edit_plan.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/edit/edit_words.h"
#include "planner/edit/edited_plan.h"
#include "planner/edit/order_rest.h"
#include "planner/edit/step_homes.h"
#include "planner/edit/work_left.h"
#include "planner/order/order_by_slack.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

bool Any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

/// One way to go on, and what it leads to.
struct Way {
  std::string name;
  std::shared_ptr<const WorkLeft> left;
  std::vector<std::vector<StepHome>> homes;
  double gain = 0;  // least of what is left, where steps move that could stay
};

class Ways {
 public:
  explicit Ways(const ChangedPlan& changed) : changed_(changed) {}

  /// The ways that differ for this edit, the likeliest first: of two that end at the same time the
  /// first is taken.
  std::vector<Way> Find() {
    const auto whole = Left(PartlyRead::kMadeAgain, {});
    const auto parts = Left(PartlyRead::kInParts, {});
    const auto survivors =
        static_cast<std::int32_t>(std::count(changed_.alive.begin(), changed_.alive.end(), true) -
                                  std::count(changed_.closed.begin(), changed_.closed.end(), true));
    const bool cuts = (Any(parts->can_be_cut) || Any(parts->in_parts)) && survivors > 1;
    if (cuts) {
      Add(absl::StrCat("in parts over all ", survivors), parts, {survivors, false});
      if (survivors > 4) Add("in parts over the 4 that get free first", parts, {4, false});
    }
    Add(cuts ? "in whole steps" : "to those that end first with it", whole, {1, false});
    if (Any(whole->homeless) && survivors > 1) Add("all to one worker", whole, {1, true});
    if (survivors > 1) {
      AddMoving("moving what has not begun", changed_.may_move, kMoveGain);
      AddGivingUp();
      AddMakingAgain();
    }
    return std::move(ways_);
  }

 private:
  /// `moved`: beside what may not stay.
  std::shared_ptr<const WorkLeft> Left(PartlyRead partly_read, std::vector<bool> moved) const {
    moved.resize(changed_.must_move.size(), false);
    for (std::size_t s = 0; s < moved.size(); ++s) moved[s] = moved[s] || changed_.must_move[s];
    if (changed_.whole_steps) partly_read = PartlyRead::kMadeAgain;
    WorkLeft left = FindWorkLeft(changed_.plan, changed_.state, changed_.alive, partly_read, moved);
    // What failed is tried as it was: who is to blame shows where the same fails again.
    for (std::size_t s = 0; s < moved.size(); ++s) {
      if (changed_.elsewhere[s]) left.can_be_cut[s] = false;
    }
    return std::make_shared<const WorkLeft>(std::move(left));
  }

  std::vector<std::vector<StepHome>> Homes(const WorkLeft& left, HomeChoice choice) const {
    choice.closed = changed_.closed;
    choice.elsewhere = changed_.elsewhere;
    return FindHomes(changed_.plan, changed_.state, left, choice);
  }

  void Add(std::string name, std::shared_ptr<const WorkLeft> left, const HomeChoice& choice) {
    auto homes = Homes(*left, choice);
    ways_.push_back({std::move(name), std::move(left), std::move(homes)});
  }

  /// Also what slow workers have under way, unless they still need less than others would.
  void AddGivingUp() {
    if (!Any(changed_.may_give_up)) return;
    std::vector<bool> given_up = changed_.may_move;
    for (std::size_t s = 0; s < given_up.size(); ++s) {
      if (changed_.may_give_up[s] && StillToRun(s) > AnewAtLeast(s)) given_up[s] = true;
    }
    AddMoving("making anew what slow workers have under way", std::move(given_up), kGiveUpGain);
  }

  /// Also what lies behind slow ports.
  void AddMakingAgain() {
    if (!Any(changed_.may_make_again)) return;
    std::vector<bool> again = changed_.may_move;
    for (std::size_t s = 0; s < again.size(); ++s) {
      if (changed_.may_make_again[s]) again[s] = true;
    }
    AddMoving("making again what lies behind slow ports", std::move(again), kGiveUpGain);
  }

  /// Two ways: slow workers get nothing, as what they get ends last if they are slower than was
  /// found out; or they get their part, where that ends sooner by as much again.
  void AddMoving(const std::string& name, const std::vector<bool>& moved, double gain) {
    const bool others = changed_.slow != changed_.alive;
    if (others) AddMovingTo(name, moved, gain, changed_.slow);
    if (!others || Any(changed_.slow)) AddMovingTo(name, moved, gain, {});
  }

  Seconds StillToRun(std::size_t step) const {
    const PlanState& state = changed_.state;
    return state.step_began_s[step] + changed_.plan.steps[step].duration_s - state.now_s;
  }

  /// Of a step on a slow worker: what it takes if all, or the fastest where it cannot be cut, begin
  /// it now and have nothing else to do.
  Seconds AnewAtLeast(std::size_t step) const {
    const ComputeStep& planned = changed_.plan.steps[step];
    const std::vector<double> speed = ComputeRates(changed_.plan);
    double fastest = 0, all = 0;
    for (std::size_t w = 0; w < speed.size(); ++w) {
      if (!changed_.alive[w]) continue;
      fastest = std::max(fastest, speed[w]);
      all += speed[w];
    }
    return planned.duration_s * speed[At(planned.worker)] /
           (planned.kind->reads_input() ? all : fastest);
  }

  /// Also hands out these steps, which could stay, over all workers but those spared. What finds
  /// its home where it was stays, with all that it has there.
  void AddMovingTo(std::string name, std::vector<bool> moved, double gain,
                   std::vector<bool> spared) {
    if (!Any(moved)) return;
    if (Any(changed_.slow)) absl::StrAppend(&name, Any(spared) ? " by others" : " by all");
    const auto all = Left(PartlyRead::kInParts, moved);
    const auto spread = static_cast<std::int32_t>(changed_.alive.size());
    auto homes = Homes(*all, {spread, false, std::move(spared)});
    for (std::size_t s = 0; s < moved.size(); ++s) {
      if (moved[s] && homes[s].size() == 1 && homes[s][0].worker == changed_.plan.steps[s].worker) {
        moved[s] = false;
      }
    }
    if (!Any(moved)) return;
    auto left = Left(PartlyRead::kInParts, moved);
    for (std::size_t s = 0; s < moved.size(); ++s) {
      const bool needs_home = left->homeless[s] || left->in_parts[s];
      if (!needs_home) homes[s].clear();
      // Somebody who stays has a section of it after all.
      if (homes[s].size() > 1 && !left->can_be_cut[s] && !left->in_parts[s]) return;
    }
    ways_.push_back({std::move(name), std::move(left), std::move(homes), gain});
  }

  const ChangedPlan& changed_;
  std::vector<Way> ways_;
};

bool SlackMayHelp(const EditedPlan& edited) {
  const auto done =
      std::count(edited.state.transfers.begin(), edited.state.transfers.end(), WorkState::kDone);
  const std::size_t left = edited.plan.transfers.size() - static_cast<std::size_t>(done);
  return IsOrdered(edited.plan.transfer_order) && left > 0 && !CombinesAnything(edited.plan) &&
         left <= static_cast<std::size_t>(kSlackTransfersMax);
}

}  // namespace

absl::Status CheckEditable(const Plan& plan) {
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->iterates) {
      return absl::FailedPreconditionError("The plan is a loop; those are not edited");
    }
  }
  for (const Section& section : plan.sections) {
    const ComputeStep& producer = plan.steps[At(section.producer)];
    // What combines is of the layer that it combines for (CheckCombined).
    const std::int32_t last = plan.steps[At(section.consumer)].layer;
    if (producer.kind->combines ? producer.layer > last : producer.layer >= last) {
      return absl::FailedPreconditionError(
          absl::StrCat("Step ", section.consumer, " reads step ", section.producer,
                       " of no earlier layer; such plans are not edited"));
    }
  }
  return absl::OkStatus();
}

namespace {

/// The way that an edit takes.
struct TakenWay {
  std::size_t way = 0;
  EditedPlan edited;
  Prediction times;
  std::vector<WayWords> words;  // of all ways that can be ordered
  std::size_t own_words = 0;
};

EditedPlan Go(const ChangedPlan& changed, const Way& way) {
  return ApplyHomes(changed.plan, changed.state, *way.left, way.homes);
}

/// Errors: the first of a way, where none can be ordered.
absl::StatusOr<TakenWay> TakeBest(const ChangedPlan& changed, const std::vector<Way>& ways,
                                  Seconds now_s) {
  std::optional<TakenWay> taken;
  std::vector<WayWords> words;
  absl::Status refused;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    EditedPlan edited = Go(changed, ways[i]);
    absl::StatusOr<Prediction> times = OrderRest(OrderEffort::kList, &edited);
    if (!times.ok()) {
      refused.Update(times.status());
      continue;
    }
    words.push_back({ways[i].name, times->makespan_s});
    if (taken) {
      const Seconds least_s = words[taken->own_words].makespan_s;
      const Seconds gain_s = ways[i].gain * (least_s - now_s);
      if (times->makespan_s >= least_s - gain_s) continue;
    }
    taken = TakenWay{i, std::move(edited), *std::move(times), {}, words.size() - 1};
  }
  if (!taken) return refused;
  taken->words = std::move(words);
  return *std::move(taken);
}

/// Orders it once more, with more effort, where that may help.
void OrderFiner(const ChangedPlan& changed, const Way& way, TakenWay& taken) {
  if (!SlackMayHelp(taken.edited)) return;
  EditedPlan finer = Go(changed, way);
  absl::StatusOr<Prediction> times = OrderRest(OrderEffort::kSlack, &finer);
  if (!times.ok() || times->makespan_s >= taken.times.makespan_s) return;
  taken.words[taken.own_words].makespan_s = times->makespan_s;
  taken.edited = std::move(finer);
  taken.times = *std::move(times);
}

}  // namespace

absl::StatusOr<PlanEdit> EditPlan(const Plan& plan, const PlanState& state,
                                  const PlanChange& change) {
  if (absl::Status status = CheckEditable(plan); !status.ok()) return status;
  if (absl::Status status = CheckState(plan, state); !status.ok()) return status;
  const absl::StatusOr<ChangedPlan> changed = ApplyChange(plan, state, change);
  if (!changed.ok()) return changed.status();
  const std::vector<Way> ways = Ways(*changed).Find();
  absl::StatusOr<TakenWay> taken = TakeBest(*changed, ways, state.now_s);
  if (!taken.ok()) return taken.status();
  OrderFiner(*changed, ways[taken->way], *taken);

  PlanEdit edit;
  edit.plan = std::move(taken->edited.plan);
  edit.state = std::move(taken->edited.state);
  edit.transfer_was = std::move(taken->edited.transfer_was);
  edit.moved_again = taken->edited.moved_again;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const bool damaged = state.transfers[t] == WorkState::kDone &&
                         changed->state.transfers[t] == WorkState::kWaiting;
    if (damaged) edit.moved_again += plan.transfers[t].bytes;
  }
  edit.prediction = std::move(taken->times);
  const WorkLeft& left = *ways[taken->way].left;
  for (std::size_t s = 0; s < left.redone.size(); ++s) {
    if (left.redone[s]) edit.redone.push_back(static_cast<StepIndex>(s));
    if (left.in_parts[s]) edit.in_parts.push_back(static_cast<StepIndex>(s));
  }
  edit.why =
      WhyText(state, *changed, change, left, taken->words, taken->own_words, edit.moved_again);
  edit.plan.summary.notes.push_back(edit.why);
  return edit;
}

}  // namespace weir::planner
