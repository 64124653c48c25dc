#pragma once

// The source document's own programs, scaled: (1)-(9) for reducers, (10)-(18) for mappers in FIFO
// order, (10)-(21) with free order. Reference and oracle; far slower than fast_layer.h.
// Upstream: layer.h. Downstream: solve_layer.h (method paper), source_decomposition.h, tests.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/load/fast_layer.h"
#include "planner/load/layer.h"
#include "planner/load/linear_program.h"

namespace weir::planner::load {

/// What is sent between every pair inside one interval [begin, end), in scaled time (C * beta_ijk /
/// T0).
struct IntervalTransfers {
  double begin = 0;
  double end = 0;
  /// One row a sender, r columns.
  std::vector<std::vector<double>> send_time;
};

struct SourceSolution {
  ScaledLoads loads;
  /// t_1 .. t_{n+1}.
  std::vector<double> finish;
  std::vector<IntervalTransfers> intervals;
  /// Finishing order: position -> mapper number from 1; 1 .. n unless the order was free.
  std::vector<std::int32_t> order;
};

/// Largest n * n * r that is handed to a solver; above it a program takes minutes.
inline constexpr std::int64_t kSourceProgramSizeMax = 200000;
/// Largest number of mappers whose order is left free.
inline constexpr std::int32_t kFreeOrderMappersMax = 8;

/// Builds (1)-(9) or, for mappers, (10)-(15), (17), (18) with t_j = j S + A x_j, in scaled units.
///
/// Symbols: columns x_1 .. x_n (delta_pj, alpha_j / V), t_1 .. t_{n+1}, beta_ijk for j <= i (so
///   (6), (16) hold by construction), in units of send time. Rows follow the equations' numbers in
///   the .cc file.
/// Errata applied: a_0 = a_red; lines reach the layer's own V; the product of (7) runs to p, its
///   sums to r_p.
LinearProgram BuildSourceProgram(const ScaledLayer& layer);

/// Builds (10)-(21) with the order variables z_ij, M = 2 (n S + A + c) in scaled units.
/// Requires: a mapper layer.
LinearProgram BuildFreeOrderProgram(const ScaledLayer& layer);

/// Solves the FIFO program with Clp.
///
/// Errors: kInvalidArgument when the compute function has no lines ((9) needs them);
///   kResourceExhausted when n n r exceeds kSourceProgramSizeMax; kInternal when Clp fails.
absl::StatusOr<SourceSolution> SolveSourceProgram(const ScaledLayer& layer);

/// Solves with free finishing order with Cbc.
///
/// Errors: kInvalidArgument for a reducer layer; kResourceExhausted above kFreeOrderMappersMax
///   mappers; kDeadlineExceeded when the node budget ends first.
absl::StatusOr<SourceSolution> SolveFreeOrderProgram(const ScaledLayer& layer);

/// Variables and constraints of one layer as the source counts them (4.1, 4.2).
struct ProgramSize {
  std::int64_t rational = 0;
  std::int64_t binary = 0;
  std::int64_t constraints = 0;
};

/// Returns the size of (10)-(21) for m mappers and r reducers.
ProgramSize MapperProgramSize(std::int64_t m, std::int64_t r);
/// Returns the size of (1)-(9) for r_p reducers, r_{p+1} receivers and load bound V.
ProgramSize ReducerProgramSize(std::int64_t senders, std::int64_t receivers, double load_bytes);

}  // namespace weir::planner::load
