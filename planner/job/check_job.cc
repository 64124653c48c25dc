#include "planner/job/check_job.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir::planner {
namespace {

template <typename Value>
absl::Status OutOfRange(absl::string_view field, Value value, absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " out of range: ", value, "; must be ", legal));
}

absl::Status CheckAtLeastZero(absl::string_view field, const Known& known) {
  if (known.value >= 0 && known.value <= kPlanValueMax) return absl::OkStatus();
  return OutOfRange(field, known.value, "between 0 and 1e100");
}

absl::Status CheckPositive(absl::string_view field, double value) {
  if (value >= kPlanValueMin && value <= kPlanValueMax) return absl::OkStatus();
  return OutOfRange(field, value, "between 1e-100 and 1e100");
}

absl::Status CheckCount(absl::string_view field, std::int32_t count, std::int32_t count_max) {
  if (count >= 0 && count <= count_max) return absl::OkStatus();
  return OutOfRange(field, count, absl::StrCat("between 0 (planner chooses) and ", count_max));
}

absl::Status CheckUncut(const JobShape& shape) {
  Bytes before = 0;
  for (std::size_t i = 0; i < shape.uncut.size(); ++i) {
    const ByteRange& range = shape.uncut[i];
    if (range.begin < before || range.end <= range.begin || range.end > shape.input_bytes) {
      return OutOfRange(absl::StrCat("uncut[", i, "]"),
                        absl::StrCat("[", range.begin, ", ", range.end, ")"),
                        absl::StrCat("a part of [", before, ", ", shape.input_bytes, ")"));
    }
    before = range.end;
  }
  return absl::OkStatus();
}

absl::Status CheckInputWeights(const JobShape& shape) {
  for (std::size_t i = 0; i < shape.input_weights.size(); ++i) {
    absl::Status status =
        CheckPositive(absl::StrCat("input_weights[", i, "]"), shape.input_weights[i]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckGrowth(const JobShape& shape) {
  const double growth = shape.map_output_growth.value;
  if (!(growth > 0 && growth <= 1)) {
    return OutOfRange("map_output_growth", growth, "above 0 and at most 1");
  }
  if (shape.map_output_at_bytes < 0) {
    return OutOfRange("map_output_at_bytes", shape.map_output_at_bytes, "at least 0");
  }
  return absl::OkStatus();
}

absl::Status CheckOutputPoints(const JobShape& shape) {
  OutputPoint before;
  for (const OutputPoint& point : shape.map_output_points) {
    if (!(point.input_bytes > before.input_bytes && point.output_bytes >= before.output_bytes &&
          point.output_bytes > 0 && point.output_bytes <= kPlanValueMax)) {
      return OutOfRange("map_output_points",
                        absl::StrCat(point.output_bytes, " bytes of ", point.input_bytes),
                        "above 0 and rising");
    }
    before = point;
  }
  return absl::OkStatus();
}

absl::Status CheckElement(const ElementShape& element, const std::string& prefix) {
  if (!element.combines()) return absl::OkStatus();
  const bool vector = element.kind == ElementShape::Kind::kVector;
  if (element.places < 1) {
    return OutOfRange(absl::StrCat(prefix, "element.places"), element.places, "at least 1");
  }
  if (vector && element.place_bytes < 1) {
    return OutOfRange(absl::StrCat(prefix, "element.place_bytes"), element.place_bytes,
                      "at least 1");
  }
  const std::int64_t places_max = std::min<std::int64_t>(
      kIndexPlacesMax, kElementBytesMax / std::max<Bytes>(1, element.place_bytes));
  if (element.places > places_max) {
    return OutOfRange(absl::StrCat(prefix, "element.places"), element.places,
                      absl::StrCat("at most ", places_max, " of ", element.place_bytes, " bytes"));
  }
  if (!(element.packed_ratio > 0 && element.packed_ratio <= 1)) {
    return OutOfRange(absl::StrCat(prefix, "element.packed_ratio"), element.packed_ratio,
                      "above 0 and at most 1");
  }
  return CheckAtLeastZero(absl::StrCat(prefix, "element.combine_seconds_per_byte"),
                          element.combine_seconds_per_byte);
}

absl::Status CheckLayer(const LayerShape& layer, std::size_t index) {
  const std::string prefix = absl::StrCat("layers[", index, "].");
  absl::Status status = CheckAtLeastZero(absl::StrCat(prefix, "reduce_seconds_per_byte"),
                                         layer.reduce_seconds_per_byte);
  if (status.ok()) status = CheckAtLeastZero(absl::StrCat(prefix, "startup_s"), layer.startup_s);
  if (status.ok()) status = load::CheckGrowthCurve(layer.reduce_growth);
  if (status.ok()) {
    status = CheckAtLeastZero(absl::StrCat(prefix, "output_ratio"), layer.output_ratio);
  }
  if (status.ok()) {
    status = CheckCount(absl::StrCat(prefix, "num_reducers"), layer.num_reducers, kReducersMax);
  }
  if (status.ok()) {
    status = CheckAtLeastZero(absl::StrCat(prefix, "record_bytes"), layer.record_bytes);
  }
  if (status.ok() && !(layer.stored_ratio > 0 && layer.stored_ratio <= 1)) {
    status = OutOfRange(absl::StrCat(prefix, "stored_ratio"), layer.stored_ratio,
                        "above 0 and at most 1");
  }
  if (status.ok()) status = CheckKeyWeights(layer.key_weights);
  if (status.ok()) status = CheckElement(layer.element, prefix);
  for (const PackedBytes& packed : layer.packed) {
    if (!status.ok()) return status;
    if (packed.ratio.value >= PackedBytes::kRatioMin && packed.ratio.value <= 1) continue;
    status = OutOfRange(absl::StrCat(prefix, "packed ratio of ", CodecName(packed.codec)),
                        packed.ratio.value, "between 1e-6 and 1");
  }
  return status;
}

absl::Status CheckWorker(const WorkerProfile& worker, std::size_t index) {
  const std::string prefix = absl::StrCat("workers[", index, "] (", worker.name, ").");
  if (worker.slots < 1) {
    return OutOfRange(absl::StrCat(prefix, "slots"), worker.slots, "at least 1");
  }
  if (worker.memory_bytes < 0) {
    return OutOfRange(absl::StrCat(prefix, "memory_bytes"), worker.memory_bytes, "at least 0");
  }
  if (worker.spill_above_bytes < 0) {
    return OutOfRange(absl::StrCat(prefix, "spill_above_bytes"), worker.spill_above_bytes,
                      "at least 0");
  }
  if (!(worker.disk.write_bytes_per_s >= 0 && worker.disk.read_bytes_per_s >= 0 &&
        worker.disk.cached_bytes >= 0)) {
    return OutOfRange(absl::StrCat(prefix, "disk"), "a rate or size below 0", "at least 0");
  }
  if (worker.free_disk_bytes < 0) {
    return OutOfRange(absl::StrCat(prefix, "free_disk_bytes"), worker.free_disk_bytes,
                      "at least 0");
  }
  return CheckPositive(absl::StrCat(prefix, "compute_rate"), worker.compute_rate);
}

}  // namespace

absl::Status CheckJobShape(const JobShape& shape) {
  if (shape.input_bytes < 0) return OutOfRange("input_bytes", shape.input_bytes, "at least 0");
  absl::Status status = CheckUncut(shape);
  if (status.ok()) status = CheckInputWeights(shape);
  if (status.ok()) {
    status = CheckPositive("map_seconds_per_byte", shape.map_seconds_per_byte.value);
  }
  if (status.ok()) status = CheckAtLeastZero("map_startup_s", shape.map_startup_s);
  if (status.ok()) status = CheckAtLeastZero("map_overhead_s", shape.map_overhead_s);
  if (status.ok()) {
    status = CheckAtLeastZero("input_disk_seconds_per_byte", {shape.input_disk_seconds_per_byte});
  }
  if (status.ok()) status = CheckAtLeastZero("map_output_ratio", shape.map_output_ratio);
  if (status.ok()) status = CheckGrowth(shape);
  if (status.ok()) status = CheckOutputPoints(shape);
  if (status.ok()) status = CheckCount("num_mappers", shape.num_mappers, kMappersMax);
  if (status.ok() && (shape.layers.empty() || shape.layers.size() > kLayersMax)) {
    status = OutOfRange("layers.size()", shape.layers.size(),
                        absl::StrCat("between 1 and ", kLayersMax));
  }
  if (status.ok()) {
    status = CheckAtLeastZero("store.seconds_per_byte", shape.store.seconds_per_byte);
  }
  if (status.ok()) {
    status = CheckAtLeastZero("store.disk_seconds_per_byte", {shape.store.disk_seconds_per_byte});
  }
  if (status.ok()) status = CheckCount("store.channels", shape.store.channels, kReducersMax);
  for (std::size_t i = 0; status.ok() && i < shape.layers.size(); ++i) {
    status = CheckLayer(shape.layers[i], i);
  }
  return status;
}

absl::Status CheckCluster(const ClusterProfile& cluster) {
  if (cluster.workers.empty()) {
    return absl::FailedPreconditionError(
        "The cluster has no worker; start one and wait until it has registered");
  }
  if (static_cast<std::size_t>(cluster.network.num_workers) != cluster.workers.size()) {
    return OutOfRange("network.num_workers", cluster.network.num_workers,
                      absl::StrCat("the number of workers, ", cluster.workers.size()));
  }
  for (std::size_t i = 0; i < cluster.workers.size(); ++i) {
    if (absl::Status status = CheckWorker(cluster.workers[i], i); !status.ok()) return status;
  }
  return CheckNetwork(cluster.network);
}

}  // namespace weir::planner
