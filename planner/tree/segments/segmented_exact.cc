#include "planner/tree/segments/segmented_exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/tree_shapes.h"

namespace weir::planner::tree {

namespace {

constexpr PortModel kPorts{true, true, false};

class ExactSearch {
 public:
  ExactSearch(std::int32_t n, std::int32_t m, const LinkCosts& costs)
      : n_(n),
        m_(m),
        alpha_s_(costs.alpha_s),
        beta_s_(costs.beta_s_per_unit),
        gamma_s_(costs.gamma_s_per_unit),
        send_free_s_(static_cast<std::size_t>(n), 0),
        receive_free_s_(send_free_s_),
        combine_free_s_(send_free_s_),
        ready_s_(static_cast<std::size_t>(n), std::vector<Seconds>(static_cast<std::size_t>(m), 0)),
        holders_(static_cast<std::size_t>(m), (1U << static_cast<unsigned>(n)) - 1) {}

  // Returns false when the states do not suffice. `best` starts as any feasible schedule.
  bool Run(Schedule& best) {
    best_ = &best;
    current_.reserve(static_cast<std::size_t>((n_ - 1) * m_));
    Extend((n_ - 1) * m_, 0);
    return !exhausted_;
  }

 private:
  struct Choice {
    Seconds start_s;
    MachineIndex sender;
    MachineIndex receiver;
    std::int32_t segment;
  };

  bool Holds(MachineIndex i, std::int32_t j) const {
    return (holders_[j] >> static_cast<unsigned>(i) & 1U) != 0;
  }

  // No completion of the current state ends before this.
  Seconds LowerBound() const {
    std::int32_t open = 0;
    Seconds bound_s = 0;
    for (std::int32_t j = 0; j < m_; ++j) {
      const int count = std::popcount(holders_[j]);
      if (count <= 1) continue;
      ++open;
      Seconds first_s = std::numeric_limits<double>::infinity();
      for (MachineIndex i = 1; i < n_; ++i) {
        if (Holds(i, j)) first_s = std::min(first_s, std::max(ready_s_[i][j], send_free_s_[i]));
      }
      // Lemma 5 of 000, sharpened by the last hop: count holders need (levels - 1) max(d, c) + d +
      // c.
      const auto levels = static_cast<double>(CeilLog2(count));
      bound_s = std::max(bound_s, first_s + (levels - 1) * std::max(beta_s_, gamma_s_) + alpha_s_ +
                                      beta_s_ + gamma_s_);
    }
    if (open > 0) {
      // The root receives and combines every open segment at least once more.
      bound_s =
          std::max(bound_s, std::max(receive_free_s_[0], alpha_s_) + open * beta_s_ + gamma_s_);
      bound_s = std::max(bound_s, combine_free_s_[0] + open * gamma_s_);
    }
    return bound_s;
  }

  // Non-root machines are interchangeable: their rows are sorted. Times are rounded to 1e-6 of the
  // total cost.
  std::string StateKey() const {
    const double scale = 1e6 / (alpha_s_ + beta_s_ + gamma_s_ + 1e-300);
    std::vector<std::string> rows;
    for (MachineIndex i = 0; i < n_; ++i) {
      std::string row;
      auto add = [&](Seconds time_s) {
        const auto rounded = static_cast<std::int64_t>(std::llround(time_s * scale));
        row.append(reinterpret_cast<const char*>(&rounded), sizeof(rounded));
      };
      add(send_free_s_[i]);
      add(receive_free_s_[i]);
      add(combine_free_s_[i]);
      for (std::int32_t j = 0; j < m_; ++j) add(Holds(i, j) ? ready_s_[i][j] : -1);
      rows.push_back(std::move(row));
    }
    std::sort(rows.begin() + 1, rows.end());
    std::string key;
    for (const std::string& row : rows) key += row;
    return key;
  }

  std::vector<Choice> Choices(Seconds last_start_s) const {
    std::vector<Choice> choices;
    for (std::int32_t j = 0; j < m_; ++j) {
      for (MachineIndex from = 1; from < n_; ++from) {
        if (!Holds(from, j)) continue;
        for (MachineIndex to = 0; to < n_; ++to) {
          if (to == from || !Holds(to, j)) continue;
          const Seconds start_s = std::max(
              {ready_s_[from][j], send_free_s_[from], receive_free_s_[to] - alpha_s_, 0.0});
          if (start_s >= last_start_s - kScheduleTie) choices.push_back({start_s, from, to, j});
        }
      }
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.start_s < b.start_s; });
    return choices;
  }

  void Extend(std::int32_t left, Seconds last_start_s) {
    if (left == 0) {
      Seconds end_s = 0;
      for (std::int32_t j = 0; j < m_; ++j) end_s = std::max(end_s, ready_s_[0][j]);
      if (end_s < best_->makespan_s - kScheduleTie) {
        best_->makespan_s = end_s;
        best_->messages = current_;
      }
      return;
    }
    if (exhausted_ || LowerBound() >= best_->makespan_s - kScheduleTie) return;
    if (!visited_.insert(StateKey()).second) return;
    if (static_cast<std::int64_t>(visited_.size()) > kExactStatesMax) exhausted_ = true;
    for (const Choice& choice : Choices(last_start_s)) Try(choice, left);
  }

  void Try(const Choice& choice, std::int32_t left) {
    const auto [start_s, from, to, j] = choice;
    const Seconds send_s = std::exchange(send_free_s_[from], start_s + beta_s_);
    const Seconds receive_s = std::exchange(receive_free_s_[to], start_s + alpha_s_ + beta_s_);
    const Seconds end_s = std::max(combine_free_s_[to], receive_free_s_[to]) + gamma_s_;
    const Seconds combine_s = std::exchange(combine_free_s_[to], end_s);
    const Seconds ready_s = std::exchange(ready_s_[to][j], end_s);
    holders_[j] ^= 1U << static_cast<unsigned>(from);
    current_.push_back({from, to, j, j + 1, alpha_s_, beta_s_, gamma_s_, start_s});
    Extend(left - 1, start_s);
    current_.pop_back();
    holders_[j] ^= 1U << static_cast<unsigned>(from);
    send_free_s_[from] = send_s;
    receive_free_s_[to] = receive_s;
    combine_free_s_[to] = combine_s;
    ready_s_[to][j] = ready_s;
  }

  std::int32_t n_;
  std::int32_t m_;
  Seconds alpha_s_;
  Seconds beta_s_;
  Seconds gamma_s_;
  std::vector<Seconds> send_free_s_;
  std::vector<Seconds> receive_free_s_;
  std::vector<Seconds> combine_free_s_;
  std::vector<std::vector<Seconds>> ready_s_;  // [machine][segment]
  std::vector<std::uint32_t> holders_;         // bit i: machine i holds a partial of the segment
  std::vector<Message> current_;
  std::unordered_set<std::string> visited_;
  Schedule* best_ = nullptr;
  bool exhausted_ = false;
};

}  // namespace

absl::StatusOr<Schedule> SegmentedExactSearch(std::int32_t n, std::int32_t m,
                                              const LinkCosts& costs) {
  if (absl::Status status = CheckCount("n", n, 1, kExactMessagesMax + 1); !status.ok())
    return status;
  if (absl::Status status = CheckCount("m", m, 1, kMessagesMax); !status.ok()) return status;
  if (absl::Status status = CheckCount("(n - 1) m", std::int64_t{n - 1} * m, 0, kExactMessagesMax);
      !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        status.message(), " for an exact search; use the interleaved or round-optimal schedule"));
  }
  std::vector<double> units(static_cast<std::size_t>(m), 1.0);
  if (absl::Status status = CheckSegmented(n, units, costs); !status.ok()) return status;
  auto best = ListSchedule("exact", RotatingCentreShapes(n), units, costs, kPorts);
  if (!best.ok()) return best.status();
  for (const Receivers& shape : {StarShape(n), BinomialShape(n), PipelineShape(n)}) {
    auto other = ListSchedule("exact", {shape}, units, costs, kPorts);
    if (!other.ok()) return other.status();
    if (other->makespan_s < best->makespan_s) best = std::move(other);
  }
  if (!ExactSearch(n, m, costs).Run(*best)) {
    return absl::InvalidArgumentError(
        absl::StrCat("n = ", n, ", m = ", m, " needs more than ", kExactStatesMax,
                     " states; use the interleaved or round-optimal schedule"));
  }
  return best;
}

}  // namespace weir::planner::tree
