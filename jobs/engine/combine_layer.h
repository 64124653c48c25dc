#pragma once

// A layer whose job has Combine: hash tables per slot, merged by sub-table, written by key range,
// given to the next layer's Map, or written in key order. Tables that outgrow their memory go to
// disk and are merged from there. Upstream: layered_program.h. Downstream: RunSink, PartSink.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/combine_emit.h"
#include "jobs/engine/combine_one_input.h"
#include "jobs/engine/combine_sections.h"
#include "jobs/engine/combine_sort.h"
#include "jobs/engine/combine_spill.h"
#include "jobs/engine/map_ranges.h"
#include "jobs/engine/merge/merge_on_slots.h"
#include "jobs/engine/merge/shared_groups.h"
#include "jobs/engine/part_text.h"
#include "jobs/engine/pieces/merge_cuts.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_sections.h"
#include "jobs/engine/slots/slot_sort.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/spill/slot_spills.h"
#include "jobs/engine/table/combine_table.h"
#include "jobs/engine/table/key_batch.h"
#include "jobs/engine/table/key_ranges.h"
#include "jobs/engine/table/slab_array.h"
#include "jobs/engine/table/slab_store.h"
#include "jobs/engine/table/sorted_entries.h"

namespace weir {

/// Pairs of a job with Combine(Value& into, const Value& from), which must be associative.
///
/// Order: values of one key are combined in the order of the input (ranges in the order given,
///   producers or operands in the order given), whatever the number of slots, so Combine need not
///   be commutative; only the grouping depends on the cuts. (In a chain the results of a layer
///   reach the next in no particular order: there Combine must be commutative as well.)
/// Bounds: the slots' tables together half of StepContext::spill_above_bytes; the other half is for
///   merging and sorting them. A table of kSpillEntriesMin keys or more that outgrows its
///   share is sorted and put on disk; what is there is folded when it is merged at the end. Fewer
///   keys that need more than StepContext::memory_bytes fail with OUT_OF_MEMORY, as do all where a
///   step has no place for files. Reduce steps with one producer have no tables
///   (combine_one_input.h).
/// Checked by: tests/unit/jobs/combine_layer_test.cc, combine_step_test.cc, combine_table_test.cc,
/// wordcount_test.cc, layered_program_test.cc.
template <typename Job>
class CombineLayer {
 private:
  using Key = typename Job::Key;
  using Value = typename Job::Value;
  using Table = CombineTable<Value>;
  using Entry = typename Table::Entry;

  struct Fold {
    const Job* job;
    [[gnu::always_inline]] void operator()(Value& into, const Value& from) const {
      job->Combine(into, from);
    }
  };
  using Batch = KeyBatch<Value, Fold>;
  using Tables = std::vector<std::unique_ptr<Batch>>;

  // What a slot may have.
  struct SlotRoom {
    int num_holders;           // its part of the memory is one in so many
    std::int64_t entries_min;  // of which it puts on disk
  };

  // What slots have folded: in tables, of which the first has everything once they are merged (the
  // others keep the bytes of long keys), or on disk.
  struct Folded {
    KeyRanges ranges;
    int num_consumers;
    Tables tables;
    std::vector<SlotSpills> spills;  // of each slot
    std::vector<SlotRoom> rooms;     // of each slot

    bool spilled() const {
      return std::any_of(spills.begin(), spills.end(),
                         [](const SlotSpills& of_slot) { return !of_slot.empty(); });
    }
    /// In the order of the input.
    absl::StatusOr<RunSources> OpenSection(int consumer) const {
      RunSources sources;
      for (const SlotSpills& of_slot : spills) {
        if (absl::Status opened = of_slot.OpenSection(consumer, sources); !opened.ok()) {
          return opened;
        }
      }
      return sources;
    }
  };

 public:
  /// What a reduce step holds: one value for each key. Of one input it holds nothing and hands it
  /// on.
  class Results {
   public:
    std::int64_t input_records() const {
      return one_input_ ? one_input_->input_records() : input_records_;
    }
    std::int64_t memory_bytes() const {
      std::int64_t bytes = 0;
      for (const auto& batch : folded_.tables) bytes += batch->table().memory_bytes();
      return on_disk_ ? bytes + on_disk_->memory_bytes() : bytes;
    }

    /// Calls take(key, value) for the slot's share of the results until it returns an error, once
    /// for each slot, on all of them at the same time.
    template <typename Take>
    absl::Status Visit(int slot, const std::function<bool()>& stop, Take&& take) {
      if (one_input_) return one_input_->Visit(slot, stop, std::forward<Take>(take));
      if (on_disk_) return VisitMerged(slot, stop, take);
      const Tables& tables = folded_.tables;
      const SlotShare share = ShareOf(slot, static_cast<int>(tables.size()), Table::kSubTables);
      absl::Status status;
      for (int sub = share.begin; sub < share.end && status.ok() && !stop(); ++sub) {
        tables[0]->table().ForEach(sub, [&](const Entry& entry) {
          if (!status.ok()) return;
          typename KeyForm<Key>::Held key{};
          if (!KeyForm<Key>::Read(entry.key(), key)) {
            status = DamagedSection();
          } else {
            status = take(KeyForm<Key>::Of(key), entry.value);
          }
        });
      }
      return status;
    }

   private:
    friend class CombineLayer;
    explicit Results(Folded folded, const Job& job) : folded_(std::move(folded)), job_(job) {}

    // For Visit, where some lie on disk.
    absl::Status Open(StepContext& context) {
      absl::StatusOr<RunSources> sources = folded_.OpenSection(0);
      if (!sources.ok()) return sources.status();
      sources_ = *std::move(sources);
      on_disk_.emplace(sources_, nullptr, context);
      return absl::OkStatus();
    }

    template <typename Take>
    absl::Status VisitMerged(int slot, const std::function<bool()>& stop, Take& take) {
      return on_disk_->Visit(slot, stop, [&](const RunSources& piece) {
        return FoldMerged(job_, piece, stop, [&](std::string_view bytes, const Value& value) {
          typename KeyForm<Key>::Held key{};
          if (!KeyForm<Key>::Read(bytes, key)) return DamagedSection();
          return take(KeyForm<Key>::Of(key), value);
        });
      });
    }

    Folded folded_;
    std::optional<OneInputResults<Job>> one_input_;  // then nothing is folded
    RunSources sources_;                             // what was folded, where it lies on disk
    std::optional<SharedGroups> on_disk_;            // the same for Visit
    const Job& job_;
    std::int64_t input_records_ = 0;
  };

  CombineLayer(Job job, std::shared_ptr<SlabStore> slabs)
      : job_(std::move(job)), slabs_(std::move(slabs)) {}
  const Job& job() const { return job_; }

  /// Runs feed(slot, emit, stop, end_block) on each slot and writes what it emitted as a run.
  /// `held_bytes` of the step's memory are taken already.
  template <typename Feed>
  absl::StatusOr<StepTotals> Collect(absl::Span<const double> consumer_key_end,
                                     std::int64_t held_bytes, RunSink& sink, StepContext& context,
                                     Feed&& feed) const {
    const int num_slots = context.slots().num_slots();
    Folded folded = Begin(consumer_key_end, KeysCome::kAgain, context);
    std::vector<std::int64_t> records(static_cast<std::size_t>(num_slots));
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      CombineEmit<Job, Batch> emit(*folded.tables[static_cast<std::size_t>(slot)]);
      emit.AskBeforeRejecting(context);
      absl::Status fed =
          feed(slot, emit, stop, [&] { return EndBlock(folded, slot, held_bytes, context); });
      ReportCounters<Job>(emit, context);
      records[static_cast<std::size_t>(slot)] = emit.records();
      return fed;
    });
    StepTotals totals;
    for (const std::int64_t of_slot : records) totals.input_records += of_slot;
    if (status.ok()) status = Settle(folded, context);
    if (status.ok()) status = WriteSections(folded, sink, context, totals);
    if (!status.ok()) return status;
    return totals;
  }

  /// `order` outlives the results.
  absl::StatusOr<std::unique_ptr<Results>> Reduce(const ReduceOrder& order,
                                                  StepContext& context) const {
    const int num_slots = context.slots().num_slots();
    // A smaller one would be mapped by some of the slots only, a table is by all of them.
    if (order.inputs.size() == 1 && ReadersOf(*order.inputs[0], num_slots) == num_slots) {
      std::unique_ptr<Results> results(new Results({KeyRanges({1.0}), 1, {}, {}, {}}, job_));
      results->one_input_.emplace(order.inputs, num_slots);
      return results;
    }
    absl::StatusOr<std::unique_ptr<Results>> results = FoldAll(order, context);
    if (results.ok() && (*results)->folded_.spilled()) {
      if (absl::Status opened = (*results)->Open(context); !opened.ok()) return opened;
    }
    return results;
  }

  /// Folds the inputs in their order and writes what they hold as a run: pairs of this layer again.
  absl::StatusOr<StepTotals> Combine(const CombineOrder& order, RunSink& sink,
                                     StepContext& context) const {
    Folded folded = Begin(order.consumer_key_end, KeysCome::kOnce, context);
    StepTotals totals;
    absl::Status status = FoldInputs(order.inputs, folded, context, totals.input_records);
    if (status.ok()) status = WriteSections(folded, sink, context, totals);
    if (!status.ok()) return status;
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToPart(const ReduceOrder& order, PartSink& sink,
                                          StepContext& context) const {
    if (order.inputs.size() == 1) {
      return OneInputToPart(job_, order.inputs, slabs_, sink, context);
    }
    const auto results = FoldAll(order, context);
    if (!results.ok()) return results.status();
    StepTotals totals;
    totals.input_records = (*results)->input_records();
    const Folded& folded = (*results)->folded_;
    absl::Status status;
    if (folded.spilled()) {
      const absl::StatusOr<RunSources> sources = folded.OpenSection(0);
      status = sources.ok() ? MergeToPart(job_, *sources, sink, context, totals) : sources.status();
    } else {
      status = WriteSorted(folded.tables[0]->table(), sink, context, totals);
    }
    if (!status.ok()) return status;
    return totals;
  }

 private:
  absl::StatusOr<std::unique_ptr<Results>> FoldAll(const ReduceOrder& order,
                                                   StepContext& context) const {
    std::unique_ptr<Results> results(new Results(Begin({1.0}, KeysCome::kOnce, context), job_));
    absl::Status status =
        FoldInputs(order.inputs, results->folded_, context, results->input_records_);
    if (!status.ok()) return status;
    return results;
  }

  // Fewer keys are not worth a file.
  static constexpr std::int64_t kSpillEntriesMin = 256;
  // Of the memory of a table another one for merging or sorting it.
  static constexpr std::int64_t kTimesTable = 2;

  Folded Begin(absl::Span<const double> consumer_key_end, KeysCome come,
               StepContext& context) const {
    Folded folded{
        KeyRanges(consumer_key_end), static_cast<int>(consumer_key_end.size()), {}, {}, {}};
    const int num_slots = context.slots().num_slots();
    const auto merge = [this, &context](int consumer, const RunSources& sources, RunSink& sink) {
      return MergeSection(job_, consumer, sources, sink, context).status();
    };
    for (int slot = 0; slot < num_slots; ++slot) {
      folded.tables.push_back(std::make_unique<Batch>(Fold{&job_}, slabs_, come));
      folded.spills.emplace_back(folded.num_consumers, merge);
      folded.rooms.push_back({num_slots, kSpillEntriesMin});
    }
    return folded;
  }

  absl::Status EndBlock(Folded& folded, int slot, std::int64_t held_bytes,
                        StepContext& context) const {
    Batch& batch = *folded.tables[static_cast<std::size_t>(slot)];
    batch.Flush();
    const SlotRoom& room = folded.rooms[static_cast<std::size_t>(slot)];
    const std::int64_t bytes = batch.table().memory_bytes();
    if (batch.table().size() >= room.entries_min &&
        ShouldSpill(kTimesTable * bytes, held_bytes, room.num_holders, context)) {
      absl::Status spilled = Spill(folded, slot, context);
      if (!absl::IsUnimplemented(spilled)) return spilled;
    }
    return CheckSlotMemory(bytes, held_bytes, room.num_holders, "the distinct keys of one slot",
                           context);
  }

  // What was folded is in one table or wholly on disk afterwards.
  absl::Status Settle(Folded& folded, StepContext& context) const {
    if (!folded.spilled()) return MergeTables(folded.tables, context);
    return RunOnSlots(context, [&](int slot, const std::function<bool()>&) {
      return Spill(folded, slot, context);
    });
  }

  absl::Status Spill(Folded& folded, int slot, StepContext& context) const {
    Batch& batch = *folded.tables[static_cast<std::size_t>(slot)];
    if (batch.table().size() == 0) return absl::OkStatus();
    absl::Status status = folded.spills[static_cast<std::size_t>(slot)].Add(
        context, [&](RunSink& sink) { return WriteByKey(folded, batch.table(), sink); });
    if (status.ok()) batch.Clear();
    return status;
  }

  absl::Status WriteByKey(const Folded& folded, Table& table, RunSink& sink) const {
    table.Split();
    return WriteTableByKey(
        table, folded.num_consumers, *slabs_,
        [&](int sub, const Entry& entry) {
          std::uint64_t position = 0;
          const bool found = folded.num_consumers == 1 ||
                             TableSections<Job>::FindPosition(job_, sub, entry, position);
          return found ? folded.ranges.ConsumerOf(position) : -1;
        },
        sink);
  }

  absl::Status WriteMergedSections(const Folded& folded, RunSink& sink, StepContext& context,
                                   StepTotals& totals) const {
    std::size_t num_files = 0;
    for (const SlotSpills& of_slot : folded.spills) num_files += of_slot.num_files();
    const SectionsOnDisk sections{folded.num_consumers, num_files,
                                  [&](int consumer) { return folded.OpenSection(consumer); },
                                  [&](int consumer, const RunSources& sources, RunSink& section) {
                                    return MergeSection(job_, consumer, sources, section, context);
                                  }};
    const absl::StatusOr<std::int64_t> records = MergeSectionsOnSlots(sections, sink, context);
    if (records.ok()) totals.output_records = *records;
    return records.status();
  }

  // Brings everything into the first table; the others keep the bytes of long keys.
  absl::Status MergeTables(Tables& tables, StepContext& context) const {
    for (auto& batch : tables) batch->table().Split();
    const int num_slots = static_cast<int>(tables.size());
    if (num_slots == 1) return absl::OkStatus();
    return RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const SlotShare share = ShareOf(slot, num_slots, Table::kSubTables);
      for (int sub = share.begin; sub < share.end && !stop(); ++sub) {
        for (std::size_t other = 1; other < tables.size(); ++other) {
          tables[0]->table().Merge(sub, tables[other]->table(), Fold{&job_});
          // Sorting and writing take its memory.
          tables[other]->table().Drop(sub);
        }
      }
      return absl::OkStatus();
    });
  }

  using Inputs = std::vector<std::unique_ptr<RunSource>>;

  // The longest pair may come to one of the slots that share an input: each has room for two.
  static int ReadersMax(const Inputs& inputs, const StepContext& context) {
    if (context.memory_bytes() <= 0) return std::numeric_limits<int>::max();
    const auto num_inputs = static_cast<std::int64_t>(std::max<std::size_t>(inputs.size(), 1));
    const std::int64_t room = context.memory_bytes() / num_inputs;
    return static_cast<int>(
        std::clamp<std::int64_t>(room / (2 * std::int64_t{kPairBytesMax}), 1, 1 << 16));
  }

  // Slots take neighbouring inputs, so that values meet in the order of the inputs. Where there are
  // fewer inputs than slots, neighbouring slots share one: no key of it comes twice.
  absl::Status FoldInputs(const Inputs& inputs, Folded& folded, StepContext& context,
                          std::int64_t& input_records) const {
    const int num_slots = static_cast<int>(folded.tables.size());
    SlotSections sections(inputs, num_slots, ReadersMax(inputs, context));
    for (int slot = 0; slot < num_slots; ++slot) {
      folded.rooms[static_cast<std::size_t>(slot)] = {
          sections.num_holders(slot),
          std::max<std::int64_t>(kSpillEntriesMin / sections.num_readers(slot), 1)};
    }
    std::vector<std::int64_t> records(folded.tables.size());
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      return sections.Visit(slot, [&](RunSource& source) {
        return ReadSection(source, folded, slot, context, stop,
                           records[static_cast<std::size_t>(slot)]);
      });
    });
    for (const std::int64_t of_slot : records) input_records += of_slot;
    return status.ok() ? Settle(folded, context) : status;
  }

  absl::Status ReadSection(RunSource& source, Folded& folded, int slot, StepContext& context,
                           const std::function<bool()>& stop, std::int64_t& records) const {
    Batch& batch = *folded.tables[static_cast<std::size_t>(slot)];
    SectionReader reader(source);
    SectionRecord record;
    Value value;
    while (true) {
      if (!reader.NextInBlock(record)) {
        if (reader.at_block_end()) {
          absl::Status status = EndBlock(folded, slot, 0, context);
          if (!status.ok()) return status;
          if (stop()) return absl::OkStatus();
        }
        const absl::StatusOr<bool> more = reader.Next(record);
        if (!more.ok()) return more.status();
        if (!*more) return absl::OkStatus();
      }
      if (!ValueCodec<Value>::Take(record.value, value)) return DamagedSection();
      ++records;
      if (reader.block_end() - record.key.data() >= static_cast<std::ptrdiff_t>(kInlineKeyBytes)) {
        batch.AddStable(record.key.data(), record.key.size(), value);
      } else {
        batch.AddCopied(record.key, value);
      }
    }
  }

  absl::Status WriteSections(const Folded& folded, RunSink& sink, StepContext& context,
                             StepTotals& totals) const {
    if (folded.spilled()) return WriteMergedSections(folded, sink, context, totals);
    const Table& table = folded.tables[0]->table();
    totals.output_records = table.size();
    return TableSections<Job>(job_, table, folded.ranges).Write(sink, context);
  }

  // Slots sort all entries together, then format them in pieces.
  absl::Status WriteSorted(const Table& table, PartSink& sink, StepContext& context,
                           StepTotals& totals) const {
    using Sorted = SortedEntry<Entry>;
    const auto size = static_cast<std::size_t>(table.size());
    totals.output_records = table.size();
    SlabArray<Sorted> sorted;
    if (absl::Status status = SortTable(table, *slabs_, context, sorted); !status.ok())
      return status;
    const std::size_t num_pieces = NumPieces(size, size, kPieceEntries);
    SharedPart part{sink, {}};
    return MakePieces(static_cast<int>(num_pieces), context, [&](int piece, PieceTurn& turn) {
      const auto at = static_cast<std::size_t>(piece);
      const std::size_t begin = CutOf(size, at, num_pieces);
      const absl::Span<const Sorted> entries(sorted.get() + begin,
                                             CutOf(size, at + 1, num_pieces) - begin);
      PiecePartSink piece_sink(part, turn);
      PartText text(piece_sink, part.spare);
      absl::Status written = VisitSorted(entries, [&](const Entry& entry) {
        return AddResult(job_, entry.key(), entry.value, text);
      });
      if (written.ok()) written = text.Flush();
      return written.ok() ? piece_sink.Finish() : written;
    });
  }

  const Job job_;
  const std::shared_ptr<SlabStore> slabs_;
};

}  // namespace weir
