#include "planner/tree/segments/list_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/model/tree_timing.h"

namespace weir::planner::tree {

absl::Status CheckSegmented(std::int64_t num_machines, const std::vector<double>& units,
                            const LinkCosts& costs) {
  if (absl::Status status = CheckCount("p", num_machines, 1, kMessagesMax); !status.ok())
    return status;
  const auto q = static_cast<std::int64_t>(units.size());
  if (absl::Status status = CheckCount("number of segments", q, 1, kMessagesMax); !status.ok())
    return status;
  if (absl::Status status =
          CheckCount("(p - 1) * segments", (num_machines - 1) * q, 0, kMessagesMax);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckCosts("segments", units); !status.ok()) return status;
  if (absl::Status status = CheckCost("alpha", costs.alpha_s); !status.ok()) return status;
  if (absl::Status status = CheckCost("beta", costs.beta_s_per_unit); !status.ok()) return status;
  return CheckCost("gamma", costs.gamma_s_per_unit);
}

absl::StatusOr<Schedule> ListSchedule(std::string method,
                                      const std::vector<std::vector<MachineIndex>>& trees,
                                      std::vector<double> units, const LinkCosts& costs,
                                      PortModel ports) {
  const auto p = static_cast<std::int32_t>(trees.front().size());
  if (absl::Status status = CheckSegmented(p, units, costs); !status.ok()) return status;
  for (const auto& tree : trees) {
    if (auto order = SinkFirstOrder(tree); !order.ok()) return order.status();
  }
  Schedule schedule = EmptySchedule(std::move(method), p, std::move(units));
  const auto q = static_cast<std::int32_t>(schedule.segment_units.size());
  PortClock clock(p, q, ports);

  std::vector<std::vector<std::int32_t>> waiting_for(static_cast<std::size_t>(q));
  // A key is a lower bound of the start: it is looked at again when it comes up.
  using Key = std::tuple<Seconds, std::int32_t, MachineIndex>;  // start, segment, sender
  std::priority_queue<Key, std::vector<Key>, std::greater<>> open;
  for (std::int32_t j = 0; j < q; ++j) {
    const auto& receiver = trees[static_cast<std::size_t>(j) % trees.size()];
    waiting_for[j].assign(static_cast<std::size_t>(p), 0);
    for (MachineIndex i = 1; i < p; ++i) ++waiting_for[j][receiver[i]];
    for (MachineIndex i = 1; i < p; ++i) {
      if (waiting_for[j][i] == 0) open.emplace(0.0, j, i);
    }
  }
  schedule.messages.reserve(static_cast<std::size_t>(p - 1) * static_cast<std::size_t>(q));
  while (!open.empty()) {
    const auto [bound_s, segment, sender] = open.top();
    open.pop();
    const MachineIndex receiver = trees[static_cast<std::size_t>(segment) % trees.size()][sender];
    Message message = MakeMessage(schedule, costs, ports, sender, receiver, segment, segment + 1);
    const Seconds start_s = clock.EarliestStart(message);
    if (start_s > bound_s) {
      open.emplace(start_s, segment, sender);
      continue;
    }
    const Seconds end_s = clock.Place(message);
    schedule.messages.push_back(message);
    if (receiver == schedule.root) schedule.makespan_s = std::max(schedule.makespan_s, end_s);
    if (--waiting_for[segment][receiver] == 0 && receiver != schedule.root) {
      open.emplace(end_s, segment, receiver);
    }
  }
  return schedule;
}

}  // namespace weir::planner::tree
