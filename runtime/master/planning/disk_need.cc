#include "runtime/master/planning/disk_need.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/explain/readable.h"
#include "planner/plan/units.h"
#include "runtime/base/job_errors.h"

namespace weir::master {

using planner::At;

namespace {

constexpr double kReservedPart = 0.05;
constexpr double kReservedBytesMax = 1 << 30;

bool SameDisk(const std::vector<std::string>& domains, std::size_t a, std::size_t b) {
  return a < domains.size() && b < domains.size() && !domains[a].empty() &&
         domains[a] == domains[b];
}

}  // namespace

std::vector<double> DiskNeeds(const planner::Plan& plan, const std::vector<std::string>& domains) {
  std::vector<double> need(At(plan.network.num_workers), 0);
  for (const planner::ComputeStep& step : plan.steps)
    need[At(step.worker)] += static_cast<double>(step.output_bytes);
  for (const planner::Transfer& transfer : plan.transfers) {
    if (SameDisk(domains, At(transfer.sender), At(transfer.receiver))) continue;
    need[At(transfer.receiver)] += static_cast<double>(transfer.bytes);
  }
  return need;
}

absl::Status CheckDisk(const PlanRequest& request, const planner::Plan& plan) {
  if (request.shape.map_output_ratio.origin == planner::Origin::kDefault) return absl::OkStatus();
  const std::vector<double> need = DiskNeeds(plan, request.handover_domains);
  for (std::size_t w = 0; w < need.size(); ++w) {
    double on_disk = 0;
    auto free_bytes = static_cast<double>(request.cluster.workers[w].free_disk_bytes);
    for (std::size_t other = 0; other < need.size(); ++other) {
      if (other != w && !SameDisk(request.handover_domains, w, other)) continue;
      on_disk += need[other];
    }
    if (free_bytes <= 0) continue;
    const double usable = free_bytes - std::min(kReservedPart * free_bytes, kReservedBytesMax);
    if (on_disk <= usable) continue;
    v1::JobError error = MakeJobError(
        job_error::kDiskFull,
        absl::StrCat("the job would need ", planner::ReadableBytes(on_disk),
                     " on the disk of worker ", request.cluster.workers[w].name, ", which has ",
                     planner::ReadableBytes(free_bytes), " free (map output of ",
                     request.shape.map_output_ratio.value, " bytes a byte, ",
                     planner::OriginName(request.shape.map_output_ratio.origin), ")"),
        "free space there, add workers, or run the job on part of the input at a time");
    error.set_worker(request.cluster.workers[w].name);
    error.set_fault_of(v1::FAULT_OF_WORKER);
    return StatusFromJobError(absl::StatusCode::kResourceExhausted, error);
  }
  return absl::OkStatus();
}

}  // namespace weir::master
