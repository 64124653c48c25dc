#pragma once

// Chooses how to reduce: evaluates every candidate that the problem allows and says what won and by
// how much. Upstream: planner/job, docs figures. Downstream: Schedule, then tree_plan.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/plan/network_model.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

/// What is to be reduced, and on what.
struct ReductionProblem {
  std::int32_t num_machines = 1;
  /// Size of one element, in the unit of `costs`.
  double element_units = 1;
  LinkCosts costs;
  PortModel ports;
  /// False: operands keep the order of their machines' ranks.
  bool commutative = true;
  /// Machine that gets the result; with release dates any machine may.
  MachineIndex root = 0;
  /// Time of a machine's transfers relative to `costs`, one a machine; empty = all 1. >= 1.
  std::vector<double> slowdown;
  /// When each machine's element is ready; empty = all 0.
  std::vector<Seconds> ready_s;
  /// At most this many transfers at once.
  std::int64_t max_transfers = kNoTransferLimit;
  /// Most segments that a candidate may use.
  std::int64_t max_segments = 1024;
  /// Cuts between the machines (from and to have an entry each); empty = none. Then every candidate
  /// is timed by the lanes of its messages (host_times.h), machines of a rack count as near, and
  /// latency must hold the ports.
  std::vector<Cut> cuts;
  /// What crosses a cut shares its rate instead of waiting for lanes: latencies then overlap.
  /// Reckoned as lanes that a message gives back a latency before it ends. The winner's plan must
  /// not have the cuts: its times do not keep to their lanes.
  bool shares_cuts = false;

  /// Whether max_transfers bounds anything.
  bool LimitsTransfers() const { return max_transfers < num_machines; }
  /// By how much earlier than it ends a message gives its lanes back. Under a limit, which counts
  /// whole messages, no earlier.
  Seconds LanesEarly() const { return shares_cuts && !LimitsTransfers() ? costs.alpha_s : 0; }
};

/// Checks every field. Errors: kInvalidArgument, as of ChooseReduction.
absl::Status CheckReductionProblem(const ReductionProblem& problem);

/// Returns the network of the problem's machines as far as lanes are concerned: cuts and slow
/// ports. A limit on transfers is one more cut, over all pairs; it counts transfers, of which one
/// of a slow port is no smaller part.
NetworkModel NetworkOfMachines(const ReductionProblem& problem);

/// One way to reduce and what it takes, or why it does not apply.
struct ReductionCandidate {
  std::string name;
  std::int64_t num_segments = 1;
  Seconds length_s = 0;
  /// Empty when it applies; else a sentence.
  std::string refusal;
};

/// The choice. candidates[0] is the winner, candidates[1] the runner-up; refused ones stand last.
struct ReductionChoice {
  Schedule schedule;
  std::vector<ReductionCandidate> candidates;
  /// Runner-up's length over the winner's, minus 1; 0 with a single candidate.
  double margin = 0;
};

/// Chooses the shortest of the candidates for this problem; ties go to the earlier in this list.
///
/// - limit on transfers: Algorithm 2 of 000, and below p/2 nothing else; above it also whatever
///   below keeps to it; with release dates the reversed greedy under the limit. Beside cuts it is
///   one more cut, and all that is below is timed within it;
/// - release dates: reversed greedy, against waiting for all and then the best of the rest;
/// - speeds: slowest-node-first, local search, slot search or class table where they are exact; of
///   whole elements, a message as long as its sender's port takes, as in 003. On real ports
///   segments mostly end sooner (Fig. 8 of 003: 3.5 instead of 4.5 though all ports were slow): who
///   plans for them offers the choice for equal ports beside this one, and has Predict decide
///   (loop_plan.cc, tree_schedules.cc), or times both on the real ports (spreading.cc). Lengths of
///   both models in one list would compare nothing;
/// - order: one greedy tree by preorder, ordered pipeline, ordered two-tree (root at an end);
/// - half duplex: greedy of 002 with searched segment count, Algorithm 1 where compute overlaps;
/// - full duplex: Algorithm 1 or binomial, round-optimal, interleaved, Rabenseifner, reduce-scatter
///   and gather, and rotating centres where latency holds no port;
/// - cuts: all of these with the machines of a rack as neighbours, the best segment count by the
///   times under the cuts, and those of rack_candidates.h.
///
/// Segment counts come from the closed forms; the lengths compared are those of the built
/// schedules.
/// Errors: kInvalidArgument naming p, element_units, alpha, beta, gamma, root, slowdown[i],
///   ready_s[i], K, max_segments, cuts; kFailedPrecondition when every candidate is refused, with
///   the reasons.
/// Thread-safety: pure. Time: O(p q) per candidate; under cuts a log more, and the counts that are
///   tried (0.65 s at p = 256, 4.4 s at 1024: planner_tree_bench).
/// Checked by: tests/unit/planner_tree/selection_test.cc (no cliffs for p = 2..33),
/// cut_choice_test.cc.
absl::StatusOr<ReductionChoice> ChooseReduction(const ReductionProblem& problem);

/// Returns the schedules of all candidates that apply, in the order of ChooseReduction's list: for
/// who can predict better than their own lengths, on real hosts. Those that wait for all elements
/// are returned without the wait.
/// Errors: those of ChooseReduction. Time: as ChooseReduction. Checked by: as ChooseReduction.
absl::StatusOr<std::vector<Schedule>> EveryReduction(const ReductionProblem& problem);

/// Returns one line for people: winner, length, runner-up and margin.
std::string DescribeChoice(const ReductionChoice& choice);

}  // namespace weir::planner::tree
