#include "planner/tree/segments/reduce_scatter.h"

#include <algorithm>

#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/segments/list_schedule.h"

namespace weir::planner::tree {

absl::StatusOr<Schedule> ReduceScatterSchedule(std::int32_t p, double units, const LinkCosts& costs,
                                               PortModel ports) {
  if (absl::Status status = CheckCount("p", p, 1, kScatterMachinesMax); !status.ok()) return status;
  if (absl::Status status = CheckSegmented(p, {units}, costs); !status.ok()) return status;
  Schedule schedule = EmptySchedule("reduce-scatter and gather", p, EqualSegments(units, p));
  for (std::int32_t kept = p; kept > 1;) {
    const std::int32_t before = kept;
    kept = (before + 1) / 2;
    for (MachineIndex r = 0; r < p; ++r) {
      const std::int32_t begin = (r + kept) % p;
      schedule.messages.push_back(
          MakeMessage(schedule, costs, ports, r, begin, begin, begin + before - kept));
    }
  }
  // Machine r holds the results r .. r + width - 1 when its turn to send comes.
  for (std::int32_t width = 1; width < p; width *= 2) {
    for (MachineIndex r = width; r < p; r += 2 * width) {
      schedule.messages.push_back(
          MakeMessage(schedule, costs, ports, r, r - width, r, std::min(r + width, p), false));
    }
  }
  TimeMessages(schedule, ports);
  return schedule;
}

}  // namespace weir::planner::tree
