#include "runtime/client/commands/plan_answer.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/base/limits.h"
#include "runtime/rpc/plan_pieces.h"

namespace weir::client {
namespace {

// One stream of pieces. All of it on the session's loop, which the calling thread drives.
template <typename Method>
class Asked {
 public:
  Asked(Session& session, absl::Duration wait) : session_(session), wait_(wait) {}

  void Open(const typename Method::Request& request) {
    Wait();
    subscription_ = session_.jobs().Subscribe<Method>(
        request,
        [this](const v1::PlanPiece& piece) {
          pieces_.Add(piece);
          Wait();
        },
        [this](absl::Status status) { end_ = std::move(status); });
  }

  bool ended() const { return end_.has_value(); }

  // Nothing of it comes any more.
  void Close() {
    closed_ = true;
    subscription_.reset();
    if (timer_) session_.loop().CancelTimer(*timer_);
    timer_.reset();
  }
  bool closed() const { return closed_; }

  absl::StatusOr<v1::GetPlanResponse> Answer() const {
    if (!end_) return absl::CancelledError("interrupted");
    if (!end_->ok()) return *end_;
    return pieces_.Whole();
  }

 private:
  void Wait() {
    env::EventLoop& loop = session_.loop();
    if (timer_) loop.CancelTimer(*timer_);
    timer_ = loop.RunAt(loop.Now() + wait_, [this] {
      timer_.reset();
      end_ = absl::DeadlineExceededError(absl::StrCat(
          Method::kName, ": nothing of the plan came within ", absl::FormatDuration(wait_)));
    });
  }

  Session& session_;
  const absl::Duration wait_;
  rpc::PlanPieces pieces_;
  std::unique_ptr<rpc::Subscription> subscription_;
  std::optional<env::EventLoop::TimerId> timer_;
  std::optional<absl::Status> end_;
  bool closed_ = false;
};

template <typename Method>
absl::StatusOr<v1::GetPlanResponse> AskInPieces(Session& session,
                                                const typename Method::Request& request,
                                                absl::Duration wait, const bool& left) {
  // Shared: an interrupt does not wait until it is opened.
  auto asked = std::make_shared<Asked<Method>>(session, wait);
  session.loop().Post([asked, request] {
    if (!asked->closed()) asked->Open(request);
  });
  session.RunUntil([&] { return left || asked->ended(); });
  asked->Close();
  return asked->Answer();
}

}  // namespace

absl::StatusOr<v1::GetPlanResponse> AskForPlan(Session& session, const v1::GetPlanRequest& request,
                                               absl::Duration wait) {
  auto plan = AskInPieces<rpc::GetPlanPieces>(session, request, wait, /*left=*/false);
  if (absl::IsUnimplemented(plan.status())) return Ask<rpc::GetPlan>(session, request);
  return plan;
}

absl::StatusOr<v1::GetPlanResponse> AskForDryRun(Session& session,
                                                 const v1::DryRunRequest& request) {
  bool left = false;
  session.OnInterrupt([&left] { left = true; });
  auto plan = AskInPieces<rpc::DryRunPieces>(session, request, limits::kPlanPieceWait, left);
  session.OnInterrupt({});
  if (absl::IsUnimplemented(plan.status())) {
    return AskUnlessInterrupted<rpc::DryRun>(session, request);
  }
  return plan;
}

}  // namespace weir::client
