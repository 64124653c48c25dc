#include "planner/tree/model/schedule.h"

#include <utility>

namespace weir::planner::tree {

Schedule EmptySchedule(std::string method, std::int32_t num_machines, std::vector<double> units) {
  Schedule schedule;
  schedule.method = std::move(method);
  schedule.num_machines = num_machines;
  schedule.segment_units = std::move(units);
  return schedule;
}

Message MakeMessage(const Schedule& schedule, const LinkCosts& costs, const PortModel& ports,
                    MachineIndex sender, MachineIndex receiver, std::int32_t segment_begin,
                    std::int32_t segment_end, bool combines) {
  double units = 0;
  for (std::int32_t j = segment_begin; j < segment_end; ++j) {
    units += schedule.segment_units[static_cast<std::size_t>(j) % schedule.segment_units.size()];
  }
  Message message;
  message.sender = sender;
  message.receiver = receiver;
  message.segment_begin = segment_begin;
  message.segment_end = segment_end;
  message.flight_s = ports.latency_holds_ports ? 0 : costs.alpha_s;
  message.port_s = (ports.latency_holds_ports ? costs.alpha_s : 0) + costs.beta_s_per_unit * units;
  message.combine_s = combines ? costs.gamma_s_per_unit * units : 0;
  return message;
}

std::vector<double> EqualSegments(double units, std::int32_t num_segments) {
  return std::vector<double>(static_cast<std::size_t>(num_segments),
                             units / static_cast<double>(num_segments));
}

}  // namespace weir::planner::tree
