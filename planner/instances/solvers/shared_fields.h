#pragma once

// Fields that several algorithms of instance files share.
// Upstream: solve_*.cc. Downstream: instance_fields.

#include <vector>

#include "planner/instances/solvers/instance_fields.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Most machines of an instance whose messages are built, and of one of its segment lists.
inline constexpr std::int64_t kBuiltMachinesMax = 1 << 20;

/// d and c.
ElementCosts ReadElementCosts(InstanceFields& fields);

/// alpha, beta and gamma.
LinkCosts ReadLinkCosts(InstanceFields& fields);

/// A number of machines of which messages are built, 1..kBuiltMachinesMax.
std::int32_t ReadMachines(InstanceFields& fields, const char* field);

/// "segments": list of sizes; or "units" (default q), cut into "q" (default 1) equal ones.
std::vector<double> ReadSegments(InstanceFields& fields);

/// "ports": "half_duplex", "full_duplex" (002), "overlap" (000; the default), or "latency_free"
/// (001).
PortModel ReadPorts(InstanceFields& fields);

/// The list "child" of machines 2..n as receivers from 0; notes an error that names it.
std::vector<MachineIndex> ReadReceivers(InstanceFields& fields);

/// Result fields of a search that had to give up: exact = false, and a note that says why and what
/// was done instead.
void SayHeuristic(const absl::Status& why, std::string_view instead, ResultJson* result);

}  // namespace weir::planner::tree
