// The rules of PortArbiter as its header states them, each question answered by looking at every
// transfer of every job: what the arbiter answers from its indexes is the same, move by move.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/share/port_arbiter.h"

namespace weir::master {
namespace {

using JobId = PortArbiter::JobId;
using MoveId = PortArbiter::MoveId;

/// Slow, and the oracle. Has the order of the jobs from the arbiter beside it.
class ScanningArbiter {
 public:
  void Join(JobId id, std::vector<SharedCut> cuts, std::vector<PortUse> uses) {
    Job& job = jobs_[id];
    job.cuts = std::move(cuts);
    job.uses = std::move(uses);
  }
  void Leave(JobId id) { jobs_.erase(id); }
  void Reorder(const std::vector<JobId>& order) {
    for (std::size_t rank = 0; rank < order.size(); ++rank) jobs_.at(order[rank]).rank = rank;
    WakeRefused(/*but=*/0, /*from_rank=*/0);
  }
  void BeginTurn(JobId id, MonoTime now) {
    now_ = now;
    Job& job = jobs_.at(id);
    job.wanted_before = std::exchange(job.wants, {});
    job.next_look.reset();
  }
  void EndTurn(JobId id) {
    Job& job = jobs_.at(id);
    const auto before = std::exchange(job.wanted_before, {});
    const bool less = std::any_of(before.begin(), before.end(), [&](const auto& want) {
      const auto now = job.wants.find(want.first);
      return now == job.wants.end() || now->second != want.second;
    });
    if (less) WakeRefused(id, job.rank + 1);
  }
  void Withdraw(JobId id) {
    Job& job = jobs_.at(id);
    job.next_look.reset();
    if (!std::exchange(job.wants, {}).empty()) WakeRefused(id, job.rank + 1);
  }
  bool MayMove(JobId id, MoveId move) {
    if (jobs_.size() == 1) return true;
    Job& job = jobs_.at(id);
    const PortUse& use = job.uses[static_cast<std::size_t>(move)];
    WaitsFor waits;
    std::optional<MonoTime> look;
    waits.send_port = !PortFree(job, use, /*sends=*/true, look);
    waits.receive_port = !PortFree(job, use, /*sends=*/false, look);
    waits.cuts = !waits.send_port && !waits.receive_port && !CutsFree(job, use);
    if (waits == WaitsFor()) return true;
    job.wants[move] = waits;
    if (look && (!job.next_look || *look < *job.next_look)) job.next_look = look;
    return false;
  }
  void Moves(JobId id, MoveId move, MonoTime until) {
    Job& job = jobs_.at(id);
    job.wants.erase(move);
    job.moving[move] = until;
  }
  void Passed(JobId id, MoveId move) {
    if (jobs_.at(id).moving.erase(move) > 0) WakeRefused(/*but=*/id, /*from_rank=*/0);
  }
  std::optional<MonoTime> next_look(JobId id) const { return jobs_.at(id).next_look; }
  int woken(JobId id) const { return jobs_.at(id).woken; }

 private:
  struct WaitsFor {
    bool send_port = false;
    bool receive_port = false;
    bool cuts = false;
    friend bool operator==(const WaitsFor&, const WaitsFor&) = default;
  };
  struct Job {
    std::vector<SharedCut> cuts;
    std::vector<PortUse> uses;
    std::size_t rank = 0;
    int woken = 0;
    std::map<MoveId, MonoTime> moving;  // until
    std::map<MoveId, WaitsFor> wants, wanted_before;
    std::optional<MonoTime> next_look;
  };

  void WakeRefused(JobId but, std::size_t from_rank) {
    for (auto& [id, job] : jobs_) {
      if (id != but && job.rank >= from_rank && !job.wants.empty()) ++job.woken;
    }
  }

  bool PortAwaited(const Job& job, const PortUse& use, bool sends) const {
    for (const auto& [id, before] : jobs_) {
      if (before.rank >= job.rank) continue;
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

  bool PortFree(const Job& job, const PortUse& use, bool sends,
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
      if (other.rank < job.rank || ++others >= PortArbiter::kJobsAPort) return false;
    }
    if (!shared_at) return true;
    const MonoTime at = *shared_at + absl::Microseconds(1);
    look = look ? std::max(*look, at) : at;
    return false;
  }

  static bool Crosses(const SharedCut& cut, const PortUse& use) {
    return std::find(cut.from.begin(), cut.from.end(), use.sender) != cut.from.end() &&
           std::find(cut.to.begin(), cut.to.end(), use.receiver) != cut.to.end();
  }

  bool CutFree(const SharedCut& cut, const Job& job, const PortUse& use) const {
    if (!Crosses(cut, use)) return true;
    std::map<WorkerId, double> most;  // by sender
    most[use.sender] = use.channels;
    double kept = 0;
    for (const auto& [id, other] : jobs_) {
      for (const auto& [move, until] : other.moving) {
        const PortUse& moves = other.uses[static_cast<std::size_t>(move)];
        if (!Crosses(cut, moves)) continue;
        double& channels = most[moves.sender];
        channels = std::max(channels, moves.channels);
      }
      if (other.rank >= job.rank) continue;
      for (const auto& [wanted, waits] : other.wants) {
        const PortUse& wants = other.uses[static_cast<std::size_t>(wanted)];
        if (waits.cuts && Crosses(cut, wants)) kept = std::max(kept, wants.channels);
      }
    }
    double used = 0;
    for (const auto& [sender, channels] : most) used += channels;
    return used + kept <= cut.channels * (1 + 1e-6);
  }

  bool CutsFree(const Job& job, const PortUse& use) const {
    return std::all_of(jobs_.begin(), jobs_.end(), [&](const auto& other) {
      return std::all_of(other.second.cuts.begin(), other.second.cuts.end(),
                         [&](const SharedCut& cut) { return CutFree(cut, job, use); });
    });
  }

  std::map<JobId, Job> jobs_;
  MonoTime now_;
};

/// Both, asked the same.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random_(seed), num_workers_(2 + Below(4)) {
    // Of a few cuts, so that jobs share them, and others take their places when they go.
    for (int i = 0; i < 3; ++i) {
      SharedCut cut;
      for (std::int64_t worker = 1; worker <= num_workers_; ++worker) {
        if (Below(2) == 0) cut.from.push_back(worker);
        if (Below(2) == 0) cut.to.push_back(worker);
      }
      cut.channels = 0.5 * static_cast<double>(1 + Below(4));
      cuts_.push_back(std::move(cut));
    }
  }

  void Step() {
    now_ = now_ + absl::Milliseconds(500) * Below(3);
    const std::int64_t what = Below(20);
    if (jobs_.empty() || (what == 0 && jobs_.size() < 5)) return Join();
    const auto job = std::next(jobs_.begin(), Below(static_cast<std::int64_t>(jobs_.size())));
    if (what == 1) return Leave(job->first);
    if (what == 2) {
      arbiter_.Withdraw(job->first);
      oracle_.Withdraw(job->first);
    } else if (what < 8) {
      Pass(job->first, Below(static_cast<std::int64_t>(job->second)));
    } else {
      Turn(job->first, static_cast<std::int64_t>(job->second));
    }
    Compare();
  }

 private:
  std::int64_t Below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }

  void Join() {
    std::vector<PortUse> uses;
    for (std::int64_t left = 1 + Below(12); left > 0; --left) {
      PortUse use;
      use.sender = 1 + Below(num_workers_);
      use.receiver = 1 + (use.sender + Below(num_workers_ - 1)) % num_workers_;
      use.channels = 0.25 * static_cast<double>(1 + Below(4));
      use.seconds = 0.5 * static_cast<double>(Below(8));
      uses.push_back(use);
    }
    std::vector<SharedCut> cuts;
    for (const SharedCut& cut : cuts_) {
      if (Below(3) == 0) cuts.push_back(cut);
    }
    const auto woken = std::make_shared<int>(0);
    const JobId id =
        arbiter_.Join(static_cast<double>(1 + Below(3)), cuts, uses, now_, [woken] { ++*woken; });
    jobs_[id] = uses.size();
    woken_[id] = woken;
    oracle_.Join(id, std::move(cuts), std::move(uses));
    oracle_.Reorder(arbiter_.order());
    Compare();
  }

  void Leave(JobId id) {
    arbiter_.Leave(id, now_);
    oracle_.Leave(id);
    jobs_.erase(id);
    woken_.erase(id);
    std::erase_if(moving_, [id](const auto& one) { return one.first == id; });
    oracle_.Reorder(arbiter_.order());
    Compare();
  }

  void Pass(JobId id, std::int64_t move) {
    arbiter_.Passed(id, static_cast<MoveId>(move));
    oracle_.Passed(id, static_cast<MoveId>(move));
    std::erase(moving_, std::pair(id, move));
  }

  void Turn(JobId id, std::int64_t num_moves) {
    arbiter_.BeginTurn(id, now_);
    oracle_.BeginTurn(id, now_);
    for (std::int64_t left = Below(num_moves + 3); left > 0; --left) {
      const std::int64_t move = Below(num_moves);
      if (std::find(moving_.begin(), moving_.end(), std::pair(id, move)) != moving_.end()) continue;
      // What an edited plan has under way asks nobody.
      const bool asks = Below(12) > 0;
      bool may = true;
      if (asks) {
        may = arbiter_.MayMove(id, static_cast<MoveId>(move));
        RC_ASSERT(may == oracle_.MayMove(id, static_cast<MoveId>(move)));
      }
      if (!may || Below(5) == 0) continue;
      const MonoTime until = now_ + absl::Milliseconds(500) * Below(9);
      arbiter_.Moves(id, static_cast<MoveId>(move), until);
      oracle_.Moves(id, static_cast<MoveId>(move), until);
      moving_.emplace_back(id, move);
    }
    arbiter_.EndTurn(id);
    oracle_.EndTurn(id);
  }

  void Compare() const {
    for (const auto& [id, num_moves] : jobs_) {
      RC_ASSERT(arbiter_.next_look(id) == oracle_.next_look(id));
      RC_ASSERT(*woken_.at(id) == oracle_.woken(id));
    }
  }

  std::mt19937_64 random_;
  const std::int64_t num_workers_;
  std::vector<SharedCut> cuts_;
  PortArbiter arbiter_;
  ScanningArbiter oracle_;
  MonoTime now_;
  std::map<JobId, std::size_t> jobs_;  // and their numbers of moves
  std::map<JobId, std::shared_ptr<int>> woken_;
  std::vector<std::pair<JobId, std::int64_t>> moving_;
};

RC_GTEST_PROP(PortArbiterProperty, AnswersAsOneThatLooksAtEveryTransfer, (std::uint64_t seed)) {
  Pair pair(seed);
  for (int step = 0; step < 120; ++step) pair.Step();
}

}  // namespace
}  // namespace weir::master
