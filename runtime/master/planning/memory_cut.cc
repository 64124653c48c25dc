#include "runtime/master/planning/memory_cut.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "planner/explain/readable.h"

namespace weir::master {
namespace {

// What a pair of 100 bytes takes beside itself: lengths, and an entry of 16 bytes twice while it is
// sorted. Of shorter pairs a part goes to disk.
constexpr double kRoomOfPairs = 1.4;
constexpr double kPartOfMemory = 0.5;
constexpr double kStepsMax = 256;

// 0 where a worker has none.
planner::Bytes LeastLimit(const planner::ClusterProfile& cluster) {
  planner::Bytes least = 0;
  for (const planner::WorkerProfile& worker : cluster.workers) {
    if (worker.memory_bytes == 0) return 0;
    least = least == 0 ? worker.memory_bytes : std::min(least, worker.memory_bytes);
  }
  return least;
}

}  // namespace

void CutByMemory(PlanRequest& request) {
  planner::JobShape& shape = request.shape;
  const planner::Bytes limit = LeastLimit(request.cluster);
  if (limit == 0 || shape.num_mappers > 0 || shape.loop || !shape.uncut.empty() ||
      shape.layers.empty() || shape.layers[0].element.kind != planner::ElementShape::Kind::kNone) {
    return;
  }
  const auto num_workers = static_cast<double>(request.cluster.workers.size());
  const double pairs_of_worker = static_cast<double>(shape.input_bytes) / num_workers *
                                 shape.map_output_ratio.value * kRoomOfPairs;
  const double steps = std::min(
      kStepsMax, std::ceil(pairs_of_worker / (kPartOfMemory * static_cast<double>(limit))));
  if (steps <= 1) return;
  shape.num_mappers = static_cast<std::int32_t>(steps * num_workers);
  request.notes.push_back(
      absl::StrCat(steps, " map steps a worker, so that the pairs of each fit into half of its ",
                   planner::ReadableBytes(static_cast<double>(limit)), "."));
}

}  // namespace weir::master
