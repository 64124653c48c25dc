#include "runtime/master/share/port_arbiter.h"

#include <algorithm>
#include <iterator>
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
  job.wants.of.resize(uses.size());
  job.wanted_before.of.resize(uses.size());
  job.uses = std::move(uses);
  for (const PortUse& use : job.uses) job.ends.push_back(EndsOf(use));
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
    if (++same->num_jobs == 1) BeginCounting(*same);
    job.cuts.push_back(static_cast<std::int32_t>(same - cuts_.begin()));
  }
  Reorder(now);
  return id;
}

void PortArbiter::Leave(JobId id, MonoTime now) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  StopCounting(job->second);
  for (const std::int32_t cut : job->second.cuts) {
    CutUse& known = cuts_[static_cast<std::size_t>(cut)];
    if (--known.num_jobs > 0) continue;
    known.moving.clear();
    known.wanted.clear();
  }
  jobs_.erase(job);
  if (jobs_.empty()) {  // those who come next may use other workers
    places_.clear();
    ports_.clear();
  }
  Reorder(now);
}

PortArbiter::Ends PortArbiter::EndsOf(const PortUse& use) {
  const auto place_of = [this](WorkerId worker) {
    const auto [place, is_new] = places_.try_emplace(worker, ports_.size());
    if (is_new) ports_.resize(ports_.size() + 2);
    return place->second;
  };
  Ends ends;
  ends.send_port = place_of(use.sender);
  ends.receive_port = place_of(use.receiver) + 1;
  return ends;
}

PortArbiter::PortRow& PortArbiter::RowOf(const Job& job, Port& port) {
  const auto row = std::find_if(port.begin(), port.end(),
                                [&job](const PortRow& one) { return one.job == &job; });
  if (row != port.end()) return *row;
  PortRow& added = port.emplace_back();
  added.job = &job;
  return added;
}

void PortArbiter::CountMoveIn(CutUse& known, const PortUse& use, bool add) {
  if (!Crosses(known.cut, use)) return;
  absl::btree_multiset<double>& of_sender = known.moving[use.sender];
  if (add) {
    of_sender.insert(use.channels);
  } else if (const auto one = of_sender.find(use.channels); one != of_sender.end()) {
    of_sender.erase(one);
  }
  if (of_sender.empty()) known.moving.erase(use.sender);
}

void PortArbiter::CountWantIn(CutUse& known, const Job& job, const PortUse& use, bool add) {
  if (!Crosses(known.cut, use)) return;
  auto wants = std::find_if(known.wanted.begin(), known.wanted.end(),
                            [&job](const CutWants& one) { return one.job == &job; });
  if (wants == known.wanted.end()) {
    wants = known.wanted.insert(wants, CutWants());
    wants->job = &job;
  }
  if (add) {
    wants->channels.insert(use.channels);
  } else if (const auto one = wants->channels.find(use.channels); one != wants->channels.end()) {
    wants->channels.erase(one);
  }
}

void PortArbiter::CountMove(const Job& job, MoveId move, MonoTime until, bool add) {
  const Ends& ends = job.ends[static_cast<std::size_t>(move)];
  for (const std::size_t port : {ends.send_port, ends.receive_port}) {
    std::vector<MonoTime>& moves = RowOf(job, ports_[port]).moves_until;
    const auto place = std::lower_bound(moves.begin(), moves.end(), until);
    if (add) {
      moves.insert(place, until);
    } else if (place != moves.end() && *place == until) {
      moves.erase(place);
    }
  }
  for (CutUse& known : cuts_) {
    if (known.num_jobs > 0) CountMoveIn(known, job.uses[static_cast<std::size_t>(move)], add);
  }
}

void PortArbiter::CountWant(const Job& job, MoveId move, const WaitsFor& waits, bool add) {
  const Ends& ends = job.ends[static_cast<std::size_t>(move)];
  const std::int64_t more = add ? 1 : -1;
  if (waits.send_port) RowOf(job, ports_[ends.send_port]).num_wants += more;
  if (waits.receive_port) RowOf(job, ports_[ends.receive_port]).num_wants += more;
  if (!waits.cuts) return;
  for (CutUse& known : cuts_) {
    if (known.num_jobs > 0) CountWantIn(known, job, job.uses[static_cast<std::size_t>(move)], add);
  }
}

void PortArbiter::BeginCounting(CutUse& known) {
  for (const auto& [id, job] : jobs_) {
    for (const auto& [move, until] : job.moving) {
      CountMoveIn(known, job.uses[static_cast<std::size_t>(move)], /*add=*/true);
    }
    for (const MoveId move : job.wants.listed) {
      const auto at = static_cast<std::size_t>(move);
      if (job.wants.of[at].waits.cuts) CountWantIn(known, job, job.uses[at], /*add=*/true);
    }
  }
}

void PortArbiter::StopCounting(const Job& job) {
  for (CutUse& known : cuts_) {
    if (known.num_jobs == 0) continue;
    for (const auto& [move, until] : job.moving) {
      CountMoveIn(known, job.uses[static_cast<std::size_t>(move)], /*add=*/false);
    }
    std::erase_if(known.wanted, [&job](const CutWants& one) { return one.job == &job; });
  }
  for (Port& port : ports_) {
    std::erase_if(port, [&job](const PortRow& row) { return row.job == &job; });
  }
}

void PortArbiter::SetWant(Job& job, MoveId move, const WaitsFor& waits) {
  Wants::Want& want = job.wants.of[static_cast<std::size_t>(move)];
  if (want.waits == waits) return;
  CountWant(job, move, want.waits, /*add=*/false);
  CountWant(job, move, waits, /*add=*/true);
  if (want.waits.anything()) --job.wants.num;
  if (waits.anything()) ++job.wants.num;
  want.waits = waits;
  if (!std::exchange(want.listed, true)) job.wants.listed.push_back(move);
}

void PortArbiter::ClearWants(Job& job) {
  for (const MoveId move : job.wants.listed) {
    Wants::Want& want = job.wants.of[static_cast<std::size_t>(move)];
    CountWant(job, move, want.waits, /*add=*/false);
    want = {};
  }
  job.wants.listed.clear();
  job.wants.num = 0;
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
    if (order[rank] != but && job != jobs_.end() && job->second.wants.num > 0) {
      job->second.wake();
    }
  }
}

void PortArbiter::BeginTurn(JobId id, MonoTime now) {
  now_ = std::max(now_, now);
  Job& job = jobs_.at(id);
  for (const MoveId move : job.wanted_before.listed) {
    job.wanted_before.of[static_cast<std::size_t>(move)] = {};
  }
  job.wanted_before.listed.clear();
  for (const MoveId move : job.wants.listed) {
    job.wanted_before.of[static_cast<std::size_t>(move)] =
        job.wants.of[static_cast<std::size_t>(move)];
  }
  job.wanted_before.listed = job.wants.listed;
  ClearWants(job);
  job.next_look.reset();
}

void PortArbiter::EndTurn(JobId id) {
  Job& job = jobs_.at(id);
  bool less = false;
  for (const MoveId move : job.wanted_before.listed) {
    const auto at = static_cast<std::size_t>(move);
    const WaitsFor before = std::exchange(job.wanted_before.of[at], {}).waits;
    less = less || (before.anything() && job.wants.of[at].waits != before);
  }
  job.wanted_before.listed.clear();
  // What it waits for no more is no longer kept for it.
  if (less) WakeRefused(id, job.rank + 1);
}

void PortArbiter::Withdraw(JobId id) {
  Job& job = jobs_.at(id);
  job.next_look.reset();
  if (job.wants.num == 0) return;
  ClearWants(job);
  WakeRefused(id, job.rank + 1);
}

bool PortArbiter::MayMove(JobId id, MoveId move) {
  if (jobs_.size() == 1) return true;
  Job& job = jobs_.at(id);
  const PortUse& use = job.uses[static_cast<std::size_t>(move)];
  const Ends& ends = job.ends[static_cast<std::size_t>(move)];
  const absl::Duration seconds = absl::Seconds(use.seconds);
  WaitsFor waits;
  std::optional<MonoTime> look;
  waits.send_port = !PortFree(job, ports_[ends.send_port], seconds, look);
  waits.receive_port = !PortFree(job, ports_[ends.receive_port], seconds, look);
  waits.cuts = !waits.anything() && !CutsFree(job, use);
  if (!waits.anything()) return true;
  SetWant(job, move, waits);
  if (look && (!job.next_look || *look < *job.next_look)) job.next_look = look;
  return false;
}

bool PortArbiter::shares_cuts() const {
  return jobs_.size() > 1 && std::any_of(cuts_.begin(), cuts_.end(),
                                         [](const CutUse& known) { return known.num_jobs > 0; });
}

bool PortArbiter::PortFree(const Job& job, const Port& port, absl::Duration seconds,
                           std::optional<MonoTime>& look) const {
  std::size_t others = 0;
  std::optional<MonoTime> shared_at;
  for (const PortRow& row : port) {
    if (row.job == &job) continue;
    const bool stands_before = row.job->rank < job.rank;
    if (stands_before && row.num_wants > 0) return false;
    if (row.moves_until.empty()) continue;
    // Who stands before it has the port until it is done there.
    if (stands_before || ++others >= kJobsAPort) return false;
    // Of those that need no longer than it takes the last one; all before it are overdue by more
    // if that one is overdue by too much.
    const auto longer = std::partition_point(
        row.moves_until.begin(), row.moves_until.end(),
        [&](MonoTime until) { return until <= now_ || until - now_ <= seconds; });
    if (longer == row.moves_until.begin()) continue;
    const MonoTime until = *std::prev(longer);
    if (until <= now_ && now_ - until > seconds) continue;
    const MonoTime at = until + seconds;
    shared_at = shared_at ? std::max(*shared_at, at) : at;
  }
  if (!shared_at) return true;
  // A moment later: what is overdue by exactly so much is still expected to be done in time.
  const MonoTime at = *shared_at + absl::Microseconds(1);
  look = look ? std::max(*look, at) : at;
  return false;
}

double PortArbiter::ChannelsUsed(const CutUse& known, const PortUse& more) {
  double sum = 0;
  bool counted = false;
  for (const auto& [sender, channels] : known.moving) {
    double most = *channels.rbegin();
    if (!counted && more.sender <= sender) {
      counted = true;
      if (more.sender == sender) {
        most = std::max(most, more.channels);
      } else {
        sum += more.channels;
      }
    }
    sum += most;
  }
  return counted ? sum : sum + more.channels;
}

bool PortArbiter::CutsFree(const Job& job, const PortUse& use) const {
  return std::all_of(cuts_.begin(), cuts_.end(), [&](const CutUse& known) {
    if (known.num_jobs == 0 || !Crosses(known.cut, use)) return true;
    double kept = 0;
    for (const CutWants& before : known.wanted) {
      if (before.job->rank >= job.rank || before.channels.empty()) continue;
      kept = std::max(kept, *before.channels.rbegin());
    }
    return ChannelsUsed(known, use) + kept <= known.cut.channels * (1 + kExact);
  });
}

void PortArbiter::Moves(JobId id, MoveId move, MonoTime until) {
  Job& job = jobs_.at(id);
  SetWant(job, move, {});
  job.passed[static_cast<std::size_t>(move)] = false;  // it may move once more
  const auto [moves, is_new] = job.moving.try_emplace(move, until);
  if (!is_new) CountMove(job, move, std::exchange(moves->second, until), /*add=*/false);
  CountMove(job, move, until, /*add=*/true);
}

void PortArbiter::Passed(JobId id, MoveId move) {
  Job& job = jobs_.at(id);
  job.passed[static_cast<std::size_t>(move)] = true;
  const auto moves = job.moving.find(move);
  if (moves == job.moving.end()) return;
  CountMove(job, move, moves->second, /*add=*/false);
  job.moving.erase(moves);
  WakeRefused(id, 0);
}

}  // namespace weir::master
