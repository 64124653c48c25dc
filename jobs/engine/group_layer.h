#pragma once

// A layer whose job has Reduce(key, values, emit): pairs are sorted by who emits them, on disk
// where they outgrow the memory, and merged by the reducers. Upstream: layered_program.h.
// Downstream: RunSink, PartSink.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/key_codec.h"
#include "jobs/api/program.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/group_values.h"
#include "jobs/engine/input/kept_input.h"
#include "jobs/engine/map_ranges.h"
#include "jobs/engine/merge/merge_on_slots.h"
#include "jobs/engine/merge/shared_groups.h"
#include "jobs/engine/pairs/group_buffer.h"
#include "jobs/engine/pairs/spilling_pairs.h"
#include "jobs/engine/part_text.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/references/input_references.h"
#include "jobs/engine/references/referenced_files.h"
#include "jobs/engine/references/referenced_sources.h"
#include "jobs/engine/sections/merged_sections.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/key_ranges.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// Pairs of a job with Reduce.
///
/// Order: groups by the bytes of the key; values of one key by SortKey(value) where the job has
///   one; what is equal in the order of the input (ranges in the order given, producers in the
///   order given), whatever the number of slots. The sort key is not sent: who merges asks for it
///   again. (In a chain the results of a layer reach the next in no particular order.)
/// Bounds: StepContext::spill_above_bytes for the pairs that a step emits, beyond which they go to
///   disk, sorted (spilling_pairs.h). Reducing holds one block per producer, however large a group
///   is, and on several slots what MergeOnSlots or SharedGroups says.
/// Checked by: tests/unit/jobs/group_layer_test.cc, layered_program_test.cc.
template <typename Job>
class GroupLayer {
 private:
  using Key = typename Job::Key;
  using Value = typename Job::Value;

  static constexpr bool kSortsValues = requires(const Job& job, const Value& value) {
    job.SortKey(value);
  };
  static constexpr ValueOrder kValueOrder =
      kSortsValues ? ValueOrder::kBySortKey : ValueOrder::kOfInput;

  static constexpr bool kEmitsRecords = requires { Job::kRecordKeyBytes; };

  // Of what emit.Record takes. With a sort key, which lies behind a copy, nothing is in place.
  static constexpr RecordShape Shape() {
    if constexpr (kEmitsRecords) {
      static_assert(std::is_same_v<Key, std::string> && std::is_trivially_copyable_v<Value>,
                    "A job with kRecordKeyBytes has a Key of std::string and a Value that is plain "
                    "memory: the bytes of a record behind its key.");
      return {Job::kRecordKeyBytes, sizeof(Value)};
    } else {
      return {};
    }
  }

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

  static SortKeyOfValue SortKeyOf(const Job& job) {
    if constexpr (kSortsValues) {
      return [&job, value = Value()](std::string_view bytes, std::string& sort_key) mutable {
        if (!ValueCodec<Value>::Take(bytes, value)) return false;
        SortKeyBytes(job, value, sort_key);
        return true;
      };
    } else {
      return nullptr;
    }
  }

 public:
  /// What is reduced of some sections: groups, one after the other.
  class Results {
   public:
    /// `files`: of the records that `inputs` refer to. Both outlive this. stop(): as for
    /// MergedSections.
    Results(const Job& job, const GroupPieces::Sources& inputs, const ReferencedFiles& files,
            std::function<bool()> stop)
        : job_(job), files_(files), merged_(inputs, std::move(stop), SortKeyOf(job)) {}

    std::int64_t input_records() const { return merged_.records(); }

    /// Calls take(key, value) for what Reduce emits until it returns an error. Errors: those of the
    /// sources, before what Reduce threw or `take` returned: a section that cannot be read to its
    /// end shows it a part of a group. That the input is unchanged is for who owns the sources to
    /// ask once more at the end.
    template <typename Take>
    absl::Status Visit(Take&& take) {
      absl::Status status;
      const auto emit = [&](const auto& key, const auto& value) {
        if (status.ok()) status = take(key, value);
      };
      while (status.ok() && merged_.NextGroup()) {
        typename KeyForm<Key>::Held key{};
        if (!KeyForm<Key>::Read(merged_.key(), key)) return DamagedSection();
        GroupValues<Value> values(merged_);
        try {
          job_.Reduce(KeyForm<Key>::Of(key), values, emit);
        } catch (...) {
          // A group that broke off is none that the job has to expect.
          if (values.damaged()) return DamagedSection();
          if (!merged_.status().ok()) return merged_.status();
          if (absl::Status same = files_.CheckUnchanged(); !same.ok()) return same;
          throw;
        }
        if (values.damaged()) return DamagedSection();
      }
      // Nor is what was made of such a group to blame.
      if (!merged_.status().ok()) return merged_.status();
      if (status.ok()) return status;
      absl::Status same = files_.CheckUnchanged();
      return same.ok() ? status : same;
    }

   private:
    const Job& job_;
    const ReferencedFiles& files_;
    MergedSections merged_;
  };

  /// What a reduce step hands on to the layer behind.
  class StepResults {
   public:
    /// `inputs` outlive this.
    StepResults(const Job& job, const GroupPieces::Sources& inputs, StepContext& context)
        : job_(job), groups_(inputs, &files_, context) {}

    /// Requires: that all slots have ended.
    std::int64_t input_records() const { return input_records_; }
    std::int64_t memory_bytes() const { return groups_.memory_bytes(); }

    /// Calls take(key, value) for the slot's share of what Reduce emits until it returns an error,
    /// once for each slot, on all of them at the same time. Errors: those of Results::Visit.
    template <typename Take>
    absl::Status Visit(int slot, const std::function<bool()>& stop, Take&& take) {
      absl::Status status = groups_.Visit(slot, stop, [&](const GroupPieces::Sources& piece) {
        Results results(job_, piece, files_, stop);
        absl::Status visited = results.Visit(take);
        input_records_ += results.input_records();
        return visited;
      });
      return status.ok() ? files_.CheckUnchanged() : status;
    }

   private:
    const Job& job_;
    ReferencedFiles files_;
    SharedGroups groups_;
    std::atomic<std::int64_t> input_records_ = 0;
  };

  explicit GroupLayer(Job job) : job_(std::move(job)) {}
  const Job& job() const { return job_; }

  /// Runs feed(slot, emit, stop, end_block) on each slot and writes what it emitted as a run.
  /// `held_bytes` of the step's memory are taken already.
  template <typename Feed>
  absl::StatusOr<StepTotals> Collect(absl::Span<const double> consumer_key_end,
                                     std::int64_t held_bytes, RunSink& sink, StepContext& context,
                                     Feed&& feed) const {
    const KeyRanges ranges(consumer_key_end);
    const auto num_slots = static_cast<std::size_t>(context.slots().num_slots());
    std::vector<KeptInputs> kept(num_slots);  // outlives what points into it
    std::deque<SpillingPairs> slots;
    const auto slabs = std::make_shared<SlabStore>();
    const PairForm form{kValueOrder, Shape(), SortKeyOf(job_)};
    for (std::size_t slot = 0; slot < num_slots; ++slot) {
      slots.emplace_back(static_cast<int>(consumer_key_end.size()), form, slabs, context);
    }
    const std::int64_t kept_bytes_max =
        context.spill_above_bytes() > 0
            ? context.spill_above_bytes() / kKeptShare / static_cast<std::int64_t>(num_slots)
            : std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> records(num_slots);
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      SpillingPairs& pairs = slots[static_cast<std::size_t>(slot)];
      Emit emit(job_, ranges, pairs.buffer(), kept[static_cast<std::size_t>(slot)], kept_bytes_max,
                context.refers_to_input() ? InputKeeping::kAll : InputKeeping::kLarge);
      emit.AskBeforeRejecting(context);
      absl::Status fed = feed(slot, emit, stop, [&] {
        absl::Status ended = pairs.EndBlock(held_bytes);
        // What was kept is checked at the end; nothing more is kept beside it.
        if (pairs.spilled()) emit.StopKeeping();
        return ended;
      });
      ReportCounters<Job>(emit, context);
      records[static_cast<std::size_t>(slot)] = emit.records();
      return fed;
    });
    if (!status.ok()) return status;
    StepTotals totals;
    for (const std::int64_t of_slot : records) totals.input_records += of_slot;
    std::vector<SpillingPairs*> filled;
    for (SpillingPairs& pairs : slots) filled.push_back(&pairs);
    const std::unique_ptr<const InputReferences> references = ReferencesOf(kept, context);
    const absl::StatusOr<std::int64_t> written =
        SpillingPairs::Write(filled, references.get(), sink, context);
    if (!written.ok()) return written.status();
    for (const KeptInputs& of_slot : kept) {
      for (const auto& input : of_slot) {
        if (absl::Status unchanged = input->CheckUnchanged(); !unchanged.ok()) return unchanged;
      }
    }
    totals.output_records = *written;
    return totals;
  }

  absl::StatusOr<std::unique_ptr<StepResults>> Reduce(const ReduceOrder& order,
                                                      StepContext& context) const {
    return std::make_unique<StepResults>(job_, order.inputs, context);
  }

  /// Reduces to a part on all slots, in pieces of the keys.
  absl::StatusOr<StepTotals> ReduceToPart(const ReduceOrder& order, PartSink& sink,
                                          StepContext& context) const {
    ReferencedFiles files;
    const auto stop = [&context] { return context.cancelled(); };
    if (context.slots().num_slots() == 1) {
      const ReferencedSources inputs(order.inputs, files, context);
      Results results(job_, inputs.sources(), files, stop);
      PartText text(sink);
      absl::Status status = FormatInto(results, text);
      if (status.ok()) status = files.CheckUnchanged();
      if (!status.ok()) return status;
      return StepTotals{results.input_records(), text.records()};
    }
    SharedPart part{sink, {}};
    std::atomic<std::int64_t> input_records = 0;
    std::atomic<std::int64_t> output_records = 0;
    absl::Status status = MergeOnSlots(
        order.inputs, context,
        [&](const GroupPieces::Sources& piece, PieceTurn& turn) {
          Results results(job_, piece, files, stop);
          PiecePartSink piece_sink(part, turn);
          PartText text(piece_sink, part.spare);
          absl::Status written = FormatInto(results, text);
          input_records += results.input_records();
          output_records += text.records();
          return written.ok() ? piece_sink.Finish() : written;
        },
        &files);
    if (status.ok()) status = files.CheckUnchanged();
    if (!status.ok()) return status;
    return StepTotals{input_records, output_records};
  }

 private:
  absl::Status FormatInto(Results& results, PartText& text) const {
    absl::Status status = results.Visit([&](const auto& key, const auto& value) {
      return text.Add([&](std::string& out) { job_.Format(key, value, out); });
    });
    return status.ok() ? text.Flush() : status;
  }

  // Records that are not longer by some times than references are better held.
  static constexpr std::size_t kReferencedRecordBytesMin = 32;
  // A step that reads what some mappers made has all their files open.
  static constexpr std::size_t kReferencedFilesMax = 64;

  // Where records of the input are, if the run is to refer to them; else null.
  static std::unique_ptr<const InputReferences> ReferencesOf(const std::vector<KeptInputs>& kept,
                                                             const StepContext& context) {
    if (!context.refers_to_input() || Shape().bytes() < kReferencedRecordBytesMin) return nullptr;
    auto references = std::make_unique<const InputReferences>(kept);
    return references->files().size() <= kReferencedFilesMax ? std::move(references) : nullptr;
  }

  static std::uint64_t PlaceOf(const Job& job, typename KeyForm<Key>::Argument key,
                               std::string_view bytes) {
    if constexpr (requires { job.Partition(key); }) {
      return KeyRanges::PositionOf(job.Partition(key));
    } else {
      return KeyPosition(HashKey(bytes));
    }
  }

  // The part of a step's memory that pairs in place may take: their pages are the kernel's, and if
  // it gives them to others they have to be read again, one by one.
  static constexpr std::int64_t kKeptShare = 2;

  class Emit : public EmitBase<Job> {
   public:
    Emit(const Job& job, const KeyRanges& ranges, GroupBuffer& buffer, KeptInputs& kept,
         std::int64_t kept_bytes_max, InputKeeping keeping)
        : job_(job),
          ranges_(ranges),
          buffer_(buffer),
          kept_(kept),
          kept_bytes_max_(kept_bytes_max),
          keeping_(keeping) {}

    void operator()(typename KeyForm<Key>::Argument key, const Value& value) {
      this->CountEmitted();
      const std::string_view bytes = KeyForm<Key>::Bytes(key, key_scratch_);
      value_scratch_.clear();
      ValueCodec<Value>::Append(value, value_scratch_);
      if (!this->Fits(bytes, value_scratch_.size())) return;
      buffer_.Add(ranges_.ConsumerOf(PlaceOf(job_, key, bytes)), bytes, value_scratch_,
                  SortKeyBytes(job_, value, sort_key_scratch_));
    }

    /// Emits a record as it is: its first Job::kRecordKeyBytes bytes are the key, the others the
    /// value. As by operator(), but a record of the block is not copied before it is written.
    /// Requires: a record of so many bytes.
    void Record(std::string_view record) {
      static_assert(kEmitsRecords, "emit.Record is for jobs with kRecordKeyBytes");
      const std::string_view key = record.substr(0, Job::kRecordKeyBytes);
      if (this->block().stays && !kSortsValues && record.size() == Shape().bytes() &&
          this->Inside(record)) {
        this->CountEmitted();
        return buffer_.AddInPlace(ranges_.ConsumerOf(PlaceOf(job_, key, key)), record.data());
      }
      Value value;
      std::string_view bytes = record.substr(key.size());
      if (ValueCodec<Value>::Take(bytes, value)) (*this)(key, value);
    }

    // For MapRanges.
    InputKeeping KeepsInput() const requires kEmitsRecords {
      const bool keeps = !kSortsValues && buffer_.in_place_bytes() < kept_bytes_max_;
      return keeps ? keeping_ : InputKeeping::kNone;
    }
    void KeepInput(std::unique_ptr<KeptInput> input) requires kEmitsRecords {
      kept_.push_back(std::move(input));
    }
    void StopKeeping() { kept_bytes_max_ = 0; }

   private:
    const Job& job_;
    const KeyRanges& ranges_;
    GroupBuffer& buffer_;
    KeptInputs& kept_;
    std::int64_t kept_bytes_max_;
    const InputKeeping keeping_;
    std::string key_scratch_;
    std::string value_scratch_;
    std::string sort_key_scratch_;
  };

  const Job job_;
};

}  // namespace weir
