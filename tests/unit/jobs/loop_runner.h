#pragma once

// Runs the plan of a loop within the test: a program a worker, sections in memory. Upstream: tests
// of loops. Downstream: JobProgram.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "planner/plan/plan.h"

namespace weir::testing {

/// What came of it.
struct LoopResult {
  std::vector<LoopReport> reports;  // by iteration, up to the one that ended the loop
  std::string part;                 // all parts, one after the other
};

/// Carries out the steps of the plan in their order, up to the first update that ends the loop, and
/// then the reduce step. `make` makes the program of a worker; `path` is the input.
absl::StatusOr<LoopResult> RunLoop(const planner::Plan& plan,
                                   const std::function<std::unique_ptr<JobProgram>()>& make,
                                   const std::string& path, int num_slots,
                                   std::int64_t memory_bytes = 0);

/// A plan for `num_workers` workers of a loop with elements and states of so many places, 8 bytes
/// each, over a file.
planner::Plan LoopPlanFor(const LoopInfo& loop, std::int64_t input_bytes, int num_workers);

}  // namespace weir::testing
