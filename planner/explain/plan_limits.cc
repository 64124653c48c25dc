#include "planner/explain/plan_limits.h"

#include <algorithm>
#include <vector>

#include "planner/plan/cut_lanes.h"

namespace weir::planner {
namespace {

struct Load {
  Seconds busy_s = 0;
  Bytes bytes = 0;

  void Add(Seconds more_s, Bytes more_bytes) {
    busy_s += more_s;
    bytes += more_bytes;
  }
};

bool LessBusy(const Load& a, const Load& b) { return a.busy_s < b.busy_s; }

Seconds MostBusy(const std::vector<Load>& loads) {
  return std::max_element(loads.begin(), loads.end(), LessBusy)->busy_s;
}

/// What a transfer takes of its ports and, as parts of a channel, of the cuts that it crosses.
struct Takes {
  Seconds sender_s = 0;
  Seconds receiver_s = 0;
  Seconds channel_s = 0;
};

Takes TakesOf(const Plan& plan, const CutLanes& lanes, const Transfer& transfer) {
  const NetworkModel& network = plan.network;
  if (IsOrdered(plan.transfer_order)) {
    const Seconds lasts_s =
        network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
    return {lasts_s, lasts_s, lanes.ChannelsTaken(transfer.sender, transfer.receiver) * lasts_s};
  }
  // Where others move beside it, starts and gaps pass meanwhile, and whatever the other end lacks
  // is theirs.
  return {SharedPortSeconds(plan, transfer, transfer.sender),
          SharedPortSeconds(plan, transfer, transfer.receiver), SharedCutSeconds(plan, transfer)};
}

}  // namespace

const char* LimitName(Limit limit) {
  switch (limit) {
    case Limit::kMap:
      return "map";
    case Limit::kChannel:
      return "channel";
    case Limit::kBisection:
      return "bisection";
    case Limit::kReduce:
      return "reduce";
    case Limit::kStore:
      return "store";
  }
  return "unknown";
}

PlanLimits FindLimits(const Plan& plan) {
  const auto num_workers = static_cast<std::size_t>(plan.network.num_workers);
  std::vector<Load> maps(num_workers);
  std::vector<Load> reduces(num_workers);
  std::vector<Load> writes(num_workers);
  Seconds all_writes_s = 0;
  for (const ComputeStep& step : plan.steps) {
    const bool write = step.kind->stores;
    std::vector<Load>& loads = step.kind->reads_input() ? maps : write ? writes : reduces;
    loads[static_cast<std::size_t>(step.worker)].Add(step.duration_s, 0);
    if (write) all_writes_s += step.duration_s;
  }
  std::vector<Load> ports(2 * num_workers);  // sends of all workers, then receives
  std::vector<Load> cuts(plan.network.cuts.size());
  const CutLanes lanes(plan.network);
  for (const Transfer& transfer : plan.transfers) {
    const Takes takes = TakesOf(plan, lanes, transfer);
    ports[static_cast<std::size_t>(transfer.sender)].Add(takes.sender_s, transfer.bytes);
    ports[num_workers + static_cast<std::size_t>(transfer.receiver)].Add(takes.receiver_s,
                                                                         transfer.bytes);
    for (const std::int32_t cut : CutsCrossed(plan.network, transfer.sender, transfer.receiver)) {
      const auto c = static_cast<std::size_t>(cut);
      cuts[c].Add(takes.channel_s / plan.network.cuts[c].channels, transfer.bytes);
    }
  }

  PlanLimits limits;
  limits.map_s = MostBusy(maps);
  limits.reduce_s = MostBusy(reduces);
  limits.store_s = MostBusy(writes);
  if (plan.store_channels > 0) {
    limits.store_s = std::max(limits.store_s, all_writes_s / plan.store_channels);
  }
  const auto port = std::max_element(ports.begin(), ports.end(), LessBusy);
  const auto port_index = static_cast<std::size_t>(port - ports.begin());
  limits.port_s = port->busy_s;
  limits.port_bytes = port->bytes;
  limits.port_receives = port_index >= num_workers;
  limits.port_worker = static_cast<WorkerIndex>(port_index % num_workers);
  if (!cuts.empty()) {
    const auto cut = std::max_element(cuts.begin(), cuts.end(), LessBusy);
    limits.cut_s = cut->busy_s;
    limits.cut_bytes = cut->bytes;
    limits.cut = static_cast<std::int32_t>(cut - cuts.begin());
  }
  limits.limit_s = limits.map_s;
  const std::pair<Limit, Seconds> others[] = {{Limit::kChannel, limits.port_s},
                                              {Limit::kBisection, limits.cut_s},
                                              {Limit::kReduce, limits.reduce_s},
                                              {Limit::kStore, limits.store_s}};
  for (const auto& [limit, busy_s] : others) {
    if (busy_s <= limits.limit_s) continue;
    limits.limit = limit;
    limits.limit_s = busy_s;
  }
  return limits;
}

}  // namespace weir::planner
