#include "runtime/client/follow_job.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runtime/client/absence/master_absence.h"
#include "runtime/client/ask_again.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/progress.h"
#include "runtime/client/status_json.h"
#include "runtime/env/callback_scope.h"

namespace weir::client {
namespace {

constexpr absl::Duration kCancelPatience = absl::Seconds(10);

// Everything runs on the session's loop, which the calling thread drives.
class Follower {
 public:
  Follower(Session& session, const std::string& job_id, const FollowOptions& options,
           CommandHost& host)
      : session_(session),
        job_id_(job_id),
        options_(options),
        host_(host),
        printer_(host.err, host.terminal),
        absence_(options.grace, options.reached, kMasterPatience, host.random) {}

  FollowedJob Follow() {
    session_.OnInterrupt([this] { OnInterrupt(); });
    session_.loop().Post([this] { Open(); });
    session_.RunUntil([this] { return done_; });
    session_.OnInterrupt([] {});
    subscription_.reset();
    for (const auto timer : {retry_timer_, patience_timer_}) {
      if (timer) session_.loop().CancelTimer(*timer);
    }
    printer_.Clear();
    return std::move(followed_);
  }

 private:
  void Open() {
    v1::WatchRequest request;
    request.set_job_id(job_id_);
    subscription_ = session_.jobs().Subscribe<rpc::Watch>(
        std::move(request), [this](v1::JobStatus status) { OnStatus(std::move(status)); },
        [this](absl::Status status) { OnEnd(std::move(status)); });
  }

  void OnStatus(v1::JobStatus status) {
    if (absence_.OnAnswer() && !options_.progress_json) SayBack(session_, host_);
    if (std::exchange(cancel_lost_, false)) Cancel();
    KeepInputs(status);
    if (options_.progress_json) {
      host_.err << JsonLine(JobToJson(status)) << std::flush;
    } else {
      ShowPlan(status);
      ShowLosses(status);
      if (options_.show_progress) printer_.Show(status);
    }
    if (options_.on_status) options_.on_status(status);
    last_ = std::move(status);
  }

  // A stream tells them first and last only; every job has some.
  void KeepInputs(v1::JobStatus& status) {
    if (!options_.progress_json) return;
    if (!status.spec().inputs().empty()) {
      inputs_ = status.spec().inputs();
    } else if (!inputs_.empty()) {
      *status.mutable_spec()->mutable_inputs() = inputs_;
    }
  }

  void ShowPlan(const v1::JobStatus& status) {
    if (!options_.show_plan || plan_shown_ || status.plan_text().empty()) return;
    plan_shown_ = true;
    printer_.Clear();
    const std::string text = options_.whole_plan ? status.plan_text() : PlanLine(status);
    host_.err << text;
    if (!text.ends_with('\n')) host_.err << '\n';
  }

  // Each once another plan is made: whoever ends for want of workers names them.
  void ShowLosses(const v1::JobStatus& status) {
    if (!options_.show_progress) return;
    for (int l = FirstLossAfter(last_loss_shown_, status); l < status.losses_size(); ++l) {
      const v1::WorkerLoss& loss = status.losses(l);
      if (loss.plan_epoch() == 0) return;
      printer_.Clear();
      host_.err << DescribeLoss(loss) << '\n';
      last_loss_shown_ = loss;
    }
  }

  void OnEnd(absl::Status status) {
    if (last_ && IsTerminal(last_->state())) return Finish(*std::move(last_));
    if (status.ok()) status = absl::UnavailableError("the master ended the stream early");
    const MonoTime now = session_.loop().Now();
    const std::optional<MasterAbsence::Pause> pause = absence_.OnFailure(status, now);
    if (!pause) return Finish(std::move(status));
    if (pause->news && !options_.progress_json) {
      printer_.Clear();
      SayAway(session_, *pause->news, host_);
    }
    retry_timer_ = session_.loop().RunAt(now + pause->length, [this] {
      retry_timer_.reset();
      Open();
    });
  }

  void OnInterrupt() {
    if (absence_.away()) {
      followed_.interrupted = true;
      printer_.Clear();
      host_.err
          << "weir: the job goes on when its master is back; follow it again with: weir watch "
          << job_id_ << " --master " << session_.master_name() << '\n';
      return Finish(absl::CancelledError("left while the master was away"));
    }
    if (followed_.interrupted || !options_.cancel_on_interrupt) {
      followed_.interrupted = true;
      return Finish(absl::CancelledError("left before the job had ended"));
    }
    followed_.interrupted = true;
    printer_.Clear();
    host_.err << "weir: cancelling " << job_id_ << "; Ctrl-C again leaves at once\n" << std::flush;
    Cancel();
    patience_timer_ = session_.loop().RunAt(session_.loop().Now() + kCancelPatience, [this] {
      patience_timer_.reset();
      Finish(absl::CancelledError(
          "the job was asked to end but has not within 10 s; see what becomes of it: weir status"));
    });
  }

  void Cancel() {
    v1::CancelRequest request;
    request.set_job_id(job_id_);
    request.set_reason("interrupted by the user");
    session_.jobs().Send<rpc::Cancel>(
        std::move(request),
        callbacks_.Guard([this](const absl::StatusOr<v1::CancelResponse>& response) {
          if (done_ || response.ok()) return;
          // Told again once the master is heard of.
          if (MasterAbsence::IsAway(response.status())) {
            cancel_lost_ = true;
          } else if (absl::IsFailedPrecondition(response.status())) {
            StayForTheEnd();
          }
        }));
  }

  // What is about to be there cannot be taken back.
  void StayForTheEnd() {
    printer_.Clear();
    host_.err
        << "weir: " << job_id_
        << " writes its result already, which goes on to its end; Ctrl-C again leaves at once\n"
        << std::flush;
    if (patience_timer_) session_.loop().CancelTimer(*patience_timer_);
    patience_timer_.reset();
  }

  void Finish(absl::StatusOr<v1::JobStatus> status) {
    if (done_) return;
    done_ = true;
    followed_.status = std::move(status);
  }

  Session& session_;
  const std::string job_id_;
  const FollowOptions options_;
  CommandHost& host_;
  ProgressPrinter printer_;
  MasterAbsence absence_;
  std::unique_ptr<rpc::Subscription> subscription_;
  std::optional<v1::JobStatus> last_;
  google::protobuf::RepeatedPtrField<std::string> inputs_;  // as they were told last
  std::optional<env::EventLoop::TimerId> retry_timer_;
  std::optional<env::EventLoop::TimerId> patience_timer_;
  bool plan_shown_ = false;
  std::optional<v1::WorkerLoss> last_loss_shown_;
  bool cancel_lost_ = false;
  bool done_ = false;
  FollowedJob followed_;
  env::CallbackScope callbacks_;
};

}  // namespace

FollowedJob FollowJob(Session& session, const std::string& job_id, const FollowOptions& options,
                      CommandHost& host) {
  // Callbacks of the last turn may still name it, so it stays until the loop is no longer driven.
  Follower follower(session, job_id, options, host);
  return follower.Follow();
}

}  // namespace weir::client
