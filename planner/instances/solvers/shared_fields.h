#pragma once

// Fields that several algorithms of instance files share.
// Upstream: solve_*.cc. Downstream: instance_fields.

#include <vector>

#include "planner/instances/solvers/instance_fields.h"
#include "planner/plan/network_model.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Most machines of an instance whose messages are built, and of one of its segment lists.
inline constexpr std::int64_t kBuiltMachinesMax = 1 << 20;

/// Most racks of an instance.
inline constexpr std::int64_t kRacksMax = 1024;

/// A machine sends, receives or combines: one of them at a time.
inline constexpr PortModel kExclusive{false, false, true};

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

/// "rack" (machines of a rack; machine i stands in rack i / rack) and "channels" (default 1): a cut
/// up and one down of so many channels for every rack; none without "rack", or with a single rack.
std::vector<Cut> ReadRackCuts(InstanceFields& fields, std::int32_t num_machines);

/// The list "child" of machines 2..n as receivers from 0; notes an error that names it.
std::vector<MachineIndex> ReadReceivers(InstanceFields& fields);

/// Result fields of a search that had to give up: exact = false, and a note that says why and what
/// was done instead.
void SayHeuristic(const absl::Status& why, std::string_view instead, ResultJson* result);

}  // namespace weir::planner::tree
