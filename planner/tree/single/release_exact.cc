#include "planner/tree/single/release_exact.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/release_dates.h"

namespace weir::planner::tree {

namespace {

/// A machine that has not sent: when its port and its combining are free.
struct Holder {
  Seconds port_s = 0;
  Seconds combined_s = 0;
  friend bool operator<(const Holder& a, const Holder& b) {
    return std::pair(a.port_s, a.combined_s) < std::pair(b.port_s, b.combined_s);
  }
  friend bool operator==(const Holder& a, const Holder& b) {
    return a.port_s == b.port_s && a.combined_s == b.combined_s;
  }
};

class ReleaseSearch {
 public:
  ReleaseSearch(std::size_t n, ElementCosts costs, std::int64_t max_transfers,
                Seconds upper_bound_s)
      : costs_(costs), max_transfers_(max_transfers), best_s_(upper_bound_s) {
    for (std::size_t count = 0; count <= n; ++count) {
      length_s_.push_back(
          count < 2 ? 0 : GreedyTree(static_cast<std::int64_t>(count), costs)->makespan_s);
    }
  }

  // `holders` sorted; `running` = ends of the transfers, sorted, when there is a limit.
  void Extend(const std::vector<Holder>& holders, const std::vector<Seconds>& running,
              Seconds last_s) {
    if (holders.size() == 1) {
      best_s_ = std::min(best_s_, holders[0].combined_s);
      return;
    }
    if (!proven_ || LowerBound(holders) >= best_s_ - 1e-12 * best_s_ || !Fresh(holders, running))
      return;
    for (std::size_t s = 0; s < holders.size(); ++s) {
      if (s > 0 && holders[s] == holders[s - 1]) continue;
      for (std::size_t r = 0; r < holders.size(); ++r) {
        const bool repeated = r > 0 && holders[r] == holders[r - 1] && r - 1 != s;
        if (r != s && !repeated) Try(holders, running, last_s, s, r);
      }
    }
  }

  Seconds best_s() const { return best_s_; }
  bool proven() const { return proven_; }

 private:
  void Try(const std::vector<Holder>& holders, std::vector<Seconds> running, Seconds last_s,
           std::size_t s, std::size_t r) {
    Seconds start_s = std::max({holders[s].port_s, holders[s].combined_s, holders[r].port_s});
    if (start_s < last_s) return;  // the same transfers in order of start are another branch
    if (Limited()) {
      while (!running.empty() && running.front() <= start_s) running.erase(running.begin());
      if (static_cast<std::int64_t>(running.size()) >= max_transfers_) {
        start_s = running.front();
        while (!running.empty() && running.front() <= start_s) running.erase(running.begin());
      }
      running.push_back(start_s + costs_.transfer_s);
    }
    std::vector<Holder> next;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      if (i == s) continue;
      Holder holder = holders[i];
      if (i == r) {
        holder.port_s = start_s + costs_.transfer_s;
        holder.combined_s = std::max(holder.combined_s, holder.port_s) + costs_.combine_s;
      }
      // What was free before the last start is as good as free at it.
      next.push_back({std::max(holder.port_s, start_s), std::max(holder.combined_s, start_s)});
    }
    std::sort(next.begin(), next.end());
    Extend(next, running, start_s);
  }

  bool Limited() const { return max_transfers_ < static_cast<std::int64_t>(length_s_.size()); }

  Seconds LowerBound(const std::vector<Holder>& holders) const {
    Seconds bound_s = 0;
    for (std::size_t k = 0; k < holders.size(); ++k) {
      bound_s =
          std::max(bound_s, holders[k].port_s + length_s_[holders.size() - k + (k > 0 ? 1 : 0)]);
      bound_s = std::max(bound_s, holders[k].combined_s);
    }
    return bound_s;
  }

  bool Fresh(const std::vector<Holder>& holders, const std::vector<Seconds>& running) {
    std::string key;
    auto add = [&key](Seconds value) {
      key.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (const Holder& holder : holders) {
      add(holder.port_s);
      add(holder.combined_s);
    }
    for (Seconds end_s : running) add(end_s);
    proven_ = proven_ && static_cast<std::int64_t>(seen_.size()) < kExactReleaseStatesMax;
    return seen_.insert(std::move(key)).second;
  }

  ElementCosts costs_;
  std::int64_t max_transfers_;
  Seconds best_s_;
  bool proven_ = true;
  std::vector<Seconds> length_s_;  // B(count), without the limit
  std::unordered_set<std::string> seen_;
};

}  // namespace

absl::StatusOr<Seconds> ExactReleaseLength(const std::vector<Seconds>& release, ElementCosts costs,
                                           std::int64_t max_transfers) {
  auto greedy = ReleaseDateTree(release, costs, max_transfers);
  if (!greedy.ok()) return greedy.status();
  if (greedy->makespan_s <= *ReleaseLowerBound(release, costs, max_transfers))
    return greedy->makespan_s;
  const auto n = static_cast<std::int64_t>(release.size());
  if (absl::Status status = CheckCount("n", n, 1, kExactReleaseMax); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        status.message(), " for the exact search; use the reversed greedy and its lower bound"));
  }
  std::vector<Holder> holders;
  for (Seconds ready_s : release) holders.push_back({ready_s, ready_s});
  std::sort(holders.begin(), holders.end());
  ReleaseSearch search(release.size(), costs, max_transfers, greedy->makespan_s);
  search.Extend(holders, {}, 0);
  if (search.proven()) return search.best_s();
  return absl::InvalidArgumentError(
      absl::StrCat("n = ", n, " needs more than ", kExactReleaseStatesMax,
                   " states; use the reversed greedy and its lower bound"));
}

}  // namespace weir::planner::tree
