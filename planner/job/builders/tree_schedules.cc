// The schedules that a layer may have, of tree_layer.h.

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "planner/job/builders/tree_layer.h"
#include "planner/order/coalesce.h"
#include "planner/tree/choice/selection.h"

namespace weir::planner {
namespace {

// Messages of one tree; more segments cost more grants than they can win.
constexpr std::int64_t kTreeMessagesMax = 2048;
// Machines up to which trees are chosen under cuts too.
constexpr std::int32_t kRackMachinesMax = 64;

std::int64_t TransfersAtOnce(const NetworkModel& network) {
  std::int64_t most = tree::kNoTransferLimit;
  for (const Cut& cut : network.cuts) {
    const bool all = std::all_of(cut.from.begin(), cut.from.end(), [](bool in) { return in; }) &&
                     std::all_of(cut.to.begin(), cut.to.end(), [](bool in) { return in; });
    if (all) most = std::min<std::int64_t>(most, cut.channels);
  }
  return most;
}

/// Cuts that some of the workers cross and others do not, by the workers' places in `workers`.
std::vector<Cut> CutsAmong(const NetworkModel& network, const std::vector<WorkerIndex>& workers) {
  std::vector<Cut> among;
  for (const Cut& cut : network.cuts) {
    Cut here;
    here.name = cut.name;
    here.channels = cut.channels;
    for (const WorkerIndex worker : workers) {
      here.from.push_back(cut.from[static_cast<std::size_t>(worker)]);
      here.to.push_back(cut.to[static_cast<std::size_t>(worker)]);
    }
    if (here.from != here.to) among.push_back(std::move(here));
  }
  return among;
}

/// Machine of the fastest worker; at an end where operands keep their order.
tree::MachineIndex RootOf(const TreeElements& elements, const ClusterProfile& cluster,
                          bool commutative) {
  if (!commutative) return 0;
  std::size_t root = 0;
  const auto rate = [&](std::size_t machine) {
    return cluster.workers[static_cast<std::size_t>(elements.workers[machine])].compute_rate;
  };
  for (std::size_t i = 1; i < elements.workers.size(); ++i) {
    if (rate(i) > rate(root)) root = i;
  }
  return static_cast<tree::MachineIndex>(root);
}

/// What a layer's trees have to do. Of limits it has only how many transfers may move at once.
tree::ReductionProblem LayerProblem(const JobShape& shape, const ClusterProfile& cluster,
                                    const TreeElements& elements, double element_units,
                                    std::int64_t segments_max) {
  const LayerShape& layer = shape.layers[elements.layer];
  const NetworkModel& network = cluster.network;
  const double pacing = network.pacing_fraction > 0 ? network.pacing_fraction : 1;
  tree::ReductionProblem problem;
  problem.num_machines = static_cast<std::int32_t>(elements.workers.size());
  problem.element_units = element_units;
  // Every message also costs a step's overhead: it keeps segments from becoming too many.
  problem.costs = {network.latency_s + layer.startup_s.value, network.seconds_per_byte / pacing,
                   layer.element.combine_seconds_per_byte.value};
  problem.commutative = layer.element.commutative;
  problem.root = RootOf(elements, cluster, problem.commutative);
  problem.max_transfers = std::max<std::int64_t>(1, TransfersAtOnce(network));
  problem.max_segments = segments_max;
  problem.ready_s = elements.ready_s;
  const Seconds first_s = *std::min_element(problem.ready_s.begin(), problem.ready_s.end());
  for (Seconds& ready_s : problem.ready_s) ready_s -= first_s;
  return problem;
}

/// Collects schedules of one layer, each for what one of its reducers gets.
class OfferedSchedules {
 public:
  OfferedSchedules(const ElementShape& element, std::int32_t num_reducers)
      : element_(element), num_reducers_(num_reducers) {}

  /// Adds those of the problem, if there are any, but for those that cannot be written or have too
  /// many messages.
  void Add(const tree::ReductionProblem& problem) {
    absl::StatusOr<std::vector<tree::Schedule>> offered = tree::EveryReduction(problem);
    if (!offered.ok()) return;
    for (tree::Schedule& schedule : *offered) {
      const auto segments = static_cast<std::int64_t>(schedule.segment_units.size());
      const std::int64_t places = element_.places / num_reducers_;
      if (segments > 1 && (!element_.splits || segments > places)) continue;
      if (static_cast<std::int64_t>(schedule.messages.size()) > kTreeMessagesMax) continue;
      schedules_.push_back(std::move(schedule));
    }
  }
  bool empty() const { return schedules_.empty(); }
  std::vector<tree::Schedule> Take() && { return std::move(schedules_); }

 private:
  const ElementShape& element_;
  const std::int32_t num_reducers_;
  std::vector<tree::Schedule> schedules_;
};

/// Adds those that are chosen and timed under the cuts between the workers.
void AddUnderCuts(tree::ReductionProblem problem, const NetworkModel& network,
                  const std::vector<WorkerIndex>& workers, OfferedSchedules& offered) {
  problem.cuts = CutsAmong(network, workers);
  problem.ready_s.clear();
  if (problem.num_machines <= kRackMachinesMax && !problem.cuts.empty()) offered.Add(problem);
}

/// Adds those that know of no cuts, also as slow ports have them; one at least, if there is any.
void AddWithoutCuts(tree::ReductionProblem problem, const NetworkModel& network,
                    const std::vector<WorkerIndex>& workers, OfferedSchedules& offered) {
  offered.Add(problem);
  problem.ready_s.clear();
  if (!network.port_slowdown.empty() && problem.num_machines > 1) {
    for (const WorkerIndex worker : workers) {
      problem.slowdown.push_back(network.port_slowdown[static_cast<std::size_t>(worker)]);
    }
    offered.Add(problem);
    problem.slowdown.clear();
  }
  if (!offered.empty()) return;
  // A limit may leave nothing else: one after the other never breaks it.
  problem.max_transfers = tree::kNoTransferLimit;
  problem.max_segments = 1;
  offered.Add(problem);
}

}  // namespace

std::int64_t SegmentsWorthAGrant(const JobShape& shape, const ClusterProfile& cluster,
                                 const ElementShape& element, std::size_t machines,
                                 double message_bytes) {
  if (!element.splits) return 1;
  const double transfer_s = message_bytes * cluster.network.seconds_per_byte;
  const double most = std::min(transfer_s / kShortestGrantS, static_cast<double>(kTreeMessagesMax) /
                                                                 static_cast<double>(machines));
  const std::int64_t places =
      std::min(element.places / std::max<std::int64_t>(1, shape.layers.back().num_reducers),
               kTreeMessagesMax);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(most), 1,
                                  std::max<std::int64_t>(1, places));
}

const std::vector<tree::Schedule>& TreeSchedules::Of(const TreeElements& elements,
                                                     double message_bytes,
                                                     std::int32_t num_reducers,
                                                     std::int64_t segments_max, bool by_racks) {
  const double units = std::max(1.0, message_bytes);
  const auto [known, is_new] =
      known_.try_emplace({elements.layer, elements.workers, elements.ready_s, units, num_reducers,
                          segments_max, by_racks});
  if (is_new) {
    const auto add = by_racks ? AddUnderCuts : AddWithoutCuts;
    OfferedSchedules offered(shape_.layers[elements.layer].element, num_reducers);
    add(LayerProblem(shape_, cluster_, elements, units, segments_max), cluster_.network,
        elements.workers, offered);
    known->second = std::move(offered).Take();
  }
  return known->second;
}

}  // namespace weir::planner
