#include "planner/job/job_drafts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "planner/job/step_spill.h"

namespace weir::planner {
namespace {

// Largest output of one mapper; see PlanAssembly.
constexpr double kOutputBytesMax = 4e18;
// Part of its map time for which a worker that waits for the disk does so at least: a loop adds an
// overhead of its own.
constexpr double kWaitsPart = 0.99;

double ComputeRate(const ClusterProfile& cluster, WorkerIndex worker) {
  return cluster.workers[static_cast<std::size_t>(worker)].compute_rate;
}

// A part is written back while it is written, and synced at its end, as those of the other steps
// of its layer are, one a worker at a time.
Seconds OnDiskSeconds(const JobShape& shape, std::size_t index, const ClusterProfile& cluster,
                      double input_bytes, std::size_t num_steps) {
  const StoreShape& store = shape.store;
  if (index + 1 != shape.layers.size() || store.write != FinalWrite::kParts) return 0;
  const auto at_once = static_cast<double>(std::min(num_steps, cluster.workers.size()));
  return input_bytes * shape.layers[index].output_ratio.value * at_once *
         store.disk_seconds_per_byte;
}

}  // namespace

std::vector<Seconds> InputDiskSeconds(const JobShape& shape, absl::Span<const double> bytes) {
  std::vector<Seconds> seconds(bytes.size(), 0);
  if (shape.input_disk_seconds_per_byte <= 0) return seconds;
  for (std::size_t w = 0; w < bytes.size(); ++w) {
    double read_bytes = 0;
    for (const double others : bytes) read_bytes += std::min(others, bytes[w]);
    seconds[w] = read_bytes * shape.input_disk_seconds_per_byte;
  }
  return seconds;
}

bool InputDiskLimits(const JobShape& shape, const ClusterProfile& cluster, const Plan& plan) {
  if (shape.input_disk_seconds_per_byte <= 0) return false;
  std::vector<double> bytes(cluster.workers.size(), 0);
  std::vector<Seconds> map_s(bytes.size(), 0);
  for (const ComputeStep& step : plan.steps) {
    if (!step.kind->reads_input() || step.input_bytes == 0) continue;
    bytes[At(step.worker)] += static_cast<double>(step.input_bytes);
    map_s[At(step.worker)] += step.duration_s - shape.map_overhead_s.value;
  }
  const auto longest = std::max_element(map_s.begin(), map_s.end());
  if (longest == map_s.end() || *longest <= 0) return false;
  const auto worker = static_cast<std::size_t>(longest - map_s.begin());
  return InputDiskSeconds(shape, bytes)[worker] >= kWaitsPart * *longest;
}

absl::StatusOr<std::vector<MapperDraft>> DraftMappers(const JobShape& shape,
                                                      const ClusterProfile& cluster,
                                                      absl::Span<const Bytes> chunk_bytes,
                                                      absl::Span<const WorkerIndex> workers) {
  std::vector<double> bytes(cluster.workers.size(), 0);
  for (std::size_t j = 0; j < chunk_bytes.size(); ++j) {
    bytes[At(workers[j])] += static_cast<double>(chunk_bytes[j]);
  }
  const std::vector<Seconds> disk_s = InputDiskSeconds(shape, bytes);
  std::vector<MapperDraft> mappers;
  for (std::size_t j = 0; j < chunk_bytes.size(); ++j) {
    MapperDraft mapper;
    mapper.worker = workers[j];
    mapper.input_bytes = chunk_bytes[j];
    const auto input_bytes = static_cast<double>(mapper.input_bytes);
    const double output_bytes = MapOutputBytes(shape, input_bytes);
    if (output_bytes > kOutputBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Mapper ", j, " would make ", output_bytes, " bytes (input_bytes ", mapper.input_bytes,
          ", map_output_ratio ", shape.map_output_ratio.value, "); at most ", kOutputBytesMax));
    }
    mapper.output_bytes = static_cast<Bytes>(output_bytes + 0.5);
    mapper.release_s = static_cast<double>(j + 1) * shape.map_startup_s.value;
    mapper.duration_s =
        shape.map_overhead_s.value +
        input_bytes * shape.map_seconds_per_byte.value / ComputeRate(cluster, mapper.worker) +
        MapSpill(shape, cluster, mapper.worker, input_bytes).seconds;
    // The disk reads while the step computes.
    const std::size_t w = At(mapper.worker);
    if (bytes[w] > 0) {
      mapper.duration_s = std::max(mapper.duration_s,
                                   shape.map_overhead_s.value + disk_s[w] * input_bytes / bytes[w]);
    }
    mappers.push_back(mapper);
  }
  return mappers;
}

LayerDraft DraftReducers(const JobShape& shape, std::size_t index, std::size_t num_producers,
                         const ClusterProfile& cluster, absl::Span<const double> load_fractions,
                         absl::Span<const WorkerIndex> workers) {
  const LayerShape& layer = shape.layers[index];
  LayerDraft draft;
  const KeyCuts cuts = CutKeys(layer.key_weights, load_fractions);
  for (std::size_t k = 0; k < load_fractions.size(); ++k)
    draft.reducers.push_back({workers[k], cuts.shares[k], cuts.ends[k]});
  draft.output_ratio = layer.output_ratio.value;
  draft.reduce_seconds = [&shape, index, num_producers, &cluster,
                          num_steps = load_fractions.size()](WorkerIndex worker,
                                                             Bytes input_bytes) {
    return ReduceStepSeconds(shape, index, cluster, worker, static_cast<double>(input_bytes),
                             static_cast<double>(num_producers), num_steps);
  };
  return draft;
}

Seconds ReduceStepSeconds(const JobShape& shape, std::size_t index, const ClusterProfile& cluster,
                          WorkerIndex worker, double input_bytes, double num_inputs,
                          std::size_t num_steps) {
  const LayerShape& layer = shape.layers[index];
  const Seconds busy_s =
      ReduceSeconds(layer, input_bytes) / ComputeRate(cluster, worker) +
      ReduceSpill(shape, index, cluster, worker, input_bytes, num_inputs).seconds;
  return layer.startup_s.value +
         std::max(busy_s, OnDiskSeconds(shape, index, cluster, input_bytes, num_steps));
}

std::vector<PieceDraft> RotationPieces(std::int32_t num_producers, std::int32_t num_consumers) {
  std::vector<PieceDraft> pieces;
  for (std::int32_t round = 0; round < num_consumers; ++round) {
    for (std::int32_t producer = 0; producer < num_producers; ++producer) {
      pieces.push_back({producer, (producer + round) % num_consumers});
    }
  }
  return pieces;
}

std::vector<WorkerIndex> WorkersInTurn(std::int32_t count, std::int32_t num_workers) {
  std::vector<WorkerIndex> workers;
  for (std::int32_t k = 0; k < count; ++k) workers.push_back(k % num_workers);
  return workers;
}

}  // namespace weir::planner
