#include "runtime/master/conduct/step_counters.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::master {

std::optional<v1::JobError> StepCounters::Add(planner::StepIndex step,
                                              const v1::StepResult& result) {
  bool too_many = false;
  std::vector<Counted>& of_step = of_steps_[step];
  for (const v1::Counter& counter : result.counters()) {
    auto known = number_of_.find(counter.name());
    if (known == number_of_.end()) {
      too_many = too_many || sums_.size() == kNamesMax ||
                 name_bytes_ + counter.name().size() > kNameBytesMax;
      if (too_many) continue;
      name_bytes_ += counter.name().size();
      known = number_of_.emplace(counter.name(), static_cast<std::int32_t>(sums_.size())).first;
      sums_.push_back({counter.name()});
    }
    sums_[static_cast<std::size_t>(known->second)].sum += counter.value();
    of_step.push_back({known->second, counter.value()});
  }
  if (!too_many) return std::nullopt;
  return MakeJobError(
      job_error::kUserError,
      absl::StrCat("the steps of the job count under more than ", kNamesMax,
                   " names, or under names of more than ", kNameBytesMax, " bytes together"),
      "count under fewer names; what differs from record to record is output");
}

void StepCounters::Forget(planner::StepIndex step) {
  const auto counted = of_steps_.find(step);
  if (counted == of_steps_.end()) return;
  for (const Counted& counter : counted->second) {
    sums_[static_cast<std::size_t>(counter.name)].sum -= counter.value;
  }
  of_steps_.erase(counted);
}

const std::string& StepCounters::NameOf(const Counted& counted) const {
  return sums_[static_cast<std::size_t>(counted.name)].name;
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
