#include "runtime/master/newcomers/added_workers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/edit/edit_plan.h"
#include "planner/plan/units.h"
#include "runtime/master/planning/cluster_profile.h"

namespace weir::master {
namespace {

bool NamedByACut(const NetworkSpec& spec, const RegisteredWorker& worker) {
  const auto names = [&worker](const CutSide& side) {
    return std::find(side.workers.begin(), side.workers.end(), worker.identity.name()) !=
           side.workers.end();
  };
  return std::any_of(spec.cuts.begin(), spec.cuts.end(),
                     [&](const NamedCut& cut) { return names(cut.from) || names(cut.to); });
}

absl::Status CheckPlaces(absl::Span<const RegisteredWorker> workers,
                         absl::Span<const RegisteredWorker> added, const NetworkSpec& spec) {
  const auto named = [&spec](const RegisteredWorker& worker) { return NamedByACut(spec, worker); };
  if (!std::all_of(workers.begin(), workers.end(), named)) return absl::OkStatus();
  for (const RegisteredWorker& worker : added) {
    if (named(worker)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the network file, or the calibration, puts every worker of the plan behind a "
                     "cut, and does not name ",
                     worker.identity.name()));
  }
  return absl::OkStatus();
}

/// What is known between workers of the plan is what it was planned with.
void KeepBetween(const planner::NetworkModel& before, planner::NetworkModel* network) {
  network->seconds_per_byte = before.seconds_per_byte;
  network->latency_s = before.latency_s;
  network->pacing_fraction = before.pacing_fraction;
  network->sharing_fraction = before.sharing_fraction;
  network->cut_sharing_fraction = before.cut_sharing_fraction;
  network->sharing_resent_fraction = before.sharing_resent_fraction;
  network->transfer_gap_s = before.transfer_gap_s;
  if (before.port_slowdown.empty() && network->port_slowdown.empty()) return;
  network->port_slowdown.resize(planner::At(network->num_workers), 1);
  for (std::size_t w = 0; w < planner::At(before.num_workers); ++w) {
    network->port_slowdown[w] = before.port_slowdown.empty() ? 1 : before.port_slowdown[w];
  }
}

}  // namespace

absl::StatusOr<planner::PlanChange::Added> DescribeAdded(const PlannedJob& planned,
                                                         absl::Span<const RegisteredWorker> workers,
                                                         absl::Span<const RegisteredWorker> added,
                                                         const MasterOptions& options,
                                                         const ShapeHistory& learned) {
  std::vector<RegisteredWorker> known;
  for (const RegisteredWorker& worker : workers) {
    if (worker.api != nullptr) known.push_back(worker);
  }
  std::vector<RegisteredWorker> all(workers.begin(), workers.end());
  all.insert(all.end(), added.begin(), added.end());
  std::vector<RegisteredWorker> known_and_added = known;
  known_and_added.insert(known_and_added.end(), added.begin(), added.end());

  const planner::NetworkModel& before = planned.plan.network;
  const bool alone = before.num_workers == 1;
  if (!alone && !known.empty() && SameHost(known) && !SameHost(known_and_added)) {
    return absl::FailedPreconditionError(absl::StrCat("the plan hands runs over in place, and ",
                                                      added.front().identity.name(),
                                                      " is on another machine"));
  }
  if (!SameHost(known_and_added)) {
    if (absl::Status places = CheckPlaces(workers, added, KnownNetwork(options)); !places.ok()) {
      return places;
    }
  }
  planner::ClusterProfile cluster = MakeClusterProfile(all, options);
  ApplyLearnedRates(learned, all, cluster);
  planner::PlanChange::Added described;
  for (const RegisteredWorker& worker : added) described.names.push_back(worker.identity.name());
  for (std::size_t w = 0; w < all.size(); ++w) {
    const bool unknown = w < workers.size() && workers[w].api == nullptr;
    described.compute_rate.push_back(unknown ? 0 : cluster.workers[w].compute_rate);
  }
  described.network = std::move(cluster.network);
  if (!alone) KeepBetween(before, &described.network);
  return described;
}

absl::StatusOr<bool> AddedGetWork(const PlannedJob& planned, const planner::PlanState& state,
                                  const planner::PlanChange& change) {
  const absl::StatusOr<planner::PlanEdit> edit = planner::EditPlan(planned.plan, state, change);
  if (!edit.ok()) return edit.status();
  if (edit->prediction.makespan_s - state.now_s < kNewcomerLeftS) return false;
  const std::vector<planner::ComputeStep>& steps = edit->plan.steps;
  return std::any_of(steps.begin(), steps.end(), [&](const planner::ComputeStep& step) {
    return step.worker >= planned.plan.network.num_workers;
  });
}

}  // namespace weir::master
