#pragma once

// What the steps of a run have counted. Pure. Upstream: ConductorRun.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/numeric/int128.h"
#include "planner/plan/plan.h"
#include "weir/v1/steps.pb.h"

namespace weir::master {

/// Counters by step, and their sums. A step that is done again counts anew, so sums are exact
/// until they are read, however large.
/// Checked by: tests/unit/master/step_counters_test.cc.
class StepCounters {
 public:
  using OfSteps = absl::btree_map<planner::StepIndex, std::vector<v1::Counter>>;

  void Add(planner::StepIndex step, const v1::StepResult& result);
  /// What this step has counted counts no more.
  void Forget(planner::StepIndex step);
  /// Sums over all steps by name; the most, or the least, that 64 bits hold where they are beyond.
  absl::btree_map<std::string, std::int64_t> Sums() const;
  const OfSteps& of_steps() const { return of_steps_; }

 private:
  absl::btree_map<std::string, absl::int128> sums_;
  OfSteps of_steps_;
};

}  // namespace weir::master
