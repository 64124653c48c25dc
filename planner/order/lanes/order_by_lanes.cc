#include "planner/order/lanes/order_by_lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/order/coalesce.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/planning_effort.h"
#include "planner/plan/plan_structure.h"

namespace weir::planner {
namespace {

std::int32_t LayerOf(const Plan& plan, const Transfer& transfer) {
  return plan.steps[At(transfer.consumer)].layer;
}

/// When the transfers of one layer move in an order.
struct Turns {
  Seconds begin_s = std::numeric_limits<Seconds>::infinity();
  Seconds end_s = 0;
  std::int32_t most = 0;  // of one port or lane, one after the other
};

/// By layer of the consumers.
std::map<std::int32_t, Turns> TurnsByLayer(const Plan& plan) {
  std::map<std::int32_t, Turns> layers;
  for (const Transfer& transfer : plan.transfers) {
    Turns& turns = layers[LayerOf(plan, transfer)];
    turns.begin_s = std::min(turns.begin_s, transfer.start_s);
    turns.end_s = std::max(turns.end_s, transfer.start_s + transfer.duration_s);
  }
  const auto count = [&](const std::vector<std::vector<TransferIndex>>& orders) {
    for (const std::vector<TransferIndex>& order : orders) {
      std::map<std::int32_t, std::int32_t> own;
      for (const TransferIndex t : order) {
        Turns& turns = layers[LayerOf(plan, plan.transfers[At(t)])];
        turns.most = std::max(turns.most, ++own[LayerOf(plan, plan.transfers[At(t)])]);
      }
    }
  };
  count(plan.send_order);
  count(plan.receive_order);
  for (const auto& lanes : plan.channel_order) count(lanes);
  return layers;
}

/// The windows of one layer, equally long but for the last.
class LayerWindows {
 public:
  LayerWindows(const Turns& turns, std::int32_t lanes)
      : begin_s_(turns.begin_s),
        length_s_((turns.end_s - turns.begin_s) * lanes / turns.most),
        count_((turns.most + lanes - 1) / lanes) {}

  std::int32_t count() const { return count_; }
  Seconds EndOf(std::int32_t window) const { return begin_s_ + (window + 1) * length_s_; }

  std::int32_t At(Seconds when_s) const {
    if (!(length_s_ > 0)) return 0;
    const double window = std::floor((when_s - begin_s_) / length_s_);
    return static_cast<std::int32_t>(std::clamp<double>(window, 0, count_ - 1));
  }

 private:
  const Seconds begin_s_;
  const Seconds length_s_;
  const std::int32_t count_;
};

/// A transfer and the window, of its layer, that it moves in.
struct Windowed {
  Transfer transfer;
  std::int32_t layer = 0;
  std::int32_t window = 0;
};

/// Cuts a transfer at the ends of windows and adds the pieces, none shorter than `shortest_s` in
/// the order.
void AddPieces(const Plan& plan, const Transfer& transfer, const LayerWindows& windows,
               Seconds shortest_s, std::vector<Windowed>* all) {
  const Seconds flows_from_s = transfer.start_s + StartSeconds(plan);
  const Seconds until_s = transfer.start_s + transfer.duration_s;
  Windowed piece{transfer, LayerOf(plan, transfer), windows.At(flows_from_s)};
  const std::int32_t last = windows.At(until_s);
  Seconds from_s = flows_from_s;
  while (piece.window < last) {
    const Seconds border_s = windows.EndOf(piece.window);
    if (until_s - border_s < shortest_s) break;
    if (border_s - from_s >= shortest_s) {
      const double part = (border_s - flows_from_s) / (until_s - flows_from_s);
      const Bytes end = transfer.offset + std::llround(static_cast<double>(transfer.bytes) * part);
      piece.transfer.bytes = end - piece.transfer.offset;
      all->push_back(piece);
      piece.transfer.offset = end;
      piece.transfer.start_s = border_s;
      from_s = border_s;
    }
    ++piece.window;
  }
  piece.transfer.bytes = transfer.offset + transfer.bytes - piece.transfer.offset;
  all->push_back(piece);
}

bool GoesOn(const Windowed& before, const Windowed& next) {
  return before.layer == next.layer && before.window == next.window &&
         before.transfer.producer == next.transfer.producer &&
         before.transfer.consumer == next.transfer.consumer &&
         before.transfer.offset + before.transfer.bytes == next.transfer.offset;
}

/// Joins what follows each other in a section and would move at once.
void JoinPieces(std::vector<Windowed>* all) {
  std::sort(all->begin(), all->end(), [](const Windowed& a, const Windowed& b) {
    const auto key = [](const Windowed& w) {
      return std::tie(w.layer, w.window, w.transfer.producer, w.transfer.consumer,
                      w.transfer.offset, w.transfer.bytes);
    };
    return key(a) < key(b);
  });
  std::vector<Windowed> joined;
  for (const Windowed& next : *all) {
    if (joined.empty() || !GoesOn(joined.back(), next)) {
      joined.push_back(next);
      continue;
    }
    Transfer& before = joined.back().transfer;
    before.bytes += next.transfer.bytes;
    before.start_s = std::min(before.start_s, next.transfer.start_s);
  }
  *all = std::move(joined);
}

/// Replaces the transfers of the plan from `begin` on, listed by layer, window and start; returns
/// the window of each transfer of the plan.
std::vector<std::int32_t> ListByWindow(std::vector<Windowed> all, std::size_t begin, Plan* plan) {
  std::sort(all.begin(), all.end(), [](const Windowed& a, const Windowed& b) {
    const auto key = [](const Windowed& w) {
      return std::tie(w.layer, w.window, w.transfer.start_s, w.transfer.producer,
                      w.transfer.consumer, w.transfer.offset);
    };
    return key(a) < key(b);
  });
  std::vector<std::int32_t> window_of(begin, 0);
  plan->transfers.resize(begin);
  for (const Windowed& each : all) {
    plan->transfers.push_back(each.transfer);
    window_of.push_back(each.window);
  }
  for (ComputeStep& step : plan->steps) step.after_transfers.clear();
  for (std::size_t t = 0; t < plan->transfers.size(); ++t) {
    plan->steps[At(plan->transfers[t].consumer)].after_transfers.push_back(
        static_cast<TransferIndex>(t));
  }
  return window_of;
}

enum class AtBorders { kWhole, kCut };

absl::Status OrderInWindows(const std::map<std::int32_t, LayerWindows>& layers,
                            std::int32_t port_lanes, AtBorders borders, Plan* plan) {
  // At its part of a port it takes so many times longer.
  const Seconds shortest_s = kShortestGrantS / std::max(1, port_lanes);
  std::vector<Windowed> all;
  for (const Transfer& transfer : plan->transfers) {
    const std::int32_t layer = LayerOf(*plan, transfer);
    const LayerWindows& windows = layers.at(layer);
    if (borders == AtBorders::kCut) {
      AddPieces(*plan, transfer, windows, shortest_s, &all);
    } else {
      const Seconds middle_s = transfer.start_s + transfer.duration_s / 2;
      all.push_back({transfer, layer, windows.At(middle_s)});
    }
  }
  JoinPieces(&all);
  plan->port_lanes = port_lanes;
  const std::vector<std::int32_t> window_of = ListByWindow(std::move(all), 0, plan);
  return RateWindows(NoRoom::kIsRefused, 0, window_of, plan);
}

}  // namespace

absl::StatusOr<std::int32_t> OrderByLanes(std::int32_t lanes, Plan* plan) {
  if (plan->transfer_order != TransferOrder::kOvertake || lanes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Lanes need a plan whose transfers have an order and no tree, and at least "
                     "one of them; asked for ",
                     lanes));
  }
  if (absl::Status status = CheckStructure(*plan); !status.ok()) return status;
  std::int32_t most = 0;
  std::map<std::int32_t, LayerWindows> layers;
  for (const auto& [layer, turns] : TurnsByLayer(*plan)) {
    layers.emplace(layer, LayerWindows(turns, lanes));
    most = std::max(most, layers.at(layer).count());
  }
  if (lanes == 1 || plan->transfers.empty()) return std::max(1, most);
  // Everything at once has no window that it must not leave.
  const std::int32_t port_lanes = most > 1 ? lanes : 0;
  Plan whole = *plan;
  absl::Status status = OrderInWindows(layers, port_lanes, AtBorders::kWhole, &whole);
  if (!status.ok()) return status;
  if (most > 1) {
    Plan cut = *plan;
    status = OrderInWindows(layers, port_lanes, AtBorders::kCut, &cut);
    if (status.ok() && cut.summary.makespan_s < whole.summary.makespan_s * (1 - kFinerGain)) {
      whole = std::move(cut);
    }
  }
  *plan = std::move(whole);
  return most;
}

std::vector<std::int32_t> LanesToTry(const Plan& ordered) {
  double fastest = 0;
  for (WorkerIndex w = 0; w < ordered.network.num_workers; ++w) {
    fastest = std::max(fastest, ordered.network.PacedBytesPerS(w));
  }
  std::int32_t most = 0;
  for (const auto& [layer, turns] : TurnsByLayer(ordered)) most = std::max(most, turns.most);
  std::vector<std::int32_t> lanes;
  for (std::int32_t k = kPortLanesWorthIt; k < most && k <= kPortLanesMax; k *= 2) {
    if (fastest < k * kSlowestRateBytesPerS) break;
    lanes.push_back(k);
  }
  return lanes;
}

std::optional<Plan> BestLanes(const Plan& ordered, Seconds to_beat_s) {
  std::optional<Plan> best;
  for (const std::int32_t lanes : LanesToTry(ordered)) {
    Plan plan = ordered;
    const absl::StatusOr<std::int32_t> windows = OrderByLanes(lanes, &plan);
    if (!windows.ok()) continue;
    const double gain = std::max(kFinerGain, kRatesReserve / std::sqrt(*windows));
    const Seconds end_s = plan.summary.makespan_s;
    if (end_s >= to_beat_s * (1 - gain) || (best && end_s >= best->summary.makespan_s)) continue;
    best = std::move(plan);
  }
  return best;
}

absl::Status OrderRestByLanes(std::size_t num_under_way, Plan* plan) {
  plan->transfer_order = TransferOrder::kRates;
  // Those that are new have no rate yet; wrong indices must not be followed.
  for (std::size_t t = num_under_way; t < plan->transfers.size(); ++t) {
    plan->transfers[t].rate_bytes_per_s = kPlanValueMin;
  }
  if (absl::Status status = CheckItems(*plan); !status.ok()) return status;
  // By layer, port (sends first) and window: how many it has there.
  std::map<std::int32_t, std::vector<std::vector<std::int32_t>>> used;
  std::vector<Windowed> waiting;
  for (std::size_t t = num_under_way; t < plan->transfers.size(); ++t) {
    const Transfer& transfer = plan->transfers[t];
    const std::int32_t layer = LayerOf(*plan, transfer);
    auto& ports = used[layer];
    ports.resize(2 * At(plan->network.num_workers));
    auto& sends = ports[At(transfer.sender)];
    auto& receives = ports[At(plan->network.num_workers + transfer.receiver)];
    std::size_t window = std::max({sends.size(), receives.size(), std::size_t{1}}) - 1;
    sends.resize(window + 1);
    receives.resize(window + 1);
    if (std::max(sends[window], receives[window]) >= plan->port_lanes) {
      ++window;
      sends.resize(window + 1);
      receives.resize(window + 1);
    }
    ++sends[window];
    ++receives[window];
    waiting.push_back({transfer, layer, static_cast<std::int32_t>(window)});
    waiting.back().transfer.start_s = static_cast<Seconds>(t);  // as they were listed
  }
  const std::vector<std::int32_t> window_of = ListByWindow(std::move(waiting), num_under_way, plan);
  return RateWindows(NoRoom::kMakesSlower, num_under_way, window_of, plan);
}

}  // namespace weir::planner
