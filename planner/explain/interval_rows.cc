#include "planner/explain/interval_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace weir::planner {

IntervalRows AssignRows(absl::Span<const Interval> intervals, Seconds tolerance_s) {
  std::vector<std::size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return intervals[a].start_s < intervals[b].start_s;
  });
  IntervalRows rows;
  rows.row_of.resize(intervals.size());
  using Busy = std::pair<Seconds, std::size_t>;  // finish, row
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free_rows;
  for (const std::size_t i : order) {
    while (!busy.empty() && busy.top().first <= intervals[i].start_s + tolerance_s) {
      free_rows.push(busy.top().second);
      busy.pop();
    }
    std::size_t row = rows.num_rows;
    if (free_rows.empty()) {
      ++rows.num_rows;
    } else {
      row = free_rows.top();
      free_rows.pop();
    }
    rows.row_of[i] = row;
    busy.push({intervals[i].finish_s, row});
  }
  return rows;
}

}  // namespace weir::planner
