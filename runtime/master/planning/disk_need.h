#pragma once

// Whether what a plan makes fits on the workers' disks. Pure.
// Upstream: MakePlannedJob, JobRun. Downstream: JobError.

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/master/planning/plan_request.h"

namespace weir::master {

/// What work directories on one disk hold at least while each layer of steps runs.
struct DiskNeed {
  struct Layer {
    /// Bytes of the runs that its steps make.
    double runs = 0;
    /// Bytes of the sections that its steps receive; of several steps of a worker, the most of one.
    double sections = 0;
    /// Bytes beside that, once the last of its steps ends, whichever that is; infinite: no steps.
    double meanwhile = std::numeric_limits<double>::infinity();
  };

  explicit DiskNeed(std::size_t num_layers) : layers(num_layers) {}

  /// Takes on what another worker of the same disk needs, of as many layers.
  void Add(const DiskNeed& other);
  /// Returns what is needed when that is most, bytes.
  double Most() const;

  std::vector<Layer> layers;  // 0 are mappers
};

/// Returns what each worker of the plan needs, by index. `domains`: of their hand-over, by index.
///
/// Model: the runs of a layer stay until all that read them have ended, and their worker begins
///   another step; so do received sections. So a layer of steps meets its own and the runs of the
///   layer before. While a step runs whose memory is full, its files lie beside what it makes of
///   them: as many bytes as that, since each of its keys is in one of them at least, and no more
///   than it puts on disk in all. Steps of one disk need not be at that point together, so only one
///   counts. Parts lie beside the output, mostly on another disk. So where the sizes in the plan
///   are right, less would not do.
/// Source: ADR 0051; WorkerJob::RemoveUnreadRuns.
/// Requires: CheckStructure of the plan.
std::vector<DiskNeed> DiskNeeds(const planner::Plan& plan, const std::vector<std::string>& domains);

/// Refuses a plan that would fill a disk (DiskNeeds).
///
/// Model: workers of one hand-over domain share a file system and link runs, so their own bytes add
///   up there and received ones take none. A twentieth of what is free, at most 1 GiB, stays free.
/// Errors: kResourceExhausted with JobError DISK_FULL naming worker, need and free bytes. OK where
///   free space is not known, or the size of the map output is only a guess.
/// Checked by: tests/unit/master/disk_need_test.cc.
absl::Status CheckDisk(const PlanRequest& request, const planner::Plan& plan);

}  // namespace weir::master
