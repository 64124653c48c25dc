#include "planner/tree/write/collective.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/order/transfer_orders.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/write/tree_plan.h"

namespace weir::planner::tree {

namespace {

constexpr PortModel kPlanPorts{true, true, true};
/// Bytes of a unit, so that whole and equal units are whole bytes.
constexpr Bytes kUnitBytes = 1 << 20;
/// Bytes of an element cut in any other way: the rounding of a segment shows in no printed digit.
constexpr Bytes kUnevenElementBytes = Bytes{1} << 42;
/// Costs that agree to this part are equal.
constexpr double kSameCost = 1e-9;

bool SamePorts(const PortModel& a, const PortModel& b) {
  return a.full_duplex == b.full_duplex && a.overlaps_compute == b.overlaps_compute &&
         a.latency_holds_ports == b.latency_holds_ports;
}

Bytes ElementBytes(const std::vector<double>& units) {
  const bool equal = std::all_of(units.begin(), units.end(), [&](double size) {
    return std::abs(size - units[0]) <= kSameCost * units[0];
  });
  if (equal) return kUnitBytes * static_cast<Bytes>(units.size());
  const double sum = std::accumulate(units.begin(), units.end(), 0.0);
  const bool whole =
      std::all_of(units.begin(), units.end(), [](double size) { return size == std::floor(size); });
  if (whole && sum < 1e9) return kUnitBytes * static_cast<Bytes>(sum);
  return kUnevenElementBytes;
}

double MessageUnits(const Schedule& schedule, const Message& message) {
  double units = 0;
  for (std::int32_t k = message.segment_begin; k < message.segment_end; ++k) {
    units += schedule.segment_units[static_cast<std::size_t>(k) % schedule.segment_units.size()];
  }
  return units;
}

Message SpreadMessage(const Spread& spread, std::size_t k) {
  const MachineIndex sender = spread.schedule.sender[k] + 1;  // kNoMachine: the source
  return {sender, spread.schedule.informed[k] + 1,
          0,      1,
          0,      spread.times[sender],
          0,      spread.begin_s + spread.schedule.start_s[k]};
}

/// The network that the cheapest messages of each size show: the line latency + rate * units that
/// no message lies below.
LinkCosts FitLink(const Schedule& messages) {
  struct Point {
    double units = 0;
    Seconds port_s = 0;
  };
  Point least{std::numeric_limits<double>::infinity(), 0};
  Point most{-1, 0};
  for (const Message& message : messages.messages) {
    const Point point{MessageUnits(messages, message), message.port_s};
    if (std::pair(point.units, point.port_s) < std::pair(least.units, least.port_s)) least = point;
    if (std::pair(-point.units, point.port_s) < std::pair(-most.units, most.port_s)) most = point;
  }
  if (most.units < 0) return {};
  if (most.units - least.units <= kSameCost * most.units || most.port_s < least.port_s) {
    const Seconds cheapest_s = std::min(least.port_s, most.port_s);
    return most.units > 0 ? LinkCosts{0, cheapest_s / most.units, 0} : LinkCosts{cheapest_s, 0, 0};
  }
  const double rate = (most.port_s - least.port_s) / (most.units - least.units);
  const Seconds latency_s = least.port_s - rate * least.units;
  if (latency_s >= 0) return {latency_s, rate, 0};
  return {0, least.units > 0 ? least.port_s / least.units : 0, 0};
}

/// When the messages run, and whether a Plan's own rules would start any of them earlier.
struct Timings {
  std::vector<MessageTimes> reduction;
  std::vector<MessageTimes> spread;
  bool held = false;
};

Timings TimeSteps(const Collective& collective, const LinkCosts& link) {
  Timings timings;
  // A Plan lets a machine receive before its own element is ready; with release dates none does.
  timings.held = !SamePorts(collective.ports, kPlanPorts) || !collective.ready_s.empty();
  const Schedule& reduction = collective.reduction;
  auto add = [&](const Message& message, Seconds end_s, std::vector<MessageTimes>& times) {
    const Seconds link_s = link.alpha_s + link.beta_s_per_unit * MessageUnits(reduction, message);
    const Seconds excess_s = message.port_s - link_s;
    const bool costs_more = excess_s > kSameCost * message.port_s;
    timings.held = timings.held || costs_more;
    const Seconds duration_s = message.combine_s + (costs_more ? excess_s : 0);
    times.push_back({message.start_s, costs_more ? link_s : message.port_s,
                     std::max(0.0, end_s - duration_s), duration_s});
  };
  const std::vector<Seconds> ends_s = CombineEnds(reduction, collective.ports);
  for (std::size_t k = 0; k < ends_s.size(); ++k) {
    add(reduction.messages[k], ends_s[k], timings.reduction);
  }
  // AppendBroadcast adds begin_s itself.
  const Spread& spread = collective.spread;
  for (std::size_t k = 0; k < spread.schedule.informed.size(); ++k) {
    Message message = SpreadMessage(spread, k);
    message.start_s = spread.schedule.start_s[k];
    add(message, message.start_s + message.port_s, timings.spread);
    timings.held = true;  // the source may not begin before the reduction's planned end
  }
  return timings;
}

NetworkModel NetworkOfCollective(const Collective& collective, const LinkCosts& link,
                                 Bytes element_bytes) {
  const Schedule& reduction = collective.reduction;
  const double units =
      std::accumulate(reduction.segment_units.begin(), reduction.segment_units.end(), 0.0);
  NetworkModel network = NetworkOf(link, reduction.num_machines, units, element_bytes);
  if (collective.max_transfers < reduction.num_machines) {
    const NetworkModel limited = LimitedTotal(reduction.num_machines, network.seconds_per_byte,
                                              static_cast<std::int32_t>(collective.max_transfers));
    network.cuts = limited.cuts;
  }
  network.cuts.insert(network.cuts.end(), collective.cuts.begin(), collective.cuts.end());
  return network;
}

/// Returns the step that has the whole result, where one is asked for.
absl::StatusOr<StepIndex> AddReduction(const Collective& collective,
                                       const std::vector<StepIndex>& elements, Bytes element_bytes,
                                       Timings* timings, Plan* plan) {
  const Schedule& reduction = collective.reduction;
  if (reduction.messages.empty()) return elements[static_cast<std::size_t>(reduction.root)];
  ReductionOptions options;
  options.join_result = collective.spreads();
  options.times = std::move(timings->reduction);
  options.held = timings->held;
  const auto results = AppendReduction(reduction, elements, element_bytes, 0, plan, options);
  if (!results.ok()) return results.status();
  return results->front();
}

absl::Status AddSpread(const Collective& collective, StepIndex result, Bytes element_bytes,
                       const Timings& timings, Plan* plan) {
  if (!collective.spreads()) return absl::OkStatus();
  std::vector<WorkerIndex> others(static_cast<std::size_t>(collective.reduction.num_machines - 1));
  std::iota(others.begin(), others.end(), 1);
  return AppendBroadcast(collective.spread.schedule, result, others, element_bytes,
                         collective.spread.begin_s, plan, /*place_bytes=*/1, timings.spread)
      .status();
}

}  // namespace

Seconds CollectiveMakespan(const Collective& collective) {
  return collective.spreads() ? collective.spread.begin_s + collective.spread.schedule.makespan_s
                              : collective.reduction.makespan_s;
}

std::int64_t WrappingMessages(const Schedule& reduction) {
  return std::count_if(reduction.messages.begin(), reduction.messages.end(), [&](const Message& m) {
    return static_cast<std::size_t>(m.segment_end) > reduction.segment_units.size();
  });
}

Schedule AllMessages(const Collective& collective) {
  Schedule all = collective.reduction;
  for (std::size_t k = 0; k < collective.spread.schedule.informed.size(); ++k) {
    all.messages.push_back(SpreadMessage(collective.spread, k));
  }
  all.makespan_s = CollectiveMakespan(collective);
  return all;
}

absl::StatusOr<Plan> CollectivePlan(const Collective& collective) {
  const Schedule all = AllMessages(collective);
  if (absl::Status status = CheckCount("messages", static_cast<std::int64_t>(all.messages.size()),
                                       0, kPlanMessagesMax);
      !status.ok()) {
    return status;
  }
  const LinkCosts link = FitLink(all);
  const Bytes element_bytes = ElementBytes(all.segment_units);
  Timings timings = TimeSteps(collective, link);
  Plan plan;
  plan.network = NetworkOfCollective(collective, link, element_bytes);
  plan.transfer_order = TransferOrder::kStrict;
  const std::vector<StepIndex> elements =
      AddElements(collective.reduction.num_machines, element_bytes, collective.ready_s, &plan);
  const auto result = AddReduction(collective, elements, element_bytes, &timings, &plan);
  if (!result.ok()) return result.status();
  if (absl::Status status = AddSpread(collective, *result, element_bytes, timings, &plan);
      !status.ok()) {
    return status;
  }
  plan.summary.method = collective.reduction.method;
  if (timings.held) {
    plan.summary.notes.push_back(
        "every step is held until its planned start: the model of this algorithm allows less, or "
        "costs more, than the ports of a plan");
  }
  const std::int64_t num_wrapping = WrappingMessages(collective.reduction);
  if (num_wrapping > 0 && link.alpha_s > 0) {
    plan.summary.notes.push_back(
        absl::StrCat(num_wrapping,
                     " messages wrap around the last segment and travel as two transfers each: "
                     "predicted later than planned by at most ",
                     static_cast<double>(num_wrapping) * link.alpha_s, " s, a latency each"));
  }
  if (absl::Status status = OrderByStart(&plan); !status.ok()) return status;
  return plan;
}

}  // namespace weir::planner::tree
