#pragma once

// The network as an operator describes it, by names of workers. Upstream: a JSON file (weir master
// --network FILE) or calibration. Downstream: the cluster profile of each plan, which knows workers
// by index only.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/network_model.h"

namespace weir::master {

/// Workers of one side of a cut: those named, or everybody else, or everybody.
struct CutSide {
  enum class Kind { kNamed, kRest, kAll };
  Kind kind = Kind::kNamed;
  std::vector<std::string> workers;
};

struct NamedCut {
  std::string name;
  CutSide from;
  CutSide to;
  std::int32_t channels = 1;
};

/// Symbols: channel_bytes_per_s = 1/C of 004; port_bytes_per_s lists only ports that differ from
/// it.
struct NetworkSpec {
  double channel_bytes_per_s = 0;  // 0 = not given
  double latency_s = -1;           // negative = not given
  std::map<std::string, double> port_bytes_per_s;
  std::vector<NamedCut> cuts;
  // As planner::NetworkModel has them; 0 = not given.
  double sharing_fraction = 0;
  double cut_sharing_fraction = 0;
  double sharing_resent_fraction = 0;
  double transfer_gap_s = 0;
};

/// Reads
///   {"schema": 1, "channel_bytes_per_s": 1.2e7, "latency_s": 0.0005, "port_bytes_per_s": {"w3":
///   3e6},
///    "racks": [{"name": "a", "workers": ["w0", "w1"], "up_channels": 4, "down_channels": 4}],
///    "total_channels": 2, "cuts": [{"name": "x", "from": ["w0"], "to": "rest", "channels": 1}],
///    "sharing_fraction": 0.96, "cut_sharing_fraction": 0.93, "sharing_resent_fraction": 0.0001,
///    "transfer_gap_s": 0.005}
/// where every field but schema may be left out. A rack is two cuts: rack -> rest and rest -> rack.
/// total_channels is one cut over all pairs. Errors: kInvalidArgument naming field, value and what
/// is legal; an unknown field is an error.
absl::StatusOr<NetworkSpec> ParseNetworkSpec(std::string_view json_text);

/// Returns the same as JSON that ParseNetworkSpec reads (cuts written out).
std::string NetworkSpecJson(const NetworkSpec& spec);

/// Returns what `preferred` says, and what it leaves out from `other`: channel rate, latency, slow
/// ports, cuts, the gap between transfers and what sharing without an order costs, each as a whole.
NetworkSpec Overlay(NetworkSpec preferred, const NetworkSpec& other);

/// Removes cuts over all pairs ("total_channels"). Returns how many channels the last had; 0: none.
std::int32_t TakeTotal(NetworkSpec& spec);

/// Rate of a worker's port; 0 when nothing is known.
double PortRate(const NetworkSpec& spec, const std::string& worker);

/// Name of the rack that a cut "rack NAME up" or "rack NAME down" puts the worker in; else empty.
std::string RackOf(const NetworkSpec& spec, const std::string& worker);

/// Fills in what the spec says for these workers (by WorkerIndex): rate, latency, slow ports, cuts.
/// Names that are not among the workers are left out; a cut that no pair crosses is left out too. A
/// port faster than the channel counts as the channel.
void ApplyNetworkSpec(const NetworkSpec& spec, const std::vector<std::string>& worker_names,
                      planner::NetworkModel& network);

}  // namespace weir::master
