#include "planner/job/builders/load_split.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "planner/job/job_drafts.h"
#include "planner/job/map_chunks.h"

namespace weir::planner {
namespace {

// Measured: 0.05 ms for 64 senders to 64 unequal receivers, 8 ms for 1000 to 1000; twice that,
// since curves cost more than lines.
constexpr Seconds kSecondsPerStep = 2e-8;

std::vector<WorkerIndex> FastestFirst(const ClusterProfile& cluster) {
  std::vector<WorkerIndex> workers =
      WorkersInTurn(cluster.network.num_workers, cluster.network.num_workers);
  std::stable_sort(workers.begin(), workers.end(), [&](WorkerIndex a, WorkerIndex b) {
    return cluster.workers[static_cast<std::size_t>(a)].compute_rate >
           cluster.workers[static_cast<std::size_t>(b)].compute_rate;
  });
  return workers;
}

}  // namespace

SolvingBudget::SolvingBudget(Seconds time_s, std::size_t num_chains)
    : work_left_(time_s / kSecondsPerStep), chains_left_(static_cast<int>(num_chains)) {}

absl::StatusOr<LoadSplit> SolveSplit(const load::Chain& chain, SolvingBudget& budget) {
  const absl::StatusOr<load::ChainSolution> solution =
      load::SolveChain(chain, load::LayerMethod::kFast, budget.ForNext());
  budget.Spend(solution.ok() ? solution->work : 0);
  if (!solution.ok()) return solution.status();
  LoadSplit split;
  for (const load::LayerSolution& layer : solution->layers) split.shares.push_back(layer.share);
  return split;
}

void PlaceSteps(const ClusterProfile& cluster, Placement placement, LoadSplit& split) {
  const std::vector<WorkerIndex> fastest = FastestFirst(cluster);
  split.workers.clear();
  for (std::size_t p = 0; p < split.shares.size(); ++p) {
    const std::size_t count = split.shares[p].size();
    const bool from_end = p > 0 && count < fastest.size() && placement == Placement::kApart;
    const std::size_t first = from_end ? fastest.size() - count : 0;
    split.workers.emplace_back();
    for (std::size_t k = 0; k < count; ++k)
      split.workers.back().push_back(fastest[(first + k) % fastest.size()]);
  }
}

LoadSplit WeightedByRate(LoadSplit split, const JobShape& shape, const ClusterProfile& cluster,
                         double power) {
  for (std::size_t p = 0; p < split.shares.size(); ++p) {
    // Steps whose time grows as x^e end together where shares are as rates to the power 1 / e.
    const bool grows = p > 0 && shape.layers[p - 1].reduce_growth.known();
    const double exponent = grows ? shape.layers[p - 1].reduce_growth.exponent : 1;
    std::vector<double>& shares = split.shares[p];
    double sum = 0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      const auto worker = static_cast<std::size_t>(split.workers[p][k]);
      shares[k] *= std::pow(cluster.workers[worker].compute_rate, power / exponent);
      sum += shares[k];
    }
    for (double& share : shares) share /= sum;
  }
  return split;
}

std::optional<LoadSplit> DividedByRacks(LoadSplit split, const JobShape& shape,
                                        const std::vector<Rack>& level, const RackShares& parts) {
  std::map<WorkerIndex, std::size_t> rack_of;
  for (std::size_t rack = 0; rack < level.size(); ++rack) {
    for (const WorkerIndex w : level[rack].workers) rack_of[w] = rack;
  }
  for (std::size_t p = 0; p < split.shares.size(); ++p) {
    const std::vector<double>& wanted = p == 0 ? parts.mapped : parts.reduced;
    std::vector<double> had(level.size(), 0);
    for (std::size_t k = 0; k < split.shares[p].size(); ++k) {
      had[rack_of[split.workers[p][k]]] += split.shares[p][k];
    }
    std::vector<double> shares;
    std::vector<WorkerIndex> workers;
    for (std::size_t k = 0; k < split.shares[p].size(); ++k) {
      const std::size_t rack = rack_of[split.workers[p][k]];
      if (wanted[rack] <= 0) continue;
      shares.push_back(split.shares[p][k] / had[rack] * wanted[rack]);
      workers.push_back(split.workers[p][k]);
    }
    const std::int32_t asked = p == 0 ? shape.num_mappers : shape.layers[p - 1].num_reducers;
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    const bool some_missing = !(std::abs(sum - 1) < 1e-6);  // no step there, or none with load
    if (some_missing || (asked > 0 && shares.size() != split.shares[p].size())) return std::nullopt;
    for (double& share : shares) share /= sum;
    split.shares[p] = std::move(shares);
    split.workers[p] = std::move(workers);
  }
  return split;
}

LoadSplit FittedToInput(LoadSplit split, const JobShape& shape) {
  if (shape.uncut.empty()) return split;
  std::vector<Bytes> chunks = MapChunks(shape, split.shares[0]);
  if (shape.num_mappers == 0) {
    std::erase(chunks, 0);
    std::vector<std::size_t> largest_first(chunks.size());
    std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
    std::stable_sort(largest_first.begin(), largest_first.end(),
                     [&](std::size_t a, std::size_t b) { return chunks[a] > chunks[b]; });
    std::vector<WorkerIndex> workers(chunks.size());
    for (std::size_t rank = 0; rank < chunks.size(); ++rank)
      workers[largest_first[rank]] = split.workers[0][rank];
    split.workers[0] = std::move(workers);
  }
  split.shares[0].clear();
  for (const Bytes chunk : chunks) {
    split.shares[0].push_back(static_cast<double>(chunk) / static_cast<double>(shape.input_bytes));
  }
  return split;
}

double PairsMax(const LoadSplit& split) {
  double pairs = 0;
  for (std::size_t p = 0; p + 1 < split.shares.size(); ++p) {
    pairs = std::max(pairs, static_cast<double>(split.shares[p].size()) *
                                static_cast<double>(split.shares[p + 1].size()));
  }
  return pairs;
}

double PairsOf(const LoadSplit& split) {
  double pairs = 0;
  for (std::size_t p = 0; p + 1 < split.shares.size(); ++p) {
    pairs += static_cast<double>(split.shares[p].size()) *
             static_cast<double>(split.shares[p + 1].size());
  }
  return pairs;
}

}  // namespace weir::planner
