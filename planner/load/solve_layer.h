#pragma once

// Loads of one layer by a chosen method, in bytes and seconds. The entry of this folder for a
// single layer.
// Upstream: planner/instances (load_instance_json.h), chain.h. Downstream: fast_layer.h,
// exact_layer.h, source_program.h.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/load/layer.h"
#include "planner/plan/units.h"

namespace weir::planner::load {

enum class LayerMethod {
  kAutomatic,  // fast; exact where that leaves a gap and the layer has at most 300 senders
  kFast,       // closed form or cut recursion; microseconds; certified gap <= 0.1 % (else the cut
               // program)
  kExact,      // fast, then the lazy-cut program where the fast gap is not zero
  kPaper,      // the source's programs (1)-(9), (10)-(18) FIFO, by Clp
  kPaperFreeOrder,  // mappers: (10)-(21) with free finishing order, by Cbc; reducers: as kPaper
};

/// Gap above which a result warns that its numbers defeated the method.
inline constexpr double kGapWarning = 1e-3;
/// Gaps below this are rounding of the bound and of the solver (tolerance 1e-9) and are reported as
/// 0.
inline constexpr double kGapRounding = 1e-9;

/// Loads and times of one layer.
struct LayerSolution {
  /// Fraction of V of each sender, in finishing order. Sums to 1.
  std::vector<double> share;
  /// t_j of each sender, seconds.
  std::vector<Seconds> finish_s;
  Seconds makespan_s = 0;
  Seconds lower_bound_s = 0;
  /// makespan / lower bound - 1.
  double gap = 0;
  /// How it was found: "fast: closed form", "exact: cut program", ...
  std::string method;
  int newton_steps = 0;
  /// What finding it took, in steps of the cut recursion: counted by the layer's size, so that the
  /// same layer counts the same everywhere.
  double work = 0;
  /// Not empty when the gap exceeds kGapWarning.
  std::string warning;
};

/// Solves one layer.
///
/// Errors: kInvalidArgument naming field, value and legal range; kResourceExhausted when the layer
///   is too large for kPaper; kInternal when a solver fails that was asked for by its name;
///   kAutomatic and kFast then answer with the fast loads, and their gap. Thread-safety: pure; same
///   input, same bits.
/// Checked by: tests/unit/planner_load/oracle_test.cc.
absl::StatusOr<LayerSolution> SolveLayer(const Layer& layer, LayerMethod method);

}  // namespace weir::planner::load
