#include "planner/tree/speeds/slot_search.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "planner/tree/model/input_checks.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

namespace {

class SlotSearch {
 public:
  explicit SlotSearch(std::vector<Seconds> ascending)
      : times_(std::move(ascending)), slack_s_(times_.empty() ? 0 : times_.back() * 1e-12) {}

  SlotSearchResult Run() {
    result_.ordered_times.assign(times_.rbegin(), times_.rend());
    result_.makespan_s = EarliestPossibleLength(result_.ordered_times);
    TryReversedGreedy();
    slots_of_.assign(times_.size(), 0);
    const std::vector<Seconds> slots = {0};
    Seconds unlimited = std::numeric_limits<double>::infinity();
    if (!times_.empty()) root_bound_s_ = LowerBound(slots, 0, unlimited);
    Extend(slots, 0, 0);
    return std::move(result_);
  }

 private:
  bool Beats(Seconds length_s) const { return length_s < result_.makespan_s - slack_s_; }

  // Fastest first to the earliest slot: often optimal, always feasible.
  void TryReversedGreedy() {
    std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> slots;
    slots.push(0);
    std::vector<Seconds> taken;
    Seconds end_s = 0;
    for (Seconds time_s : times_) {
      taken.push_back(slots.top());
      slots.pop();
      end_s = std::max(end_s, taken.back() + time_s);
      slots.push(taken.back() + time_s);
      slots.push(taken.back() + time_s);
    }
    if (Beats(end_s)) Record(taken, end_s);
  }

  // Keeps the schedule as a starting order; EP of that order is never longer.
  void Record(const std::vector<Seconds>& slot_of, Seconds end_s) {
    std::vector<std::pair<Seconds, Seconds>> by_start;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      by_start.push_back({end_s - (slot_of[i] + times_[i]), -times_[i]});
    }
    std::sort(by_start.begin(), by_start.end());
    result_.ordered_times.clear();
    for (const auto& message : by_start) result_.ordered_times.push_back(-message.second);
    result_.makespan_s = std::min(end_s, EarliestPossibleLength(result_.ordered_times));
  }

  // Places times_[i..] as if all took times_[i]: the r earliest slots, the slowest sender in the
  // earliest.
  Seconds LowerBound(const std::vector<Seconds>& slots, std::size_t i, Seconds enough_s) const {
    std::queue<Seconds> made;
    std::size_t next = 0;
    Seconds bound_s = 0;
    for (std::size_t k = times_.size(); k > i; --k) {
      Seconds slot_s = 0;
      if (next < slots.size() && (made.empty() || slots[next] <= made.front())) {
        slot_s = slots[next++];
      } else {
        slot_s = made.front();
        made.pop();
      }
      bound_s = std::max(bound_s, slot_s + times_[k - 1]);
      if (bound_s >= enough_s) return bound_s;
      made.push(slot_s + times_[i]);
      made.push(slot_s + times_[i]);
    }
    return bound_s;
  }

  bool SeenBefore(const std::vector<Seconds>& slots, std::size_t i, Seconds end_s) {
    std::string key(reinterpret_cast<const char*>(&i), sizeof(i));
    key.append(reinterpret_cast<const char*>(slots.data()), slots.size() * sizeof(Seconds));
    const auto [entry, fresh] = memo_.emplace(std::move(key), end_s);
    if (!fresh && entry->second <= end_s) return true;
    entry->second = end_s;
    if (static_cast<std::int64_t>(memo_.size()) >= kSlotStatesMax) result_.proven = false;
    return false;
  }

  void Extend(const std::vector<Seconds>& slots, std::size_t i, Seconds end_s) {
    ++result_.num_nodes;
    if (i == times_.size()) {
      if (Beats(end_s)) Record(slots_of_, end_s);
      return;
    }
    if (!result_.proven || !Beats(std::max(end_s, LowerBound(slots, i, result_.makespan_s))))
      return;
    if (SeenBefore(slots, i, end_s)) return;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      if (k > 0 && slots[k] == slots[k - 1]) continue;
      const Seconds message_end_s = slots[k] + times_[i];
      if (!Beats(message_end_s)) break;
      slots_of_[i] = slots[k];
      Extend(AfterTaking(slots, k, message_end_s, i), i + 1, std::max(end_s, message_end_s));
      if (!result_.proven || !Beats(root_bound_s_)) return;
    }
  }

  // The slots left for the senders after i: too late and surplus ones dropped.
  std::vector<Seconds> AfterTaking(const std::vector<Seconds>& slots, std::size_t k, Seconds end_s,
                                   std::size_t i) const {
    std::vector<Seconds> next;
    next.reserve(slots.size() + 1);
    for (std::size_t x = 0; x < slots.size(); ++x) {
      if (x != k) next.push_back(slots[x]);
    }
    next.insert(std::upper_bound(next.begin(), next.end(), end_s), 2, end_s);
    const std::size_t rest = times_.size() - i - 1;
    if (rest > 0) {
      while (!next.empty() && !Beats(next.back() + times_[i + 1])) next.pop_back();
    }
    if (next.size() > rest) next.resize(rest);
    return next;
  }

  std::vector<Seconds> times_;  // ascending
  Seconds slack_s_;
  Seconds root_bound_s_ = 0;
  std::vector<Seconds> slots_of_;
  std::unordered_map<std::string, Seconds> memo_;
  SlotSearchResult result_;
};

}  // namespace

absl::StatusOr<SlotSearchResult> SearchSlots(const std::vector<Seconds>& times) {
  const auto m = static_cast<std::int64_t>(times.size());
  if (absl::Status status = CheckCount("number of senders", m, 0, 4096); !status.ok())
    return status;
  if (absl::Status status = CheckCosts("senders", times); !status.ok()) return status;
  std::vector<Seconds> ascending = times;
  std::sort(ascending.begin(), ascending.end());
  return SlotSearch(std::move(ascending)).Run();
}

}  // namespace weir::planner::tree
