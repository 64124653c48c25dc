#include "runtime/master/share/port_share.h"

#include <algorithm>
#include <utility>

#include "planner/plan/cut_lanes.h"
#include "planner/plan/units.h"

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::TransferIndex;

PortShare::PortShare(PortArbiter& arbiter, const planner::Plan& plan,
                     const planner::Prediction& prediction, std::vector<WorkerId> workers,
                     std::vector<std::string> domains, std::function<MonoTime()> now)
    : arbiter_(arbiter),
      plan_(plan),
      prediction_(prediction),
      workers_(std::move(workers)),
      domains_(std::move(domains)),
      now_(std::move(now)) {}

PortShare::~PortShare() {
  if (job_) arbiter_.Leave(*job_, now_());
}

void PortShare::Begin(double weight, MonoTime began, std::function<void()> wake) {
  began_ = began;
  std::vector<SharedCut> cuts;
  for (const planner::Cut& cut : plan_.network.cuts) {
    SharedCut shared;
    shared.channels = cut.channels;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (cut.from[w]) shared.from.push_back(workers_[w]);
      if (cut.to[w]) shared.to.push_back(workers_[w]);
    }
    std::sort(shared.from.begin(), shared.from.end());
    std::sort(shared.to.begin(), shared.to.end());
    cuts.push_back(std::move(shared));
  }
  const planner::CutLanes lanes(plan_.network);
  std::vector<PortUse> uses;
  for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
    const planner::Transfer& transfer = plan_.transfers[t];
    const planner::Interval& predicted = prediction_.transfers[t];
    PortUse use;
    use.sender = workers_[At(transfer.sender)];
    use.receiver = workers_[At(transfer.receiver)];
    use.channels = lanes.ChannelsTaken(transfer.sender, transfer.receiver);
    if (!InPlace(static_cast<TransferIndex>(t)))
      use.seconds = predicted.finish_s - predicted.start_s;
    uses.push_back(use);
  }
  job_ = arbiter_.Join(weight, std::move(cuts), std::move(uses), now_(), std::move(wake));
}

void PortShare::Stop() {
  if (job_) arbiter_.Withdraw(*job_);
}

bool PortShare::InPlace(TransferIndex transfer) const {
  const planner::Transfer& t = plan_.transfers[At(transfer)];
  const std::string& domain = domains_[At(t.sender)];
  return !domain.empty() && domain == domains_[At(t.receiver)];
}

void PortShare::BeginTurn(Seconds now_s) {
  turn_s_ = now_s;
  arbiter_.BeginTurn(*job_, began_ + absl::Seconds(now_s));
}

void PortShare::EndTurn() {
  arbiter_.EndTurn(*job_);
  next_look_s_.reset();
  if (const std::optional<MonoTime> look = arbiter_.next_look(*job_)) {
    next_look_s_ = absl::ToDoubleSeconds(*look - began_);
  }
}

bool PortShare::MayMove(TransferIndex transfer) {
  return InPlace(transfer) || arbiter_.MayMove(*job_, transfer);
}

void PortShare::Moves(TransferIndex transfer, Seconds seconds) {
  if (InPlace(transfer)) return;
  arbiter_.Moves(*job_, transfer, began_ + absl::Seconds(turn_s_ + seconds));
}

void PortShare::Passed(TransferIndex transfer) {
  if (job_) arbiter_.Passed(*job_, transfer);
}

}  // namespace weir::master
