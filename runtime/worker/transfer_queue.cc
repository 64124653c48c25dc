#include "runtime/worker/transfer_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::worker {

absl::Status TransferQueue::Add(v1::GrantTransferRequest grant) {
  if (waiting_.size() >= kWaitingMax) {
    return absl::ResourceExhaustedError(absl::StrCat("transfer ", grant.order().transfer(),
                                                     " refused: ", waiting_.size(),
                                                     " grants wait already"));
  }
  waiting_.push_back(std::move(grant));
  return absl::OkStatus();
}

std::vector<v1::GrantTransferRequest> TransferQueue::TakeReady() {
  std::vector<v1::GrantTransferRequest> ready;
  while (!waiting_.empty()) {
    const v1::TransferGrant& order = waiting_.front().order();
    const int plan_edit = waiting_.front().fence().plan_edit();
    if (!order.concurrent()) {
      if (!LineFreeFor(plan_edit)) break;
      running_[order.transfer()] = plan_edit;
    }
    ready.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return ready;
}

bool TransferQueue::LineFreeFor(int plan_edit) const {
  std::size_t in_the_way = 0;
  for (const auto& [transfer, edit] : running_) {
    const bool ends = nearly_done_.contains(transfer);
    if (!ends && edit >= plan_edit) return false;
    in_the_way += ends ? 1 : 0;
  }
  return in_the_way <= 1;
}

bool TransferQueue::Remove(int transfer, int attempt) {
  return std::erase_if(waiting_, [&](const v1::GrantTransferRequest& grant) {
           return grant.order().transfer() == transfer && grant.fence().attempt() == attempt;
         }) > 0;
}

void TransferQueue::OnDone(int transfer) {
  running_.erase(transfer);
  nearly_done_.erase(transfer);
}

}  // namespace weir::worker
