#pragma once

// Who is slower than the plan says, and when the plan should be edited for it. Pure. Upstream:
// ConductorRun, which tells how far the run is. Downstream: planner::EditPlan, by a PlanChange.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/types/span.h"
#include "planner/edit/plan_change.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"
#include "runtime/master/stragglers/port_rates.h"
#include "runtime/master/stragglers/ranked_rates.h"

namespace weir::master {

/// What a task has read is known so much later: it says so every limits::kTaskProgress, its worker
/// every limits::kHeartbeat.
inline constexpr planner::Seconds kHeardLateS = 1;
/// A rate is that of at least so long, where a step lasts so long: records are read in blocks.
inline constexpr planner::Seconds kRateWindowS = 3;
/// Who is behind for so long is a straggler: two looks, which are a heartbeat apart but for what a
/// busy master is late with the first.
inline constexpr planner::Seconds kStragglerPatienceS = 0.4;
/// No worker is the reason for an edit again before that, for the same of what it computes and what
/// its ports carry: an edit moves work, and takes as long as a heartbeat to be felt.
inline constexpr planner::Seconds kEditPauseS = 5;
/// Where the edit changed nothing, so soon for the first time, and twice as late each time: what
/// lies behind a slow port may just not have been made yet.
inline constexpr planner::Seconds kAskAgainS = 1;

/// Rates beside the plan that the watch began with, by worker: 0.5 = half as fast as planned; 1
/// where nothing else is known.
struct WorkerRates {
  std::vector<double> compute;
  std::vector<double> send;
  std::vector<double> receive;
};

/// An edit that is worth trying.
struct StragglerDecision {
  std::vector<planner::WorkerIndex> workers;  // for whom, rising
  planner::PlanChange change;                 // rate_factor, pace and port_factor
  std::string why;                            // for the log: who, and by how much
};

/// Measures workers against the plan: how fast each computes, and its ports carry, beside what was
/// planned.
///
/// How ConductorRun is to use it, for plans that can be edited:
///
///   watch_.Observe({state, input_bytes, bytes_done, granted, moved_on});  // each 500 ms
///   watch_.Rates();                                             // whenever somebody asks
///   if (auto decision = watch_.Decide()) {                      // after each Observe
///     edit = EditPlan(plan, state, decision->change);           // on the compute pool
///     if (edit is taken) watch_.TakeEdit(edit->plan, edit->state, edit->transfer_was,
///                                        decision->change);
///   }
///
/// `state` is the planner::PlanState that EditPlan gets too: from PlanProgress. A step in
/// PlanEdit::redone whose worker is alive was given up: its attempt there is to be ended. An edit
/// for another reason (a loss) goes to TakeEdit the same way. An edit that says "no step has to
/// move" need not be taken; the worker is then named again after kAskAgainS, later each time, and
/// at once where it is found slow in the other way too: a worker that is starved of its processor
/// is first seen at its ports.
///
/// Model of computing: a step of p seconds as planned (in proportion to what it really reads) has
///   done share * p of them, the share being what it has read as far as heard, kHeardLateS ago. One
///   of which nothing is heard, or that has read all, has done at most p; silent for kSilentTimes
///   of that it is taken for half done. Of steps that are done, those of the last kRateWindowS
///   count, so that small jobs and small steps are measured too; the step under way takes their
///   place once it says something. A worker is behind where all that was possible since its step
///   began, and also lately, is below kStragglerRate of the pace and kStragglerLateS late; the pace
///   is the median of the others at steps of the same kind and layer, at most 1: where all are late
///   the prediction is wrong, and with one worker there is no straggler. Where no other is known to
///   have run such a step nobody is behind: who runs alone cannot be told from a wrong prediction.
///   A silent step is no such knowledge of a worker.
///   Behind for kStragglerPatienceS: an edit, with the rate at which its step under way will end
///   when it will. After TakeEdit the plan in hand says the same, so that only who is slower still,
///   or at least twice as fast as that (recovered), is the reason for another one.
/// Steps that store are not measured: what holds them up is the store.
/// Requires: each plan outlives its use. Thread-safety: none; control loop only. Time: in seconds
///   since the start of the run, passed in as RunSoFar::state.now_s; does not go backwards.
///   An observation takes O(steps + workers log workers) and what PortRates does; a decision
///   O(transfers) where ports are slow.
/// Checked by: tests/unit/master/straggler_watch_test.cc, straggler_watch_property_test.cc.
class StragglerWatch {
 public:
  explicit StragglerWatch(const planner::Plan& plan);

  void Observe(const RunSoFar& run);
  WorkerRates Rates() const;
  /// Whether, and for whom, the plan should be edited now: somebody is behind, or has recovered,
  /// and has work left that makes it worth trying; whether it moves, EditPlan says. Whoever is
  /// named is not named again for the same for kEditPauseS where the edit is taken, else for
  /// kAskAgainS, 2 kAskAgainS and so on up to that.
  std::optional<StragglerDecision> Decide();
  /// Goes on with the edited plan, also of workers that it adds.
  void TakeEdit(const planner::Plan& plan, const planner::PlanState& state,
                absl::Span<const planner::TransferIndex> transfer_was,
                const planner::PlanChange& change);

 private:
  /// A step under way and what was heard of it.
  struct Heard {
    planner::Seconds at_s = 0;
    double share = 0;
  };
  struct UnderWay {
    planner::Seconds began_s = 0;
    std::deque<Heard> heard;  // each with a larger share than the one before
    planner::Seconds longest_gap_s = kHeardLateS;
  };
  struct Done {
    planner::Seconds planned_s = 0;
    planner::Seconds took_s = 0;
  };
  /// Steps that one prediction is about: layer, kind.
  using Alike = std::pair<std::int32_t, planner::StepKind>;
  /// How fast a worker computes beside the plan in hand.
  struct Compute {
    bool known = false;
    Alike alike = {0, planner::StepKind::kMap};
    double least = 1, most = 1;  // what it may be
    double rate = 1;             // with which its step under way ends when it will
    double lately = 1;           // the least that it may be now; of the rate in the end
    bool silent = false;
    planner::Seconds planned_s = 0;  // of what it has done
    planner::Seconds took_s = 0;
  };
  /// When a worker was the reason for an edit, and until when it is not again.
  struct Named {
    std::optional<planner::Seconds> at_s;
    planner::Seconds pause_s = kAskAgainS / 2;
  };
  struct Worker {
    planner::StepIndex step = planner::kNoIndex;    // under way
    absl::btree_map<Alike, std::deque<Done>> done;  // the last
    Alike did = {0, planner::StepKind::kMap};       // last
    Compute compute;
    double planned_rate = 1;       // of the plan in hand, beside the first one
    double planned_port_rate = 1;  // the same of its ports
    // How long it has been a straggler, or none any more; of its ports.
    std::optional<planner::Seconds> behind_s, recovered_s, ports_behind_s, ports_recovered_s;
    Named compute_named, ports_named;
    planner::Seconds left_s = 0;  // of its steps, by the plan in hand
  };
  enum class Bound { kLeast, kMost };
  /// What is known of how fast each worker runs steps that are alike.
  struct Peers {
    std::vector<std::optional<double>> rate;  // by worker
    RankedRates known;
  };

  void LookAtStep(const RunSoFar& run, std::size_t step);
  planner::Seconds PlannedSeconds(const RunSoFar& run, std::size_t step) const;
  static void CountDone(const Done& step, const Alike& alike, Worker* worker);
  Compute ComputeOf(const RunSoFar& run, const Worker& worker) const;
  Compute OfStepUnderWay(const UnderWay& step, planner::Seconds planned_s) const;
  static Compute OfStepsDone(const Worker& worker, const Alike& alike);
  /// Of the workers but this one, at steps like those that it is known by: the median of what is
  /// known; nothing while nothing is.
  std::optional<double> Others(std::size_t worker, Bound bound);
  Peers PeersAt(const Alike& alike, Bound bound) const;
  bool Behind(std::size_t worker);
  bool Recovered(std::size_t worker);
  /// By worker: of its transfers, by the plan in hand. O(transfers).
  std::vector<planner::Seconds> PortsLeft() const;
  double PortRate(std::size_t worker) const;
  double Pace(const std::vector<planner::WorkerIndex>& named) const;
  bool InPause(const Named& named) const;
  void Name(Named* named) const;

  const planner::Plan* plan_;
  planner::Seconds now_s_ = 0;
  PortRates ports_;
  std::vector<Worker> workers_;
  std::vector<planner::Seconds> planned_s_;  // by step, at the rates of the first plan
  std::vector<bool> counted_;                // by step: done, and its worker's rate knows
  absl::btree_map<planner::StepIndex, UnderWay> under_way_;
  absl::btree_map<std::pair<Alike, Bound>, Peers> peers_;  // of this look, where asked for
};

}  // namespace weir::master
