#include "runtime/client/absence/master_absence.h"

#include <algorithm>

#include "runtime/base/job_errors.h"
#include "runtime/rpc/broken_off.h"
#include "runtime/rpc/not_ready.h"

namespace weir::client {
namespace {

// A command is one of a few: that it is back soon counts for more than the load that it is.
constexpr absl::Duration kPauseMin = absl::Milliseconds(200);
constexpr absl::Duration kPauseMax = absl::Seconds(3);

}  // namespace

bool MasterAbsence::IsAway(const absl::Status& outcome) {
  // A named error comes from a master, which may say by it that something else is away.
  if (CarriesJobError(outcome)) return rpc::IsNotReady(outcome);
  return absl::IsUnavailable(outcome) || absl::IsDeadlineExceeded(outcome);
}

std::optional<MasterAbsence::Pause> MasterAbsence::OnFailure(const absl::Status& outcome,
                                                             MonoTime now) {
  if (!IsAway(outcome)) return std::nullopt;
  // One that broke a call off is there, or was a moment ago.
  if (rpc::IsNotReady(outcome) || rpc::IsBrokenOff(outcome)) reached_ = true;
  const bool again = since_.has_value();
  if (!again) {
    since_ = now;
    pause_ = absl::ZeroDuration();
  }
  const absl::Duration patience = reached_ || grace_.given ? grace_.at_most : first_patience_;
  const absl::Duration left = *since_ + patience - now;
  if (left <= absl::ZeroDuration()) return std::nullopt;
  pause_ = std::clamp(pause_ * 2, kPauseMin, kPauseMax);
  constexpr int kSteps = 1024;
  const double share = 0.5 + 0.5 * static_cast<double>(random_.Next() % kSteps) / kSteps;
  // The last try is at the end.
  Pause next{std::min(pause_ * share, left), std::nullopt};
  if (again && !told_) {
    told_ = true;
    next.news = left;
  }
  return next;
}

bool MasterAbsence::OnAnswer() {
  reached_ = true;
  since_.reset();
  const bool told = told_;
  told_ = false;
  return told;
}

}  // namespace weir::client
