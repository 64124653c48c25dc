#include "tests/unit/master/watched_run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "planner/job/builders/plan_job.h"
#include "planner/plan/units.h"

namespace weir::master {
namespace {

constexpr planner::Seconds kLookS = 0.5;
constexpr double kLooksMax = 4000;

}  // namespace

WatchedRun RunWatched(
    const planner::Plan& plan, const planner::Reality& reality, Heard heard, Edits edits,
    const std::function<void(const planner::Plan&, const planner::PlanState&,
                             const planner::PlanChange&, const planner::PlanEdit&)>& check) {
  planner::TrueRun run(plan, reality);
  planner::Plan in_hand = plan;
  StragglerWatch watch(in_hand);
  WatchedRun result;
  const planner::Seconds look_s = std::max(kLookS, run.makespan_s() / kLooksMax);
  for (planner::Seconds now_s = look_s; !run.finished(); now_s += look_s) {
    run.Advance(now_s);
    if (run.finished()) break;
    const std::vector<planner::Bytes> bytes =
        heard == Heard::kBytes ? run.BytesHeard() : std::vector<planner::Bytes>{};
    watch.Observe({.state = run.state(), .step_bytes_done = bytes});
    std::optional<StragglerDecision> decision = watch.Decide();
    if (!decision) continue;
    result.named.push_back({now_s, *decision});
    if (edits == Edits::kNone) continue;
    absl::StatusOr<planner::PlanEdit> edit =
        planner::EditPlan(in_hand, run.state(), decision->change);
    if (!edit.ok()) {
      std::fprintf(stderr, "cannot edit: %s\n", edit.status().ToString().c_str());
      std::abort();
    }
    if (check) check(in_hand, run.state(), decision->change, *edit);
    run.TakeEdit(*edit, decision->change);
    in_hand = edit->plan;
    watch.TakeEdit(in_hand, run.state(), edit->transfer_was, decision->change);
    result.named.back().edit = *std::move(edit);
  }
  result.makespan_s = run.makespan_s();
  return result;
}

planner::Plan WordCountLike(std::int32_t num_workers, std::int32_t maps_each,
                            planner::Seconds map_s, double output_ratio) {
  planner::JobShape shape;
  shape.input_bytes = static_cast<planner::Bytes>(num_workers * map_s * 1e7);
  shape.map_seconds_per_byte.value = 1e-7;
  shape.map_output_ratio.value = output_ratio;
  shape.num_mappers = num_workers * maps_each;
  planner::LayerShape layer;
  layer.reduce_seconds_per_byte.value = output_ratio > 0 ? 1e-8 / output_ratio : 0;
  shape.layers = {layer};
  planner::ClusterProfile cluster;
  cluster.workers.resize(planner::At(num_workers));
  cluster.network.num_workers = num_workers;
  cluster.network.seconds_per_byte = 1 / 1.25e8;
  cluster.network.latency_s = 1e-3;
  absl::StatusOr<planner::Plan> plan =
      planner::PlanJob(shape, cluster, {planner::PlanMethod::kEven});
  if (!plan.ok()) {
    std::fprintf(stderr, "cannot plan: %s\n", plan.status().ToString().c_str());
    std::abort();
  }
  return *std::move(plan);
}

}  // namespace weir::master
