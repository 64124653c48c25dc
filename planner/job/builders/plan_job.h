#pragma once

// Chooses how a job is planned. The only planner entry that runtime/master calls.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// How chunk sizes, load fractions and the transfer order are computed.
enum class PlanMethod {
  kLoad,      // divisible load: chunks, fractions and order by predicted makespan (load_plan.h)
  kEven,      // even chunks, uniform fractions, rotation order; for comparison
  kFetchAll,  // even chunks, uniform fractions, no order: every receiver fetches from all senders
              // at once, or from PlanningOptions::fetch_limit of them; for comparison
  kRates,     // even chunks, uniform fractions, everything at once, each at its share of ports and
              // cuts (order_by_rates.h); for comparison
  kRatesOverTime,  // the same with rates that change as transfers begin and end
                   // (rate_allocation.h); for comparison
  kLanes,  // even chunks, uniform fractions, PlanningOptions::port_lanes transfers of a port at a
           // time (order_by_lanes.h); for comparison
};

/// Whether layers that can be combined are, along reduction trees.
enum class CombineChoice {
  kAuto,     // where that is predicted to end sooner
  kTree,     // always
  kShuffle,  // never
};

/// Names of the choices, for messages.
inline constexpr const char* kCombineChoices = "auto, tree, shuffle";

/// How much sooner than a shuffle a tree must be predicted to end before kAuto prefers it: what a
/// shuffle costs is known from more runs.
inline constexpr double kTreeGain = 0.05;

struct PlanningOptions {
  PlanMethod method = PlanMethod::kLoad;
  /// kFetchAll: see Plan::fetch_limit. Others: 0.
  std::int32_t fetch_limit = 0;
  /// kLanes: see Plan::port_lanes; 0 = as is predicted best. Others: 0.
  std::int32_t port_lanes = 0;
  /// Nothing: kAuto, and the plan's notes tell of trees only where one is chosen. kAuto and kTree
  /// that were asked for tell what was compared.
  std::optional<CombineChoice> combine = std::nullopt;
};

/// Returns the choice of that name; nothing for an empty one. Errors: kInvalidArgument with the
/// names that exist.
absl::StatusOr<std::optional<CombineChoice>> ParseCombineChoice(absl::string_view name);

/// Returns why trees cannot be asked for: "job sessions has no Combine, ...".
std::string CannotCombineText(absl::string_view job);

/// Checks that a loop can be planned as is asked for: its iterations have an order of their own,
/// and who updates the state writes the result. `num_reducers` 0 = left to the planner. Errors:
/// kInvalidArgument saying what to leave out. Checked by: tests/unit/planner_job/loop_plan_test.cc,
/// tests/unit/master/master_test.cc.
absl::Status CheckLoopChoices(absl::string_view job, PlanMethod method, FinalWrite write,
                              std::int32_t num_reducers);

/// Returns the method of that name: "load", "even", "rates", "lanes", "lanes-N" with N from 2 to
/// kPortLanesMax (N transfers of a port at a time), "fetch-all", or "fetch-N" with N from 1 to 1000
/// (at most N fetches at a time into one receiver). Empty = the default.
/// Errors: kInvalidArgument with the names that exist.
absl::StatusOr<PlanningOptions> ParsePlanMethod(absl::string_view name);

/// Builds the plan of a job.
///
/// Model: of a job that can be combined, method kLoad compares the shuffle with plans by trees
///   (tree_plan.h) and takes a tree that is predicted to end sooner by kTreeGain. A tree of the
///   last layer makes as many output files as reducers were asked for, else one: both are forms
///   that "as many as the planner chooses" allows. With kTree the best tree is taken, whatever the
///   method. Notes say what was compared, also a shuffle gathered into one file.
/// Requires: shape and cluster checked field by field. Returns a plan that CheckPlan accepts.
/// Errors: kInvalidArgument naming field, value and legal range, or the job where it cannot be
///   combined and kTree was asked for; kFailedPrecondition when the cluster has no worker.
/// Thread-safety: pure. Same input, same plan.
/// Checked by: tests/unit/planner_job/plan_job_test.cc, combine_choice_test.cc.
absl::StatusOr<Plan> PlanJob(const JobShape& shape, const ClusterProfile& cluster,
                             const PlanningOptions& options);

}  // namespace weir::planner
