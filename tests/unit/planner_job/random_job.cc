#include "tests/unit/planner_job/random_job.h"

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::planner {
namespace {

// Uniform; without a fixed size RapidCheck draws small numbers most of the time.
std::int32_t DrawCount(std::int32_t from, std::int32_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int32_t>(from, to + 1));
}

// A number of a few sizes, often round, so that ties occur.
double DrawCost() {
  static const std::vector<double> kCosts = {0, 0.5, 1, 1, 2, 3, 0.37, 11};
  return *rc::gen::elementOf(kCosts);
}

Cut DrawRackCut(const std::vector<bool>& rack, bool up) {
  std::vector<bool> rest(rack.size());
  for (std::size_t i = 0; i < rack.size(); ++i) rest[i] = !rack[i];
  const std::int32_t channels = DrawCount(1, 3);
  return up ? Cut{"rack up", rack, rest, channels} : Cut{"rack down", rest, rack, channels};
}

NetworkModel DrawNetwork(std::int32_t num_workers, double seconds_per_byte) {
  NetworkModel network;
  network.num_workers = num_workers;
  network.seconds_per_byte = seconds_per_byte;
  network.latency_s = *rc::gen::element(0.0, 0.0, 0.25);
  const auto n = static_cast<std::size_t>(num_workers);
  if (DrawCount(0, 2) == 0) {
    for (std::size_t i = 0; i < n; ++i) {
      network.port_slowdown.push_back(*rc::gen::element(1.0, 1.0, 2.0, 7.5));
    }
  }
  const std::int32_t cuts = DrawCount(0, 3);
  if (cuts == 1 || cuts == 3) {
    network.cuts.push_back(LimitedTotal(num_workers, 1, DrawCount(1, 4)).cuts[0]);
  }
  if (cuts >= 2) {
    std::vector<bool> rack(n, false);
    for (std::size_t i = 0; i < n / 2; ++i) rack[i] = true;
    for (int r = 0; r < 2; ++r) {
      network.cuts.push_back(DrawRackCut(rack, true));
      network.cuts.push_back(DrawRackCut(rack, false));
      rack.flip();
    }
  }
  return network;
}

// Files that cannot be cut, all of the input or between others.
void DrawUncut(JobShape& shape) {
  Bytes begin = 0;
  for (std::int32_t files = DrawCount(0, 2) == 0 ? DrawCount(1, 8) : 0; files > 0; --files) {
    const Bytes end = files == 1 && DrawCount(0, 1) == 0
                          ? shape.input_bytes
                          : begin + (shape.input_bytes - begin) * DrawCount(1, 4) / 5;
    if (end > begin && DrawCount(0, 3) > 0) shape.uncut.push_back({begin, end});
    begin = end;
  }
}

ElementShape DrawElement(double combine_seconds_per_byte) {
  ElementShape element;
  element.kind = *rc::gen::element(ElementShape::Kind::kTable, ElementShape::Kind::kTable,
                                   ElementShape::Kind::kVector, ElementShape::Kind::kNone);
  element.places = std::int64_t{1} << 30;
  if (element.kind == ElementShape::Kind::kVector) {
    element.places = *rc::gen::element(16, 100, 100'000);
    element.place_bytes = *rc::gen::element(1, 8);
  }
  element.commutative = *rc::gen::arbitrary<bool>();
  element.splits = *rc::gen::element(true, true, true, false);
  element.combine_seconds_per_byte.value = combine_seconds_per_byte;
  return element;
}

}  // namespace

RandomJob DrawJob(JobKind kind) {
  const bool busy = kind == JobKind::kBusy;
  RandomJob job;
  std::vector<Bytes> sizes = {1000, 12'345, 1'000'000'000'000};
  if (!busy) sizes.insert(sizes.end(), {0, 1, 7, 100});
  job.shape.input_bytes = *rc::gen::elementOf(sizes);
  if (!busy) DrawUncut(job.shape);
  const double scale = 1.0 / static_cast<double>(job.shape.input_bytes + 1);
  job.shape.map_seconds_per_byte.value = (DrawCost() + 0.1) * 10 * scale;
  job.shape.map_startup_s.value = DrawCost() / 4;
  job.shape.map_output_ratio.value = busy ? 1.0 : *rc::gen::element(0.0, 0.01, 0.5, 1.0, 3.0);
  if (*rc::gen::arbitrary<bool>()) {
    job.shape.map_output_growth.value = *rc::gen::element(0.3, 0.8, 1.0);
    job.shape.map_output_at_bytes = job.shape.input_bytes / 7;
    job.shape.map_overhead_s.value = DrawCost() / 4;
  }
  if (!busy) job.shape.num_mappers = DrawCount(0, 9);
  const std::int32_t num_layers = DrawCount(1, 5);
  for (std::int32_t p = 0; p < num_layers; ++p) {
    LayerShape layer;
    layer.reduce_seconds_per_byte.value = DrawCost() * 10 * scale;
    if (DrawCount(0, 3) == 0) {
      layer.reduce_growth = {DrawCost() * 10 * scale,
                             std::max(1.0, static_cast<double>(job.shape.input_bytes) *
                                               *rc::gen::element(0.01, 0.3, 1.0)),
                             *rc::gen::element(1.0, 1.1, 2.0)};
    }
    layer.startup_s.value = DrawCost() / 4;
    layer.output_ratio.value = busy ? 0.9 : *rc::gen::element(0.0, 0.3, 1.0, 2.0);
    if (!busy) layer.num_reducers = DrawCount(0, 9);
    if (DrawCount(0, 2) == 0) {
      layer.packed = {{Codec::kLz4, {*rc::gen::element(0.3, 0.6, 1.0), Origin::kSampled}},
                      {Codec::kZstd, {*rc::gen::element(0.1, 0.5, 1.0), Origin::kSampled}}};
    }
    if (*rc::gen::arbitrary<bool>()) {
      layer.key_weights = {{0.125, 0.5, 0.50001, 0.875, 1}, {0.3, 0.1, 0.4, 0, 0.2}};
    }
    job.shape.layers.push_back(layer);
  }
  job.shape.store.write =
      *rc::gen::element(FinalWrite::kParts, FinalWrite::kParallel, FinalWrite::kOne);
  job.shape.store.channels = DrawCount(0, 3);
  job.shape.store.seconds_per_byte.value = DrawCost() * 3 * scale;
  const std::int32_t num_workers = DrawCount(busy ? 3 : 1, 6);
  for (std::int32_t i = 0; i < num_workers; ++i) {
    WorkerProfile worker;
    worker.compute_rate = *rc::gen::element(1.0, 1.0, 0.5, 4.0);
    job.cluster.workers.push_back(worker);
  }
  job.cluster.network = DrawNetwork(num_workers, (DrawCost() + (busy ? 1 : 0)) * 10 * scale);
  return job;
}

RandomJob DrawCombinedJob() {
  RandomJob job = DrawJob(JobKind::kAny);
  const double rate =
      *rc::gen::element(0.0, 1.0, 20.0) / static_cast<double>(job.shape.input_bytes + 1);
  for (LayerShape& layer : job.shape.layers) {
    layer.element = DrawElement(rate);
    if (!layer.element.splits) layer.num_reducers = std::min(layer.num_reducers, 1);
  }
  return job;
}

}  // namespace weir::planner
