#include "runtime/master/newcomers/return_pauses.h"

#include <algorithm>

namespace weir::master {

void ReturnPauses::Lost(const std::string& worker, MonoTime now) {
  absl::erase_if(losses_,
                 [now](const auto& one) { return now - one.second.last >= kReturnForgotten; });
  Losses& losses = losses_[worker];
  ++losses.number;
  losses.last = now;
}

absl::Duration ReturnPauses::Left(const std::string& worker, MonoTime now) const {
  const auto found = losses_.find(worker);
  if (found == losses_.end() || found->second.number <= kReturnsAtOnce) {
    return absl::ZeroDuration();
  }
  absl::Duration pause = kReturnPause;
  for (int n = kReturnsAtOnce + 1; n < found->second.number && pause < kReturnPauseMax; ++n) {
    pause *= 2;
  }
  const absl::Duration left = std::min(pause, kReturnPauseMax) - (now - found->second.last);
  return std::max(left, absl::ZeroDuration());
}

}  // namespace weir::master
