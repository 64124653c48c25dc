#pragma once

// The machines that SimGrid judges schedules on: a fat tree of two levels whose leaf switches have
// fewer links up than down. Upstream: reduction_judge. Downstream: plan_replay, mpi_collective;
// planner::NetworkModel.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/network_model.h"
#include "simgrid/forward.h"

namespace weir::bench {

/// Hosts in groups of hosts_per_leaf below a leaf switch; every leaf switch has one link up to each
/// of `uplinks` top switches. One leaf without uplinks is an ideal crossbar.
///
/// Model: all links are full duplex with the same rate and latency. A route has two links within a
///   leaf and four across. The way up is chosen by the destination (D-mod-k), as SimGrid does.
struct FatTree {
  std::int32_t hosts_per_leaf = 1;
  std::int32_t leaves = 1;
  std::int32_t uplinks = 0;
  double bytes_per_s = 1.25e9;
  double link_latency_s = 10e-6;

  std::int32_t num_hosts() const { return hosts_per_leaf * leaves; }
};

/// Returns the tree of `num_hosts` hosts that is judged: as many hosts a leaf as leaves, a quarter
///   as many uplinks. Errors: kInvalidArgument unless num_hosts is a power of 4 from 16 to 4096.
absl::StatusOr<FatTree> QuarterBisection(std::int32_t num_hosts);

/// Returns the tree with one switch and nothing above it.
FatTree Crossbar(std::int32_t num_hosts);

/// Returns what the planner knows of the tree: the latency of its longest route, the rate of one
///   link, and, if `with_cuts`, a cut up and a cut down for every leaf with `uplinks` channels.
planner::NetworkModel NetworkOfTree(const FatTree& tree, bool with_cuts);

/// Speed of every simulated host: an execution of x flops takes x / kFlopsPerSecond seconds.
inline constexpr double kFlopsPerSecond = 1e9;

/// Builds the tree in SimGrid's engine and returns its hosts, machine i being host i.
/// Requires: called once a process, after ConfigureSimGrid.
std::vector<simgrid::s4u::Host*> BuildPlatform(const FatTree& tree);

/// Sets SimGrid's network model: flows take the latency of their route, then a max-min share of its
/// links; no factors for protocols, no acknowledgements, no window. Requires: before BuildPlatform.
void ConfigureSimGrid();

/// Returns the version of the library that this program runs with, as "3.32".
std::string SimGridVersion();

}  // namespace weir::bench
