#include "planner/tree/speeds/earliest_possible.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"

namespace weir::planner::tree {

namespace {

template <typename T>
using MinHeap = std::priority_queue<T, std::vector<T>, std::greater<>>;

/// Ends of the running transfers, to hold back a start until fewer than K run.
class TransferLimit {
 public:
  explicit TransferLimit(std::int64_t most) : most_(most) {}

  Seconds StartNotBefore(Seconds start_s) {
    while (!ends_.empty() && ends_.top() <= start_s) ends_.pop();
    while (static_cast<std::int64_t>(ends_.size()) >= most_) {
      start_s = std::max(start_s, ends_.top());
      ends_.pop();
    }
    return start_s;
  }
  void Add(Seconds end_s) { ends_.push(end_s); }

 private:
  std::int64_t most_;
  MinHeap<Seconds> ends_;
};

absl::Status CheckInput(const std::vector<Seconds>& times, std::int64_t max_transfers) {
  const auto m = static_cast<std::int64_t>(times.size());
  if (absl::Status status = CheckCount("number of senders", m, 0, kSendersMax); !status.ok())
    return status;
  if (absl::Status status = CheckCount("K", max_transfers, 1, kNoTransferLimit); !status.ok())
    return status;
  return CheckCosts("senders", times);
}

// Lemma 1, top-down: the two messages before (s -> r) deliver to s and to r.
void AssignReceivers(const std::vector<std::array<std::int32_t, 2>>& predecessors,
                     SenderSchedule& schedule) {
  const auto m = static_cast<std::int32_t>(schedule.sequence.size());
  schedule.receiver.assign(static_cast<std::size_t>(m), kNoMachine);
  for (std::int32_t k = m - 1; k >= 0; --k) {
    const std::array<MachineIndex, 2> ends = {schedule.sequence[k], schedule.receiver[k]};
    std::size_t next = 0;
    for (std::int32_t before : predecessors[k]) {
      if (before >= 0) schedule.receiver[before] = ends[next++];
    }
  }
}

}  // namespace

absl::StatusOr<SenderSchedule> EarliestPossible(const std::vector<Seconds>& times,
                                                const std::vector<std::int32_t>& sequence,
                                                std::int64_t max_transfers) {
  if (absl::Status status = CheckInput(times, max_transfers); !status.ok()) return status;
  std::vector<bool> used(times.size(), false);
  for (std::int32_t i : sequence) {
    if (i < 0 || static_cast<std::size_t>(i) >= times.size() || used[i] ||
        sequence.size() != times.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence is no permutation of 0..", times.size(), " - 1"));
    }
    used[i] = true;
  }
  SenderSchedule schedule;
  schedule.sequence = sequence;
  using Token =
      std::pair<Seconds, std::int32_t>;  // time, message that returned it (-1: own element)
  MinHeap<Token> tokens;
  for (std::size_t i = 0; i <= times.size(); ++i) tokens.push({0, -1});
  TransferLimit limit(max_transfers);
  std::vector<std::array<std::int32_t, 2>> predecessors;
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(sequence.size()); ++k) {
    const Token first = tokens.top();
    tokens.pop();
    const Token second = tokens.top();
    tokens.pop();
    const Seconds start_s = limit.StartNotBefore(second.first);
    const Seconds end_s = start_s + times[sequence[k]];
    limit.Add(end_s);
    tokens.push({end_s, k});
    predecessors.push_back({first.second, second.second});
    schedule.start_s.push_back(start_s);
    schedule.makespan_s = std::max(schedule.makespan_s, end_s);
  }
  AssignReceivers(predecessors, schedule);
  return schedule;
}

absl::StatusOr<SenderSchedule> SlowestNodeFirst(const std::vector<Seconds>& times,
                                                std::int64_t max_transfers) {
  std::vector<std::int32_t> sequence(times.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  std::stable_sort(sequence.begin(), sequence.end(),
                   [&](std::int32_t a, std::int32_t b) { return times[a] > times[b]; });
  return EarliestPossible(times, sequence, max_transfers);
}

Seconds EarliestPossibleLength(const std::vector<Seconds>& ordered, std::int64_t max_transfers) {
  MinHeap<Seconds> tokens(std::greater<>(), std::vector<Seconds>(ordered.size() + 1, 0.0));
  TransferLimit limit(max_transfers);
  Seconds makespan_s = 0;
  const bool limited = max_transfers < static_cast<std::int64_t>(ordered.size());
  for (Seconds time_s : ordered) {
    tokens.pop();
    Seconds start_s = tokens.top();
    tokens.pop();
    if (limited) start_s = limit.StartNotBefore(start_s);
    const Seconds end_s = start_s + time_s;
    if (limited) limit.Add(end_s);
    tokens.push(end_s);
    makespan_s = std::max(makespan_s, end_s);
  }
  return makespan_s;
}

}  // namespace weir::planner::tree
