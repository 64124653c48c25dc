#pragma once

// A user's program that asks the master over the simulated network, as the command line does: again
// and again until it is answered. Upstream: tests. Downstream: Network.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/rpc/plan_pieces.h"
#include "tests/sim/world.h"

namespace weir::sim {

class SimUser {
 public:
  SimUser(World& world, std::string host)
      : world_(world),
        loop_(std::make_shared<ProcessLoop>(world.time())),
        jobs_(world.network().ConnectUser({loop_, std::move(host)})) {}
  ~SimUser() { loop_->Kill(); }
  SimUser(const SimUser&) = delete;
  SimUser& operator=(const SimUser&) = delete;

  /// Asks until somebody answers. An answer that is an error breaks a promise of the world, unless
  /// `on_refused` takes it.
  template <typename Method>
  void Ask(typename Method::Request request,
           std::function<void(const typename Method::Response&)> on_answer,
           std::function<void(const absl::Status&)> on_refused = nullptr) {
    jobs_->Send<Method>(
        request, std::min(Method::kTimeout, kPatience),
        [this, request, on_answer, on_refused](const auto& response) mutable {
          if (response.ok()) return on_answer(*response);
          const absl::Status& status = response.status();
          if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
            loop_->RunAt(loop_->Now() + kPause, [this, request = std::move(request), on_answer,
                                                 on_refused]() mutable {
              Ask<Method>(std::move(request), std::move(on_answer), std::move(on_refused));
            });
          } else if (on_refused) {
            on_refused(status);
          } else {
            world_.Wrong(absl::StrCat(Method::kName, " of a user: ", status.ToString()));
          }
        });
  }

  /// Asks for a plan in pieces until all of them have come, over as many streams as it takes.
  template <typename Method>
  void AskInPieces(typename Method::Request request,
                   std::function<void(const v1::GetPlanResponse&)> on_plan) {
    auto pieces = std::make_shared<rpc::PlanPieces>();
    plan_stream_ = jobs_->Subscribe<Method>(
        request, [pieces](const v1::PlanPiece& piece) { pieces->Add(piece); },
        [this, pieces, request, on_plan](const absl::Status& end) {
          if (absl::IsUnavailable(end)) {
            loop_->RunAt(loop_->Now() + kPause,
                         [this, request, on_plan] { AskInPieces<Method>(request, on_plan); });
            return;
          }
          const absl::StatusOr<v1::GetPlanResponse> plan = end.ok() ? pieces->Whole() : end;
          if (plan.ok()) return on_plan(*plan);
          world_.Wrong(absl::StrCat(Method::kName, " of a user: ", plan.status().ToString()));
        });
  }

  /// Watches a job to its end, over as many streams as it takes; then `on_end` once.
  void Watch(const std::string& job_id, std::function<void(const v1::JobStatus&)> on_end);

  const std::shared_ptr<ProcessLoop>& loop() const { return loop_; }

 private:
  static constexpr absl::Duration kPause = absl::Milliseconds(300);
  // A call that waits for others for longer than this is asked again: often enough for one answer
  // of many to come while the master remembers a group (limits::kGroupRemembered).
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  World& world_;
  const std::shared_ptr<ProcessLoop> loop_;
  const std::unique_ptr<rpc::JobApi> jobs_;
  std::unique_ptr<rpc::Subscription> watch_;
  std::unique_ptr<rpc::Subscription> plan_stream_;
  v1::JobStatus watched_;
};

}  // namespace weir::sim
