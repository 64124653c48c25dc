// Upstream: runtime/master. Downstream: one builder a method.

#include "planner/job/builders/plan_job.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "planner/explain/readable.h"
#include "planner/job/builders/even_plan.h"
#include "planner/job/builders/job_notes.h"
#include "planner/job/builders/load_plan.h"
#include "planner/job/builders/loop_plan.h"
#include "planner/job/builders/one_more_notes.h"
#include "planner/job/builders/tree_plan.h"
#include "planner/job/check_job.h"
#include "planner/job/job_bound.h"
#include "planner/job/packed_shape.h"
#include "planner/job/step_spill.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/planning_effort.h"
#include "planner/plan/input/input_parts.h"

namespace weir::planner {
namespace {

absl::StatusOr<Plan> BuildPlan(const JobShape& shape, const ClusterProfile& cluster,
                               const PlanningOptions& options, double effort) {
  switch (options.method) {
    case PlanMethod::kLoad:
      return LoadPlan(shape, cluster, effort);
    case PlanMethod::kEven:
      return EvenPlan(shape, cluster);
    case PlanMethod::kFetchAll:
      return FetchAllPlan(shape, cluster, options.fetch_limit);
    case PlanMethod::kRates:
      return RatesPlan(shape, cluster, Rates::kStay);
    case PlanMethod::kRatesOverTime:
      return RatesPlan(shape, cluster, Rates::kOverTime);
    case PlanMethod::kLanes:
      return LanesPlan(shape, cluster, options.port_lanes);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("PlanOptions.method is unknown: ", static_cast<int>(options.method)));
}

bool Packs(const std::vector<Codec>& codecs) {
  return std::any_of(codecs.begin(), codecs.end(),
                     [](Codec codec) { return codec != Codec::kNone; });
}

std::string PackedNote(const JobShape& shape, const std::vector<Codec>& codecs) {
  std::vector<std::string> layers;
  for (std::size_t p = 0; p < codecs.size(); ++p) {
    if (codecs[p] == Codec::kNone) continue;
    layers.push_back(absl::StrCat(p == 0 ? "map output" : absl::StrCat("output of layer ", p),
                                  " by ", CodecName(codecs[p]), " to ",
                                  ReadablePercent(PackedRatio(shape.layers[p], codecs[p]))));
  }
  return absl::StrCat("Packed before it moves: ", absl::StrJoin(layers, ", "));
}

/// A job, the shape that its plan is built from, and the plan.
struct Built {
  JobShape shape;
  Plan plan;
};

absl::StatusOr<Built> BuildPacked(const JobShape& shape, const ClusterProfile& cluster,
                                  const PlanningOptions& options, const std::vector<Codec>& codecs,
                                  double effort) {
  Built built;
  built.shape = PackedShape(shape, cluster, codecs);
  absl::StatusOr<Plan> plan = BuildPlan(built.shape, cluster, options, effort);
  if (!plan.ok()) return plan.status();
  built.plan = *std::move(plan);
  if (Packs(codecs)) built.plan.run_codec = codecs;
  return built;
}

/// Builds the plan by the requested codec, or by whichever of packed and not packed is predicted to
/// end first.
absl::StatusOr<Built> BuildBest(const JobShape& shape, const ClusterProfile& cluster,
                                const PlanningOptions& options) {
  const std::vector<Codec> none(shape.layers.size(), Codec::kNone);
  if (shape.codec) {
    const std::vector<Codec> codecs(shape.layers.size(), *shape.codec);
    absl::StatusOr<Built> built = BuildPacked(shape, cluster, options, codecs, 1);
    if (built.ok() && Packs(codecs))
      built->plan.summary.notes.push_back(absl::StrCat(PackedNote(shape, codecs), ", as asked."));
    return built;
  }
  const std::vector<Codec> codecs =
      options.method == PlanMethod::kLoad ? CodecsWorthTrying(shape, cluster) : none;
  if (!Packs(codecs)) return BuildPacked(shape, cluster, options, none, 1);
  absl::StatusOr<Built> plain = BuildPacked(shape, cluster, options, none, 0.5);
  if (!plain.ok()) return plain;
  absl::StatusOr<Built> packed = BuildPacked(shape, cluster, options, codecs, 0.5);
  const Seconds plain_s = plain->plan.summary.makespan_s;
  if (!packed.ok() || packed->plan.summary.makespan_s >= plain_s * (1 - kFinerGain)) return plain;
  packed->plan.summary.notes.push_back(
      absl::StrCat(PackedNote(shape, codecs), "; without, ", ReadableSeconds(plain_s), "."));
  return packed;
}

/// Builds the best plan by trees, packed as was asked for, else as is worth trying or not at all:
/// what a shuffle to many does not gain may well be gained where all goes to one root. Adds what
/// else was tried to `tried`.
absl::StatusOr<Built> BuildTrees(const JobShape& shape, const ClusterProfile& cluster,
                                 const Plan& shuffle, std::vector<JobCandidate>* tried) {
  const std::vector<Codec> none(shape.layers.size(), Codec::kNone);
  std::vector<std::vector<Codec>> packings = {none};
  if (shape.codec) {
    packings = {std::vector<Codec>(shape.layers.size(), *shape.codec)};
  } else if (std::vector<Codec> worth = CodecsWorthTrying(shape, cluster); Packs(worth)) {
    packings.push_back(std::move(worth));
  }
  absl::StatusOr<Built> best = absl::InternalError("nothing was tried");
  for (const std::vector<Codec>& codecs : packings) {
    Built built;
    built.shape = PackedShape(shape, cluster, codecs);
    absl::StatusOr<TreePlans> trees = TreePlansOfJob(built.shape, cluster, shuffle);
    if (!trees.ok()) {
      if (!best.ok()) best = trees.status();
      continue;
    }
    const bool first = !best.ok();
    built.plan = std::move(trees->plan);
    if (Packs(codecs)) built.plan.run_codec = codecs;
    if (first || built.plan.summary.makespan_s < best->plan.summary.makespan_s) {
      *tried = std::move(trees->candidates);
      best = std::move(built);
    }
  }
  return best;
}

/// The job stored as one file: what a shuffle takes to end as a tree does.
absl::StatusOr<Plan> BuildGathered(const JobShape& shape, const ClusterProfile& cluster,
                                   const PlanningOptions& options) {
  JobShape gathered = shape;
  gathered.store.write = FinalWrite::kOne;
  return BuildPlan(gathered, cluster, options, 0.25);
}

/// What was compared, the shortest first, and which of them was taken.
std::vector<std::string> CombineNotes(std::vector<JobCandidate> tried, const std::string& taken) {
  std::stable_sort(tried.begin(), tried.end(), [](const JobCandidate& a, const JobCandidate& b) {
    return a.makespan_s < b.makespan_s;
  });
  const auto winner = std::find_if(tried.begin(), tried.end(), [&](const JobCandidate& candidate) {
    return candidate.name == taken;
  });
  const auto other = winner == tried.begin() ? tried.begin() + 1 : tried.begin();
  std::string chosen =
      absl::StrCat("Of ", tried.size(), " ways to bring partial results together: ", taken, ", ",
                   ReadableSeconds(winner->makespan_s));
  if (other != tried.end()) {
    const double margin = winner->makespan_s > 0 ? other->makespan_s / winner->makespan_s - 1 : 0;
    absl::StrAppend(&chosen, "; next ", other->name, ", ", ReadableSeconds(other->makespan_s), ", ",
                    ReadablePercent(std::abs(margin)), margin < 0 ? " shorter" : " longer");
  }
  std::vector<std::string> notes = {chosen + "."};
  for (const JobCandidate& candidate : tried) {
    notes.push_back(absl::StrCat("Compared: ", candidate.name, ": ",
                                 ReadableSeconds(candidate.makespan_s), "."));
  }
  return notes;
}

/// Takes a tree instead of the shuffle where that was asked for, or is predicted to end sooner.
absl::Status ChooseCombined(const JobShape& shape, const ClusterProfile& cluster,
                            const PlanningOptions& options, Built& built) {
  const CombineChoice choice = options.combine.value_or(CombineChoice::kAuto);
  if (choice == CombineChoice::kTree && !CanCombine(shape)) {
    return absl::InvalidArgumentError(CannotCombineText(shape.job));
  }
  const bool load = options.method == PlanMethod::kLoad;
  if (choice == CombineChoice::kShuffle || !CanCombine(shape) ||
      (choice == CombineChoice::kAuto && !load)) {
    return absl::OkStatus();
  }
  const Seconds shuffle_s = built.plan.summary.makespan_s;
  const Seconds wanted_s = shuffle_s * (1 - kTreeGain);
  // Whoever asked wants to see the trees, others only those that win.
  if (!options.combine && CombinedLowerBound(built.shape, cluster) > wanted_s) {
    return absl::OkStatus();
  }
  std::vector<JobCandidate> tried;
  absl::StatusOr<Built> trees = BuildTrees(shape, cluster, built.plan, &tried);
  if (!trees.ok() && choice == CombineChoice::kTree) return trees.status();
  if (!trees.ok()) return absl::OkStatus();
  const bool takes_tree =
      choice == CombineChoice::kTree || trees->plan.summary.makespan_s < wanted_s;
  if (!takes_tree && !options.combine) return absl::OkStatus();
  const bool one_file = shape.store.write == FinalWrite::kOne;
  const std::string shuffled = one_file ? "shuffle, gathered into one file" : "shuffle";
  const std::string taken = takes_tree ? tried.front().name : shuffled;
  tried.push_back({shuffled, shuffle_s});
  if (!one_file) {
    if (const absl::StatusOr<Plan> gathered = BuildGathered(built.shape, cluster, options);
        gathered.ok()) {
      tried.push_back({"shuffle, gathered into one file", gathered->summary.makespan_s});
    }
  }
  if (takes_tree) {
    built = *std::move(trees);
    if (const std::vector<Codec>& codecs = built.plan.run_codec; Packs(codecs)) {
      built.plan.summary.notes.push_back(
          absl::StrCat(PackedNote(shape, codecs), shape.codec ? ", as asked." : "."));
    }
  }
  for (std::string& note : CombineNotes(std::move(tried), taken)) {
    built.plan.summary.notes.push_back(std::move(note));
  }
  return absl::OkStatus();
}

// Of the other ways to plan a loop knows those that say how its elements are combined.
absl::StatusOr<Plan> PlanLoop(const JobShape& shape, const ClusterProfile& cluster,
                              const PlanningOptions& options) {
  // A loop of several layers has reducers of its own, too.
  const std::int32_t num_reducers = shape.layers.size() == 1 ? shape.layers[0].num_reducers : 2;
  const absl::Status sound =
      CheckLoopChoices(shape.job, options.method, shape.store.write, num_reducers);
  if (!sound.ok()) return sound;
  const bool one_part =
      options.combine == CombineChoice::kTree || shape.layers[0].num_reducers == 1;
  const LoopWays ways = options.method == PlanMethod::kEven ? LoopWays::kAllToOne
                        : one_part                          ? LoopWays::kRoot
                                                            : LoopWays::kAll;
  absl::StatusOr<Plan> plan = LoopPlan(shape, *shape.loop, cluster, ways);
  if (plan.ok()) plan->summary.numbers = JobNumbers(shape, cluster, *plan);
  return plan;
}

// More at once than any cluster has workers.
constexpr std::int32_t kFetchLimitMax = 1000;

absl::Status UnknownMethod(absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("unknown plan method '", name,
                   "'; methods are: load, even, rates, rates-over-time, lanes, lanes-N (N "
                   "transfers of a port at a time, 2 to ",
                   kPortLanesMax, "), fetch-all, fetch-N (from N senders at a time, 1 to ",
                   kFetchLimitMax, ")"));
}

}  // namespace

absl::Status CheckLoopChoices(absl::string_view job, PlanMethod method, FinalWrite write,
                              std::int32_t num_reducers) {
  if (method == PlanMethod::kFetchAll || method == PlanMethod::kRates ||
      method == PlanMethod::kRatesOverTime || method == PlanMethod::kLanes ||
      write != FinalWrite::kParts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", job,
        " is a loop: its iterations are planned in order, and who updates the state writes the "
        "result; leave out --plan-method fetch-*, rates or lanes, and --write"));
  }
  if (num_reducers > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job,
                     " is a loop: who updates the state writes the result; leave out --reducers, "
                     "or ask for one part by --combine tree"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PlanningOptions> ParsePlanMethod(absl::string_view name) {
  PlanningOptions options;
  absl::string_view limit = name;
  if (name.empty() || name == "load") return options;
  if (name == "even") {
    options.method = PlanMethod::kEven;
    return options;
  }
  if (name == "rates") {
    options.method = PlanMethod::kRates;
    return options;
  }
  if (name == "rates-over-time") {
    options.method = PlanMethod::kRatesOverTime;
    return options;
  }
  if (name == "lanes" || absl::ConsumePrefix(&limit, "lanes-")) {
    options.method = PlanMethod::kLanes;
    const bool in_range =
        name == "lanes" || (absl::SimpleAtoi(limit, &options.port_lanes) &&
                            options.port_lanes >= 2 && options.port_lanes <= kPortLanesMax);
    if (in_range) return options;
    return UnknownMethod(name);
  }
  options.method = PlanMethod::kFetchAll;
  if (name == "fetch-all") return options;
  if (absl::ConsumePrefix(&limit, "fetch-") && absl::SimpleAtoi(limit, &options.fetch_limit) &&
      options.fetch_limit >= 1 && options.fetch_limit <= kFetchLimitMax) {
    return options;
  }
  return UnknownMethod(name);
}

absl::StatusOr<std::optional<CombineChoice>> ParseCombineChoice(absl::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name == "auto") return CombineChoice::kAuto;
  if (name == "tree") return CombineChoice::kTree;
  if (name == "shuffle") return CombineChoice::kShuffle;
  return absl::InvalidArgumentError(absl::StrCat("unknown way to combine '", name.substr(0, 200),
                                                 "'; ways are: ", kCombineChoices));
}

std::string CannotCombineText(absl::string_view job) {
  return absl::StrCat("job ", job,
                      " has no Combine, so partial results cannot meet on the way to its reducers");
}

absl::StatusOr<Plan> PlanJob(const JobShape& shape, const ClusterProfile& cluster,
                             const PlanningOptions& options) {
  absl::Status status = CheckCluster(cluster);
  if (status.ok()) status = CheckJobShape(shape);
  if (!status.ok()) return status;
  if (shape.loop) return PlanLoop(shape, cluster, options);
  absl::StatusOr<Built> built = BuildBest(shape, cluster, options);
  if (!built.ok()) return built.status();
  status = ChooseCombined(shape, cluster, options, *built);
  if (!status.ok()) return status;
  Plan& plan = built->plan;
  const auto maps = std::count_if(plan.steps.begin(), plan.steps.end(),
                                  [](const ComputeStep& step) { return step.kind->reads_input(); });
  plan.part_cost = MapPartCost(shape, static_cast<double>(shape.input_bytes) /
                                          static_cast<double>(std::max<std::ptrdiff_t>(1, maps)));
  if (shape.uncut.empty()) {
    plan.input_part_ends = InputPartEnds(shape.input_weights, shape.input_bytes);
  }
  MarkSpills(built->shape, cluster, plan);
  plan.summary.numbers = JobNumbers(shape, cluster, plan);
  for (std::string& note : JobNotes(shape, cluster, plan)) {
    plan.summary.notes.push_back(std::move(note));
  }
  if (plan.summary.method == "load") {
    for (std::string& note : OneMoreNotes(built->shape, cluster, plan)) {
      plan.summary.notes.push_back(std::move(note));
    }
  }
  return std::move(plan);
}

}  // namespace weir::planner
