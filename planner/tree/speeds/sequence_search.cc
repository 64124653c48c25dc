#include "planner/tree/speeds/sequence_search.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/speeds/earliest_possible.h"
#include "planner/tree/speeds/fixed_sequence.h"

namespace weir::planner::tree {

namespace {

absl::Status CheckInput(const std::vector<Seconds>& times, std::int64_t max_transfers,
                        std::int64_t most) {
  const auto m = static_cast<std::int64_t>(times.size());
  if (absl::Status status = CheckCount("number of senders", m, 0, most); !status.ok())
    return status;
  if (absl::Status status = CheckCount("K", max_transfers, 1, kNoTransferLimit); !status.ok())
    return status;
  return CheckCosts("senders", times);
}

/// Branch and bound over which speed starts next; a state is the tokens, the running transfers and
/// who is left.
class LimitedSearch {
 public:
  LimitedSearch(std::vector<Seconds> falling, std::int64_t max_transfers)
      : left_(std::move(falling)), max_transfers_(max_transfers) {
    best_.ordered_times = left_;
    best_.makespan_s = EarliestPossibleLength(left_, max_transfers_);
  }

  bool Run(SequenceResult& result) {
    const std::multiset<Seconds> tokens([&] {
      std::vector<Seconds> zeros(left_.size() + 1, 0.0);
      return std::multiset<Seconds>(zeros.begin(), zeros.end());
    }());
    Extend(tokens, {}, 0);
    result = std::move(best_);
    return !exhausted_;
  }

 private:
  void Extend(const std::multiset<Seconds>& tokens, const std::multiset<Seconds>& running,
              Seconds end_s) {
    if (left_.empty()) {
      if (end_s < best_.makespan_s - 1e-12 * best_.makespan_s) best_ = {end_s, order_};
      return;
    }
    if (exhausted_ || !Fresh(tokens, running, end_s)) return;
    std::multiset<Seconds> rest = tokens;
    rest.erase(rest.begin());
    Seconds start_s = *rest.begin();
    rest.erase(rest.begin());
    std::multiset<Seconds> active;
    for (Seconds running_end_s : running) {
      if (running_end_s > start_s) active.insert(running_end_s);
    }
    while (static_cast<std::int64_t>(active.size()) >= max_transfers_) {
      start_s = std::max(start_s, *active.begin());
      active.erase(active.begin());
    }
    for (std::size_t k = 0; k < left_.size(); ++k) {
      if (k > 0 && left_[k] == left_[k - 1]) continue;
      const Seconds message_end_s = start_s + left_[k];
      if (message_end_s >= best_.makespan_s) continue;
      const Seconds time_s = left_[k];
      left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(k));
      order_.push_back(time_s);
      std::multiset<Seconds> next_tokens = rest;
      next_tokens.insert(message_end_s);
      std::multiset<Seconds> next_active = active;
      next_active.insert(message_end_s);
      Extend(next_tokens, next_active, std::max(end_s, message_end_s));
      order_.pop_back();
      left_.insert(left_.begin() + static_cast<std::ptrdiff_t>(k), time_s);
    }
  }

  bool Fresh(const std::multiset<Seconds>& tokens, const std::multiset<Seconds>& running,
             Seconds end_s) {
    std::string key;
    auto add = [&key](Seconds value) {
      key.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (Seconds value : tokens) add(value);
    add(-1);
    for (Seconds value : running) add(value);
    add(-1);
    for (Seconds value : left_) add(value);
    add(end_s);
    exhausted_ = exhausted_ || static_cast<std::int64_t>(seen_.size()) >= kExactSequenceStatesMax;
    return seen_.insert(std::move(key)).second;
  }

  std::vector<Seconds> left_;  // falling
  std::int64_t max_transfers_;
  std::vector<Seconds> order_;
  SequenceResult best_;
  std::unordered_set<std::string> seen_;
  bool exhausted_ = false;
};

}  // namespace

absl::StatusOr<SequenceResult> ImproveSequence(const std::vector<Seconds>& times,
                                               std::int64_t max_transfers,
                                               std::int64_t iterations) {
  if (absl::Status status = CheckInput(times, max_transfers, kSendersMax); !status.ok())
    return status;
  if (absl::Status status = CheckCount("iterations", iterations, 0, 1'000'000'000); !status.ok())
    return status;
  SequenceResult current;
  current.ordered_times = times;
  std::stable_sort(current.ordered_times.begin(), current.ordered_times.end(), std::greater<>());
  current.makespan_s = EarliestPossibleLength(current.ordered_times, max_transfers);
  const std::uint64_t m = times.size();
  if (m < 2) return current;
  FixedSequence random(m);
  std::vector<Seconds> candidate;
  for (std::int64_t k = 0; k < iterations; ++k) {
    candidate = current.ordered_times;
    const auto from = static_cast<std::ptrdiff_t>(random.Below(m));
    const auto to = static_cast<std::ptrdiff_t>(random.Below(m));
    if (random.Below(2) == 0) {
      std::swap(candidate[static_cast<std::size_t>(from)], candidate[static_cast<std::size_t>(to)]);
    } else {
      const Seconds moved_s = candidate[static_cast<std::size_t>(from)];
      candidate.erase(candidate.begin() + from);
      candidate.insert(candidate.begin() + to, moved_s);
    }
    const Seconds length_s = EarliestPossibleLength(candidate, max_transfers);
    if (length_s > current.makespan_s) continue;
    current.makespan_s = length_s;
    current.ordered_times.swap(candidate);
  }
  return current;
}

absl::StatusOr<SequenceResult> ExactLimitedSequence(const std::vector<Seconds>& times,
                                                    std::int64_t max_transfers) {
  if (absl::Status status = CheckInput(times, max_transfers, kExactSequenceMax); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(status.message(), " for the exact search; use the local search"));
  }
  std::vector<Seconds> falling = times;
  std::sort(falling.begin(), falling.end(), std::greater<>());
  SequenceResult result;
  if (!LimitedSearch(std::move(falling), max_transfers).Run(result)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "senders need more than ", kExactSequenceStatesMax, " states; use the local search"));
  }
  return result;
}

}  // namespace weir::planner::tree
