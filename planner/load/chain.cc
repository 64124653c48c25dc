#include "planner/load/chain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/load/cut_bound.h"

namespace weir::planner::load {
namespace {

constexpr double kBlends[] = {0, 0.125, 0.25, 0.5, 0.75, 1};
// A blend must shorten the chain by this much, relative, to be taken.
constexpr double kImprovement = 1e-9;
constexpr int kPassesMax = 4;

double LoadOf(const Chain& chain, std::size_t p) {
  double load = chain.input_bytes;
  if (p > 0) load *= chain.map_output_ratio;
  for (std::size_t q = 1; q < p; ++q) load *= chain.reducers[q - 1].output_ratio;
  return load;
}

ComputeFunction ReduceFunction(const ChainReducers& reducers, double load_bytes) {
  switch (reducers.curve) {
    case ReduceCurve::kLinear:
      if (reducers.growth.known()) {
        return ComputeFunction::Growing(reducers.seconds_per_byte, reducers.startup_s,
                                        reducers.growth, load_bytes);
      }
      return ComputeFunction::Linear(reducers.seconds_per_byte, reducers.startup_s);
    case ReduceCurve::kNLogN:
      return ComputeFunction::NLogN(reducers.seconds_per_byte, reducers.startup_s);
    case ReduceCurve::kChords:
      break;
  }
  return ComputeFunction::Chords(reducers.seconds_per_byte, reducers.startup_s, load_bytes);
}

std::vector<double> EqualFractions(std::int32_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), 1.0 / count);
}

/// delta^lambda, normalised. A zero share stays zero unless lambda is 0.
std::vector<double> Blend(std::vector<double> fractions, double lambda) {
  double sum = 0;
  for (double& fraction : fractions) {
    fraction = std::pow(fraction, lambda);
    sum += fraction;
  }
  for (double& fraction : fractions) fraction /= sum;
  return fractions;
}

absl::Status AtLayer(std::size_t p, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("layer ", p, ": ", status.message()));
}

/// Blends a solved layer's loads and measures them again.
absl::Status BlendLayer(const Layer& layer, double lambda, LayerSolution& solution) {
  const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
  if (!scaled.ok()) return scaled.status();
  solution.share = Blend(std::move(solution.share), lambda);
  solution.makespan_s = CutMakespan(*scaled, solution.share) * scaled->time_unit_s;
  for (std::int32_t k = 0; k < layer.num_senders; ++k) {
    const auto at = static_cast<std::size_t>(k);
    solution.finish_s[at] = scaled->FinishTime(k, solution.share[at]) * scaled->time_unit_s;
  }
  solution.gap = solution.makespan_s / solution.lower_bound_s - 1;
  absl::StrAppend(&solution.method, ", blended by ", lambda);
  return absl::OkStatus();
}

absl::StatusOr<ChainSolution> SolveWithBlends(const Chain& chain, LayerMethod method,
                                              const std::vector<double>& blend) {
  ChainSolution chain_solution;
  chain_solution.blend = blend;
  chain_solution.layers.resize(chain.reducers.size() + 1);
  std::vector<double> next_fractions;
  for (std::size_t p = chain.reducers.size() + 1; p-- > 0;) {
    const Layer layer = LayerOfChain(chain, p, next_fractions);
    absl::StatusOr<LayerSolution> solution = SolveLayer(layer, method);
    if (!solution.ok()) return AtLayer(p, solution.status());
    if (p > 0 && blend[p] != 1) {
      if (absl::Status status = BlendLayer(layer, blend[p], *solution); !status.ok())
        return AtLayer(p, status);
    }
    next_fractions = solution->share;
    chain_solution.makespan_s += solution->makespan_s;
    chain_solution.work += solution->work;
    chain_solution.layers[p] = *std::move(solution);
  }
  return chain_solution;
}

absl::Status AddBound(const Chain& chain, ChainSolution& solution) {
  const absl::StatusOr<Seconds> bound = ChainLowerBound(chain);
  if (!bound.ok()) return bound.status();
  solution.lower_bound_s = std::min(*bound, solution.makespan_s);
  solution.gap = solution.makespan_s / solution.lower_bound_s - 1;
  return absl::OkStatus();
}

}  // namespace

Layer LayerOfChain(const Chain& chain, std::size_t p, const std::vector<double>& next_fractions) {
  Layer layer;
  layer.channels = chain.channels;
  layer.channel_seconds_per_byte = chain.channel_seconds_per_byte;
  layer.load_bytes = LoadOf(chain, p);
  layer.next_fractions = next_fractions;
  if (p == 0) {
    layer.kind = LayerKind::kMapper;
    layer.num_senders = chain.num_mappers;
    layer.output_ratio = chain.map_output_ratio;
    layer.mapper_startup_s = chain.map_startup_s;
    layer.compute = ComputeFunction::Linear(chain.map_seconds_per_byte, 0);
    return layer;
  }
  const ChainReducers& reducers = chain.reducers[p - 1];
  layer.kind = LayerKind::kReducer;
  layer.num_senders = reducers.num_reducers;
  layer.output_ratio = reducers.output_ratio;
  layer.compute = ReduceFunction(reducers, layer.load_bytes);
  if (p < chain.reducers.size()) return layer;
  switch (chain.store) {
    case FinalStore::kOneAtATime:
      layer.next_fractions = {1};
      break;
    case FinalStore::kThroughChannels:
      // As many equal receivers as can ever be busy at once: they never limit, which is (3)
      // omitted.
      layer.next_fractions =
          EqualFractions(std::max(1, std::min(chain.channels, reducers.num_reducers)));
      break;
    case FinalStore::kLocal:
      layer.compute =
          layer.compute.WithExtraSlope(chain.channel_seconds_per_byte * reducers.output_ratio);
      layer.output_ratio = 0;
      layer.next_fractions = {1};
      break;
  }
  return layer;
}

absl::StatusOr<Seconds> ChainLowerBound(const Chain& chain) {
  Seconds sum_s = 0;
  for (std::size_t p = 0; p <= chain.reducers.size(); ++p) {
    const bool last = p == chain.reducers.size();
    const std::vector<double> equal =
        last ? std::vector<double>{1} : EqualFractions(chain.reducers[p].num_reducers);
    const absl::StatusOr<ScaledLayer> layer = ScaleLayer(LayerOfChain(chain, p, equal));
    if (!layer.ok()) return AtLayer(p, layer.status());
    sum_s += FindCutBound(*layer).time * layer->time_unit_s;
  }
  return sum_s;
}

absl::StatusOr<ChainSolution> SolveLayerByLayer(const Chain& chain, LayerMethod method) {
  absl::StatusOr<ChainSolution> solution =
      SolveWithBlends(chain, method, std::vector<double>(chain.reducers.size() + 1, 1));
  if (!solution.ok()) return solution;
  if (absl::Status status = AddBound(chain, *solution); !status.ok()) return status;
  return solution;
}

absl::StatusOr<ChainSolution> SolveChain(const Chain& chain, LayerMethod method, double work_max) {
  absl::StatusOr<ChainSolution> best = SolveLayerByLayer(chain, method);
  if (!best.ok()) return best;
  double work = best->work;
  const auto try_blend = [&](const std::vector<double>& blend) -> absl::StatusOr<bool> {
    if (work >= work_max) return false;
    absl::StatusOr<ChainSolution> solution = SolveWithBlends(chain, method, blend);
    if (!solution.ok()) return solution.status();
    work += solution->work;
    if (solution->makespan_s >= best->makespan_s * (1 - kImprovement)) return false;
    best = std::move(solution);
    return true;
  };
  for (const double lambda : kBlends) {
    std::vector<double> blend(chain.reducers.size() + 1, lambda);
    blend[0] = 1;
    if (absl::StatusOr<bool> better = try_blend(blend); !better.ok()) return better.status();
  }
  bool improved = chain.reducers.size() > 1;
  for (int pass = 0; pass < kPassesMax && improved; ++pass) {
    improved = false;
    for (std::size_t p = 1; p <= chain.reducers.size(); ++p) {
      for (const double lambda : kBlends) {
        std::vector<double> blend = best->blend;
        if (blend[p] == lambda) continue;
        blend[p] = lambda;
        const absl::StatusOr<bool> better = try_blend(blend);
        if (!better.ok()) return better.status();
        improved = improved || *better;
      }
    }
  }
  if (absl::Status status = AddBound(chain, *best); !status.ok()) return status;
  best->work = work;
  return best;
}

absl::StatusOr<ChainSolution> SolveEqualShares(const Chain& chain) {
  std::vector<double> blend(chain.reducers.size() + 1, 0);
  blend[0] = 1;
  absl::StatusOr<ChainSolution> solution = SolveWithBlends(chain, LayerMethod::kFast, blend);
  if (!solution.ok()) return solution;
  if (absl::Status status = AddBound(chain, *solution); !status.ok()) return status;
  return solution;
}

absl::StatusOr<Seconds> ChainMakespan(const Chain& chain,
                                      const std::vector<std::vector<double>>& shares) {
  if (shares.size() != chain.reducers.size() + 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shares of ", shares.size(), " layers given; legal: ", chain.reducers.size() + 1));
  }
  Seconds sum_s = 0;
  for (std::size_t p = 0; p < shares.size(); ++p) {
    const std::vector<double> next = p + 1 < shares.size() ? shares[p + 1] : std::vector<double>{1};
    const absl::StatusOr<ScaledLayer> layer = ScaleLayer(LayerOfChain(chain, p, next));
    if (!layer.ok()) return AtLayer(p, layer.status());
    sum_s += CutMakespan(*layer, shares[p]) * layer->time_unit_s;
  }
  return sum_s;
}

}  // namespace weir::planner::load
