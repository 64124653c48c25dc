#include "runtime/master/planning/cluster_profile.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/task_memory.h"

namespace weir::master {
namespace {

planner::NetworkModel MakeNetwork(absl::Span<const RegisteredWorker> workers,
                                  const MasterOptions& options) {
  const bool handover = SameHost(workers);
  const double rate =
      handover ? options.handover_seconds_per_byte : options.channel_seconds_per_byte;
  const auto num_workers = static_cast<std::int32_t>(workers.size());
  planner::NetworkModel network;
  if (options.bisection_channels > 0) {
    network = planner::LimitedTotal(num_workers, rate, options.bisection_channels);
  } else {
    network.num_workers = num_workers;
    network.seconds_per_byte = rate;
  }
  network.latency_s = handover ? options.handover_latency_s : options.latency_s;
  if (!handover) {
    std::vector<std::string> names;
    for (const RegisteredWorker& worker : workers) names.push_back(worker.identity.name());
    ApplyNetworkSpec(KnownNetwork(options), names, network);
  }
  return network;
}

// Measured rates of equal machines differ by noise; planned for, it would only make every plan an
// unequal one. Within this factor of each other all workers count as their mean.
constexpr double kEqualRates = 1.15;

void LevelEqualWorkers(std::vector<planner::WorkerProfile>& workers) {
  double least = workers[0].compute_rate;
  double most = least;
  double sum = 0;
  for (const planner::WorkerProfile& worker : workers) {
    least = std::min(least, worker.compute_rate);
    most = std::max(most, worker.compute_rate);
    sum += worker.compute_rate;
  }
  if (most > kEqualRates * least) return;
  for (planner::WorkerProfile& worker : workers) {
    worker.compute_rate = sum / static_cast<double>(workers.size());
  }
}

/// Of a number that the operator's network file or the measured one gives.
planner::Origin OriginOf(double NetworkSpec::*number, const MasterOptions& options) {
  return options.network.*number > 0 ? planner::Origin::kFlag : planner::Origin::kMeasured;
}

// Of what is available the kernel lets a tenth be written later before the disk has to begin
// (vm.dirty_background_ratio), whoever wrote it.
constexpr double kWrittenLaterPart = 0.1;

// A worker's part of a disk and a page cache that `sharers` workers share.
planner::DiskProfile MakeDisk(const v1::WorkerProfile& profile, double sharers) {
  if (profile.disk_write_bytes_per_s() <= 0 || profile.disk_read_bytes_per_s() <= 0) return {};
  return {.write_bytes_per_s = profile.disk_write_bytes_per_s() / sharers,
          .read_bytes_per_s = profile.disk_read_bytes_per_s() / sharers,
          .cached_bytes =
              kWrittenLaterPart * static_cast<double>(profile.available_memory_bytes()) / sharers};
}

double SharersOf(const RegisteredWorker& worker, absl::Span<const RegisteredWorker> workers) {
  const std::string& domain = worker.identity.handover_domain();
  if (domain.empty()) return 1;
  return static_cast<double>(
      std::count_if(workers.begin(), workers.end(), [&domain](const RegisteredWorker& other) {
        return other.identity.handover_domain() == domain;
      }));
}

planner::WorkerProfile MakeWorker(const RegisteredWorker& worker,
                                  absl::Span<const RegisteredWorker> workers) {
  planner::WorkerProfile profile;
  profile.name = worker.identity.name();
  profile.slots = std::max(1, worker.profile.slots());
  profile.compute_rate = ComputeRate(worker);
  if (worker.profile.compute_rate() > 0) profile.compute_rate_origin = planner::Origin::kMeasured;
  profile.memory_bytes = worker.profile.memory_bytes();
  profile.spill_above_bytes = SpillAbove(worker.profile, 1);
  profile.disk = MakeDisk(worker.profile, SharersOf(worker, workers));
  profile.free_disk_bytes = worker.profile.free_disk_bytes();
  return profile;
}

}  // namespace

planner::Origin OriginOfNetwork(absl::Span<const RegisteredWorker> workers,
                                const MasterOptions& options) {
  const bool measured = !SameHost(workers) && options.network.channel_bytes_per_s <= 0 &&
                        options.measured.channel_bytes_per_s > 0;
  return measured ? planner::Origin::kMeasured : options.network_origin;
}

double ComputeRate(const RegisteredWorker& worker) {
  if (worker.profile.compute_rate() > 0) return worker.profile.compute_rate();
  return std::max(1, worker.profile.slots());
}

double SlotsACore(const v1::WorkerProfile& profile) {
  if (!(profile.cores() > 0)) return 1;
  return std::max(1.0, std::max(1, profile.slots()) / profile.cores());
}

std::int64_t SpillAbove(const v1::WorkerProfile& profile, double memory_share) {
  return profile.memory_bytes() > 0
             ? SpillAboveOf(MemoryOfTask(profile.memory_bytes(), memory_share))
             : profile.spill_above_bytes();
}

std::vector<double> ComputeRatesOfThoseBack(absl::Span<const RegisteredWorker> workers) {
  double sum = 0;
  double num_back = 0;
  for (const RegisteredWorker& worker : workers) {
    if (worker.api == nullptr) continue;
    sum += ComputeRate(worker);
    ++num_back;
  }
  std::vector<double> rates;
  for (const RegisteredWorker& worker : workers) {
    rates.push_back(worker.api == nullptr ? sum / num_back : ComputeRate(worker));
  }
  return rates;
}

NetworkSpec KnownNetwork(const MasterOptions& options) {
  NetworkSpec measured = options.measured;
  if (options.bisection_channels > 0) measured.cuts.clear();
  return Overlay(options.network, measured);
}

planner::ClusterProfile MakeClusterProfile(absl::Span<const RegisteredWorker> workers,
                                           const MasterOptions& options) {
  planner::ClusterProfile cluster;
  for (const RegisteredWorker& worker : workers) {
    cluster.workers.push_back(MakeWorker(worker, workers));
  }
  LevelEqualWorkers(cluster.workers);
  cluster.network = MakeNetwork(workers, options);
  cluster.network_origin = OriginOfNetwork(workers, options);
  if (cluster.network_origin != planner::Origin::kDefault && !SameHost(workers)) {
    cluster.network.pacing_fraction = options.pacing_fraction;
    if (cluster.network.sharing_fraction <= 0) {
      cluster.network.sharing_fraction = options.sharing_fraction;
    } else {
      cluster.sharing_origin = OriginOf(&NetworkSpec::sharing_fraction, options);
    }
    if (cluster.network.transfer_gap_s > 0) {
      cluster.gap_origin = OriginOf(&NetworkSpec::transfer_gap_s, options);
    }
  } else {
    // Nothing is known of the network that these would be of.
    cluster.network.sharing_fraction = cluster.network.cut_sharing_fraction = 0;
    cluster.network.sharing_resent_fraction = cluster.network.transfer_gap_s = 0;
  }
  return cluster;
}

void ApplyLearnedRates(const ShapeHistory& learned, absl::Span<const RegisteredWorker> workers,
                       planner::ClusterProfile& cluster) {
  for (planner::WorkerProfile& profile : cluster.workers) {
    const double speed = learned.SpeedOf(profile.name);
    if (speed == 1) continue;
    profile.compute_rate *= speed;
    profile.compute_rate_origin = planner::Origin::kHistory;
  }
  if (cluster.network_origin == planner::Origin::kDefault && !SameHost(workers) &&
      learned.channel_seconds_per_byte()) {
    cluster.network.seconds_per_byte = *learned.channel_seconds_per_byte();
    cluster.network_origin = planner::Origin::kHistory;
  }
}

}  // namespace weir::master
