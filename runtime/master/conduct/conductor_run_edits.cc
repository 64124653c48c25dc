// A run whose plan is edited while it goes on.

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"
#include "runtime/base/limits.h"
#include "runtime/master/conduct/conductor_run.h"
#include "runtime/master/workers/call_error.h"
#include "runtime/master/workers/call_retry.h"

namespace weir::master {

using planner::At;

void ConductorRun::WorkerLost(planner::WorkerIndex worker) {
  gone_[At(worker)] = true;
  back_[At(worker)] = false;
}

void ConductorRun::WorkerBack(planner::WorkerIndex worker) { back_[At(worker)] = true; }

planner::PlanState ConductorRun::BeginEdit() {
  Hold();
  return StateNow();
}

planner::PlanState ConductorRun::StateNow() const {
  planner::PlanState state =
      conductor().progress().StateAt(absl::ToDoubleSeconds(loop_.Now() - began_));
  state.gone = gone_before_edit_;
  return state;
}

std::optional<StragglerDecision> ConductorRun::FindStragglers() {
  // What may have been broken off stands still, which says nothing of its ports.
  if (held() || !cancelled_again_.empty()) return std::nullopt;
  const planner::Seconds now_s = absl::ToDoubleSeconds(loop_.Now() - began_);
  stragglers_->Observe(conductor().Look(step_bytes_done_, now_s, &now_->watched));
  return stragglers_->Decide();
}

planner::PlanChange ConductorRun::ChangeSinceEdit() const {
  planner::PlanChange change = faults_;
  for (std::size_t w = 0; w < gone_.size(); ++w) {
    const auto worker = static_cast<planner::WorkerIndex>(w);
    if (gone_[w] && !gone_before_edit_[w]) change.lost.push_back(worker);
    if (gone_before_edit_[w] && back_[w]) change.joined.push_back({worker, {}});
  }
  return change;
}

void ConductorRun::GoOn(const EditedJob& edited, const planner::PlanChange& change) {
  if (stopped_) return;
  for (std::vector<bool>* of_workers : {&gone_, &gone_before_edit_, &back_}) {
    of_workers->resize(workers_.size(), false);
  }
  grant_delay_.resize(workers_.size());
  auto next = std::make_unique<Conducted>(*this, edited.planned,
                                          TransferNumbers(edited.transfer_was, now_->numbers));
  JoinPorts(*next);
  next->conductor.emplace(edited.planned->plan, edited.planned->prediction, edited.state,
                          edited.transfer_was, DomainsOf(workers_), conductor(), &next->ports);
  stragglers_->TakeEdit(edited.planned->plan, edited.state, edited.transfer_was, change);
  // Its share of the ports goes with it: what moves has them by the other share already.
  now_ = std::move(next);
  for (const planner::StepIndex step : edited.redone) Forget(step);
  step_bytes_done_.resize(plan().steps.size(), 0);
  step_status_.resize(plan().steps.size());
  // What changed while the edit was made is for the next one.
  for (std::size_t w = 0; w < gone_.size(); ++w) {
    if (edited.state.gone[w] || !back_[w]) continue;
    gone_[w] = back_[w] = false;
  }
  for (std::size_t w = 0; w < gone_.size(); ++w) {
    gone_before_edit_[w] = gone_[w] && edited.state.gone[w];
  }
  faults_ = {};
  attempts_over_.clear();
  ++num_edits_;
  editing_ = false;
  CarryOut(conductor().Wake(loop_.Now()));
  MoveBrokenOff();
}

void ConductorRun::GoOnUnedited() {
  editing_ = false;
  if (stopped_) return;
  CarryOut(conductor().Wake(loop_.Now()));
  MoveBrokenOff();
}

namespace {

constexpr CallBudget kCancelBudget = CallBudget::Of<rpc::CancelTransfer>(limits::kCallTimeout);

/// Calls that are waited for together.
struct Cancelling {
  std::size_t awaited = 0;
  MonoTime since;  // when they were made
  absl::Status worst;
  absl::AnyInvocable<void(absl::Status)> done;
};

}  // namespace

void ConductorRun::EndDropped(const EditedJob& edited,
                              absl::AnyInvocable<void(absl::Status)> done) {
  std::vector<planner::TransferIndex> dropped = DroppedOnTheLine(edited);
  if (dropped.empty()) return done(absl::OkStatus());
  auto all = std::make_shared<Cancelling>(
      Cancelling{dropped.size(), loop_.Now(), absl::OkStatus(), std::move(done)});
  for (const planner::TransferIndex transfer : dropped) {
    const std::int32_t number = now_->numbers.Of(transfer);
    Cancel(transfer, [this, number, all](const absl::Status& ended) {
      // One that has arrived moves no more either, and is reported once the run is no more held.
      const bool arrived = absl::IsAlreadyExists(ended);
      if (!arrived) (ended.ok() ? broken_off_ : perhaps_broken_off_).insert(number);
      if (arrived || ended.ok()) {
        perhaps_broken_off_.erase(number);
        not_let_go_.erase(number);
      } else {
        NotLetGo& asked = not_let_go_.try_emplace(number, NotLetGo{all->since, {}}).first->second;
        asked.since = asked.since + StoodStillInCall(all->since, kCancelBudget, loop_.Now());
        asked.answer = ended;
        all->worst.Update(ended);
      }
      if (--all->awaited > 0) return;
      if (!all->worst.ok() && DoWithoutReceiver()) return;
      all->done(all->worst);
    });
  }
}

// A loss has the plan edited until an edit can be taken, and each edit asks again: one receiver
// that never answers would hold the job without end.
bool ConductorRun::DoWithoutReceiver() {
  for (const auto& [number, not_let_go] : not_let_go_) {
    if (loop_.Now() - not_let_go.since < limits::kPeerPatience) continue;
    const auto moving = PerhapsMoving(number);
    if (!moving) continue;
    // Whatever it says, it is the one without whom the job can go on.
    OrderFailed(plan().transfers[At(*moving)].receiver, builder().TransferName(*moving),
                planner::kNoIndex,
                absl::DeadlineExceededError(
                    absl::StrCat("it did not break it off: ", not_let_go.answer.message())));
    return true;
  }
  return false;
}

std::vector<planner::TransferIndex> ConductorRun::DroppedOnTheLine(const EditedJob& edited) const {
  std::vector<bool> kept(plan().transfers.size(), false);
  for (const planner::TransferIndex was : edited.transfer_was) {
    if (was != planner::kNoIndex) kept[At(was)] = true;
  }
  std::vector<planner::TransferIndex> dropped;
  for (std::size_t t = 0; t < kept.size(); ++t) {
    const auto transfer = static_cast<planner::TransferIndex>(t);
    const planner::Transfer& moved = plan().transfers[t];
    const bool ends_there = !gone_[At(moved.sender)] && !gone_[At(moved.receiver)];
    if (ends_there && !kept[t] && conductor().transfer_under_way(transfer)) {
      dropped.push_back(transfer);
    }
  }
  return dropped;
}

void ConductorRun::Cancel(planner::TransferIndex transfer,
                          absl::AnyInvocable<void(const absl::Status&)> done) {
  const RegisteredWorker& worker = WorkerOf(plan().transfers[At(transfer)].receiver);
  v1::CancelTransferRequest request;
  *request.mutable_fence() = FenceFor(worker, conductor().progress().transfer_attempt(transfer));
  request.set_transfer(now_->numbers.Of(transfer));
  CallWithRetry(
      loop_, random_, kCancelBudget,
      callbacks_.Guard(
          [api = worker.api, request = std::move(request)](
              absl::Duration timeout, absl::AnyInvocable<void(absl::Status)> answered) mutable {
            api->Send<rpc::CancelTransfer>(
                request, timeout, [answered = std::move(answered)](const auto& response) mutable {
                  answered(response.status());
                });
          }),
      callbacks_.Guard(std::move(done)));
}

// What was broken off, and is wanted all the same: the edit came to nothing, or another was made.
void ConductorRun::MoveBrokenOff() {
  for (const std::int32_t number : std::exchange(broken_off_, {})) MoveAnew(number);
  for (const std::int32_t number : std::exchange(perhaps_broken_off_, {})) {
    if (cancelled_again_.insert(number).second) CancelAgain(number, loop_.Now());
  }
}

void ConductorRun::MoveAnew(std::int32_t transfer_number) {
  const auto transfer = now_->numbers.IndexOf(transfer_number);
  ConductorOrders orders;
  if (!transfer || !conductor().TransferFailed(*transfer, loop_.Now(), orders).ok()) return;
  CarryOut(std::move(orders));
  Retry(transfer_number);
}

std::optional<planner::TransferIndex> ConductorRun::PerhapsMoving(
    std::int32_t transfer_number) const {
  const auto transfer = now_->numbers.IndexOf(transfer_number);
  if (!transfer || !conductor().transfer_under_way(*transfer) ||
      gone_[At(plan().transfers[At(*transfer)].receiver)]) {
    return std::nullopt;
  }
  return *transfer;
}

// Until it is known that nothing of it moves: it has its ports, and may never be reported on. A
// receiver that keeps its lease and does not answer for as long as an order may take is done
// without, as one that takes no orders: else the job would wait for it without end.
void ConductorRun::CancelAgain(std::int32_t transfer_number, MonoTime since) {
  if (stopped_) return;
  const auto transfer = PerhapsMoving(transfer_number);
  if (!transfer) {
    cancelled_again_.erase(transfer_number);
    return;
  }
  const auto again = [this, transfer_number](MonoTime from) {
    loop_.RunAt(loop_.Now() + limits::kPeerPause, callbacks_.Guard([this, transfer_number, from] {
      CancelAgain(transfer_number, from);
    }));
  };
  // What is edited now may drop it.
  if (editing_) return again(since);
  Cancel(*transfer,
         [this, transfer_number, since, asked = loop_.Now(), again](const absl::Status& ended) {
           const bool arrived = absl::IsAlreadyExists(ended);
           if (!ended.ok() && !arrived) {
             // One that says that it cannot break it off moves it on, and reports it.
             const MonoTime from = since + StoodStillInCall(asked, kCancelBudget, loop_.Now());
             if (!LeaseMayTell(ended) || loop_.Now() - from < limits::kPeerPatience)
               return again(from);
             cancelled_again_.erase(transfer_number);
             if (const auto moving = PerhapsMoving(transfer_number)) {
               OrderFailed(plan().transfers[At(*moving)].receiver, builder().TransferName(*moving),
                           planner::kNoIndex, ended);
             }
             return;
           }
           cancelled_again_.erase(transfer_number);
           if (arrived) return;
           if (!editing_) return MoveAnew(transfer_number);
           broken_off_.insert(transfer_number);
         });
}

void ConductorRun::Forget(planner::StepIndex step) {
  step_bytes_done_[At(step)] = 0;
  step_status_[At(step)].clear();
  skipped_.Forget(step);
  counters_.Forget(step);
}

}  // namespace weir::master
