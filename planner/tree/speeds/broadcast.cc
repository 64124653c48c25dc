#include "planner/tree/speeds/broadcast.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

namespace {

absl::Status CheckInput(Seconds source, const std::vector<Seconds>& others) {
  if (absl::Status status = CheckCost("source", source); !status.ok()) return status;
  const auto m = static_cast<std::int64_t>(others.size());
  if (absl::Status status = CheckCount("number of others", m, 0, kSendersMax); !status.ok())
    return status;
  return CheckCosts("others", others);
}

/// End of an informed machine's next message, and its time per message.
using Slot = std::pair<Seconds, Seconds>;

class BroadcastSearch {
 public:
  BroadcastSearch(Seconds source, std::vector<Seconds> rising, Seconds upper_bound_s)
      : uninformed_(std::move(rising)), best_s_(upper_bound_s) {
    Extend({{source, source}});
  }

  bool proven() const { return proven_; }
  Seconds best_s() const { return best_s_; }

 private:
  // Everybody left informed at the fastest left machine's speed.
  Seconds LowerBound(std::multiset<Slot> slots) const {
    Seconds bound_s = 0;
    for (std::size_t k = 0; k < uninformed_.size(); ++k) {
      const Slot slot = *slots.begin();
      slots.erase(slots.begin());
      bound_s = slot.first;
      slots.insert({slot.first + slot.second, slot.second});
      slots.insert({slot.first + uninformed_.front(), uninformed_.front()});
    }
    return bound_s;
  }

  void Extend(const std::multiset<Slot>& slots) {
    if (uninformed_.empty() || !proven_) return;
    const Slot slot = *slots.begin();
    if (uninformed_.size() == 1) {
      best_s_ = std::min(best_s_, slot.first);
      return;
    }
    if (LowerBound(slots) >= best_s_ - 1e-12 * best_s_ || !Fresh(slots)) return;
    std::multiset<Slot> rest = slots;
    rest.erase(rest.begin());
    rest.insert({slot.first + slot.second, slot.second});
    for (std::size_t k = 0; k < uninformed_.size(); ++k) {
      if (k > 0 && uninformed_[k] == uninformed_[k - 1]) continue;
      const Seconds time_s = uninformed_[k];
      uninformed_.erase(uninformed_.begin() + static_cast<std::ptrdiff_t>(k));
      std::multiset<Slot> next = rest;
      next.insert({slot.first + time_s, time_s});
      Extend(next);
      uninformed_.insert(uninformed_.begin() + static_cast<std::ptrdiff_t>(k), time_s);
    }
  }

  bool Fresh(const std::multiset<Slot>& slots) {
    std::string key;
    auto add = [&key](Seconds value) {
      key.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (const Slot& slot : slots) {
      add(slot.first);
      add(slot.second);
    }
    proven_ = proven_ && static_cast<std::int64_t>(seen_.size()) < kExactBroadcastStatesMax;
    return seen_.insert(std::move(key)).second;
  }

  std::vector<Seconds> uninformed_;
  Seconds best_s_;
  bool proven_ = true;
  std::unordered_set<std::string> seen_;
};

}  // namespace

absl::StatusOr<SpreadSchedule> FastestNodeFirst(Seconds source,
                                                const std::vector<Seconds>& others) {
  if (absl::Status status = CheckInput(source, others); !status.ok()) return status;
  std::vector<MachineIndex> order(others.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](MachineIndex a, MachineIndex b) { return others[a] < others[b]; });
  using Sender =
      std::tuple<Seconds, std::int32_t, MachineIndex>;  // end of its next message, age, machine
  std::priority_queue<Sender, std::vector<Sender>, std::greater<>> senders;
  senders.emplace(source, 0, kNoMachine);
  SpreadSchedule schedule;
  std::int32_t age = 1;
  for (MachineIndex machine : order) {
    const auto [end_s, sender_age, sender] = senders.top();
    senders.pop();
    const Seconds time_s = sender == kNoMachine ? source : others[sender];
    schedule.informed.push_back(machine);
    schedule.sender.push_back(sender);
    schedule.start_s.push_back(end_s - time_s);
    schedule.makespan_s = std::max(schedule.makespan_s, end_s);
    senders.emplace(end_s + time_s, sender_age, sender);
    senders.emplace(end_s + others[machine], age++, machine);
  }
  return schedule;
}

absl::StatusOr<Seconds> ExactBroadcastLength(Seconds source, const std::vector<Seconds>& others) {
  auto greedy = FastestNodeFirst(source, others);
  if (!greedy.ok()) return greedy.status();
  const auto m = static_cast<std::int64_t>(others.size());
  if (absl::Status status = CheckCount("number of others", m, 0, kExactBroadcastMax);
      !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(status.message(), " for the exact search; use fastest-node-first"));
  }
  std::vector<Seconds> rising = others;
  std::sort(rising.begin(), rising.end());
  const BroadcastSearch search(source, std::move(rising), greedy->makespan_s);
  if (search.proven()) return search.best_s();
  return absl::InvalidArgumentError(absl::StrCat("others need more than ", kExactBroadcastStatesMax,
                                                 " states; use fastest-node-first"));
}

absl::StatusOr<Seconds> AllReduceLength(Seconds source, const std::vector<Seconds>& others) {
  auto spread = FastestNodeFirst(source, others);
  if (!spread.ok()) return spread.status();
  auto reduction = SlowestNodeFirst(others);
  if (!reduction.ok()) return reduction.status();
  return reduction->makespan_s + spread->makespan_s;
}

}  // namespace weir::planner::tree
