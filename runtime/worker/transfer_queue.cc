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
  while (!waiting_.empty() && (waiting_.front().order().concurrent() || LineFree())) {
    const v1::TransferGrant& order = waiting_.front().order();
    if (!order.concurrent()) running_.insert(order.transfer());
    ready.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return ready;
}

void TransferQueue::OnDone(int transfer) {
  running_.erase(transfer);
  nearly_done_.erase(transfer);
}

}  // namespace weir::worker
