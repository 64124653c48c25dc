#include "planner/wire/whole_channels.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "planner/plan/cut_lanes.h"
#include "planner/plan/plan_structure.h"

namespace weir::planner {
namespace {

using Orders = std::vector<std::vector<TransferIndex>>;

const Transfer& TransferAt(const Plan& plan, TransferIndex index) {
  return plan.transfers[static_cast<std::size_t>(index)];
}

// Whether some transfer stands in one list of the cut that takes several lanes. A list that is not
// a channel of this cut may still hold anything.
bool HoldsWholeChannels(const Plan& plan, const CutLanes& lanes, std::size_t cut) {
  const Orders& orders = plan.channel_order[cut];
  if (orders.size() > static_cast<std::size_t>(plan.network.cuts[cut].channels)) return false;
  std::vector<std::int32_t> places(plan.transfers.size(), 0);
  bool any = false;
  for (const std::vector<TransferIndex>& order : orders) {
    for (const TransferIndex index : order) {
      if (index < 0 || static_cast<std::size_t>(index) >= plan.transfers.size()) return false;
      if (++places[static_cast<std::size_t>(index)] > 1) return false;
      const Transfer& transfer = TransferAt(plan, index);
      any = any || lanes.Taken(transfer.sender, transfer.receiver) > 1;
    }
  }
  return any;
}

Orders LanesOfChannels(const Plan& plan, const CutLanes& lanes, const Orders& channels) {
  const auto per_channel = static_cast<std::size_t>(lanes.per_channel());
  Orders split(channels.size() * per_channel);
  for (std::size_t channel = 0; channel < channels.size(); ++channel) {
    for (const TransferIndex index : channels[channel]) {
      const Transfer& transfer = TransferAt(plan, index);
      const std::int32_t taken = lanes.Taken(transfer.sender, transfer.receiver);
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(taken); ++lane) {
        split[channel * per_channel + lane].push_back(index);
      }
    }
  }
  return split;
}

}  // namespace

void SplitWholeChannels(Plan* plan) {
  if (plan->network.port_slowdown.empty() || !CheckItems(*plan).ok() ||
      !IsOrdered(plan->transfer_order) || plan->channel_order.size() != plan->network.cuts.size()) {
    return;
  }
  const CutLanes lanes(plan->network);
  if (lanes.per_channel() == 1) return;
  for (std::size_t cut = 0; cut < plan->channel_order.size(); ++cut) {
    if (!HoldsWholeChannels(*plan, lanes, cut)) continue;
    plan->channel_order[cut] = LanesOfChannels(*plan, lanes, plan->channel_order[cut]);
  }
}

}  // namespace weir::planner
