#include "tests/sim/order_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/sim/world.h"

namespace weir::sim {

void OrderWatch::CheckRefusal(const char* name, const absl::Status& status) {
  // Late and repeated orders are refused as stale, and everything by a worker that is not
  // registered. The rest are two steps at once, a probe during a job, an order for a job that is
  // not prepared, a field that cannot be. What comes when all is over may be refused with any of
  // them.
  if (world_.network().delivers_late()) return;
  if (absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
      absl::IsResourceExhausted(status)) {
    world_.Wrong(absl::StrCat(worker_, " had to refuse ", name, ": ", status.ToString()));
  }
}

void OrderWatch::OnAnswer(const char* name, const Grant& grant, const absl::Status& status) {
  CheckRefusal(name, status);
  if (!status.ok() || grant.concurrent) return;
  if (!granted_[grant.plan].emplace(grant.transfer, grant.attempt).second) return;
  int& newest_edit = newest_edit_.try_emplace(grant.plan, grant.plan_edit).first->second;
  // One that was dropped since, and was long on its way: its worker lets it wait for the line.
  if (grant.plan_edit < newest_edit && world_.network().delivers_late()) return;
  newest_edit = std::max(newest_edit, grant.plan_edit);
  std::map<int, int>& under_way = under_way_[grant.plan];
  // What an edit has dropped is never reported on.
  std::erase_if(under_way, [&grant](const auto& other) { return other.second < grant.plan_edit; });
  // A worker lets the second one wait; the master must not rely on it.
  if (!under_way.empty()) world_.Wrong(absl::StrCat("two grants at once for ", worker_));
  under_way[grant.transfer] = grant.plan_edit;
}

void OrderWatch::OnEnd(const Cancel& cancel, const absl::Status& status) {
  if (!status.ok()) return;
  ++world_.trace().cancelled_transfers;
  world_.Note(absl::StrCat(worker_, " cancelled transfer ", cancel.transfer));
  // Its grant does nothing if it comes yet.
  granted_[cancel.plan].emplace(cancel.transfer, cancel.attempt);
  under_way_[cancel.plan].erase(cancel.transfer);
}

void OrderWatch::OnReport(const v1::ReportTransferRequest& request) {
  const auto plan = under_way_.find(PlanOf(request.fence()));
  if (plan != under_way_.end()) plan->second.erase(request.report().transfer());
}

}  // namespace weir::sim
