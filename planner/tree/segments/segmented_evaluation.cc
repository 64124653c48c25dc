#include "planner/tree/segments/segmented_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/segments/list_schedule.h"

namespace weir::planner::tree {

namespace {

/// Port and combine times after some segments; copied when the search branches.
struct SegmentState {
  explicit SegmentState(std::size_t n) : sending_s(n, 0), receiving_s(n, 0), reducing_s(n, 0) {}
  std::vector<Seconds> sending_s;
  std::vector<Seconds> receiving_s;
  std::vector<Seconds> reducing_s;
  Seconds makespan_s = 0;
};

// Adds one segment, and its messages if wanted. Returns false on a cycle.
bool AddSegment(const std::vector<MachineIndex>& column, const LinkCosts& costs,
                SegmentState& state, std::vector<Message>* messages = nullptr) {
  const auto n = static_cast<MachineIndex>(column.size());
  std::vector<Seconds> ready_s(column.size(), 0);
  std::vector<std::int32_t> senders(column.size(), 0);
  std::vector<bool> done(column.size(), false);
  for (MachineIndex i = 1; i < n; ++i) ++senders[column[i]];
  for (MachineIndex step = 1; step < n; ++step) {
    MachineIndex from = kNoMachine;
    Seconds start_s = 0;
    for (MachineIndex i = 1; i < n; ++i) {
      if (done[i] || senders[i] > 0) continue;
      const Seconds possible_s =
          std::max({ready_s[i], state.sending_s[i], state.receiving_s[column[i]] - costs.alpha_s});
      if (from == kNoMachine || possible_s < start_s) {
        from = i;
        start_s = possible_s;
      }
    }
    if (from == kNoMachine) return false;
    const MachineIndex to = column[from];
    state.sending_s[from] = start_s + costs.beta_s_per_unit;
    state.receiving_s[to] = start_s + costs.alpha_s + costs.beta_s_per_unit;
    state.reducing_s[to] =
        std::max(state.reducing_s[to], state.receiving_s[to]) + costs.gamma_s_per_unit;
    ready_s[to] = state.reducing_s[to];
    if (messages != nullptr) {
      messages->push_back(
          {from, to, 0, 1, costs.alpha_s, costs.beta_s_per_unit, costs.gamma_s_per_unit, start_s});
    }
    done[from] = true;
    --senders[to];
  }
  state.makespan_s = std::max(state.makespan_s, ready_s[0]);
  return true;
}

absl::Status CheckSize(std::int64_t n, std::int64_t m, const LinkCosts& costs) {
  if (absl::Status status = CheckCount("n", n, 1, kMessagesMax); !status.ok()) return status;
  if (absl::Status status = CheckCount("m", m, 1, kMessagesMax); !status.ok()) return status;
  return CheckSegmented(1, {1}, costs);
}

// All destinations of one segment that are trees, machine 1's choice varying slowest.
std::vector<std::vector<MachineIndex>> TreesOfOneSegment(std::int32_t n) {
  std::vector<std::vector<MachineIndex>> trees;
  std::vector<MachineIndex> column(static_cast<std::size_t>(n), 0);
  for (MachineIndex i = 1; i < n; ++i) column[i] = 0;
  for (;;) {
    SegmentState state(column.size());
    if (AddSegment(column, LinkCosts{0, 1, 1}, state)) trees.push_back(column);
    MachineIndex i = n - 1;
    while (i > 0 && column[i] == (i == n - 1 ? n - 2 : n - 1)) column[i--] = 0;
    if (i == 0) return trees;
    column[i] += column[i] + 1 == i ? 2 : 1;
  }
}

// The matrix under the renaming of machines 1.. that makes it least.
DestinationMatrix Canonical(const DestinationMatrix& matrix) {
  const std::size_t n = matrix[0].size();
  std::vector<MachineIndex> name(n);
  std::iota(name.begin(), name.end(), 0);
  DestinationMatrix least;
  do {
    DestinationMatrix renamed = matrix;
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      for (std::size_t i = 1; i < n; ++i) renamed[j][name[i]] = name[matrix[j][i]];
    }
    if (least.empty() || renamed < least) least = std::move(renamed);
  } while (std::next_permutation(name.begin() + 1, name.end()));
  return least;
}

class FindMin {
 public:
  FindMin(std::int32_t n, std::int32_t m, const LinkCosts& costs)
      : costs_(costs), m_(m), trees_(TreesOfOneSegment(n)) {
    result_.num_valid = 1;
    for (std::int32_t j = 0; j < m; ++j)
      result_.num_valid *= static_cast<std::int64_t>(trees_.size());
    result_.makespan_s = std::numeric_limits<double>::infinity();
    Extend(SegmentState(static_cast<std::size_t>(n)));
  }

  FindMinResult Take() { return std::move(result_); }

 private:
  void Extend(const SegmentState& state) {
    if (static_cast<std::int32_t>(matrix_.size()) == m_) {
      Record(state.makespan_s);
      return;
    }
    for (const auto& tree : trees_) {
      SegmentState next = state;
      AddSegment(tree, costs_, next);
      if (next.makespan_s > result_.makespan_s + kScheduleTie) continue;
      matrix_.push_back(tree);
      Extend(next);
      matrix_.pop_back();
    }
  }

  void Record(Seconds makespan_s) {
    if (makespan_s < result_.makespan_s - kScheduleTie) {
      result_.makespan_s = makespan_s;
      result_.num_optimal = 0;
      result_.distinct.clear();
      known_.clear();
    }
    if (result_.num_optimal++ == 0) result_.best = matrix_;
    if (result_.num_valid <= kFindMinListedMax && known_.insert(Canonical(matrix_)).second) {
      result_.distinct.push_back(matrix_);
    }
  }

  LinkCosts costs_;
  std::int32_t m_;
  std::vector<std::vector<MachineIndex>> trees_;
  DestinationMatrix matrix_;
  std::set<DestinationMatrix> known_;
  FindMinResult result_;
};

absl::Status CheckMatrix(const DestinationMatrix& destination, const LinkCosts& costs) {
  const std::size_t n = destination.empty() ? 0 : destination[0].size();
  if (absl::Status status = CheckSize(static_cast<std::int64_t>(n),
                                      static_cast<std::int64_t>(destination.size()), costs);
      !status.ok()) {
    return status;
  }
  for (std::size_t j = 0; j < destination.size(); ++j) {
    if (destination[j].size() != n || destination[j][0] != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "solution_rows: segment ", j + 1, " must have ", n, " entries, the first being 1"));
    }
    for (std::size_t i = 1; i < n; ++i) {
      if (destination[j][i] >= 0 && static_cast<std::size_t>(destination[j][i]) < n) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "solution_rows[", i, "][", j, "] is ", destination[j][i] + 1, "; it must lie in 1..", n));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<Seconds>> EvaluateDestinations(const DestinationMatrix& destination,
                                                            const LinkCosts& costs) {
  if (absl::Status status = CheckMatrix(destination, costs); !status.ok()) return status;
  SegmentState state(destination[0].size());
  for (const auto& column : destination) {
    if (!AddSegment(column, costs, state)) return std::optional<Seconds>();
  }
  return std::optional<Seconds>(state.makespan_s);
}

absl::StatusOr<Schedule> DestinationsSchedule(const DestinationMatrix& destination,
                                              const LinkCosts& costs) {
  if (absl::Status status = CheckMatrix(destination, costs); !status.ok()) return status;
  SegmentState state(destination[0].size());
  Schedule schedule =
      EmptySchedule("matrix of 001", static_cast<std::int32_t>(destination[0].size()),
                    std::vector<double>(destination.size(), 1.0));
  for (std::size_t j = 0; j < destination.size(); ++j) {
    const std::size_t begin = schedule.messages.size();
    if (!AddSegment(destination[j], costs, state, &schedule.messages)) {
      return absl::InvalidArgumentError(
          absl::StrCat("solution_rows: segment ", j + 1, " has a cycle"));
    }
    for (std::size_t k = begin; k < schedule.messages.size(); ++k) {
      schedule.messages[k].segment_begin = static_cast<std::int32_t>(j);
      schedule.messages[k].segment_end = static_cast<std::int32_t>(j) + 1;
    }
  }
  schedule.makespan_s = state.makespan_s;
  return schedule;
}

absl::StatusOr<Schedule> BackfilledSchedule(const DestinationMatrix& destination,
                                            const LinkCosts& costs) {
  if (absl::Status status = CheckMatrix(destination, costs); !status.ok()) return status;
  DestinationMatrix trees = destination;
  for (std::size_t j = 0; j < trees.size(); ++j) {
    SegmentState alone(trees[j].size());
    if (!AddSegment(trees[j], costs, alone)) {
      return absl::InvalidArgumentError(
          absl::StrCat("solution_rows: segment ", j + 1, " has a cycle"));
    }
    trees[j][0] = kNoMachine;
  }
  return ListSchedule("matrix of 001, backfilled", trees,
                      std::vector<double>(destination.size(), 1.0), costs, {true, true, false});
}

absl::StatusOr<FindMinResult> FindMinDestinations(std::int32_t n, std::int32_t m,
                                                  const LinkCosts& costs) {
  if (absl::Status status = CheckSize(n, m, costs); !status.ok()) return status;
  if (absl::Status status = CheckCount("n", n, 1, kFindMinMachinesMax); !status.ok()) return status;
  if (absl::Status status = CheckCount("m", m, 1, kFindMinSegmentsMax); !status.ok()) return status;
  if (n == 1)
    return FindMinResult{0,
                         1,
                         1,
                         1,
                         DestinationMatrix(static_cast<std::size_t>(m), {0}),
                         {DestinationMatrix(static_cast<std::size_t>(m), {0})}};
  const double leaves = std::pow(n, (n - 2.0) * m);
  const double tested = std::pow(n - 1.0, (n - 1.0) * m);
  if (leaves > static_cast<double>(kFindMinLeavesMax) || tested > 9e18) {
    return absl::InvalidArgumentError(absl::StrCat(
        "n = ", n, ", m = ", m, " has ", leaves, " matrices of trees, the limit is ",
        kFindMinLeavesMax, "; use segmented_exact_fifo for (n-1)m <= 9, else a schedule builder"));
  }
  FindMinResult result = FindMin(n, m, costs).Take();
  result.num_tested = 1;
  for (std::int32_t k = 0; k < m * (n - 1); ++k) result.num_tested *= n - 1;
  return result;
}

}  // namespace weir::planner::tree
