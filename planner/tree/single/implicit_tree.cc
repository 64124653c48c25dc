#include "planner/tree/single/implicit_tree.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "planner/tree/model/input_checks.h"

namespace weir::planner::tree {

namespace {

// Sort key of a lattice point: (value, a, b).
using EventKey = std::tuple<Seconds, std::int32_t, std::int32_t>;

// Counts above this are never needed exactly; sums of two still fit.
constexpr std::int64_t kSaturated = 2 * kImplicitMachinesMax;

}  // namespace

ImplicitTree::ImplicitTree(std::int64_t n, ElementCosts costs)
    : n_(n),
      hop_s_(costs.combine_s + costs.transfer_s),
      step_s_(std::max(costs.combine_s, costs.transfer_s)) {}

void ImplicitTree::GrowTriangle(std::int32_t row) {
  for (auto next = static_cast<std::int32_t>(triangle_.size()); next <= row; ++next) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(next) + 1, 1);
    for (std::int32_t k = 1; k < next; ++k) {
      counts[k] = std::min(kSaturated, triangle_[next - 1][k - 1] + triangle_[next - 1][k]);
    }
    triangle_.push_back(std::move(counts));
  }
}

absl::StatusOr<ImplicitTree> ImplicitTree::Create(std::int64_t n, ElementCosts costs) {
  if (absl::Status status = CheckCount("n", n, 1, kImplicitMachinesMax); !status.ok())
    return status;
  if (absl::Status status = CheckCost("d", costs.transfer_s); !status.ok()) return status;
  if (absl::Status status = CheckCost("c", costs.combine_s); !status.ok()) return status;
  ImplicitTree tree(n, costs);
  // Free of cost, every event happens at 0 and in the numbering above all join at the sink: nothing
  // to tabulate.
  if (n == 1 || tree.step_s_ == 0) return tree;

  std::priority_queue<EventKey, std::vector<EventKey>, std::greater<>> frontier;
  std::set<std::pair<std::int32_t, std::int32_t>> seen = {{0, 0}};
  frontier.emplace(0.0, 0, 0);
  for (std::int64_t events = 0; events < n - 1;) {
    const auto [value_s, a, b] = frontier.top();
    frontier.pop();
    tree.points_.push_back({events, value_s, a, b});
    tree.GrowTriangle(a + b);
    events += tree.Choose(a + b, a);
    for (const auto& [x, y] : {std::pair{a + 1, b}, std::pair{a, b + 1}}) {
      if (!seen.emplace(x, y).second) continue;
      frontier.emplace(static_cast<double>(x) * tree.hop_s_ + static_cast<double>(y) * tree.step_s_,
                       x, y);
    }
  }
  tree.makespan_s_ = tree.points_.back().value_s + tree.hop_s_;
  return tree;
}

ImplicitTree::Word ImplicitTree::WordOfEvent(std::int64_t event) const {
  const auto after = std::upper_bound(
      points_.begin(), points_.end(), event,
      [](std::int64_t e, const LatticePoint& point) { return e < point.first_event; });
  const LatticePoint& point = *std::prev(after);
  Word word;
  word.value_s = point.value_s;
  std::int64_t rest = event - point.first_event;
  std::int32_t a = point.joins;
  std::int32_t b = point.continues;
  while (a > 0 || b > 0) {
    const std::int64_t starting_with_join = Choose(a + b - 1, a - 1);
    const bool join = rest < starting_with_join;
    word.is_join.push_back(join);
    if (join) {
      --a;
    } else {
      rest -= starting_with_join;
      --b;
    }
  }
  return word;
}

std::int64_t ImplicitTree::EventOfWord(const std::vector<bool>& is_join) const {
  auto a = static_cast<std::int32_t>(std::count(is_join.begin(), is_join.end(), true));
  std::int32_t b = static_cast<std::int32_t>(is_join.size()) - a;
  const EventKey key{static_cast<double>(a) * hop_s_ + static_cast<double>(b) * step_s_, a, b};
  const auto at = std::lower_bound(
      points_.begin(), points_.end(), key, [](const LatticePoint& point, const EventKey& k) {
        return EventKey{point.value_s, point.joins, point.continues} < k;
      });
  if (at == points_.end() || at->joins != a || at->continues != b) return -1;
  std::int64_t event = at->first_event;
  for (bool join : is_join) {
    if (join) {
      --a;
    } else {
      event += Choose(a + b - 1, a - 1);
      if (event > n_ - 2) return -1;  // also keeps the sum of saturated counts from overflowing
      --b;
    }
  }
  return event <= n_ - 2 ? event : -1;
}

absl::StatusOr<std::int64_t> ImplicitTree::Receiver(std::int64_t machine) const {
  if (absl::Status status = CheckCount("machine", machine, 1, n_); !status.ok()) return status;
  if (machine == 1) return 0;
  if (points_.empty()) return 1;
  std::vector<bool> word = WordOfEvent(machine - 2).is_join;
  // The receiver is the machine that the last A created; without an A it is the sink.
  while (!word.empty() && !word.back()) word.pop_back();
  if (word.empty()) return 1;
  word.pop_back();
  return EventOfWord(word) + 2;
}

absl::StatusOr<Seconds> ImplicitTree::Start(std::int64_t machine) const {
  if (absl::Status status = CheckCount("machine", machine, 1, n_); !status.ok()) return status;
  if (machine == 1 || points_.empty()) return makespan_s_;
  return makespan_s_ - (WordOfEvent(machine - 2).value_s + hop_s_);
}

absl::StatusOr<std::vector<std::int64_t>> ImplicitTree::Senders(std::int64_t machine) const {
  if (absl::Status status = CheckCount("machine", machine, 1, n_); !status.ok()) return status;
  std::vector<std::int64_t> senders;
  if (points_.empty()) {
    for (std::int64_t i = 2; machine == 1 && i <= n_; ++i) senders.push_back(i);
    return senders;
  }
  std::vector<bool> word;
  if (machine > 1) {
    word = WordOfEvent(machine - 2).is_join;
    word.push_back(true);
  }
  for (std::int64_t event = EventOfWord(word); event >= 0; event = EventOfWord(word)) {
    senders.push_back(event + 2);
    word.push_back(false);
  }
  return senders;
}

}  // namespace weir::planner::tree
