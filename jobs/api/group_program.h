#pragma once

// Runs a job that has Reduce(key, values, emit): pairs are sorted by the mappers and merged by the
// reducers. Upstream: make_program.h. Downstream: RunSink, PartSink.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/emit_base.h"
#include "jobs/api/group_buffer.h"
#include "jobs/api/key_codec.h"
#include "jobs/api/key_ranges.h"
#include "jobs/api/map_ranges.h"
#include "jobs/api/merged_sections.h"
#include "jobs/api/part_text.h"
#include "jobs/api/program.h"
#include "jobs/api/section_blocks.h"
#include "jobs/api/slot_work.h"
#include "jobs/api/value_codec.h"

namespace weir {

/// The values of one key, one after the other, in the order of the job's SortKey, else of the
/// input.
template <typename Value>
class GroupValues {
 public:
  explicit GroupValues(MergedSections& merged) : merged_(merged) {}

  /// Reads the next value; false after the last.
  bool Next(Value& value) {
    std::string_view bytes;
    if (damaged_ || !merged_.NextValue(bytes)) return false;
    damaged_ = !ValueCodec<Value>::Take(bytes, value);
    return !damaged_;
  }
  bool damaged() const { return damaged_; }

 private:
  MergedSections& merged_;
  bool damaged_ = false;
};

/// JobProgram of a job with Reduce.
///
/// Order: groups by the bytes of the key; values of one key by SortKey(value) where the job has
/// one;
///   what is equal in the order of the input (ranges in the order given, producers in the order
///   given), whatever the number of slots. The sort key is not sent: who merges asks for it again.
/// Bounds: StepContext::memory_bytes for the pairs of a map step, beyond which it fails with
///   OUT_OF_MEMORY; a reduce step holds one block per producer, however large a group is.
/// Checked by: tests/unit/jobs/group_program_test.cc.
template <typename Job>
class GroupProgram : public JobProgram {
 public:
  explicit GroupProgram(Job job) : job_(std::move(job)) {}

  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    const int num_slots = context.slots().num_slots();
    const auto pieces = SplitRanges(order.ranges, num_slots);
    const KeyRanges ranges(order.consumer_key_end);
    std::deque<GroupBuffer> buffers;
    for (int slot = 0; slot < num_slots; ++slot) buffers.emplace_back(kValueOrder);
    std::vector<std::int64_t> records(buffers.size());
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const auto i = static_cast<std::size_t>(slot);
      Job job = job_;
      Emit emit(job_, ranges, buffers[i]);
      absl::Status mapped = MapRanges(job, pieces[i], emit, context, stop,
                                      [&] { return CheckMemory(buffers[i], context); });
      ReportCounters<Job>(emit, context);
      records[i] = emit.records();
      if (mapped.ok()) buffers[i].Sort();
      return mapped;
    });
    if (!status.ok()) return status;
    StepTotals totals;
    for (const std::int64_t of_slot : records) totals.input_records += of_slot;
    std::vector<GroupBuffer*> sorted;
    for (GroupBuffer& buffer : buffers) sorted.push_back(&buffer);
    return WriteRun(sorted, sink, totals);
  }

  /// Gathers runs into one: values are kept, because only the last layer may reduce.
  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder order, RunSink& sink,
                                         StepContext& context) override {
    const KeyRanges ranges(order.consumer_key_end);
    MergedSections merged(
        order.inputs, [&context] { return context.cancelled(); }, SortKeyOf());
    GroupBuffer buffer;
    std::string_view value;
    while (merged.NextGroup()) {
      const int consumer = ranges.ConsumerOf(PlaceOf(job_, merged.key()));
      while (merged.NextValue(value)) buffer.Add(consumer, merged.key(), value);
      if (absl::Status status = CheckMemory(buffer, context); !status.ok()) return status;
    }
    if (!merged.status().ok()) return merged.status();
    buffer.Sort();
    StepTotals totals;
    totals.input_records = merged.records();
    return WriteRun({&buffer}, sink, totals);
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext& context) override {
    MergedSections merged(
        order.inputs, [&context] { return context.cancelled(); }, SortKeyOf());
    PartText text(sink);
    absl::Status status;
    const auto emit = [&](const auto& key, const auto& value) {
      if (!status.ok()) return;
      status = text.Add([&](std::string& out) { job_.Format(key, value, out); });
    };
    while (status.ok() && merged.NextGroup()) {
      typename KeyForm<Key>::Held key{};
      if (!KeyForm<Key>::Read(merged.key(), key)) status = Damaged();
      GroupValues<Value> values(merged);
      if (status.ok()) job_.Reduce(key, values, emit);
      if (values.damaged()) status = Damaged();
    }
    if (status.ok()) status = merged.status();
    if (status.ok()) status = text.Flush();
    if (!status.ok()) return status;
    return StepTotals{merged.records(), text.records()};
  }

 private:
  using Key = typename Job::Key;
  using Value = typename Job::Value;

  static constexpr bool kSortsValues = requires(const Job& job, const Value& value) {
    job.SortKey(value);
  };
  static constexpr ValueOrder kValueOrder =
      kSortsValues ? ValueOrder::kBySortKey : ValueOrder::kOfInput;

  // The bytes of a value's sort key; empty for jobs without one.
  static std::string_view SortKeyBytes(const Job& job, const Value& value, std::string& scratch) {
    if constexpr (kSortsValues) {
      using SortKey = std::decay_t<decltype(job.SortKey(value))>;
      scratch.clear();
      if constexpr (std::is_convertible_v<SortKey, std::string_view>) {
        scratch.append(std::string_view(job.SortKey(value)));
      } else {
        KeyCodec<SortKey>::Append(job.SortKey(value), scratch);
      }
    }
    return scratch;
  }

  SortKeyOfValue SortKeyOf() const {
    if constexpr (kSortsValues) {
      return [this, value = Value()](std::string_view bytes, std::string& sort_key) mutable {
        if (!ValueCodec<Value>::Take(bytes, value)) return false;
        SortKeyBytes(job_, value, sort_key);
        return true;
      };
    } else {
      return nullptr;
    }
  }

  static absl::Status Damaged() {
    return absl::DataLossError("section of a run is damaged: a key or value does not decode");
  }

  static std::uint64_t PlaceOf(const Job& job, std::string_view bytes) {
    if constexpr (requires(typename KeyForm<Key>::Argument key) { job.Partition(key); }) {
      typename KeyForm<Key>::Held key{};
      KeyForm<Key>::Read(bytes, key);
      return KeyRanges::PositionOf(job.Partition(key));
    } else {
      return KeyPosition(HashKey(bytes));
    }
  }

  class Emit : public EmitBase<Job> {
   public:
    Emit(const Job& job, const KeyRanges& ranges, GroupBuffer& buffer)
        : job_(job), ranges_(ranges), buffer_(buffer) {}

    void operator()(typename KeyForm<Key>::Argument key, const Value& value) {
      this->CountEmitted();
      const std::string_view bytes = KeyForm<Key>::Bytes(key, key_scratch_);
      value_scratch_.clear();
      ValueCodec<Value>::Append(value, value_scratch_);
      buffer_.Add(ranges_.ConsumerOf(PlaceOf(job_, bytes)), bytes, value_scratch_,
                  SortKeyBytes(job_, value, sort_key_scratch_));
    }

   private:
    const Job& job_;
    const KeyRanges& ranges_;
    GroupBuffer& buffer_;
    std::string key_scratch_;
    std::string value_scratch_;
    std::string sort_key_scratch_;
  };

  static absl::Status CheckMemory(const GroupBuffer& buffer, StepContext& context) {
    const std::int64_t allowed = context.memory_bytes() / context.slots().num_slots();
    if (context.memory_bytes() <= 0 || buffer.memory_bytes() <= allowed) return absl::OkStatus();
    return OutOfMemory(buffer.memory_bytes(), allowed, "the pairs of one slot");
  }

  static absl::StatusOr<StepTotals> WriteRun(const std::vector<GroupBuffer*>& sorted, RunSink& sink,
                                             StepTotals totals) {
    SectionWriter writer(sink);
    if (absl::Status status = WriteSorted(sorted, writer); !status.ok()) return status;
    totals.output_records = writer.records();
    return totals;
  }

  const Job job_;
};

}  // namespace weir
