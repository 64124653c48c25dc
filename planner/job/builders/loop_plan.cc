#include "planner/job/builders/loop_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "planner/explain/readable.h"
#include "planner/job/builders/loop_writer.h"
#include "planner/job/job_drafts.h"
#include "planner/job/map_chunks.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/speeds/broadcast.h"

namespace weir::planner {
namespace {

using tree::MachineIndex;
using tree::Schedule;
using tree::SpreadSchedule;

absl::Status CheckLoopShape(const LoopShape& loop) {
  const auto outside = [](absl::string_view field, auto value, absl::string_view legal) {
    return absl::InvalidArgumentError(
        absl::StrCat("LoopShape.", field, " is ", value, "; must be ", legal));
  };
  if (loop.iterations < 0 || loop.iterations > kIterationsMax) {
    return outside("iterations", loop.iterations, absl::StrCat("0 to ", kIterationsMax));
  }
  constexpr std::int64_t kPlacesMax = std::int64_t{1} << 40;
  for (const auto& [field, value] : {std::pair("element_places", loop.element_places),
                                     std::pair("element_place_bytes", loop.element_place_bytes),
                                     std::pair("state_places", loop.state_places),
                                     std::pair("state_place_bytes", loop.state_place_bytes)}) {
    if (value < 1 || value > kPlacesMax) return outside(field, value, "1 to 2^40");
  }
  if (loop.element_places > kPlacesMax / loop.element_place_bytes ||
      loop.state_places > kPlacesMax / loop.state_place_bytes) {
    return absl::InvalidArgumentError("LoopShape: an element or a state is over 2^40 bytes");
  }
  if (loop.element_wise &&
      (loop.element_places != loop.state_places || !loop.splits || !loop.first_splits)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "LoopShape.element_wise needs as many places of an element as of a state, and elements "
        "that can be combined by ranges; there are ",
        loop.element_places, " and ", loop.state_places));
  }
  for (const auto& [field, value] :
       {std::pair("iterate_seconds_per_byte", loop.iterate_seconds_per_byte),
        std::pair("combine_seconds_per_byte", loop.combine_seconds_per_byte),
        std::pair("update_seconds_per_byte", loop.update_seconds_per_byte),
        std::pair("step_overhead_s", loop.step_overhead_s)}) {
    if (!(value >= 0 && value <= 1e6)) return outside(field, value, "0 to 1e6");
  }
  return absl::OkStatus();
}

// Of schedules whose unit is a byte. What a step takes at any size is told as latency.
tree::LinkCosts CostsOf(const LoopShape& loop, const LoopHosts& hosts) {
  const double paced = hosts.network.pacing_fraction > 0 ? hosts.network.pacing_fraction : 1;
  return {hosts.network.latency_s + loop.step_overhead_s, hosts.network.seconds_per_byte / paced,
          loop.combine_seconds_per_byte};
}

// All send to the root, in their order, and it folds one after the other.
Schedule AllToOne(const LoopShape& loop, const LoopHosts& hosts) {
  Schedule schedule = tree::EmptySchedule("all to one", hosts.num_mappers(),
                                          {static_cast<double>(loop.element_bytes())});
  schedule.root = hosts.root;
  for (MachineIndex i = 0; i < hosts.num_mappers(); ++i) {
    if (i == hosts.root) continue;
    schedule.messages.push_back(
        tree::MakeMessage(schedule, CostsOf(loop, hosts), {}, i, hosts.root, 0, 1));
  }
  tree::TimeMessages(schedule, {});
  return schedule;
}

tree::ReductionProblem ProblemOf(const LoopShape& loop, const LoopHosts& hosts,
                                 std::int64_t max_segments) {
  tree::ReductionProblem problem;
  problem.num_machines = hosts.num_mappers();
  problem.element_units = static_cast<double>(loop.element_bytes());
  problem.costs = CostsOf(loop, hosts);
  problem.commutative = loop.commutative;
  problem.root = hosts.root;
  problem.max_segments = max_segments;
  bool slowed = false;
  for (MachineIndex i = 0; i < hosts.num_mappers(); ++i) {
    problem.slowdown.push_back(hosts.PortSlowdown(i));
    slowed = slowed || hosts.PortSlowdown(i) > 1;
  }
  if (!slowed) problem.slowdown.clear();
  for (const Cut& cut : hosts.network.cuts) {
    bool all_cross = true;
    for (const WorkerIndex a : hosts.workers) {
      for (const WorkerIndex b : hosts.workers) {
        all_cross = all_cross && (a == b || cut.Crosses(a, b));
      }
    }
    if (all_cross)
      problem.max_transfers = std::min<std::int64_t>(problem.max_transfers, cut.channels);
  }
  return problem;
}

SpreadSchedule OneToAll(const LoopHosts& hosts, Seconds message_s) {
  SpreadSchedule spread;
  for (MachineIndex i = 0; i + 1 < hosts.num_mappers(); ++i) {
    spread.informed.push_back(i);
    spread.sender.push_back(tree::kNoMachine);
    spread.start_s.push_back(spread.makespan_s);
    spread.makespan_s += message_s * hosts.PortSlowdown(i < hosts.root ? i : i + 1);
  }
  return spread;
}

// Iterations that a choice is tried on: the first, one that begins as all later ones do, and it.
constexpr std::int32_t kIterationsTried = 2;

// Ranges a mapper that are tried: more overlap their folding with the telling of others, and cost
// steps.
constexpr std::int32_t kRangesPerMapper[] = {1, 2, 4};

// What a way took, predicted.
struct Tried {
  std::string name;
  Seconds tried_s = 0;     // the iterations tried
  Seconds exchange_s = 0;  // from the last element of an iteration until all have the next state
};

struct Choice {
  LoopTrees trees;
  std::vector<tree::ReductionCandidate> families;
  std::vector<Tried> tried;  // best first
  std::string name;
  std::string not_by_ranges;  // why
  Seconds tried_s = 0;
  Seconds all_to_one_s = 0;  // the same iterations with all to one, one to all
};

class LoopBuilder {
 public:
  LoopBuilder(const LoopShape& loop, const ClusterProfile& cluster, LoopHosts hosts,
              std::vector<MapperDraft> mappers, LoopWays ways)
      : loop_(loop),
        cluster_(cluster),
        hosts_(std::move(hosts)),
        mappers_(std::move(mappers)),
        ways_(ways) {}

  absl::StatusOr<Plan> Build() {
    const absl::StatusOr<Choice> choice = Choose();
    if (!choice.ok()) return choice.status();
    absl::StatusOr<Plan> plan =
        WriteLoop(loop_, cluster_.network, hosts_, mappers_, choice->trees, loop_.iterations);
    if (!plan.ok()) return plan;
    plan->summary.method = "loop";
    plan->summary.notes = Notes(*choice, *plan);
    return plan;
  }

 private:
  // So that the whole loop stays below the most that a plan may have; each segment is a step that
  // workers have to be told of, so that hundreds never pay.
  std::int64_t SegmentsMax() const {
    const std::int64_t messages = std::int64_t{hosts_.num_mappers()} * (loop_.iterations + 1) * 8;
    const std::int64_t most = std::min<std::int64_t>(256, loop_.element_places);
    return std::clamp<std::int64_t>(kLoopItemsMax / messages, 1, most);
  }

  // A reduction and a broadcast, as people call them.
  static std::string NameOf(const Schedule& reduction, bool one_to_all) {
    const std::size_t segments = reduction.segment_units.size();
    return absl::StrCat(reduction.method, ", ", segments, segments == 1 ? " segment" : " segments",
                        one_to_all ? ", then one to all" : ", then broadcast");
  }

  absl::Status Try(std::string name, LoopTrees trees, Choice& best) const {
    const std::int32_t iterations = std::min(loop_.iterations, kIterationsTried);
    const absl::StatusOr<Plan> tried =
        WriteLoop(loop_, cluster_.network, hosts_, mappers_, trees, iterations);
    if (!tried.ok()) return tried.status();
    const Phases phases =
        PhasesOf(*tried, std::min(1, std::max(0, iterations - 1)), iterations == 0);
    const Seconds tried_s = tried->summary.makespan_s;
    const bool first = best.tried.empty();
    // The best with one segment may be the best of all.
    const bool known = std::any_of(best.tried.begin(), best.tried.end(), [&](const Tried& other) {
      return other.name == name && other.tried_s == tried_s;
    });
    if (!known)
      best.tried.push_back({name, tried_s, phases.combine_s + phases.update_s + phases.tell_s});
    if (!first && tried_s >= best.tried_s) return absl::OkStatus();
    best.tried_s = tried_s;
    best.trees = std::move(trees);
    best.name = std::move(name);
    return absl::OkStatus();
  }

  absl::Status TryRanges(Choice& best) const {
    const std::int64_t p = hosts_.num_mappers();
    if (!loop_.element_wise) {
      best.not_by_ranges = "an update needs the whole state";
      return absl::OkStatus();
    }
    for (const std::int32_t ranges : kRangesPerMapper) {
      if (ranges > 1 && p * ranges > loop_.element_places) break;
      const std::int64_t items =
          (p + ranges * p + 2 * ranges * p * (p - 1)) * (std::int64_t{loop_.iterations} + 1);
      if (items > kLoopItemsMax) {
        if (ranges > 1) break;
        best.not_by_ranges =
            absl::StrCat("that takes ", items, " steps and transfers, at most ", kLoopItemsMax);
        break;
      }
      LoopTrees trees;
      trees.ranges_per_mapper = ranges;
      absl::Status status = Try(absl::StrCat("reduce-scatter and all-gather, ", ranges,
                                             ranges == 1 ? " range a mapper" : " ranges a mapper"),
                                std::move(trees), best);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  bool TriesTrees() const { return hosts_.num_mappers() > 1 && ways_ != LoopWays::kAllToOne; }

  // Ways to tell the mappers the next state, one to all last.
  std::vector<SpreadSchedule> SpreadsToTry() const {
    const Seconds message_s =
        cluster_.network.latency_s +
        static_cast<double>(loop_.state_bytes()) * CostsOf(loop_, hosts_).beta_s_per_unit;
    std::vector<SpreadSchedule> spreads;
    if (TriesTrees()) {
      std::vector<Seconds> others;
      for (MachineIndex i = 0; i < hosts_.num_mappers(); ++i) {
        if (i != hosts_.root) others.push_back(message_s * hosts_.PortSlowdown(i));
      }
      absl::StatusOr<SpreadSchedule> fnf =
          tree::FastestNodeFirst(message_s * hosts_.PortSlowdown(hosts_.root), others);
      // Messages that take no time have no fastest node.
      if (fnf.ok()) spreads.push_back(*std::move(fnf));
    }
    spreads.push_back(OneToAll(hosts_, message_s));
    return spreads;
  }

  // Where ports differ whole elements alone are offered, and none that keep an order. Those of
  // equal ports are timed on the real ones beside them.
  std::vector<tree::ReductionProblem> ProblemsOf(std::int64_t max_segments) const {
    std::vector<tree::ReductionProblem> problems = {ProblemOf(loop_, hosts_, max_segments)};
    if (!problems[0].slowdown.empty()) {
      problems.push_back(problems[0]);
      problems[1].slowdown.clear();
    }
    return problems;
  }

  // Ways to combine the elements of an iteration.
  struct Reductions {
    std::vector<Schedule> tried;  // all to one last
    Schedule single;              // the best of one segment
    std::vector<tree::ReductionCandidate> families;
  };

  Reductions ReductionsToTry() const {
    const Schedule all_to_one = AllToOne(loop_, hosts_);
    Reductions reductions{.tried = {}, .single = all_to_one, .families = {}};
    if (TriesTrees()) {
      for (const std::int64_t segments : {loop_.splits ? SegmentsMax() : 1, std::int64_t{1}}) {
        bool first = true;
        for (const tree::ReductionProblem& problem : ProblemsOf(segments)) {
          absl::StatusOr<tree::ReductionChoice> chosen = tree::ChooseReduction(problem);
          // A problem that no family is made for (all costs 0) is folded all to one.
          if (!chosen.ok()) continue;
          if (segments == 1 && first) reductions.single = chosen->schedule;
          first = false;
          if (reductions.families.empty()) reductions.families = chosen->candidates;
          reductions.tried.push_back(std::move(chosen->schedule));
        }
      }
    }
    reductions.tried.push_back(all_to_one);
    return reductions;
  }

  // Tries each way to combine with each way to tell.
  absl::Status TryTrees(Choice& best) const {
    Reductions reductions = ReductionsToTry();
    best.families = std::move(reductions.families);
    const Schedule& all_to_one = reductions.tried.back();
    const std::vector<SpreadSchedule> spreads = SpreadsToTry();
    for (const Schedule& reduction : reductions.tried) {
      for (const SpreadSchedule& spread : spreads) {
        LoopTrees trees{loop_.first_splits ? reduction : reductions.single, reduction, spread, 0};
        if (reduction.method == all_to_one.method) trees.first = all_to_one;
        absl::Status status =
            Try(NameOf(reduction, &spread == &spreads.back()), std::move(trees), best);
        if (!status.ok()) return status;
      }
    }
    best.all_to_one_s = best.tried.back().tried_s;  // the last one tried is that
    return absl::OkStatus();
  }

  absl::StatusOr<Choice> Choose() const {
    Choice best;
    if (absl::Status status = TryTrees(best); !status.ok()) return status;
    if (hosts_.num_mappers() > 1 && ways_ == LoopWays::kAll) {
      if (absl::Status status = TryRanges(best); !status.ok()) return status;
    }
    std::stable_sort(best.tried.begin(), best.tried.end(),
                     [](const Tried& a, const Tried& b) { return a.tried_s < b.tried_s; });
    return best;
  }

  struct Phases {
    Seconds map_s = 0, combine_s = 0, update_s = 0, tell_s = 0;
  };

  // Of one iteration: until the last mapper is done, until the update begins, until it ends, until
  // the last mapper has the state.
  static Phases PhasesOf(const Plan& plan, std::int32_t iteration, bool last) {
    Seconds mapped_s = 0, update_begin_s = 0, update_end_s = 0, told_s = 0;
    Seconds began_s = iteration == 0 ? 0 : -1;
    for (const ComputeStep& step : plan.steps) {
      const Seconds end_s = step.start_s + step.duration_s;
      const bool maps =
          step.kind->reads_input() || (step.kind->iterates && !step.kind->updates_state);
      if (maps && step.layer == iteration) mapped_s = std::max(mapped_s, end_s);
      if (maps && step.layer == iteration + 1) told_s = std::max(told_s, step.start_s);
      if (step.kind->updates_state && step.layer == iteration) {
        update_begin_s = std::max(update_begin_s, step.start_s);
        update_end_s = std::max(update_end_s, end_s);
      }
      if (maps && step.layer == iteration && iteration > 0) {
        began_s = began_s < 0 ? step.start_s : std::max(began_s, step.start_s);
      }
    }
    Phases phases;
    phases.map_s = mapped_s - began_s;
    phases.combine_s = std::max(0.0, update_begin_s - mapped_s);
    phases.update_s = update_end_s - update_begin_s;
    phases.tell_s = last ? 0 : std::max(0.0, told_s - update_end_s);
    return phases;
  }

  std::vector<std::string> Notes(const Choice& choice, const Plan& plan) const {
    std::vector<std::string> notes;
    const auto describe = [&](const Phases& phases) {
      return absl::StrCat("map ", ReadableSeconds(phases.map_s), ", combine ",
                          ReadableSeconds(phases.combine_s), ", update ",
                          ReadableSeconds(phases.update_s),
                          choice.trees.by_ranges() ? ", all-gather " : ", broadcast ",
                          ReadableSeconds(phases.tell_s));
    };
    notes.push_back(absl::StrCat("Loop of at most ", loop_.iterations, " iterations on ",
                                 hosts_.num_mappers(),
                                 " mappers, which keep their input; the first pass: ",
                                 describe(PhasesOf(plan, 0, loop_.iterations == 0)), "."));
    if (loop_.iterations >= 1) {
      notes.push_back(absl::StrCat(
          "Each iteration: ", describe(PhasesOf(plan, 1, loop_.iterations == 1)), "."));
    }
    if (hosts_.num_mappers() == 1) return notes;
    notes.push_back(absl::StrCat("Combined by ", choice.name, "; the first ",
                                 std::min(loop_.iterations, kIterationsTried) + 1, " passes take ",
                                 ReadableSeconds(choice.tried_s), ", all to one and one to all ",
                                 ReadableSeconds(choice.all_to_one_s), "."));
    std::vector<std::string> ways;
    for (const Tried& tried : choice.tried) {
      ways.push_back(absl::StrCat(tried.name, " ", ReadableSeconds(tried.exchange_s)));
    }
    notes.push_back(absl::StrCat("From the last element of an iteration until all have the state: ",
                                 absl::StrJoin(ways, "; "), "."));
    if (!choice.not_by_ranges.empty()) {
      notes.push_back(
          absl::StrCat("Not folded and updated by ranges: ", choice.not_by_ranges, "."));
    }
    std::vector<std::string> families;
    for (const tree::ReductionCandidate& family : choice.families) {
      families.push_back(family.refusal.empty()
                             ? absl::StrCat(family.name, " ", ReadableSeconds(family.length_s))
                             : absl::StrCat(family.name, " (", family.refusal, ")"));
    }
    if (!families.empty()) {
      notes.push_back(
          absl::StrCat("Folding one element by each family: ", absl::StrJoin(families, ", "), "."));
    }
    return notes;
  }

  const LoopShape& loop_;
  const ClusterProfile& cluster_;
  const LoopHosts hosts_;
  const std::vector<MapperDraft> mappers_;
  const LoopWays ways_;
};

double ComputeRateOf(const ClusterProfile& cluster, WorkerIndex worker) {
  return cluster.workers[static_cast<std::size_t>(worker)].compute_rate;
}

/// The `count` fastest workers, of equal ones the first, in the order of their numbers.
std::vector<WorkerIndex> FastestWorkers(const ClusterProfile& cluster, std::int32_t count) {
  std::vector<WorkerIndex> workers =
      WorkersInTurn(cluster.network.num_workers, cluster.network.num_workers);
  std::stable_sort(workers.begin(), workers.end(), [&](WorkerIndex a, WorkerIndex b) {
    return ComputeRateOf(cluster, a) > ComputeRateOf(cluster, b);
  });
  workers.resize(static_cast<std::size_t>(count));
  std::sort(workers.begin(), workers.end());
  return workers;
}

/// The mapper whose port is slowed down least, of several the fastest, of those the first; at an
/// end where operands keep their order, so that what arrives one after the other continues what is
/// folded.
MachineIndex LoopRoot(const LoopHosts& hosts, bool commutative) {
  const auto slowness = [&](MachineIndex i) {
    return std::pair(hosts.PortSlowdown(i), hosts.combine_slowdown[static_cast<std::size_t>(i)]);
  };
  MachineIndex root = 0;
  for (MachineIndex i = 1; commutative && i < hosts.num_mappers(); ++i) {
    if (slowness(i) < slowness(root)) root = i;
  }
  return root;
}

}  // namespace

absl::StatusOr<Plan> LoopPlan(const JobShape& shape, const LoopShape& loop,
                              const ClusterProfile& cluster, LoopWays ways) {
  if (absl::Status status = CheckLoopShape(loop); !status.ok()) return status;
  const std::int32_t num_workers = cluster.network.num_workers;
  const std::int32_t num_mappers = shape.num_mappers > 0 ? std::min(shape.num_mappers, num_workers)
                                                         : MappersMax(shape, num_workers);
  const std::int64_t items = std::int64_t{num_mappers} * 8 * (loop.iterations + 1);
  if (items > kLoopItemsMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        loop.iterations, " iterations on ", num_mappers, " workers need a plan of about ", items,
        " steps and transfers; at most ", kLoopItemsMax, "; ask for fewer iterations or mappers"));
  }
  const std::vector<WorkerIndex> workers = FastestWorkers(cluster, std::max(1, num_mappers));
  std::vector<double> shares;
  for (const WorkerIndex worker : workers) shares.push_back(ComputeRateOf(cluster, worker));
  absl::StatusOr<std::vector<MapperDraft>> mappers =
      DraftMappers(shape, cluster, MapChunks(shape, shares), workers);
  if (!mappers.ok()) return mappers.status();
  LoopHosts hosts{cluster.network, workers, {}, 0};
  for (const WorkerIndex worker : workers) {
    hosts.combine_slowdown.push_back(1 / ComputeRateOf(cluster, worker));
  }
  hosts.root = LoopRoot(hosts, loop.commutative);
  return LoopBuilder(loop, cluster, std::move(hosts), *std::move(mappers), ways).Build();
}

}  // namespace weir::planner
