#pragma once

// What the master may not rely on a worker to put right: the daemon refuses or delays such orders,
// and the job would go on as if nothing were wrong. Upstream: SimWorker (calls and their answers).
// Downstream: World::Wrong.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "weir/v1/services.pb.h"

namespace weir::sim {

class World;

/// Sees the orders to one worker, as they are answered, and what it reports.
class OrderWatch {
 public:
  OrderWatch(World& world, std::string worker) : world_(world), worker_(std::move(worker)) {}

  // Job, master epoch and plan epoch.
  using Plan = std::tuple<std::string, std::int64_t, std::int64_t>;
  /// What is kept of an order until it is answered.
  struct Grant {
    Plan plan;
    int transfer = 0;
    int attempt = 0;
    int plan_edit = 0;
    bool concurrent = false;
  };
  struct Cancel {
    Plan plan;
    int transfer = 0;
    int attempt = 0;
  };
  struct OtherOrder {};
  static Grant Gist(const v1::GrantTransferRequest& request) {
    return {PlanOf(request.fence()), request.order().transfer(), request.fence().attempt(),
            request.fence().plan_edit(), request.order().concurrent()};
  }
  static Cancel Gist(const v1::CancelTransferRequest& request) {
    return {PlanOf(request.fence()), request.transfer(), request.fence().attempt()};
  }
  template <typename Request>
  static OtherOrder Gist(const Request&) {
    return {};
  }

  /// An order was answered within the call that brought it, which is how all but lengthy ones are.
  template <typename Order>
  void OnAnswer(const char* name, const Order&, const absl::Status& status) {
    CheckRefusal(name, status);
  }
  void OnAnswer(const char* name, const Grant& grant, const absl::Status& status);
  /// An order was answered, at once or later.
  template <typename Order>
  void OnEnd(const Order&, const absl::Status&) {}
  void OnEnd(const Cancel& cancel, const absl::Status& status);
  template <typename Request>
  void OnReport(const Request&) {}
  void OnReport(const v1::ReportTransferRequest& request);

 private:
  void CheckRefusal(const char* name, const absl::Status& status);

  static Plan PlanOf(const v1::Fence& fence) {
    return {fence.job_id(), fence.master_epoch(), fence.plan_epoch()};
  }
  World& world_;
  const std::string worker_;
  std::map<Plan, std::set<std::pair<int, int>>> granted_;  // transfer and attempt
  std::map<Plan, int> newest_edit_;
  // Ordered, and not yet reported as nearly done: transfer, and the edit of the plan.
  std::map<Plan, std::map<int, int>> under_way_;
};

}  // namespace weir::sim
