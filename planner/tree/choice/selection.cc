#include "planner/tree/choice/selection.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/tree/choice/best_count.h"
#include "planner/tree/choice/operand_order.h"
#include "planner/tree/choice/rack_candidates.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/hosts/host_times.h"
#include "planner/tree/hosts/racks.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "planner/tree/segments/segment_sizes.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/release_dates.h"
#include "planner/tree/speeds/sequence_candidates.h"

namespace weir::planner::tree {

namespace {

/// Messages of one built candidate; keeps a choice within some 100 ms.
constexpr std::int64_t kCandidateMessagesMax = 1 << 19;

/// Collects candidates of one problem and keeps the shortest.
class Chooser {
 public:
  explicit Chooser(const ReductionProblem& problem)
      : problem_(problem),
        element_{problem.costs.alpha_s + problem.costs.beta_s_per_unit * problem.element_units,
                 problem.costs.gamma_s_per_unit * problem.element_units},
        network_(NetworkOfMachines(problem)),
        racks_(RacksOf(network_, problem.root)) {}

  absl::StatusOr<ReductionChoice> Choose() {
    OfferAll();
    return Finish();
  }

  absl::StatusOr<std::vector<Schedule>> All() {
    keeps_all_ = true;
    if (absl::StatusOr<ReductionChoice> choice = Choose(); !choice.ok()) return choice.status();
    return std::move(all_);
  }

 private:
  void OfferAll() {
    if (!problem_.slowdown.empty()) {
      AddSpeeds();
    } else if (Limited() && !UnderCuts()) {
      AddLimited();
    } else {
      AddHomogeneous();
      if (UnderCuts()) AddRacks();
      // Full duplex: segments may be on the way between all machines at once.
      if (problem_.LimitsTransfers()) AddLimited();
    }
    WaitForAll();
    if (!problem_.ready_s.empty()) AddReleaseDates();
  }

  bool Limited() const { return problem_.max_transfers < problem_.num_machines / 2; }

  void Refuse(std::string name, std::string reason) {
    refused_.push_back({std::move(name), 1, 0, std::move(reason)});
  }

  bool UnderCuts() const { return !problem_.cuts.empty(); }

  // Machine 0 of a built schedule is the root: exchange it with the wanted one. Under cuts machines
  // that are near in the schedule are to be near in the network.
  absl::StatusOr<Schedule> OnMachines(absl::StatusOr<Schedule> schedule,
                                      bool rename_root = true) const {
    if (!schedule.ok()) return schedule;
    if (rename_root && UnderCuts() && problem_.commutative && problem_.slowdown.empty()) {
      RenameMachines(RackOrder(racks_), *schedule);
    } else if (rename_root && problem_.root != 0) {
      std::vector<MachineIndex> name(static_cast<std::size_t>(problem_.num_machines));
      std::iota(name.begin(), name.end(), 0);
      std::swap(name[0], name[problem_.root]);
      RenameMachines(name, *schedule);
    }
    if (!UnderCuts()) return schedule;
    if (absl::Status status =
            TimeUnderCuts(network_, problem_.ports, problem_.LanesEarly(), {}, {}, *schedule);
        !status.ok()) {
      return status;
    }
    return schedule;
  }

  void Offer(const std::string& builder, absl::StatusOr<Schedule> schedule,
             bool rename_root = true) {
    OfferTimed(builder, OnMachines(std::move(schedule), rename_root));
  }

  void OfferTimed(const std::string& builder, absl::StatusOr<Schedule> schedule) {
    if (!schedule.ok()) {
      Refuse(builder, std::string(schedule.status().message()));
      return;
    }
    if (const std::int64_t most = MostTransfersAtOnce(*schedule); most > problem_.max_transfers) {
      Refuse(schedule->method,
             absl::StrCat(schedule->method, " has ", most, " transfers at once; the limit is ",
                          problem_.max_transfers));
      return;
    }
    offered_.push_back({schedule->method, static_cast<std::int64_t>(schedule->segment_units.size()),
                        schedule->makespan_s, ""});
    if (keeps_all_) all_.push_back(*schedule);
    if (offered_.size() == 1 || schedule->makespan_s < best_.makespan_s)
      best_ = *std::move(schedule);
  }

  std::int64_t SegmentLimit() const {
    const std::int64_t others = std::max(1, problem_.num_machines - 1);
    return std::clamp<std::int64_t>(kCandidateMessagesMax / others, 1, problem_.max_segments);
  }

  std::vector<double> Segments(double rounds_before, double rounds_per_segment) const {
    const SegmentChoice choice = BestUniformByFormula(
        rounds_before, rounds_per_segment, problem_.element_units, problem_.costs, SegmentLimit());
    return EqualSegments(problem_.element_units, static_cast<std::int32_t>(choice.num_segments));
  }

  const char* SingleTreeName() const {
    return problem_.ports.overlaps_compute ? "greedy tree" : "binomial tree";
  }

  // Costs by which the greedy's tree is shortest on ports without a limit: what does not overlap is
  // one time.
  ElementCosts ShapeCosts() const {
    if (problem_.ports.overlaps_compute) return element_;
    return {element_.transfer_s + element_.combine_s, 0};
  }

  absl::StatusOr<Schedule> SingleTree() const {
    auto tree = GreedyTree(problem_.num_machines, ShapeCosts());
    if (!tree.ok()) return tree.status();
    Schedule schedule = FromTree(SingleTreeName(), *tree, element_, problem_.element_units);
    for (Message& m : schedule.messages) {
      if (problem_.ports.latency_holds_ports) continue;
      m.flight_s = problem_.costs.alpha_s;
      m.port_s -= problem_.costs.alpha_s;
    }
    TimeMessages(schedule, problem_.ports);
    return schedule;
  }

  void AddHomogeneous() {
    if (!problem_.commutative) {
      AddOrdered();
      return;
    }
    Offer(SingleTreeName(), SingleTree());
    if (problem_.num_machines == 1) return;
    if (problem_.ports.full_duplex) {
      AddFullDuplex();
    } else {
      AddHalfDuplex();
    }
    if (!problem_.ports.latency_holds_ports && problem_.num_machines > 2) AddRotatingCentres();
  }

  void AddHalfDuplex() {
    auto length_s = [&](std::int64_t q) {
      return *UnidirectionalGreedyLength(
          problem_.num_machines,
          EqualSegments(problem_.element_units, static_cast<std::int32_t>(q)), problem_.costs);
    };
    const SegmentChoice choice = BestUniformBySearch(length_s, SegmentLimit());
    auto schedule = UnidirectionalGreedySchedule(
        problem_.num_machines,
        EqualSegments(problem_.element_units, static_cast<std::int32_t>(choice.num_segments)),
        problem_.costs);
    // The greedy plans without overlap; where compute overlaps its order ends earlier.
    if (schedule.ok()) TimeMessages(*schedule, problem_.ports);
    Offer("unidirectional greedy", std::move(schedule));
  }

  void AddFullDuplex() {
    const std::int32_t p = problem_.num_machines;
    const auto levels = static_cast<double>(CeilLog2(p));
    Offer("round-optimal",
          CirculantSchedule(p, Segments(levels - 1, 1), problem_.costs, problem_.ports));
    Offer("rabenseifner",
          RabenseifnerSchedule(p, problem_.element_units, problem_.costs, problem_.ports));
    if (p <= kScatterMachinesMax) {
      Offer("reduce-scatter and gather",
            ReduceScatterSchedule(p, problem_.element_units, problem_.costs, problem_.ports));
    }
    if (!problem_.ports.overlaps_compute) return;
    AddBestCount("round-optimal", [&](std::vector<double> units) {
      return CirculantSchedule(p, std::move(units), problem_.costs, problem_.ports);
    });
    AddBestCount("interleaved", [&](std::vector<double> units) {
      return InterleavedSchedule(p, std::move(units), problem_.costs, problem_.ports);
    });
  }

  // With overlap the best count depends on which of d and c is longer, under cuts on their lanes.
  template <typename Build>
  void AddBestCount(const std::string& name, const Build& build) {
    OfferTimed(name, BestCount(SegmentLimit(), /*refines=*/true, /*gives_up=*/UnderCuts(),
                               [&](std::int64_t q) {
                                 return OnMachines(build(EqualSegments(
                                     problem_.element_units, static_cast<std::int32_t>(q))));
                               }));
  }

  void AddRacks() {
    for (RackCandidate& candidate :
         RackCandidates(problem_, network_, racks_, kCandidateMessagesMax)) {
      OfferTimed(candidate.name, std::move(candidate.schedule));
    }
  }

  void AddRotatingCentres() {
    // Every machine is a centre equally often when q is a multiple of p - 1.
    AddBestCount("rotating centres", [&](std::vector<double> units) {
      return ListSchedule("rotating centres", RotatingCentreShapes(problem_.num_machines),
                          std::move(units), problem_.costs, problem_.ports);
    });
  }

  void AddOrdered() {
    const std::int32_t p = problem_.num_machines;
    OfferOrderedTree();
    for (const char* name :
         {"round-optimal", "interleaved", "unidirectional greedy", "rabenseifner"}) {
      Refuse(
          name,
          absl::StrCat(
              name, " combines operands that are no neighbours: it needs a commutative operation"));
    }
    const bool at_an_end = problem_.root == 0 || problem_.root == p - 1;
    if (!at_an_end) {
      for (const char* name : {"ordered pipeline", "ordered two-tree"}) {
        Refuse(name, absl::StrCat(name, " keeps the order only with the root at an end; root is ",
                                  problem_.root));
      }
      return;
    }
    AddBestCount("ordered pipeline", [&](std::vector<double> units) {
      return Mirrored(OrderedPipeline(p, std::move(units), problem_.costs, problem_.ports));
    });
    AddBestCount("ordered two-tree", [&](std::vector<double> units) {
      return Mirrored(OrderedTwoTree(p, std::move(units), problem_.costs, problem_.ports));
    });
  }

  // The ordered builders put the root at rank 0; the other end is the mirror image. Offer must not
  // rename again.
  absl::StatusOr<Schedule> Mirrored(absl::StatusOr<Schedule> schedule) const {
    if (!schedule.ok() || problem_.root == 0) return schedule;
    std::vector<MachineIndex> name(static_cast<std::size_t>(problem_.num_machines));
    for (std::size_t i = 0; i < name.size(); ++i)
      name[i] = static_cast<MachineIndex>(name.size() - 1 - i);
    RenameMachines(name, *schedule);
    // Offer exchanges 0 and the root: exchange them here too, so that the two cancel.
    std::iota(name.begin(), name.end(), 0);
    std::swap(name[0], name[problem_.root]);
    RenameMachines(name, *schedule);
    return schedule;
  }

  absl::StatusOr<Schedule> OrderedSchedule(const char* name, ElementCosts shape,
                                           std::int64_t max_transfers) const {
    auto ordered = GreedyOrderedTree(problem_.num_machines, shape, problem_.root, max_transfers);
    if (!ordered.ok()) return ordered.status();
    const std::vector<std::int64_t>& rank = ordered->placement.rank;
    Schedule schedule = FromTree(name, ordered->tree, element_, problem_.element_units);
    RenameMachines({rank.begin(), rank.end()}, schedule);
    return schedule;
  }

  void OfferOrderedTree() {
    const char* name = "greedy tree by preorder";
    absl::StatusOr<Schedule> schedule = OrderedSchedule(name, ShapeCosts(), kNoTransferLimit);
    if (schedule.ok()) TimeMessages(*schedule, problem_.ports);
    Offer(name, std::move(schedule), false);
  }

  // Algorithm 2 sends, receives and combines at once. Where machines cannot, its messages keep
  // their order and wait for the ports and for lanes, of which the limit leaves so many.
  absl::StatusOr<Schedule> WithinLimit(Schedule schedule) const {
    if (problem_.ports.overlaps_compute && problem_.ports.full_duplex) return schedule;
    for (Message& message : schedule.messages) message.start_s = 0;
    absl::Status status =
        TimeUnderCuts(network_, problem_.ports, /*lanes_early_s=*/0, {}, {}, schedule);
    if (!status.ok()) return status;
    return schedule;
  }

  absl::StatusOr<Schedule> LimitedSchedule(const char* name) const {
    auto tree = GreedyTreeLimitedTransfers(problem_.num_machines, problem_.max_transfers, element_);
    if (!tree.ok()) return tree.status();
    return FromTree(name, *tree, element_, problem_.element_units);
  }

  void AddLimited() {
    const char* name = "greedy tree under the limit";
    absl::StatusOr<Schedule> schedule =
        problem_.commutative ? LimitedSchedule(name)
                             : OrderedSchedule(name, element_, problem_.max_transfers);
    if (schedule.ok()) schedule = WithinLimit(*std::move(schedule));
    Offer(name, std::move(schedule), problem_.commutative);
    // Lanes hold them to the limit, too.
    if (UnderCuts()) return;
    Refuse("segmented schedules", absl::StrCat("segmented schedules do not keep to ",
                                               problem_.max_transfers, " transfers at once"));
  }

  // Machine 0 of the sender schedules is the destination; senders are the others, in order.
  void AddSpeeds() {
    if (!problem_.commutative) {
      Refuse("slowest-node-first",
             "the schedules for unequal speeds combine operands that are no neighbours");
      return;
    }
    std::vector<Seconds> times;
    for (MachineIndex i = 1; i < problem_.num_machines; ++i) {
      // Offer exchanges machine 0 and the root.
      const double slowdown = problem_.slowdown[i == problem_.root ? 0 : i];
      times.push_back(problem_.costs.alpha_s +
                      problem_.costs.beta_s_per_unit * problem_.element_units * slowdown +
                      element_.combine_s);
    }
    const std::int64_t limit = Limited() ? problem_.max_transfers : kNoTransferLimit;
    for (SequenceCandidate& candidate : SequenceCandidates(times, limit)) {
      if (!candidate.schedule.ok()) {
        Refuse(std::move(candidate.name), std::string(candidate.schedule.status().message()));
        continue;
      }
      Offer(candidate.name,
            FromSenders(candidate.name, *candidate.schedule, times, problem_.element_units));
    }
  }

  // Every candidate so far starts when the last element is ready.
  void WaitForAll() {
    if (problem_.ready_s.empty() || offered_.empty()) return;
    const Seconds wait_s = *std::max_element(problem_.ready_s.begin(), problem_.ready_s.end());
    for (ReductionCandidate& candidate : offered_) {
      candidate.name = absl::StrCat("wait for all, then ", candidate.name);
      candidate.length_s += wait_s;
    }
    best_.method = absl::StrCat("wait for all, then ", best_.method);
    best_.makespan_s += wait_s;
    for (Message& m : best_.messages) m.start_s += wait_s;
  }

  void AddReleaseDates() {
    if (!problem_.slowdown.empty() || !problem_.commutative) {
      Refuse(
          "reversed greedy",
          "the reversed greedy for release dates needs equal speeds and a commutative operation");
      return;
    }
    if (!problem_.ports.overlaps_compute || !problem_.ports.latency_holds_ports) {
      Refuse("reversed greedy", "the reversed greedy for release dates needs overlapping compute");
      return;
    }
    auto tree = ReleaseDateTree(problem_.ready_s, element_, problem_.max_transfers);
    if (!tree.ok()) {
      Refuse("reversed greedy", std::string(tree.status().message()));
      return;
    }
    Schedule schedule = FromTree("reversed greedy", *tree, element_, problem_.element_units);
    if (UnderCuts()) {
      if (absl::Status status = TimeUnderCuts(network_, problem_.ports, problem_.LanesEarly(), {},
                                              problem_.ready_s, schedule);
          !status.ok()) {
        Refuse("reversed greedy", std::string(status.message()));
        return;
      }
    }
    OfferTimed("reversed greedy", std::move(schedule));
  }

  absl::StatusOr<ReductionChoice> Finish() {
    if (offered_.empty()) {
      std::string reasons;
      for (const ReductionCandidate& candidate : refused_)
        absl::StrAppend(&reasons, "; ", candidate.refusal);
      return absl::FailedPreconditionError(absl::StrCat("no reduction applies", reasons));
    }
    ReductionChoice choice;
    choice.schedule = std::move(best_);
    std::stable_sort(offered_.begin(), offered_.end(),
                     [](const auto& a, const auto& b) { return a.length_s < b.length_s; });
    if (offered_.size() > 1 && offered_[0].length_s > 0) {
      choice.margin = offered_[1].length_s / offered_[0].length_s - 1;
    }
    choice.candidates = std::move(offered_);
    choice.candidates.insert(choice.candidates.end(), refused_.begin(), refused_.end());
    return choice;
  }

  const ReductionProblem& problem_;
  ElementCosts element_;
  NetworkModel network_;
  Racks racks_;
  Schedule best_;
  bool keeps_all_ = false;
  std::vector<Schedule> all_;
  std::vector<ReductionCandidate> offered_;
  std::vector<ReductionCandidate> refused_;
};

}  // namespace

absl::Status CheckReductionProblem(const ReductionProblem& problem) {
  if (absl::Status status =
          CheckSegmented(problem.num_machines, {problem.element_units}, problem.costs);
      !status.ok()) {
    return status;
  }
  const std::int64_t p = problem.num_machines;
  if (absl::Status status = CheckCount("root", problem.root, 0, p - 1); !status.ok()) return status;
  if (absl::Status status = CheckCount("K", problem.max_transfers, 1, kNoTransferLimit);
      !status.ok())
    return status;
  if (absl::Status status = CheckCount("max_segments", problem.max_segments, 1, kMessagesMax);
      !status.ok()) {
    return status;
  }
  for (const auto& [field, values] :
       {std::pair{"slowdown", &problem.slowdown}, {"ready_s", &problem.ready_s}}) {
    if (values->empty()) continue;
    if (absl::Status status = CheckCosts(field, *values); !status.ok()) return status;
    if (static_cast<std::int64_t>(values->size()) != p) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " has ", values->size(), " entries; p = ", p));
    }
  }
  for (double slowdown : problem.slowdown) {
    if (slowdown < 1)
      return absl::InvalidArgumentError(
          absl::StrCat("slowdown is ", slowdown, "; it must be >= 1"));
  }
  if (problem.cuts.empty()) return absl::OkStatus();
  if (!problem.ports.latency_holds_ports)
    return absl::InvalidArgumentError("cuts are given, but latency holds no port");
  return CheckNetwork(NetworkOfMachines(problem));
}

NetworkModel NetworkOfMachines(const ReductionProblem& problem) {
  NetworkModel network;
  network.num_workers = problem.num_machines;
  network.cuts = problem.cuts;
  network.port_slowdown = problem.slowdown;
  if (!problem.LimitsTransfers()) return network;
  NetworkModel limited = LimitedTotal(problem.num_machines, /*seconds_per_byte=*/0,
                                      static_cast<std::int32_t>(problem.max_transfers));
  network.cuts.push_back(std::move(limited.cuts.front()));
  network.port_slowdown.clear();
  return network;
}

absl::StatusOr<ReductionChoice> ChooseReduction(const ReductionProblem& problem) {
  if (absl::Status status = CheckReductionProblem(problem); !status.ok()) return status;
  return Chooser(problem).Choose();
}

absl::StatusOr<std::vector<Schedule>> EveryReduction(const ReductionProblem& problem) {
  if (absl::Status status = CheckReductionProblem(problem); !status.ok()) return status;
  return Chooser(problem).All();
}

std::string DescribeChoice(const ReductionChoice& choice) {
  const ReductionCandidate& winner = choice.candidates.front();
  std::string text = absl::StrFormat("%s with %d segments: %.6g s", winner.name,
                                     winner.num_segments, winner.length_s);
  if (choice.candidates.size() > 1 && choice.candidates[1].refusal.empty()) {
    absl::StrAppendFormat(&text, "; runner-up %s, %.1f %% longer", choice.candidates[1].name,
                          100 * choice.margin);
  }
  return text;
}

}  // namespace weir::planner::tree
