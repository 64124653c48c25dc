#pragma once

// One layer of a chain: its senders compute, then send to the receivers of the next layer.
// Validation and scaling.
// Upstream: chain.h, planner/instances (load_instance_json.h), planner/job. Downstream: every
// solver of this folder, which sees only ScaledLayer.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/load/compute_function.h"
#include "planner/plan/units.h"

namespace weir::planner::load {

/// Largest load of one layer. Above it an integer count of bytes no longer fits a double to better
/// than 16 B, and the chord lines of T' come within rounding of each other.
inline constexpr double kLoadBytesMax = 1e17;
/// Most senders or receivers of one layer; the recursion is quadratic when fractions differ.
inline constexpr std::int32_t kLayerWidthMax = 100000;
/// How far the fractions of the next layer may be from 1 in sum.
inline constexpr double kFractionSumTolerance = 1e-9;

enum class LayerKind {
  kMapper,   // sender j starts at j * S (j = 1 .. n) and computes at A seconds per byte
  kReducer,  // all senders start together and pay their start-up even without load
};

/// Returns "mapper" or "reducer".
const char* LayerKindName(LayerKind kind);

/// One layer in bytes and seconds.
///
/// Model: sender j finishes computing its load x_j at t_j = F(x_j) (mapper: j * S + A * x_j), then
///   sends g * x_j * delta_k bytes to each receiver k over at most l channels of C seconds per
///   byte, one at a time per port. The layer's makespan is the end of the last transfer.
/// Symbols: n = num_senders (m, r_p of 004), l = channels, V = load_bytes (entering this layer), C
///   = channel_seconds_per_byte, g = output_ratio, S = mapper_startup_s, F = compute, delta =
///   next_fractions, r = its size.
/// Source: 004 section 3; sections 4.1 and 4.2.
struct Layer {
  LayerKind kind = LayerKind::kReducer;
  std::int32_t num_senders = 1;
  std::int32_t channels = 1;
  double load_bytes = 0;
  double channel_seconds_per_byte = 0;
  double output_ratio = 1;
  Seconds mapper_startup_s = 0;
  ComputeFunction compute;
  std::vector<double> next_fractions;
};

/// Checks every field.
/// Errors: kInvalidArgument naming field, value and legal range. Never clamps.
absl::Status CheckLayer(const Layer& layer);

/// A layer in pure numbers: loads as fractions of V, times in units of T0 = F(V/n) + n S + C g V /
/// min(l, n, r).
///
/// Why: unscaled, the linear programs span 20 orders of magnitude; solvers report accuracy errors
///   or call feasible programs infeasible. With these units every optimum is about 1.
/// Symbols: c = C g V / T0 (all output over one channel); L = min(l, r); D_q = sum of the q largest
///   delta, D_L = 1; Q = {q < L : L D_q > q} + {L}: the cuts that can bind.
struct ScaledLayer {
  LayerKind kind = LayerKind::kReducer;
  std::int32_t n = 1;
  std::int32_t r = 1;
  std::int32_t l = 1;
  /// L.
  std::int32_t width = 1;
  /// c.
  double send_all = 0;
  /// S.
  double startup = 0;
  ComputeFunction compute;
  std::vector<double> fractions;
  /// D_0 .. D_L.
  std::vector<double> top_fractions;
  /// Q, rising.
  std::vector<std::int32_t> cut_widths;
  Seconds time_unit_s = 1;
  double load_bytes = 1;

  /// Returns t_k of the sender at zero-based position `k` with load fraction `share`.
  double FinishTime(std::int32_t k, double share) const;
};

/// Checks and scales.
/// Errors: those of CheckLayer; kInvalidArgument when T0 overflows or is zero.
absl::StatusOr<ScaledLayer> ScaleLayer(const Layer& layer);

}  // namespace weir::planner::load
