// Upstream: runtime/master. Downstream: one builder a method.

#include "planner/job/builders/plan_job.h"

#include <algorithm>
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
#include "planner/job/builders/one_more_notes.h"
#include "planner/job/check_job.h"
#include "planner/job/packed_shape.h"
#include "planner/order/planning_effort.h"

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

// More at once than any cluster has workers.
constexpr std::int32_t kFetchLimitMax = 1000;

}  // namespace

absl::StatusOr<PlanningOptions> ParsePlanMethod(absl::string_view name) {
  PlanningOptions options;
  absl::string_view limit = name;
  if (name.empty() || name == "load") return options;
  if (name == "even") {
    options.method = PlanMethod::kEven;
    return options;
  }
  options.method = PlanMethod::kFetchAll;
  if (name == "fetch-all") return options;
  if (absl::ConsumePrefix(&limit, "fetch-") && absl::SimpleAtoi(limit, &options.fetch_limit) &&
      options.fetch_limit >= 1 && options.fetch_limit <= kFetchLimitMax) {
    return options;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown plan method '", name,
      "'; methods are: load, even, fetch-all, fetch-N (from N senders at a time, 1 to ",
      kFetchLimitMax, ")"));
}

absl::StatusOr<Plan> PlanJob(const JobShape& shape, const ClusterProfile& cluster,
                             const PlanningOptions& options) {
  absl::Status status = CheckCluster(cluster);
  if (status.ok()) status = CheckJobShape(shape);
  if (!status.ok()) return status;
  absl::StatusOr<Built> built = BuildBest(shape, cluster, options);
  if (!built.ok()) return built.status();
  Plan& plan = built->plan;
  plan.summary.numbers = JobNumbers(shape, cluster);
  for (std::string& note : JobNotes(shape, cluster, plan)) {
    plan.summary.notes.push_back(std::move(note));
  }
  if (options.method == PlanMethod::kLoad) {
    for (std::string& note : OneMoreNotes(built->shape, cluster, plan)) {
      plan.summary.notes.push_back(std::move(note));
    }
  }
  return std::move(plan);
}

}  // namespace weir::planner
