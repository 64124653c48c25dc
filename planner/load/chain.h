#pragma once

// The whole chain: one mapper layer, R reducer layers, the final store. From the last layer to the
// first, then blended.
// Upstream: planner/job. Downstream: solve_layer.h for each layer.

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/load/growth_curve.h"
#include "planner/load/layer.h"
#include "planner/load/solve_layer.h"

namespace weir::planner::load {

/// How the last layer's output is stored (004, section 4.1, after (8)).
enum class FinalStore {
  kOneAtATime,       // one file: r_{R+1} = 1, delta_{R+1,1} = 1
  kThroughChannels,  // l at a time: (3) omitted
  kLocal,            // each on its own disk: writing time is part of F, (3)-(7) fall away
};

enum class ReduceCurve { kLinear, kChords, kNLogN };

/// One reducer layer.
/// Symbols: r_p = num_reducers, a_p, s_p, g_p.
struct ChainReducers {
  std::int32_t num_reducers = 1;
  double seconds_per_byte = 0;
  Seconds startup_s = 0;
  double output_ratio = 1;
  ReduceCurve curve = ReduceCurve::kChords;
  /// kLinear: what grows faster, beyond it.
  GrowthCurve growth = {};
};

/// A chain of layers.
/// Symbols: m, A, S, g_0, V, C, l of 004.
struct Chain {
  std::int32_t num_mappers = 1;
  double map_seconds_per_byte = 0;
  Seconds map_startup_s = 0;
  double map_output_ratio = 1;
  double input_bytes = 0;
  std::vector<ChainReducers> reducers;
  double channel_seconds_per_byte = 0;
  std::int32_t channels = 1;
  FinalStore store = FinalStore::kOneAtATime;
};

/// Loads of all layers.
struct ChainSolution {
  /// layers[0] = mappers, layers[p] = reducers of layer p. finish_s counts from the layer's own
  /// start.
  std::vector<LayerSolution> layers;
  /// blend[p]: exponent lambda that was applied to delta_p; 1 = as the layer alone wants it, 0 =
  /// equal.
  std::vector<double> blend;
  /// Sum over layers: a layer starts when the one before has sent everything.
  Seconds makespan_s = 0;
  /// Sum over layers of the least T_p for any fractions of the next layer: proven for this model.
  Seconds lower_bound_s = 0;
  double gap = 0;
  /// What all that was tried took (LayerSolution::work).
  double work = 0;
};

/// Returns layer p of the chain (0 = mappers) given the fractions of layer p + 1 (ignored for the
/// last).
Layer LayerOfChain(const Chain& chain, std::size_t p, const std::vector<double>& next_fractions);

/// Returns sum_p min T_p, each with equal fractions of the next layer.
///
/// Why it is a bound: equal fractions have the smallest D_q for every q, so they loosen every cut.
absl::StatusOr<Seconds> ChainLowerBound(const Chain& chain);

/// Solves the layers from last to first, each given the fractions of the next (the source's
/// algorithm, 4.4).
absl::StatusOr<ChainSolution> SolveLayerByLayer(const Chain& chain, LayerMethod method);

/// Solves layer by layer, then bends every delta_p towards equal shares while the whole chain gets
/// shorter.
///
/// Model: delta_p(lambda) ~ delta_p^lambda; layer p takes longer, layer p - 1 has less uneven
///   receivers. First the best common lambda of {0, 1/8, 1/4, 1/2, 3/4, 1}, then one layer at a
///   time, until nothing improves.
/// Bounds: never worse than SolveLayerByLayer; within 6 % of the bound where layer by layer was up
///   to 25 times it (measured). Once what was tried has taken `work_max` (LayerSolution::work)
///   nothing more is: the number of solved layers grows with the square of the chain's.
/// Errors: those of SolveLayer, naming the layer.
/// Checked by: tests/unit/planner_load/chain_test.cc.
absl::StatusOr<ChainSolution> SolveChain(const Chain& chain, LayerMethod method,
                                         double work_max = std::numeric_limits<double>::infinity());

/// Solves with equal shares in every reducer layer: the cheapest estimate, O(layers * n), and what
/// a hash partitioner without a plan gives.
absl::StatusOr<ChainSolution> SolveEqualShares(const Chain& chain);

/// Returns how long the chain takes with the given loads of each layer.
absl::StatusOr<Seconds> ChainMakespan(const Chain& chain,
                                      const std::vector<std::vector<double>>& shares);

}  // namespace weir::planner::load
