#include "runtime/master/workers/return_times.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weir::master {
namespace {

/// In the mean of `away`, where a wait of `wait` ends without the worker being back `redo` follows.
absl::Duration Cost(const std::vector<absl::Duration>& away, absl::Duration wait,
                    absl::Duration redo) {
  absl::Duration total;
  for (const absl::Duration each : away) total += each <= wait ? each : wait + redo;
  return total / static_cast<std::int64_t>(away.size());
}

}  // namespace

std::string ReturnWait::Words(const std::string& worker) const {
  const auto seconds = [](absl::Duration duration) {
    return absl::StrFormat("%.2f s", absl::ToDoubleSeconds(duration));
  };
  return absl::StrCat("waiting ", seconds(wait), " for ", worker, " is expected to cost ",
                      seconds(expected), ", making its runs again ", seconds(without));
}

void ReturnTimes::Lost(const std::string& worker, MonoTime now) {
  losses_.push_back({worker, now, std::nullopt});
  if (losses_.size() > kRemembered) losses_.pop_front();
}

void ReturnTimes::Back(const std::string& worker, MonoTime now) {
  for (Loss& loss : losses_) {
    if (loss.worker == worker && !loss.away) loss.away = now - loss.at;
  }
}

ReturnWait ReturnTimes::WorthWaiting(absl::Duration redo, MonoTime now) const {
  std::vector<absl::Duration> away(kPriorAway.begin(), kPriorAway.end());
  for (const Loss& loss : losses_) {
    // Of one that was lost just now nothing is known.
    if (loss.away) {
      away.push_back(*loss.away);
    } else if (now - loss.at > kPriorAway.front()) {
      away.push_back(absl::InfiniteDuration());
    }
  }
  ReturnWait best{absl::ZeroDuration(), redo, redo};
  for (const absl::Duration wait : away) {
    if (wait == absl::InfiniteDuration()) continue;
    const absl::Duration expected = Cost(away, wait, redo);
    if (expected < best.expected) best = {wait, expected, redo};
  }
  return best;
}

}  // namespace weir::master
