#pragma once

// Whether what a plan makes fits on the workers' disks. Pure.
// Upstream: MakePlannedJob, JobRun. Downstream: JobError.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/master/planning/plan_request.h"

namespace weir::master {

/// Bytes that each worker of the plan is to hold in its work directory, by index. `domains`: of
/// their hand-over, by index.
std::vector<double> DiskNeeds(const planner::Plan& plan, const std::vector<std::string>& domains);

/// Refuses a plan that would fill a disk with the runs that workers make, the sections that they
/// receive and the parts that they write.
///
/// Model: workers of one hand-over domain share a file system and link runs, so their own bytes add
///   up there and received ones take none. A twentieth of what is free, at most 1 GiB, stays free.
/// Errors: kResourceExhausted with JobError DISK_FULL naming worker, need and free bytes. OK where
///   free space is not known, or the size of the map output is only a guess.
/// Checked by: tests/unit/master/learned_shape_test.cc.
absl::Status CheckDisk(const PlanRequest& request, const planner::Plan& plan);

}  // namespace weir::master
