#pragma once

// A sparse linear program and the two solvers behind it. The only header of this folder that knows
// they exist.
// Upstream: exact_layer.cc, source_program.cc, interval_program.cc. Downstream: Clp, Cbc.

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::planner::load {

inline constexpr double kUnbounded = 1e30;

/// min cost * x, row_lower <= A x <= row_upper, column_lower <= x <= column_upper. Entries as
/// triplets.
struct LinearProgram {
  std::vector<double> cost, column_lower, column_upper;
  std::vector<bool> integer;
  std::vector<double> row_lower, row_upper;
  std::vector<int> entry_row, entry_column;
  std::vector<double> entry_value;

  /// Adds a column and returns its index.
  int AddColumn(double lower, double upper, double column_cost);
  /// Adds a row without entries and returns its index.
  int AddRow(double lower, double upper);
  void AddEntry(int row, int column, double value);
  int num_columns() const { return static_cast<int>(cost.size()); }
  int num_rows() const { return static_cast<int>(row_lower.size()); }
};

struct ProgramSolution {
  double objective = 0;
  std::vector<double> values;
};

/// Solves by the dual simplex with presolve (Clp), silently.
///
/// Errors: kInternal when the solver does not prove optimality, with its status and the size. The
///   programs of this folder are feasible and bounded, so that is numerical trouble.
absl::StatusOr<ProgramSolution> SolveLinearProgram(const LinearProgram& program);

/// Solves with the integer columns (Cbc branch and bound), silently.
///
/// Errors: kDeadlineExceeded when `nodes_max` nodes did not prove optimality (a count, not a clock:
///   the planner has none).
absl::StatusOr<ProgramSolution> SolveMixedProgram(const LinearProgram& program, int nodes_max);

/// Re-solves a program that grows by rows (lazy cuts), keeping the basis.
class GrowingProgram {
 public:
  /// Starts with the columns of `columns`; its rows are added too.
  explicit GrowingProgram(const LinearProgram& columns);
  ~GrowingProgram();
  GrowingProgram(const GrowingProgram&) = delete;
  GrowingProgram& operator=(const GrowingProgram&) = delete;

  /// Collects one row; Solve adds all that were collected.
  void AddRow(const std::vector<int>& columns, const std::vector<double>& values, double lower,
              double upper);
  /// Errors: as SolveLinearProgram.
  absl::StatusOr<ProgramSolution> Solve();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::planner::load
