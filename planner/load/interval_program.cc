#include "planner/load/interval_program.h"

#include <algorithm>
#include <utility>

#include "planner/load/linear_program.h"
#include "planner/plan/units.h"

namespace weir::planner::load {
namespace {

// Releases closer than this, relative to the last, are one.
constexpr double kSameRelease = 1e-12;

struct Interval {
  double begin = 0;
  int released = 0;
  int first_column = 0;
};

/// Adds row: sum of what the caller enters <= scale * length of interval i (the last one ends at
/// T).
int AddLengthRow(const std::vector<Interval>& intervals, std::size_t i, double scale,
                 int end_column, LinearProgram& program) {
  if (i + 1 < intervals.size()) {
    return program.AddRow(-kUnbounded, scale * (intervals[i + 1].begin - intervals[i].begin));
  }
  const int row = program.AddRow(-kUnbounded, -scale * intervals[i].begin);
  program.AddEntry(row, end_column, -scale);
  return row;
}

}  // namespace

absl::StatusOr<std::vector<IntervalTransfers>> SolveIntervalProgram(const ShuffleDemand& demand) {
  const int n = demand.num_senders();
  const int r = demand.num_receivers();
  LinearProgram program;
  const int end_column = program.AddColumn(demand.release.back(), kUnbounded, 1);
  std::vector<Interval> intervals;
  for (int j = 0; j < n; ++j) {
    const double release = demand.release[At(j)];
    if (!intervals.empty() &&
        release - intervals.back().begin <= kSameRelease * demand.release.back()) {
      intervals.back().released = j + 1;
    } else {
      intervals.push_back({release, j + 1, 0});
    }
  }
  for (Interval& interval : intervals) {
    interval.first_column = program.num_columns();
    for (int b = 0; b < interval.released * r; ++b) program.AddColumn(0, kUnbounded, 0);
  }
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Interval& interval = intervals[i];
    const int all = AddLengthRow(intervals, i, demand.channels, end_column, program);  // (5)
    for (int k = 0; k < r; ++k) {                                                      // (3)
      const int row = AddLengthRow(intervals, i, 1, end_column, program);
      for (int j = 0; j < interval.released; ++j)
        program.AddEntry(row, interval.first_column + j * r + k, 1);
    }
    for (int j = 0; j < interval.released; ++j) {  // (4)
      const int row = AddLengthRow(intervals, i, 1, end_column, program);
      for (int k = 0; k < r; ++k) {
        program.AddEntry(row, interval.first_column + j * r + k, 1);
        program.AddEntry(all, interval.first_column + j * r + k, 1);
      }
    }
  }
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < r; ++k) {  // (7)
      const int row =
          program.AddRow(demand.send_time[At(j)][At(k)], demand.send_time[At(j)][At(k)]);
      for (const Interval& interval : intervals) {
        if (j < interval.released) program.AddEntry(row, interval.first_column + j * r + k, 1);
      }
    }
  }
  const absl::StatusOr<ProgramSolution> solution = SolveLinearProgram(program);
  if (!solution.ok()) return solution.status();
  std::vector<IntervalTransfers> transfers;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Interval& interval = intervals[i];
    const double end =
        i + 1 < intervals.size() ? intervals[i + 1].begin : solution->values[At(end_column)];
    IntervalTransfers sent{interval.begin, end,
                           std::vector<std::vector<double>>(At(n), std::vector<double>(At(r), 0))};
    for (int j = 0; j < interval.released; ++j) {
      for (int k = 0; k < r; ++k) {
        sent.send_time[At(j)][At(k)] =
            std::max(0.0, solution->values[At(interval.first_column + j * r + k)]);
      }
    }
    transfers.push_back(std::move(sent));
  }
  return transfers;
}

}  // namespace weir::planner::load
