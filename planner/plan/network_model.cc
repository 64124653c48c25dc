// Upstream: measurement or flags fill a NetworkModel. Downstream: builders, CheckPlan, Predict.

#include "planner/plan/network_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir::planner {

double NetworkModel::SecondsPerByte(WorkerIndex sender, WorkerIndex receiver) const {
  if (port_lag.empty()) return NominalSecondsPerByte(sender, receiver);
  const auto times = [this](WorkerIndex worker) {
    const auto port = static_cast<std::size_t>(worker);
    return port_lag[port] * (port_slowdown.empty() ? 1 : port_slowdown[port]);
  };
  return seconds_per_byte * std::max(times(sender), times(receiver));
}

double NetworkModel::NominalSecondsPerByte(WorkerIndex sender, WorkerIndex receiver) const {
  if (port_slowdown.empty()) return seconds_per_byte;
  return seconds_per_byte * std::max(port_slowdown[static_cast<std::size_t>(sender)],
                                     port_slowdown[static_cast<std::size_t>(receiver)]);
}

double NetworkModel::PacedSecondsPerByte(WorkerIndex sender, WorkerIndex receiver) const {
  const double seconds = SecondsPerByte(sender, receiver);
  return pacing_fraction > 0 ? seconds / pacing_fraction : seconds;
}

double NetworkModel::PacedBytesPerS(WorkerIndex port) const {
  return (pacing_fraction > 0 ? pacing_fraction : 1) / NominalSecondsPerByte(port, port);
}

double NetworkModel::PacedBytesPerS(const Cut& cut) const {
  return (pacing_fraction > 0 ? pacing_fraction : 1) * cut.channels / seconds_per_byte;
}

Seconds NetworkModel::TransferSeconds(WorkerIndex sender, WorkerIndex receiver, Bytes bytes) const {
  return OrderedStartSeconds() + static_cast<double>(bytes) * PacedSecondsPerByte(sender, receiver);
}

NetworkModel LimitedTotal(std::int32_t num_workers, double seconds_per_byte,
                          std::int32_t channels) {
  NetworkModel network;
  network.num_workers = num_workers;
  network.seconds_per_byte = seconds_per_byte;
  const auto entries = static_cast<std::size_t>(std::max(num_workers, 0));
  network.cuts.push_back(
      Cut{"total", std::vector<bool>(entries, true), std::vector<bool>(entries, true), channels});
  return network;
}

std::vector<std::int32_t> CutsCrossed(const NetworkModel& network, WorkerIndex sender,
                                      WorkerIndex receiver) {
  std::vector<std::int32_t> crossed;
  for (std::size_t cut = 0; cut < network.cuts.size(); ++cut) {
    if (network.cuts[cut].Crosses(sender, receiver)) {
      crossed.push_back(static_cast<std::int32_t>(cut));
    }
  }
  return crossed;
}

namespace {

absl::Status OutOfRange(absl::string_view field, double value, absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat("network.", field, " out of range: ", value, "; must be ", legal));
}

absl::Status CheckPorts(absl::string_view name, const std::vector<double>& ports) {
  for (std::size_t worker = 0; worker < ports.size(); ++worker) {
    if (!(ports[worker] >= 1 && ports[worker] <= kPlanValueMax)) {
      return OutOfRange(absl::StrCat(name, "[", worker, "]"), ports[worker], "between 1 and 1e100");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRates(const NetworkModel& network) {
  const double cost = network.seconds_per_byte;
  if (!(cost == 0 || (cost >= kPlanValueMin && cost <= kPlanValueMax))) {
    return OutOfRange("seconds_per_byte", cost, "0 or between 1e-100 and 1e100");
  }
  if (!(network.latency_s >= 0 && network.latency_s <= kPlanValueMax)) {
    return OutOfRange("latency_s", network.latency_s, "between 0 and 1e100");
  }
  const double pacing = network.pacing_fraction;
  if (!(pacing == 0 || (pacing >= 0.1 && pacing <= 1))) {
    return OutOfRange("pacing_fraction", pacing, "0 (unpaced) or between 0.1 and 1");
  }
  const double sharing = network.sharing_fraction;
  if (!(sharing == 0 || (sharing >= 0.1 && sharing <= 1))) {
    return OutOfRange("sharing_fraction", sharing, "0 (nothing is lost) or between 0.1 and 1");
  }
  const double cut_sharing = network.cut_sharing_fraction;
  if (!(cut_sharing == 0 || (cut_sharing >= 0.1 && cut_sharing <= 1))) {
    return OutOfRange("cut_sharing_fraction", cut_sharing,
                      "0 (as sharing_fraction) or between 0.1 and 1");
  }
  if (!(network.sharing_resent_fraction >= 0 && network.sharing_resent_fraction <= 1)) {
    return OutOfRange("sharing_resent_fraction", network.sharing_resent_fraction,
                      "between 0 and 1");
  }
  if (!(network.transfer_gap_s >= 0 && network.transfer_gap_s <= kPlanValueMax)) {
    return OutOfRange("transfer_gap_s", network.transfer_gap_s, "between 0 and 1e100");
  }
  if (absl::Status status = CheckPorts("port_slowdown", network.port_slowdown); !status.ok()) {
    return status;
  }
  return CheckPorts("port_lag", network.port_lag);
}

}  // namespace

absl::Status CheckNetwork(const NetworkModel& network) {
  if (network.num_workers < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "network.num_workers out of range: ", network.num_workers, "; must be at least 1"));
  }
  if (absl::Status status = CheckRates(network); !status.ok()) return status;
  const auto num_workers = static_cast<std::size_t>(network.num_workers);
  for (const auto& [name, ports] : {std::pair("port_slowdown", &network.port_slowdown),
                                    std::pair("port_lag", &network.port_lag)}) {
    if (ports->empty() || ports->size() == num_workers) continue;
    return absl::InvalidArgumentError(absl::StrCat("network.", name, " has ", ports->size(),
                                                   " entries; must be empty or one a worker, ",
                                                   num_workers));
  }
  for (std::size_t cut_index = 0; cut_index < network.cuts.size(); ++cut_index) {
    const Cut& cut = network.cuts[cut_index];
    if (cut.from.size() != num_workers || cut.to.size() != num_workers) {
      return absl::InvalidArgumentError(absl::StrCat(
          "network.cuts[", cut_index, "] (", cut.name, ") has ", cut.from.size(), " senders and ",
          cut.to.size(), " receivers; must be one entry a worker, ", num_workers));
    }
    if (cut.channels < 1) {
      return absl::InvalidArgumentError(absl::StrCat("network.cuts[", cut_index, "] (", cut.name,
                                                     ").channels out of range: ", cut.channels,
                                                     "; must be at least 1"));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::planner
