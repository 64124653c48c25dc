#include "planner/job/packed_shape.h"

#include <algorithm>

#include "planner/job/job_bound.h"
#include "planner/job/map_chunks.h"

namespace weir::planner {
namespace {

// Of an even split.
double EvenOutputRatio(const JobShape& shape, const ClusterProfile& cluster) {
  const std::size_t mappers = EvenChunks(shape, cluster.network.num_workers).size();
  return MapOutputRatio(shape,
                        static_cast<double>(shape.input_bytes) / static_cast<double>(mappers));
}

double SlotsMax(const ClusterProfile& cluster) {
  std::int32_t slots = 1;
  for (const WorkerProfile& worker : cluster.workers) slots = std::max(slots, worker.slots);
  return slots;
}

CodecCost CostOnSlot(Codec codec) {
  switch (codec) {
    case Codec::kNone:
      return {};
    case Codec::kLz4:
      return {2.0e-9, 0.4e-9};
    case Codec::kZstd:
      return {3.0e-9, 0.9e-9};
  }
  return {};
}

}  // namespace

CodecCost CostOf(Codec codec, const ClusterProfile& cluster) {
  const CodecCost on_slot = CostOnSlot(codec);
  const double slots = SlotsMax(cluster);
  return {slots * on_slot.pack_seconds_per_byte, slots * on_slot.unpack_seconds_per_byte};
}

double PackedRatio(const LayerShape& layer, Codec codec) {
  for (const PackedBytes& packed : layer.packed)
    if (packed.codec == codec) return packed.ratio.value;
  return 1;
}

JobShape PackedShape(const JobShape& shape, const ClusterProfile& cluster,
                     const std::vector<Codec>& run_codec) {
  JobShape packed = shape;
  packed.map_seconds_per_byte.value +=
      EvenOutputRatio(shape, cluster) *
      CostOf(CodecOfLayer(run_codec, 0), cluster).pack_seconds_per_byte;
  packed.map_output_ratio.value *= PackedRatio(shape.layers[0], CodecOfLayer(run_codec, 0));
  for (std::size_t p = 0; p < shape.layers.size(); ++p) {
    LayerShape& layer = packed.layers[p];
    const Codec reads = CodecOfLayer(run_codec, static_cast<std::int32_t>(p));
    const bool last = p + 1 == shape.layers.size();
    const Codec makes =
        last ? Codec::kNone : CodecOfLayer(run_codec, static_cast<std::int32_t>(p) + 1);
    const double in = PackedRatio(shape.layers[p], reads);
    const double out = last ? 1 : PackedRatio(shape.layers[p + 1], makes);
    layer.reduce_seconds_per_byte.value =
        (layer.reduce_seconds_per_byte.value + CostOf(reads, cluster).unpack_seconds_per_byte +
         layer.output_ratio.value * CostOf(makes, cluster).pack_seconds_per_byte) /
        in;
    // A packed byte is as many before packing, and its curve begins where that of these did.
    layer.reduce_growth.seconds_per_byte /= in;
    layer.reduce_growth.at_bytes *= in;
    layer.output_ratio.value *= out / in;
    layer.stored_ratio *= in;
    // A combine step unpacks what it reads and packs what it makes.
    ElementShape& element = layer.element;
    element.combine_seconds_per_byte.value =
        (element.combine_seconds_per_byte.value + CostOf(reads, cluster).unpack_seconds_per_byte +
         CostOf(reads, cluster).pack_seconds_per_byte) /
        in;
    if (element.kind == ElementShape::Kind::kVector) element.packed_ratio *= in;
  }
  return packed;
}

std::vector<Codec> CodecsWorthTrying(const JobShape& shape, const ClusterProfile& cluster) {
  const NetworkModel& network = cluster.network;
  const double pacing = network.pacing_fraction > 0 ? network.pacing_fraction : 1;
  const double channels = std::min(EffectiveChannels(network), network.num_workers);
  const double moved_part = 1 - 1.0 / network.num_workers;
  const double move_seconds_per_byte = network.seconds_per_byte * moved_part / channels / pacing;
  double rates = 0;
  for (const WorkerProfile& worker : cluster.workers) rates += worker.compute_rate;
  std::vector<Codec> codecs;
  double bytes = static_cast<double>(shape.input_bytes) * EvenOutputRatio(shape, cluster);
  for (const LayerShape& layer : shape.layers) {
    Codec best = Codec::kNone;
    double most_s = 0;
    for (const PackedBytes& packed : layer.packed) {
      const CodecCost cost = CostOf(packed.codec, cluster);
      const double saved_s = bytes * move_seconds_per_byte * (1 - packed.ratio.value);
      const double spent_s =
          bytes / rates * (cost.pack_seconds_per_byte + cost.unpack_seconds_per_byte);
      if (saved_s - spent_s <= most_s) continue;
      best = packed.codec;
      most_s = saved_s - spent_s;
    }
    codecs.push_back(best);
    bytes *= layer.output_ratio.value;
  }
  return codecs;
}

}  // namespace weir::planner
