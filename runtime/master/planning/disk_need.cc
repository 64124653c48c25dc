#include "runtime/master/planning/disk_need.h"

#include <algorithm>
#include <cmath>
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

std::vector<DiskNeed> DiskNeeds(const planner::Plan& plan,
                                const std::vector<std::string>& domains) {
  std::size_t num_layers = 1;
  std::vector<bool> is_read(plan.steps.size(), false);
  for (const planner::ComputeStep& step : plan.steps) {
    num_layers = std::max(num_layers, At(step.layer) + 1);
    for (const planner::StepIndex before : step.after_steps) is_read[At(before)] = true;
  }
  for (const planner::Transfer& transfer : plan.transfers) is_read[At(transfer.producer)] = true;
  std::vector<DiskNeed> need(At(plan.network.num_workers), DiskNeed(num_layers));
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const planner::ComputeStep& step = plan.steps[s];
    const auto makes = static_cast<double>(step.output_bytes);
    DiskNeed::Layer& layer = need[At(step.worker)].layers[At(step.layer)];
    if (is_read[s]) layer.runs += makes;
    layer.meanwhile =
        std::min(layer.meanwhile, std::min(makes, static_cast<double>(step.spilled_bytes)));
  }
  std::vector<double> received(plan.steps.size(), 0);
  for (const planner::Transfer& transfer : plan.transfers) {
    if (SameDisk(domains, At(transfer.sender), At(transfer.receiver))) continue;
    received[At(transfer.consumer)] += static_cast<double>(transfer.bytes);
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    double& sections = need[At(plan.steps[s].worker)].layers[At(plan.steps[s].layer)].sections;
    sections = std::max(sections, received[s]);
  }
  return need;
}

void DiskNeed::Add(const DiskNeed& other) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    layers[l].runs += other.layers[l].runs;
    layers[l].sections += other.layers[l].sections;
    layers[l].meanwhile = std::min(layers[l].meanwhile, other.layers[l].meanwhile);
  }
}

double DiskNeed::Most() const {
  double read_runs = 0;
  double most = 0;
  for (const Layer& layer : layers) {
    most = std::max(most, read_runs + layer.sections + layer.runs +
                              (std::isfinite(layer.meanwhile) ? layer.meanwhile : 0));
    read_runs = layer.runs;
  }
  return most;
}

absl::Status CheckDisk(const PlanRequest& request, const planner::Plan& plan) {
  if (request.shape.map_output_ratio.origin == planner::Origin::kDefault) return absl::OkStatus();
  const bool spills =
      std::any_of(plan.steps.begin(), plan.steps.end(),
                  [](const planner::ComputeStep& step) { return step.spilled_bytes > 0; });
  const std::vector<DiskNeed> need = DiskNeeds(plan, request.handover_domains);
  for (std::size_t w = 0; w < need.size(); ++w) {
    DiskNeed together = need[w];
    auto free_bytes = static_cast<double>(request.cluster.workers[w].free_disk_bytes);
    for (std::size_t other = 0; other < need.size(); ++other) {
      if (other != w && SameDisk(request.handover_domains, w, other)) together.Add(need[other]);
    }
    const double on_disk = together.Most();
    if (free_bytes <= 0) continue;
    const double usable = free_bytes - std::min(kReservedPart * free_bytes, kReservedBytesMax);
    if (on_disk <= usable) continue;
    v1::JobError error = MakeJobError(
        job_error::kDiskFull,
        absl::StrCat("the job would need ", planner::ReadableBytes(on_disk),
                     " on the disk of worker ", request.cluster.workers[w].name, ", which has ",
                     planner::ReadableBytes(free_bytes), " free (map output of ",
                     request.shape.map_output_ratio.value, " bytes a byte, ",
                     planner::OriginName(request.shape.map_output_ratio.origin),
                     spills ? "; with files of what memory does not hold)" : ")"),
        absl::StrCat("free space there, add workers, ", spills ? "give the job more memory, " : "",
                     "or run the job on part of the input at a time"));
    error.set_worker(request.cluster.workers[w].name);
    error.set_fault_of(v1::FAULT_OF_WORKER);
    return StatusFromJobError(absl::StatusCode::kResourceExhausted, error);
  }
  return absl::OkStatus();
}

}  // namespace weir::master
