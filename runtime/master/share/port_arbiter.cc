#include "runtime/master/share/port_arbiter.h"

#include <algorithm>
#include <utility>

#include "runtime/master/share/coflow_order.h"

namespace weir::master {
namespace {

// Sums of parts of channels are off by rounding.
constexpr double kExact = 1e-6;

std::int64_t SendPort(WorkerId worker) { return 3 * std::int64_t{worker}; }
std::int64_t ReceivePort(WorkerId worker) { return 3 * std::int64_t{worker} + 1; }
std::int64_t CutNumber(std::int32_t cut) { return 3 * std::int64_t{cut} + 2; }

double AgeOf(MonoTime joined, MonoTime now) {
  return absl::FDivDuration(now - joined, PortArbiter::kAgeing);
}

}  // namespace

bool PortArbiter::Crosses(const SharedCut& cut, const PortUse& use) {
  return std::binary_search(cut.from.begin(), cut.from.end(), use.sender) &&
         std::binary_search(cut.to.begin(), cut.to.end(), use.receiver);
}

PortArbiter::JobId PortArbiter::Join(double weight, std::vector<SharedCut> cuts,
                                     std::vector<PortUse> uses, MonoTime now,
                                     std::function<void()> wake) {
  const JobId id = ++last_id_;
  Job& job = jobs_[id];
  job.weight = weight;
  job.joined = now;
  job.passed.assign(uses.size(), false);
  job.uses = std::move(uses);
  job.wake = std::move(wake);
  for (SharedCut& cut : cuts) {
    auto same = std::find_if(cuts_.begin(), cuts_.end(), [&](const CutUse& known) {
      return known.num_jobs > 0 && known.cut == cut;
    });
    if (same == cuts_.end()) {
      same = std::find_if(cuts_.begin(), cuts_.end(),
                          [](const CutUse& known) { return known.num_jobs == 0; });
    }
    if (same == cuts_.end()) same = cuts_.insert(same, CutUse());
    same->cut = std::move(cut);
    ++same->num_jobs;
    job.cuts.push_back(static_cast<std::int32_t>(same - cuts_.begin()));
  }
  Reorder(now);
  return id;
}

void PortArbiter::Leave(JobId job, MonoTime now) {
  const auto node = jobs_.extract(job);
  if (node.empty()) return;
  for (const std::int32_t cut : node.mapped().cuts) {
    --cuts_[static_cast<std::size_t>(cut)].num_jobs;
  }
  Reorder(now);
}

void PortArbiter::Reorder(MonoTime now) {
  now_ = std::max(now_, now);
  std::vector<JobId> ids;
  std::vector<CoflowDemand> demands;
  for (const auto& [id, job] : jobs_) {
    CoflowDemand demand;
    demand.weight = job.weight * (1 + AgeOf(job.joined, now_));
    for (std::size_t m = 0; m < job.uses.size(); ++m) {
      const PortUse& use = job.uses[m];
      if (job.passed[m] || use.seconds <= 0) continue;
      demand.seconds[SendPort(use.sender)] += use.seconds;
      demand.seconds[ReceivePort(use.receiver)] += use.seconds;
      for (const std::int32_t c : job.cuts) {
        const SharedCut& cut = cuts_[static_cast<std::size_t>(c)].cut;
        if (Crosses(cut, use))
          demand.seconds[CutNumber(c)] += use.seconds * use.channels / cut.channels;
      }
    }
    ids.push_back(id);
    demands.push_back(std::move(demand));
  }
  order_.clear();
  for (const std::size_t at : OrderCoflows(demands)) {
    jobs_.at(ids[at]).rank = order_.size();
    order_.push_back(ids[at]);
  }
  WakeRefused(/*but=*/0, /*from_rank=*/0);
}

void PortArbiter::WakeRefused(JobId but, std::size_t from_rank) {
  // Copied: what is called may not, but its owner might be told.
  const std::vector<JobId> order = order_;
  for (std::size_t rank = from_rank; rank < order.size(); ++rank) {
    const auto job = jobs_.find(order[rank]);
    if (order[rank] != but && job != jobs_.end() && !job->second.wants.empty()) job->second.wake();
  }
}

void PortArbiter::BeginTurn(JobId id, MonoTime now) {
  now_ = std::max(now_, now);
  Job& job = jobs_.at(id);
  job.wanted_before = std::exchange(job.wants, {});
  job.next_look.reset();
}

void PortArbiter::EndTurn(JobId id) {
  Job& job = jobs_.at(id);
  const auto before = std::exchange(job.wanted_before, {});
  const bool less = std::any_of(before.begin(), before.end(), [&](const auto& want) {
    const auto now = job.wants.find(want.first);
    return now == job.wants.end() || now->second != want.second;
  });
  // What it waits for no more is no longer kept for it.
  if (less) WakeRefused(id, job.rank + 1);
}

void PortArbiter::Withdraw(JobId id) {
  Job& job = jobs_.at(id);
  job.next_look.reset();
  if (!std::exchange(job.wants, {}).empty()) WakeRefused(id, job.rank + 1);
}

bool PortArbiter::MayMove(JobId id, MoveId move) {
  if (jobs_.size() == 1) return true;
  Job& job = jobs_.at(id);
  const PortUse& use = job.uses[static_cast<std::size_t>(move)];
  WaitsFor waits;
  std::optional<MonoTime> look;
  waits.send_port = !PortFree(job, use, /*sends=*/true, look);
  waits.receive_port = !PortFree(job, use, /*sends=*/false, look);
  waits.cuts = !waits.anything() && !CutsFree(job, use);
  if (!waits.anything()) return true;
  job.wants[move] = waits;
  if (look && (!job.next_look || *look < *job.next_look)) job.next_look = look;
  return false;
}

bool PortArbiter::shares_cuts() const {
  return jobs_.size() > 1 && std::any_of(cuts_.begin(), cuts_.end(),
                                         [](const CutUse& known) { return known.num_jobs > 0; });
}

bool PortArbiter::PortAwaited(const Job& job, const PortUse& use, bool sends) const {
  for (std::size_t rank = 0; rank < job.rank; ++rank) {
    const Job& before = jobs_.at(order_[rank]);
    for (const auto& [wanted, waits] : before.wants) {
      const PortUse& other = before.uses[static_cast<std::size_t>(wanted)];
      if (sends ? waits.send_port && other.sender == use.sender
                : waits.receive_port && other.receiver == use.receiver) {
        return true;
      }
    }
  }
  return false;
}

bool PortArbiter::PortFree(const Job& job, const PortUse& use, bool sends,
                           std::optional<MonoTime>& look) const {
  if (PortAwaited(job, use, sends)) return false;
  std::size_t others = 0;
  std::optional<MonoTime> shared_at;
  for (const auto& [id, other] : jobs_) {
    if (&other == &job) continue;
    bool there = false;
    for (const auto& [move, until] : other.moving) {
      const PortUse& moves = other.uses[static_cast<std::size_t>(move)];
      if (sends ? moves.sender != use.sender : moves.receiver != use.receiver) continue;
      there = true;
      const absl::Duration left = until > now_ ? until - now_ : now_ - until;
      if (left > absl::Seconds(use.seconds)) continue;
      const MonoTime at = until + absl::Seconds(use.seconds);
      shared_at = shared_at ? std::max(*shared_at, at) : at;
    }
    if (!there) continue;
    // Who stands before it has the port until it is done there.
    if (other.rank < job.rank || ++others >= kJobsAPort) return false;
  }
  if (!shared_at) return true;
  // A moment later: what is overdue by exactly so much is still expected to be done in time.
  const MonoTime at = *shared_at + absl::Microseconds(1);
  look = look ? std::max(*look, at) : at;
  return false;
}

double PortArbiter::ChannelsUsed(const SharedCut& cut, const PortUse* more) const {
  absl::btree_map<WorkerId, double> most;  // by sender
  const auto add = [&](const PortUse& use) {
    if (!Crosses(cut, use)) return;
    double& channels = most[use.sender];
    channels = std::max(channels, use.channels);
  };
  for (const auto& [id, job] : jobs_) {
    for (const auto& [move, until] : job.moving) add(job.uses[static_cast<std::size_t>(move)]);
  }
  if (more != nullptr) add(*more);
  double sum = 0;
  for (const auto& [sender, channels] : most) sum += channels;
  return sum;
}

bool PortArbiter::CutsFree(const Job& job, const PortUse& use) const {
  for (const CutUse& known : cuts_) {
    if (known.num_jobs == 0 || !Crosses(known.cut, use)) continue;
    double kept = 0;
    for (std::size_t rank = 0; rank < job.rank; ++rank) {
      const Job& before = jobs_.at(order_[rank]);
      for (const auto& [wanted, waits] : before.wants) {
        const PortUse& other = before.uses[static_cast<std::size_t>(wanted)];
        if (waits.cuts && Crosses(known.cut, other)) kept = std::max(kept, other.channels);
      }
    }
    const double used = ChannelsUsed(known.cut, &use);
    if (used + kept > known.cut.channels * (1 + kExact)) return false;
  }
  return true;
}

void PortArbiter::Moves(JobId id, MoveId move, MonoTime until) {
  Job& job = jobs_.at(id);
  job.wants.erase(move);
  job.passed[static_cast<std::size_t>(move)] = false;  // it may move once more
  job.moving[move] = until;
}

void PortArbiter::Passed(JobId id, MoveId move) {
  Job& job = jobs_.at(id);
  job.passed[static_cast<std::size_t>(move)] = true;
  if (job.moving.erase(move) > 0) WakeRefused(id, 0);
}

}  // namespace weir::master
