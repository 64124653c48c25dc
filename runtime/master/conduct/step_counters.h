#pragma once

// What the steps of a run have counted. Pure. Upstream: ConductorRun.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/numeric/int128.h"
#include "planner/plan/plan.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/steps.pb.h"

namespace weir::master {

/// Counters by step, and their sums. A step that is done again counts anew, so sums are exact
/// until they are read, however large.
///
/// Bounds: kNamesMax names of kNameBytesMax bytes together, held once however many steps count
///   under them: a status holds all of them, and each change of a job tells it.
/// Checked by: tests/unit/master/step_counters_test.cc.
class StepCounters {
 public:
  static constexpr std::size_t kNamesMax = 10'000;
  static constexpr std::size_t kNameBytesMax = 1 << 20;

  struct Counted {
    std::int32_t name = 0;  // NameOf
    std::int64_t value = 0;
  };
  using OfSteps = absl::btree_map<planner::StepIndex, std::vector<Counted>>;

  /// Returns USER_ERROR once there are more names than may be, of which the further ones do not
  /// count.
  std::optional<v1::JobError> Add(planner::StepIndex step, const v1::StepResult& result);
  /// What this step has counted counts no more.
  void Forget(planner::StepIndex step);
  /// Sums over all steps by name; the most, or the least, that 64 bits hold where they are beyond.
  absl::btree_map<std::string, std::int64_t> Sums() const;
  const OfSteps& of_steps() const { return of_steps_; }
  const std::string& NameOf(const Counted& counted) const;

 private:
  struct Sum {
    std::string name;
    absl::int128 sum = 0;
  };

  absl::btree_map<std::string, std::int32_t> number_of_;  // by name: its place in sums_
  std::vector<Sum> sums_;
  std::size_t name_bytes_ = 0;
  OfSteps of_steps_;
};

}  // namespace weir::master
