#include "planner/job/step_spill.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/job/held_bytes.h"

namespace weir::planner {
namespace {

// A table is full when it and as much again for sorting it take what it may have.
constexpr double kTimesTable = 2;
// Fewer keys or pairs make no file.
constexpr double kRecordsMin = 256;
// Memory is looked at after each block of input (InputText::kWindowBytes), or of a section.
constexpr double kInputBlockBytes = 1 << 20;
constexpr double kSectionBlockBytes = 256 << 10;
// The same of what is emitted for the next layer (LayeredProgram::kWorkBetweenChecks).
constexpr double kEmittedRecords = 4096;
// Pieces of what slots merge together for the next layer (shared_groups.h): an eighth, this at
// most.
constexpr double kSharedGroupsBytes = 128 << 20;
// Of what a slot may have, pairs in place may take half.
constexpr double kPartInPlace = 0.5;
// Lengths of key and value in front of a record of up to 127 bytes each.
constexpr double kLengthsBytes = 2;
// How near to its input what a mapper makes must be, but for lengths, where records stay in place.
constexpr double kSameBytes = 1e-3;
// Where nobody has seen a record: about those of words and of rows.
constexpr double kKeyedRecordBytes = 16;
constexpr double kPairRecordBytes = 64;
// To sort, write, check, read and merge a byte, beyond what a step takes anyway, on a worker of
// unit rate. Reducers sort their tables in any case. (Word count and terasort of 2 GB,
// docs/prediction.md: 7.3 to 10.8, 2.7 to 5.5 and 1.3 to 1.6 ns.)
constexpr double kMapTableSecondsPerByte = 8e-9;
constexpr double kReduceTableSecondsPerByte = 4e-9;
constexpr double kPairSecondsPerByte = 1.5e-9;

bool IsTable(const LayerShape& layer) { return layer.element.kind == ElementShape::Kind::kTable; }
bool IsVector(const LayerShape& layer) { return layer.element.kind == ElementShape::Kind::kVector; }

double RecordBytes(const LayerShape& layer) {
  if (layer.record_bytes.value > 0) return layer.record_bytes.value;
  return IsTable(layer) ? kKeyedRecordBytes : kPairRecordBytes;
}

// The most that is at most `limit`, of what rises; at most `most`.
double LargestWithin(double limit, double most, const std::function<double(double)>& rises) {
  constexpr int kSteps = 52;
  if (rises(most) <= limit) return most;
  double low = 0;
  double high = most;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (rises(middle) <= limit ? low : high) = middle;
  }
  return low;
}

// What one slot emits or folds: `load` of some unit, of which bytes_of(x) are left.
struct SlotLoad {
  double load = 0;
  double room_bytes = 0;
  double record_bytes = 1;
  double block = 1;         // memory is looked at after each, in units of load
  double largest_part = 1;  // of pairs: that one consumer gets
  bool in_place = false;
  std::function<double(double)> bytes_of;
};

// What has come by the end of the block in which `full` is reached, after whole blocks.
double AtBlockEnd(double full, const SlotLoad& slot) {
  return slot.block * std::max(1.0, std::ceil(full / slot.block));
}

// Of a slot that is full at some moment, if only at the end of its last block.
SlotFiles FullSlotFiles(const SlotLoad& slot, const SlotRoom& room) {
  if (slot.load <= room.first) return {slot.bytes_of(slot.load), 0};
  return FilesOfSlot(slot.load, room, slot.bytes_of);
}

SlotFiles TableFiles(const SlotLoad& slot) {
  const auto keys = [&](double load) { return slot.bytes_of(load) / slot.record_bytes; };
  const double full = LargestWithin(slot.room_bytes, slot.load, [&](double load) {
    return kTimesTable * TableBytes(keys(load), slot.record_bytes);
  });
  if (full >= slot.load || keys(slot.load) < kRecordsMin) return {};
  const double least = LargestWithin(kRecordsMin, slot.load, keys);
  const double room = AtBlockEnd(std::max(full, least), slot);
  return FullSlotFiles(slot, {room, room});
}

SlotFiles PairFiles(const SlotLoad& slot) {
  const double made = slot.bytes_of(slot.load);
  if (!(made > 0) || PairBytes(made, slot.record_bytes, slot.largest_part) <= slot.room_bytes ||
      made < kRecordsMin * slot.record_bytes) {
    return {};
  }
  const auto room_for = [&](double memory_bytes) {
    const double bytes = LargestWithin(memory_bytes, made, [&](double held) {
      return PairBytes(held, slot.record_bytes, slot.largest_part);
    });
    return AtBlockEnd(std::max(bytes, kRecordsMin * slot.record_bytes) * slot.load / made, slot);
  };
  const double kept_bytes = slot.in_place ? kPartInPlace * slot.room_bytes : 0;
  // Pairs do not meet: whatever curve says how many the whole load makes, each part makes its part.
  SlotLoad even = slot;
  even.bytes_of = [per_unit = made / slot.load](double load) { return load * per_unit; };
  return FullSlotFiles(even, {room_for(slot.room_bytes), room_for(slot.room_bytes - kept_bytes)});
}

double DiskSeconds(const DiskProfile& disk, double bytes) {
  if (!(disk.write_bytes_per_s > 0 && disk.read_bytes_per_s > 0)) return 0;
  return std::max(0.0, bytes - disk.cached_bytes) *
         (1 / disk.write_bytes_per_s + 1 / disk.read_bytes_per_s);
}

// `busy_s`: what the step takes without; the disk works meanwhile.
StepSpill SpillOf(const JobShape& shape, std::size_t step_layer, const WorkerProfile& worker,
                  double bytes, Seconds busy_s) {
  if (!(bytes > 0)) return {};
  const Seconds compute_s = SpillComputeSeconds(shape, step_layer, bytes) / worker.compute_rate;
  const Seconds disk_s = DiskSeconds(worker.disk, bytes);
  return {bytes, compute_s + std::max(0.0, disk_s - busy_s - compute_s)};
}

// Records are emitted as they were read where all that is more are their lengths.
bool StaysInPlace(const JobShape& shape, double input_bytes, double output_bytes) {
  const LayerShape& first = shape.layers[0];
  if (IsTable(first) || !(first.record_bytes.value > kLengthsBytes)) return false;
  const double records_bytes = output_bytes * (1 - kLengthsBytes / first.record_bytes.value);
  return std::abs(records_bytes - input_bytes) <= kSameBytes * input_bytes;
}

double LargestPart(const LayerShape& layer, const ClusterProfile& cluster) {
  const double consumers = layer.num_reducers > 0 ? static_cast<double>(layer.num_reducers)
                                                  : static_cast<double>(cluster.workers.size());
  return 1 / consumers;
}

bool KeepsAll(const JobShape& shape, std::size_t layer, const WorkerProfile& worker) {
  return worker.spill_above_bytes <= 0 || shape.loop || layer >= shape.layers.size() ||
         IsVector(shape.layers[layer]) || shape.map_output_ratio.origin == Origin::kDefault;
}

// What a step that reduces layer - 1 emits for `layer`, on all slots.
double EmittedSpillBytes(const JobShape& shape, std::size_t layer, const ClusterProfile& cluster,
                         const WorkerProfile& worker, double made_bytes, double held_bytes) {
  const LayerShape& next = shape.layers[layer];
  const auto slots = static_cast<double>(worker.slots);
  SlotLoad slot;
  slot.load = made_bytes / slots;
  slot.room_bytes =
      std::max(0.0, static_cast<double>(worker.spill_above_bytes) - held_bytes) / slots;
  slot.record_bytes = RecordBytes(next);
  slot.largest_part = LargestPart(next, cluster);
  slot.block = kEmittedRecords * slot.record_bytes;
  slot.bytes_of = [](double bytes) { return bytes; };
  return slots * (IsTable(next) ? TableFiles(slot) : PairFiles(slot)).bytes();
}

}  // namespace

SlotFiles FilesOfSlot(double load, const SlotRoom& room,
                      const std::function<double(double)>& bytes_of) {
  SlotFiles files;
  if (load <= room.first) return files;
  const double again = std::floor((load - room.first) / room.again);
  const double rest = std::max(0.0, load - room.first - again * room.again);
  files.first_bytes = bytes_of(room.first) + again * bytes_of(room.again) + bytes_of(rest);
  const double count = again + (rest > 0 ? 2 : 1);
  for (double together = kFilesTogether; together <= count; together *= kFilesTogether) {
    const double merges = std::floor(count / together);
    // The last of all may hold what was left.
    const double merged = std::min(load, together * room.again);
    files.merged_bytes += (merges - 1) * bytes_of(merged) +
                          bytes_of(std::clamp(load - (merges - 1) * merged, 0.0, merged));
  }
  return files;
}

Seconds SpillComputeSeconds(const JobShape& shape, std::size_t step_layer, double bytes) {
  const bool maps = step_layer == 0;
  if (!IsTable(shape.layers[maps ? 0 : step_layer - 1])) return bytes * kPairSecondsPerByte;
  return bytes * (maps ? kMapTableSecondsPerByte : kReduceTableSecondsPerByte);
}

StepSpill MapSpill(const JobShape& shape, const ClusterProfile& cluster, WorkerIndex index,
                   double input_bytes) {
  const WorkerProfile& worker = cluster.workers[At(index)];
  if (KeepsAll(shape, 0, worker) || !(input_bytes > 0)) return {};
  const LayerShape& first = shape.layers[0];
  const auto slots = static_cast<double>(worker.slots);
  SlotLoad slot;
  slot.load = input_bytes / slots;
  slot.room_bytes = static_cast<double>(worker.spill_above_bytes) / slots;
  slot.record_bytes = RecordBytes(first);
  slot.largest_part = LargestPart(first, cluster);
  slot.bytes_of = [&shape](double bytes) { return PartOutputBytes(shape, bytes); };
  slot.block = kInputBlockBytes;
  slot.in_place = StaysInPlace(shape, slot.load, slot.bytes_of(slot.load));
  const SlotFiles files = IsTable(first) ? TableFiles(slot) : PairFiles(slot);
  const Seconds busy_s = input_bytes * shape.map_seconds_per_byte.value / worker.compute_rate;
  return SpillOf(shape, 0, worker, slots * files.bytes(), busy_s);
}

StepSpill ReduceSpill(const JobShape& shape, std::size_t layer, const ClusterProfile& cluster,
                      WorkerIndex index, double input_bytes, double num_inputs) {
  const WorkerProfile& worker = cluster.workers[At(index)];
  if (KeepsAll(shape, layer, worker) || !(input_bytes > 0) || !(num_inputs > 0)) return {};
  const LayerShape& reduced = shape.layers[layer];
  const auto slots = static_cast<double>(worker.slots);
  const double bytes = input_bytes / reduced.stored_ratio;
  double spilled = 0;
  // Where slots share what is merged, pieces of it.
  double held =
      slots > 1 ? std::min(kSharedGroupsBytes, static_cast<double>(worker.spill_above_bytes) / 8)
                : 0;
  const std::size_t next = layer + 1;
  const bool last = next == shape.layers.size();
  // So many slots read a section together where there are fewer than slots, on average.
  const double readers = std::clamp(std::ceil(bytes / num_inputs / kSectionBlockBytes), 1.0,
                                    std::max(1.0, slots / num_inputs));
  if (IsTable(reduced) && num_inputs == 1 && (last || readers == slots)) {
    held = 0;
    if (last) {
      SlotLoad slot;
      slot.load = bytes / readers;
      slot.room_bytes = static_cast<double>(worker.spill_above_bytes) / readers;
      slot.record_bytes = RecordBytes(reduced);
      slot.block = kSectionBlockBytes;
      slot.bytes_of = [](double load) { return load; };
      spilled = readers * PairFiles(slot).bytes();
    }
  } else if (IsTable(reduced)) {
    const double tables = std::min(slots, num_inputs * readers);
    const double section = bytes / num_inputs;
    const double part = static_cast<double>(shape.input_bytes) / num_inputs;
    const double of_part = PartOutputBytes(shape, part);
    SlotLoad slot;
    slot.load = num_inputs / tables;
    slot.room_bytes = static_cast<double>(worker.spill_above_bytes) / tables;
    slot.record_bytes = RecordBytes(reduced);
    slot.block = kSectionBlockBytes / section;
    slot.bytes_of = [&, section](double sections) {
      if (layer > 0 || sections <= 1 || !(of_part > 0)) return sections * section;
      return section * std::max(1.0, PartOutputBytes(shape, sections * part) / of_part);
    };
    spilled = tables * TableFiles(slot).bytes();
    if (spilled == 0) {
      const double keys = slot.bytes_of(slot.load) / slot.record_bytes;
      held = tables * TableBytes(keys, slot.record_bytes);
    }
  }
  if (!KeepsAll(shape, next, worker) && reduced.output_ratio.origin != Origin::kDefault) {
    const double made = input_bytes * reduced.output_ratio.value / shape.layers[next].stored_ratio;
    spilled += EmittedSpillBytes(shape, next, cluster, worker, made, held);
  }
  const Seconds busy_s = ReduceSeconds(reduced, input_bytes) / worker.compute_rate;
  return SpillOf(shape, layer + 1, worker, spilled, busy_s);
}

void MarkSpills(const JobShape& shape, const ClusterProfile& cluster, Plan& plan) {
  std::vector<double> inputs(plan.steps.size(), 0);
  for (const Section& section : plan.sections) inputs[At(section.consumer)] += 1;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    ComputeStep& step = plan.steps[s];
    const auto bytes = static_cast<double>(step.input_bytes);
    StepSpill spill;
    if (step.kind->reads_input()) {
      spill = MapSpill(shape, cluster, step.worker, bytes);
    } else if (step.kind->splits_keys() && step.layer >= 1) {
      spill = ReduceSpill(shape, At(step.layer) - 1, cluster, step.worker, bytes, inputs[s]);
    }
    step.spilled_bytes = std::llround(std::min(spill.bytes, 4e18));
    step.spill_s = std::min(spill.seconds, step.duration_s);
  }
}

}  // namespace weir::planner
