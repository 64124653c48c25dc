#include "planner/job/even_plan.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/job/check_job.h"
#include "planner/plan/order_bound.h"
#include "planner/plan/plan_assembly.h"
#include "planner/plan/transfer_orders.h"
#include "planner/plan/whole_bytes.h"

namespace weir::planner {
namespace {

// Largest output of one mapper; see PlanAssembly.
constexpr double kOutputBytesMax = 4e18;

double ComputeRate(const ClusterProfile& cluster, WorkerIndex worker) {
  return cluster.workers[static_cast<std::size_t>(worker)].compute_rate;
}

absl::StatusOr<std::vector<MapperDraft>> EvenMappers(const JobShape& shape,
                                                     const ClusterProfile& cluster,
                                                     std::int32_t num_mappers) {
  const std::int32_t num_workers = cluster.network.num_workers;
  const std::vector<Bytes> chunks = WholeBytes(
      shape.input_bytes, std::vector<double>(static_cast<std::size_t>(num_mappers), 1.0));
  std::vector<MapperDraft> mappers;
  for (std::int32_t j = 0; j < num_mappers; ++j) {
    MapperDraft mapper;
    mapper.worker = j % num_workers;
    mapper.input_bytes = chunks[static_cast<std::size_t>(j)];
    const auto input_bytes = static_cast<double>(mapper.input_bytes);
    const double output_bytes = input_bytes * shape.map_output_ratio.value;
    if (output_bytes > kOutputBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Mapper ", j, " would make ", output_bytes, " bytes (input_bytes ", mapper.input_bytes,
          ", map_output_ratio ", shape.map_output_ratio.value, "); at most ", kOutputBytesMax));
    }
    mapper.output_bytes = static_cast<Bytes>(output_bytes + 0.5);
    mapper.release_s = (j + 1) * shape.map_startup_s.value;
    mapper.duration_s =
        input_bytes * shape.map_seconds_per_byte.value / ComputeRate(cluster, mapper.worker);
    mappers.push_back(mapper);
  }
  return mappers;
}

LayerDraft UniformLayer(const LayerShape& shape, const ClusterProfile& cluster,
                        std::int32_t num_reducers) {
  LayerDraft layer;
  for (std::int32_t k = 0; k < num_reducers; ++k) {
    layer.reducers.push_back({k % cluster.network.num_workers, 1.0 / num_reducers});
  }
  layer.output_ratio = shape.output_ratio.value;
  layer.reduce_seconds = [&shape, &cluster](WorkerIndex worker, Bytes input_bytes) {
    return shape.startup_s.value + static_cast<double>(input_bytes) *
                                       shape.reduce_seconds_per_byte.value /
                                       ComputeRate(cluster, worker);
  };
  return layer;
}

std::vector<PieceDraft> Rotation(std::int32_t num_producers, std::int32_t num_consumers) {
  std::vector<PieceDraft> pieces;
  for (std::int32_t round = 0; round < num_consumers; ++round) {
    for (std::int32_t producer = 0; producer < num_producers; ++producer) {
      pieces.push_back({producer, (producer + round) % num_consumers});
    }
  }
  return pieces;
}

}  // namespace

absl::StatusOr<Plan> EvenPlan(const JobShape& shape, const ClusterProfile& cluster) {
  const std::int32_t num_workers = cluster.network.num_workers;
  const std::int32_t num_mappers = shape.num_mappers > 0 ? shape.num_mappers : num_workers;
  PlanAssembly assembly(cluster.network);
  const absl::StatusOr<std::vector<MapperDraft>> mappers = EvenMappers(shape, cluster, num_mappers);
  if (!mappers.ok()) return mappers.status();
  if (absl::Status status = assembly.AddMappers(*mappers); !status.ok()) return status;
  std::int32_t num_producers = num_mappers;
  for (const LayerShape& layer : shape.layers) {
    const std::int32_t num_reducers = layer.num_reducers > 0 ? layer.num_reducers : num_workers;
    if (std::int64_t{num_producers} * num_reducers > kPairsMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Too many pairs in one layer: ", num_producers, " producers times ", num_reducers,
          " reducers; at most ", kPairsMax, " pairs; ask for fewer mappers or reducers"));
    }
    absl::Status status = assembly.AddReducers(UniformLayer(layer, cluster, num_reducers),
                                               Rotation(num_producers, num_reducers));
    if (!status.ok()) return status;
    num_producers = num_reducers;
  }
  Plan plan = assembly.TakePlan();
  if (absl::Status status = OrderByPriority(&plan); !status.ok()) return status;
  const absl::StatusOr<Seconds> bound_s = OrderBound(plan);
  if (!bound_s.ok()) return bound_s.status();
  plan.summary.method = "even";
  plan.summary.lower_bound_s = *bound_s;
  return plan;
}

}  // namespace weir::planner
