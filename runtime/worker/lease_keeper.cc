#include "runtime/worker/lease_keeper.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/rpc/methods.h"
#include "runtime/worker/retry_pause.h"

namespace weir::worker {

std::vector<LeaseAction> LeaseKeeper::Advance(MonoTime now) {
  std::vector<LeaseAction> actions;
  if (registration_ && now >= lease_end_) Lose(now);
  if (drop_jobs_) {
    drop_jobs_ = false;
    actions.push_back(LeaseAction::kDropJobs);
  }
  if (registration_) {
    if (!heartbeat_sent_ && now >= next_heartbeat_) {
      heartbeat_sent_ = true;
      sent_ = now;
      actions.push_back(LeaseAction::kHeartbeat);
    }
  } else if (!register_sent_ && !heartbeat_sent_ && now >= next_register_ && !given_up_) {
    if (!away_since_) away_since_ = now;
    // Not before a last try: the process may have been stopped all that time.
    if (now - *away_since_ >= master_grace_ && tried_) {
      given_up_ = true;
      actions.push_back(LeaseAction::kGiveUp);
      return actions;
    }
    register_sent_ = true;
    sent_ = now;
    actions.push_back(LeaseAction::kRegister);
  }
  return actions;
}

std::optional<MonoTime> LeaseKeeper::NextWake() const {
  if (registration_) return heartbeat_sent_ ? lease_end_ : std::min(lease_end_, next_heartbeat_);
  if (register_sent_ || heartbeat_sent_ || given_up_) return std::nullopt;
  return next_register_;
}

absl::Status LeaseKeeper::OnRegisterAnswer(const absl::StatusOr<v1::RegisterResponse>& answer,
                                           MonoTime now) {
  register_sent_ = false;
  absl::Status status = answer.status();
  tried_ = true;
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) away_since_.reset();
  if (status.ok() && (answer->worker_epoch() <= 0 || answer->heartbeat_ms() <= 0 ||
                      answer->lease_ms() <= answer->heartbeat_ms())) {
    status = absl::InvalidArgumentError(absl::StrCat(
        "master's answer to the registration makes no sense: worker epoch ", answer->worker_epoch(),
        ", heartbeat ", answer->heartbeat_ms(), " ms, lease ", answer->lease_ms(), " ms"));
  }
  if (!status.ok()) {
    RetryLater(now);
    return status;
  }
  registration_ = Registration{answer->worker_id(), answer->worker_epoch(), answer->master_epoch(),
                               absl::Milliseconds(answer->lease_ms()),
                               absl::Milliseconds(answer->heartbeat_ms())};
  pause_ = absl::ZeroDuration();
  lease_end_ = sent_ + registration_->lease;
  next_heartbeat_ = now + registration_->heartbeat;
  return absl::OkStatus();
}

void LeaseKeeper::OnHeartbeatAnswer(const absl::Status& answer, MonoTime now) {
  heartbeat_sent_ = false;
  // The lease may have ended while the call was on its way; what it says is then about a
  // registration that is gone.
  if (!registration_) return;
  if (now >= lease_end_ || absl::IsNotFound(answer) || absl::IsAborted(answer)) {
    Lose(now);
    return;
  }
  if (answer.ok()) lease_end_ = sent_ + registration_->lease;
  // One that was lost on its way is followed by the next at once.
  next_heartbeat_ = std::max(now, sent_ + registration_->heartbeat);
}

absl::Duration LeaseKeeper::HeartbeatTimeout() const {
  if (!registration_) return rpc::Heartbeat::kTimeout;
  return std::max(registration_->heartbeat, registration_->lease / 6);
}

void LeaseKeeper::RetryLater(MonoTime now) {
  pause_ = NextRetryPause(pause_);
  next_register_ = now + Jittered(pause_, random_);
}

void LeaseKeeper::Lose(MonoTime now) {
  registration_.reset();
  away_since_.reset();
  tried_ = false;
  drop_jobs_ = true;
  // At once: the master may merely have been restarted.
  next_register_ = now;
}

}  // namespace weir::worker
