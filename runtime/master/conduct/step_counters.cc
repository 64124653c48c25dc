#include "runtime/master/conduct/step_counters.h"

#include <algorithm>
#include <limits>

namespace weir::master {

void StepCounters::Add(planner::StepIndex step, const v1::StepResult& result) {
  for (const v1::Counter& counter : result.counters()) {
    sums_[counter.name()] += counter.value();
    of_steps_[step].push_back(counter);
  }
}

void StepCounters::Forget(planner::StepIndex step) {
  const auto counted = of_steps_.find(step);
  if (counted == of_steps_.end()) return;
  for (const v1::Counter& counter : counted->second) sums_[counter.name()] -= counter.value();
  of_steps_.erase(counted);
}

absl::btree_map<std::string, std::int64_t> StepCounters::Sums() const {
  constexpr absl::int128 kMost = std::numeric_limits<std::int64_t>::max();
  constexpr absl::int128 kLeast = std::numeric_limits<std::int64_t>::min();
  absl::btree_map<std::string, std::int64_t> sums;
  for (const auto& [name, sum] : sums_) {
    sums[name] = static_cast<std::int64_t>(std::clamp(sum, kLeast, kMost));
  }
  return sums;
}

}  // namespace weir::master
