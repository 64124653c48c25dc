#include "planner/tree/segments/rabenseifner.h"

#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/reduce_scatter.h"

namespace weir::planner::tree {

absl::StatusOr<Schedule> RabenseifnerSchedule(std::int32_t p, double units, const LinkCosts& costs,
                                              PortModel ports) {
  if (absl::Status status = CheckCount("p", p, 1, kScatterMachinesMax); !status.ok()) return status;
  if (absl::Status status = CheckSegmented(p, {units}, costs); !status.ok()) return status;
  const auto num_parts = static_cast<std::int32_t>(std::int64_t{1} << FloorLog2(p));
  Schedule schedule = EmptySchedule("rabenseifner", p, EqualSegments(units, num_parts));
  auto send = [&](MachineIndex from, MachineIndex to, std::int32_t begin, std::int32_t end,
                  bool combines) {
    schedule.messages.push_back(
        MakeMessage(schedule, costs, ports, from, to, begin, end, combines));
  };

  // Fold: the surplus machine combines one half for its partner. A single part cannot be halved.
  for (MachineIndex extra = num_parts; extra < p; ++extra) {
    const MachineIndex partner = extra - num_parts;
    const std::int32_t half = num_parts / 2;
    if (half == 0) {
      send(extra, partner, 0, num_parts, true);
      continue;
    }
    send(extra, partner, 0, half, true);
    send(partner, extra, half, num_parts, true);
  }
  for (MachineIndex extra = num_parts; extra < p && num_parts > 1; ++extra) {
    send(extra, extra - num_parts, num_parts / 2, num_parts, false);
  }

  // Halve: after the round of bit b machine r keeps the parts that agree with r on the bits >= b.
  for (std::int32_t bit = num_parts / 2; bit > 0; bit /= 2) {
    for (MachineIndex r = 0; r < num_parts; ++r) {
      const MachineIndex partner = r ^ bit;
      const std::int32_t kept_by_partner = partner & ~(bit - 1);
      send(r, partner, kept_by_partner, kept_by_partner + bit, true);
    }
  }

  // Gather: ranges double towards the root.
  for (std::int32_t bit = 1; bit < num_parts; bit *= 2) {
    for (MachineIndex r = bit; r < num_parts; r += 2 * bit) send(r, r - bit, r, r + bit, false);
  }
  TimeMessages(schedule, ports);
  return schedule;
}

}  // namespace weir::planner::tree
