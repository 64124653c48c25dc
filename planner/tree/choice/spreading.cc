#include "planner/tree/choice/spreading.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/choice/operand_order.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/choice/start_order.h"
#include "planner/tree/hosts/host_times.h"
#include "planner/tree/hosts/racks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/rack_schedules.h"

namespace weir::planner::tree {
namespace {

/// Messages of one candidate; keeps a choice within some 100 ms.
constexpr std::int64_t kSpreadingMessagesMax = 1 << 18;
/// The same of a ring under a limit of transfers.
constexpr std::int64_t kLimitedRingMax = 1 << 13;
/// Parts of a ring's segments that are tried.
constexpr std::int32_t kRingParts[] = {1, 2, 4, 8, 16};

/// Times under the lanes that limit and cuts leave, at the starts that stand in the schedule where
/// these hold, or each message as early as may be: whichever ends first.
absl::Status TimeOnLanes(const ReductionProblem& problem, SpreadingSchedule& collective) {
  const NetworkModel network = NetworkOfMachines(problem);
  const auto time = [&](Schedule& schedule) {
    return TimeUnderCuts(network, problem.ports, problem.LanesEarly(), collective.spreads,
                         problem.ready_s, schedule);
  };
  Schedule earliest = collective.schedule;
  bool has_starts = false;
  for (Message& message : earliest.messages) {
    has_starts = has_starts || message.start_s > 0;
    message.start_s = 0;
  }
  if (absl::Status status = time(earliest); !status.ok()) return status;
  if (!has_starts) {
    collective.schedule = std::move(earliest);
    return absl::OkStatus();
  }
  // Ports that are busy still move a message, then perhaps to where no lane is free: timed again,
  // it waits for one.
  for (int times = 0; times < 2; ++times) {
    if (absl::Status status = time(collective.schedule); !status.ok()) return status;
  }
  if (earliest.makespan_s < collective.schedule.makespan_s) {
    collective.schedule = std::move(earliest);
  }
  return absl::OkStatus();
}

/// Sets starts and the makespan: when the last machine has everything.
absl::Status Time(const ReductionProblem& problem, SpreadingSchedule& collective) {
  if (problem.max_transfers < problem.num_machines || !problem.cuts.empty()) {
    return TimeOnLanes(problem, collective);
  }
  const PortModel& ports = problem.ports;
  TimeMessages(collective.schedule, ports, problem.ready_s);
  Seconds end_s = 0;
  for (const Seconds ready_s : problem.ready_s) end_s = std::max(end_s, ready_s);
  for (const Seconds combined_s : CombineEnds(collective.schedule, ports)) {
    end_s = std::max(end_s, combined_s);
  }
  collective.schedule.makespan_s = end_s;
  return absl::OkStatus();
}

/// Lengthens messages that ChooseReduction counted by the port of their sender alone (003), or
/// backwards in time of their receiver, to what the slower of their ports takes.
absl::Status CountSlowerPorts(bool backwards, const ReductionProblem& problem,
                              SpreadingSchedule& collective) {
  if (problem.slowdown.empty()) return absl::OkStatus();
  const std::vector<double>& units = collective.schedule.segment_units;
  for (Message& message : collective.schedule.messages) {
    const double sender = problem.slowdown[static_cast<std::size_t>(message.sender)];
    const double receiver = problem.slowdown[static_cast<std::size_t>(message.receiver)];
    const double more = std::max(sender, receiver) - (backwards ? receiver : sender);
    for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
      message.port_s +=
          more * problem.costs.beta_s_per_unit * units[static_cast<std::size_t>(j) % units.size()];
    }
  }
  return Time(problem, collective);
}

/// The reduction backwards in time: who received, sends.
absl::StatusOr<SpreadingSchedule> Reversed(const Schedule& reduction,
                                           const ReductionProblem& problem) {
  SpreadingSchedule spread{reduction, std::vector<bool>(reduction.messages.size(), true), {}};
  for (Message& message : spread.schedule.messages) {
    std::swap(message.sender, message.receiver);
    message.start_s = reduction.makespan_s - message.start_s - message.flight_s - message.port_s;
    message.combine_s = 0;
  }
  SortByStart(/*makers_last=*/true, spread);
  if (absl::Status status = Time(problem, spread); !status.ok()) return status;
  return spread;
}

/// The best reduction of a free operation backwards in time; on slow ports each message takes the
/// time of its receiver's (003).
absl::StatusOr<SpreadingSchedule> BackwardsReduction(const ReductionProblem& problem) {
  // What is sent backwards crosses the cuts the other way.
  ReductionProblem backwards = problem;
  for (Cut& cut : backwards.cuts) std::swap(cut.from, cut.to);
  absl::StatusOr<ReductionChoice> reduce = ChooseReduction(backwards);
  if (!reduce.ok()) return reduce.status();
  absl::StatusOr<SpreadingSchedule> spread = Reversed(reduce->schedule, problem);
  if (!spread.ok()) return spread.status();
  spread->schedule.method = absl::StrCat(reduce->schedule.method, ", reversed");
  spread->candidates = std::move(reduce->candidates);
  return spread;
}

/// Times `tree`, which is BackwardsReduction's, on the slow ports, and beside it the broadcast of
/// equal ports, whose segments mostly end sooner. Returns the shorter one.
absl::StatusOr<SpreadingSchedule> OnSlowPorts(const ReductionProblem& problem,
                                              absl::StatusOr<SpreadingSchedule> tree) {
  if (tree.ok()) {
    absl::Status status = CountSlowerPorts(/*backwards=*/true, problem, *tree);
    if (!status.ok()) return status;
  }
  ReductionProblem equal = problem;
  equal.slowdown.clear();
  absl::StatusOr<SpreadingSchedule> other = BackwardsReduction(equal);
  if (!other.ok()) return tree;
  SlowDownPorts(problem.slowdown, problem.costs, other->schedule);
  if (absl::Status status = Time(problem, *other); !status.ok()) return status;
  if (!tree.ok()) return other;
  std::vector<ReductionCandidate> timed;
  for (const Schedule* schedule : {&tree->schedule, &other->schedule}) {
    timed.push_back({schedule->method, static_cast<std::int64_t>(schedule->segment_units.size()),
                     schedule->makespan_s, ""});
  }
  const bool other_is_shorter = other->schedule.makespan_s < tree->schedule.makespan_s;
  if (other_is_shorter) std::swap(timed[0], timed[1]);
  SpreadingSchedule& best = other_is_shorter ? *other : *tree;
  best.candidates = std::move(timed);
  return std::move(best);
}

/// Borders between segments closer than this part of the element are one.
constexpr double kSameBorder = 1e-9;

std::vector<double> BordersOf(const Schedule& schedule) {
  std::vector<double> borders = {0};
  for (const double units : schedule.segment_units) borders.push_back(borders.back() + units);
  return borders;
}

/// Cuts the schedule's segments at all of `borders`, among which its own are; messages carry what
/// they did.
void CutSegments(const std::vector<double>& borders, Schedule& schedule) {
  const auto old_count = static_cast<std::int32_t>(schedule.segment_units.size());
  const auto new_count = static_cast<std::int32_t>(borders.size()) - 1;
  std::vector<std::int32_t> begin_of;
  const double same = kSameBorder * borders.back();
  for (const double border : BordersOf(schedule)) {
    begin_of.push_back(static_cast<std::int32_t>(
        std::lower_bound(borders.begin(), borders.end(), border - same) - borders.begin()));
  }
  const auto cut = [&](std::int32_t& at) {
    at = at / old_count * new_count + begin_of[static_cast<std::size_t>(at % old_count)];
  };
  for (Message& message : schedule.messages) {
    cut(message.segment_begin);
    cut(message.segment_end);
  }
  schedule.segment_units.clear();
  for (std::size_t j = 1; j < borders.size(); ++j) {
    schedule.segment_units.push_back(borders[j] - borders[j - 1]);
  }
}

/// Gives both schedules of one element the same segments, those that either's borders make.
void CutAlike(Schedule& a, Schedule& b) {
  if (a.segment_units.size() == b.segment_units.size()) return;
  std::vector<double> all = BordersOf(a);
  const std::vector<double> more = BordersOf(b);
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  std::vector<double> borders = {0};
  for (const double border : all) {
    if (border - borders.back() > kSameBorder * all.back()) borders.push_back(border);
  }
  CutSegments(borders, a);
  CutSegments(borders, b);
}

/// When the root has each segment complete.
std::vector<Seconds> CompleteAtRoot(const Schedule& reduction, const PortModel& ports) {
  const auto num_segments = static_cast<std::int32_t>(reduction.segment_units.size());
  std::vector<Seconds> complete_s(reduction.segment_units.size(), 0);
  const std::vector<Seconds> ends_s = CombineEnds(reduction, ports);
  for (std::size_t k = 0; k < ends_s.size(); ++k) {
    const Message& message = reduction.messages[k];
    if (message.receiver != reduction.root) continue;
    for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
      Seconds& at = complete_s[static_cast<std::size_t>(j % num_segments)];
      at = std::max(at, ends_s[k]);
    }
  }
  return complete_s;
}

/// Reduction, then the spread later by `shift_s`, in one list by start.
absl::StatusOr<SpreadingSchedule> Joined(const Schedule& reduction, const SpreadingSchedule& spread,
                                         Seconds shift_s, const ReductionProblem& problem) {
  SpreadingSchedule joined{reduction, std::vector<bool>(reduction.messages.size(), false), {}};
  for (Message message : spread.schedule.messages) {
    message.start_s += shift_s;
    joined.schedule.messages.push_back(message);
    joined.spreads.push_back(true);
  }
  SortByStart(/*makers_last=*/false, joined);
  if (absl::Status status = Time(problem, joined); !status.ok()) return status;
  return joined;
}

/// Collects all-reduces of one problem and keeps the shortest.
class AllReduceChooser {
 public:
  explicit AllReduceChooser(const ReductionProblem& problem) : problem_(problem) {
    if (!problem.cuts.empty()) racks_ = RacksOf(NetworkOfMachines(problem), /*root=*/0);
  }

  absl::StatusOr<SpreadingSchedule> Choose() {
    if (absl::Status status = AddThroughRoot(); !status.ok()) return status;
    const std::int64_t p = problem_.num_machines;
    if (problem_.commutative && racks_.size() > 1) {
      if (absl::Status status = AddNearFirst(); !status.ok()) return status;
    }
    if (problem_.commutative && p > 1 && p * p <= kSpreadingMessagesMax) {
      if (absl::Status status = AddCirculant(); !status.ok()) return status;
      // Lanes are slow to time, and parts fill ports that a limit leaves idle anyway.
      const bool limited = problem_.max_transfers < p / 2;
      for (const std::int32_t parts : kRingParts) {
        if (limited && (parts > 1 || 2 * p * (p - 1) > kLimitedRingMax)) break;
        if (parts > 1 &&
            (p * parts > problem_.max_segments || 2 * p * (p - 1) * parts > kSpreadingMessagesMax))
          break;
        if (absl::Status status = AddRing(parts); !status.ok()) return status;
      }
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const auto& a, const auto& b) { return a.length_s < b.length_s; });
    best_.candidates = std::move(candidates_);
    return std::move(best_);
  }

 private:
  void Offer(SpreadingSchedule offered) {
    const Schedule& schedule = offered.schedule;
    candidates_.push_back({schedule.method,
                           static_cast<std::int64_t>(schedule.segment_units.size()),
                           schedule.makespan_s, ""});
    if (candidates_.size() == 1 || schedule.makespan_s < best_.schedule.makespan_s)
      best_ = std::move(offered);
  }

  static SpreadingSchedule Reducing(const Schedule& reduction) {
    return {reduction, std::vector<bool>(reduction.messages.size(), false), {}};
  }

  absl::Status AddThroughRoot() {
    const absl::StatusOr<ReductionChoice> reduce = ChooseReduction(problem_);
    if (reduce.ok()) {
      SpreadingSchedule reduced = Reducing(reduce->schedule);
      absl::Status status = CountSlowerPorts(/*backwards=*/false, problem_, reduced);
      if (status.ok()) status = AddThroughRootOf(reduced.schedule);
      if (!status.ok()) return status;
    }
    if (problem_.slowdown.empty()) return reduce.status();
    // For slow ports there are whole elements alone, and none that keep an order.
    ReductionProblem equal = problem_;
    equal.slowdown.clear();
    const absl::StatusOr<ReductionChoice> other = ChooseReduction(equal);
    if (!other.ok()) return reduce.status();
    SpreadingSchedule reduced = Reducing(other->schedule);
    SlowDownPorts(problem_.slowdown, problem_.costs, reduced.schedule);
    if (absl::Status status = Time(problem_, reduced); !status.ok()) return status;
    return AddThroughRootOf(reduced.schedule);
  }

  absl::Status AddThroughRootOf(const Schedule& reduction) {
    // With release dates the reduction says which machine has the result, and later than any date.
    ReductionProblem free = problem_;
    free.root = reduction.root;
    free.ready_s.clear();
    absl::StatusOr<SpreadingSchedule> spread = ChooseBroadcast(free);
    if (!spread.ok()) return spread.status();
    // Backwards the reduction keeps its makespan, whatever the order of its operands.
    const absl::StatusOr<SpreadingSchedule> back = Reversed(reduction, free);
    if (!back.ok()) return back.status();
    const bool alike = spread->schedule.segment_units.size() == reduction.segment_units.size();
    // The same segments are passed on one by one as soon as the root has them. Of others, or of an
    // order that broadcasts need not keep, one may still be shorter after the other.
    const SpreadingSchedule& passed_on = alike && problem_.commutative ? *spread : *back;
    const std::string name = absl::StrCat(reduction.method, ", then back");
    for (const Seconds shift_s :
         {FirstShift(reduction, passed_on.schedule), reduction.makespan_s}) {
      if (absl::Status status = OfferJoined(name, reduction, passed_on, shift_s); !status.ok())
        return status;
    }
    if (&passed_on == &*spread) return absl::OkStatus();
    SpreadingSchedule other = *spread;
    Schedule cut = reduction;
    CutAlike(cut, other.schedule);
    return OfferJoined(absl::StrCat(reduction.method, ", then ", other.schedule.method), cut, other,
                       reduction.makespan_s);
  }

  // By how much a broadcast in the reduction's segments begins later, at the earliest.
  Seconds FirstShift(const Schedule& reduction, const Schedule& spread) const {
    const std::vector<Seconds> complete_s = CompleteAtRoot(reduction, problem_.ports);
    Seconds shift_s = 0;
    for (const Message& message : spread.messages) {
      if (message.sender != reduction.root) continue;
      for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
        shift_s = std::max(
            shift_s, complete_s[static_cast<std::size_t>(j) % complete_s.size()] - message.start_s);
      }
    }
    return shift_s;
  }

  absl::Status OfferJoined(const std::string& name, const Schedule& reduction,
                           const SpreadingSchedule& spread, Seconds shift_s) {
    absl::StatusOr<SpreadingSchedule> joined = Joined(reduction, spread, shift_s, problem_);
    if (!joined.ok()) return joined.status();
    joined->schedule.method = name;
    Offer(*std::move(joined));
    return absl::OkStatus();
  }

  Message MessageOf(const Schedule& schedule, MachineIndex from, MachineIndex to,
                    std::int32_t begin, std::int32_t end, bool combines) const {
    return MakeMessage(schedule, problem_.costs, problem_.ports, from, to, begin, end, combines);
  }

  // One message, or two where the range wraps around: a plan has a transfer for each, with its own
  // latency and its own turn at ports and lanes.
  void AddRange(Schedule& schedule, MachineIndex from, MachineIndex to, std::int32_t begin,
                std::int32_t end, bool combines) const {
    const auto num_segments = static_cast<std::int32_t>(schedule.segment_units.size());
    schedule.messages.push_back(
        MessageOf(schedule, from, to, begin, std::min(end, num_segments), combines));
    if (end <= num_segments) return;
    schedule.messages.push_back(MessageOf(schedule, from, to, 0, end - num_segments, combines));
  }

  // Traeff's reduce-scatter (reduce_scatter.h), and the same graph backwards: in round k machine r
  // gets from r + s what that one has, so that the widths double.
  absl::Status AddCirculant() {
    const std::int32_t p = problem_.num_machines;
    SpreadingSchedule both;
    Schedule& schedule = both.schedule;
    schedule =
        EmptySchedule("reduce-scatter and all-gather", p, EqualSegments(problem_.element_units, p));
    std::vector<std::pair<std::int32_t, std::int32_t>> rounds;
    for (std::int32_t kept = p; kept > 1;) {
      const std::int32_t before = kept;
      kept = (before + 1) / 2;
      rounds.push_back({before, kept});
      for (MachineIndex r = 0; r < p; ++r) {
        const std::int32_t to = (r + kept) % p;
        AddRange(schedule, r, to, to, to + before - kept, /*combines=*/true);
      }
    }
    both.spreads.assign(schedule.messages.size(), false);
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
      const auto [before, kept] = *round;
      for (MachineIndex r = 0; r < p; ++r) {
        const std::int32_t to = (r + p - kept) % p;
        AddRange(schedule, r, to, r, r + before - kept, /*combines=*/false);
      }
    }
    both.spreads.resize(schedule.messages.size(), true);
    return OfferNearby(std::move(both));
  }

  // Machine r ends the first half with block r complete: block b starts at machine b + 1.
  absl::Status AddRing(std::int32_t parts) {
    const std::int32_t p = problem_.num_machines;
    SpreadingSchedule both;
    Schedule& schedule = both.schedule;
    schedule = EmptySchedule("ring", p, EqualSegments(problem_.element_units, p * parts));
    for (const bool combines : {true, false}) {
      for (std::int32_t round = 0; round < p - 1; ++round) {
        for (std::int32_t part = 0; part < parts; ++part) {
          for (MachineIndex r = 0; r < p; ++r) {
            const std::int32_t block = (r + (combines ? 2 * p - 1 : p) - round) % p;
            const std::int32_t segment = block * parts + part;
            schedule.messages.push_back(
                MessageOf(schedule, r, (r + 1) % p, segment, segment + 1, combines));
            both.spreads.push_back(!combines);
          }
        }
      }
    }
    return OfferNearby(std::move(both));
  }

  // Rabenseifner's exchange of halves, near machines first, and the same backwards, far machines
  // first: what crosses between racks is an element over the machines of a rack.
  absl::Status AddNearFirst() {
    const std::int32_t p = problem_.num_machines;
    const auto core = static_cast<std::int32_t>(std::int64_t{1} << FloorLog2(p));
    if (core < 2 || std::int64_t{p} * core > kRackCellsMax ||
        2 * std::int64_t{p} * (FloorLog2(p) + 3) > kSpreadingMessagesMax) {
      return absl::OkStatus();
    }
    absl::StatusOr<Schedule> reduce =
        RabenseifnerSchedule(p, problem_.element_units, problem_.costs, problem_.ports);
    if (!reduce.ok()) return reduce.status();
    SpreadingSchedule both;
    both.schedule = *std::move(reduce);
    std::vector<Message>& messages = both.schedule.messages;
    // The gather is the end: core - 1 messages. The fold is the beginning: three a surplus machine.
    messages.resize(messages.size() - static_cast<std::size_t>(core - 1));
    both.spreads.assign(messages.size(), false);
    for (std::size_t k = messages.size(); k-- > static_cast<std::size_t>(3 * (p - core));) {
      const Message& halved = messages[k];
      const std::int32_t begin = halved.segment_begin;
      const std::int32_t end = halved.segment_end;
      messages.push_back(MessageOf(both.schedule, halved.receiver, halved.sender, begin, end,
                                   /*combines=*/false));
    }
    for (MachineIndex extra = core; extra < p; ++extra) {
      messages.push_back(MessageOf(both.schedule, extra - core, extra, 0, core,
                                   /*combines=*/false));
    }
    both.spreads.resize(messages.size(), true);
    RenameMachines(NearFirstNames(racks_), both.schedule);
    SlowDownPorts(problem_.slowdown, problem_.costs, both.schedule);
    both.schedule.method = "rabenseifner, near first, and back";
    if (absl::Status status = Time(problem_, both); !status.ok()) return status;
    Offer(std::move(both));
    return absl::OkStatus();
  }

  // Machines that follow each other in the schedule are near in the network.
  absl::Status OfferNearby(SpreadingSchedule both) {
    if (!racks_.empty()) RenameMachines(RackOrder(racks_), both.schedule);
    SlowDownPorts(problem_.slowdown, problem_.costs, both.schedule);
    if (absl::Status status = Time(problem_, both); !status.ok()) return status;
    Offer(std::move(both));
    return absl::OkStatus();
  }

  const ReductionProblem& problem_;
  Racks racks_;  // empty without cuts
  SpreadingSchedule best_;
  std::vector<ReductionCandidate> candidates_;
};

}  // namespace

absl::StatusOr<SpreadingSchedule> ChooseBroadcast(ReductionProblem problem) {
  if (absl::Status status = CheckReductionProblem(problem); !status.ok()) return status;
  problem.commutative = true;
  problem.costs.gamma_s_per_unit = 0;
  Seconds ready_s = 0;
  if (!problem.ready_s.empty()) ready_s = problem.ready_s[static_cast<std::size_t>(problem.root)];
  problem.ready_s.clear();
  absl::StatusOr<SpreadingSchedule> spread = BackwardsReduction(problem);
  if (!problem.slowdown.empty()) spread = OnSlowPorts(problem, std::move(spread));
  if (!spread.ok()) return spread.status();
  for (Message& message : spread->schedule.messages) message.start_s += ready_s;
  spread->schedule.makespan_s += ready_s;
  return spread;
}

absl::StatusOr<SpreadingSchedule> ChooseAllReduce(const ReductionProblem& problem) {
  if (absl::Status status = CheckReductionProblem(problem); !status.ok()) return status;
  return AllReduceChooser(problem).Choose();
}

}  // namespace weir::planner::tree
