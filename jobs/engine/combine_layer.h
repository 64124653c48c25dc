#pragma once

// A layer whose job has Combine: hash tables per slot, merged by sub-table, written by key range,
// given to the next layer's Map, or written in key order. Upstream: layered_program.h. Downstream:
// RunSink, PartSink.

#include <algorithm>
#include <cstdint>
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
#include "jobs/engine/map_ranges.h"
#include "jobs/engine/part_text.h"
#include "jobs/engine/pieces/merge_cuts.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slot_sort.h"
#include "jobs/engine/slot_work.h"
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
/// Bounds: the slots' tables together at most StepContext::memory_bytes, beyond which the step
/// fails
///   with OUT_OF_MEMORY; merging and sorting them takes at most as much again.
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
    void operator()(Value& into, const Value& from) const { job->Combine(into, from); }
  };
  using Batch = KeyBatch<Value, Fold>;
  using Tables = std::vector<std::unique_ptr<Batch>>;

 public:
  /// What a reduce step holds: one value for each key.
  class Results {
   public:
    std::int64_t input_records() const { return input_records_; }
    std::int64_t memory_bytes() const {
      std::int64_t bytes = 0;
      for (const auto& batch : tables_) bytes += batch->table().memory_bytes();
      return bytes;
    }

    /// Calls take(key, value) for the slot's share of the results until it returns an error.
    template <typename Take>
    absl::Status Visit(int slot, const std::function<bool()>& stop, Take&& take) {
      const SlotShare share = ShareOf(slot, static_cast<int>(tables_.size()), Table::kSubTables);
      absl::Status status;
      for (int sub = share.begin; sub < share.end && status.ok() && !stop(); ++sub) {
        tables_[0]->table().ForEach(sub, [&](const Entry& entry) {
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
    Tables tables_;  // everything is in the first; the others keep the bytes of long keys
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
    Tables tables = MakeTables(num_slots);
    std::vector<std::int64_t> records(static_cast<std::size_t>(num_slots));
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      Batch& batch = *tables[static_cast<std::size_t>(slot)];
      CombineEmit<Job, Batch> emit(batch);
      emit.AskBeforeRejecting(context);
      absl::Status fed =
          feed(slot, emit, stop, [&] { return EndBlock(batch, held_bytes, num_slots, context); });
      ReportCounters<Job>(emit, context);
      records[static_cast<std::size_t>(slot)] = emit.records();
      return fed;
    });
    StepTotals totals;
    for (const std::int64_t of_slot : records) totals.input_records += of_slot;
    if (status.ok()) status = MergeTables(tables, context);
    if (status.ok()) {
      status = WriteSections(tables[0]->table(), consumer_key_end, sink, context, totals);
    }
    if (!status.ok()) return status;
    return totals;
  }

  absl::StatusOr<std::unique_ptr<Results>> Reduce(const ReduceOrder& order,
                                                  StepContext& context) const {
    auto results = std::make_unique<Results>();
    results->tables_ = MakeTables(context.slots().num_slots());
    absl::Status status =
        FillTables(order.inputs, results->tables_, context, results->input_records_);
    if (!status.ok()) return status;
    return results;
  }

  /// Folds the inputs in their order and writes what they hold as a run: pairs of this layer again.
  absl::StatusOr<StepTotals> Combine(const CombineOrder& order, RunSink& sink,
                                     StepContext& context) const {
    Tables tables = MakeTables(context.slots().num_slots());
    StepTotals totals;
    absl::Status status = FillTables(order.inputs, tables, context, totals.input_records);
    if (status.ok()) {
      status = WriteSections(tables[0]->table(), order.consumer_key_end, sink, context, totals);
    }
    if (!status.ok()) return status;
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToPart(const ReduceOrder& order, PartSink& sink,
                                          StepContext& context) const {
    const auto results = Reduce(order, context);
    if (!results.ok()) return results.status();
    StepTotals totals;
    totals.input_records = (*results)->input_records();
    absl::Status status = WriteSorted((*results)->tables_[0]->table(), sink, context, totals);
    if (!status.ok()) return status;
    return totals;
  }

 private:
  Tables MakeTables(int num_slots) const {
    Tables tables;
    for (int slot = 0; slot < num_slots; ++slot) {
      tables.push_back(std::make_unique<Batch>(Fold{&job_}, slabs_));
    }
    return tables;
  }

  static absl::Status EndBlock(Batch& batch, std::int64_t held_bytes, int num_tables,
                               StepContext& context) {
    batch.Flush();
    return CheckSlotMemory(batch.table().memory_bytes(), held_bytes, num_tables,
                           "the distinct keys of one slot", context);
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
        }
      }
      return absl::OkStatus();
    });
  }

  using Inputs = std::vector<std::unique_ptr<RunSource>>;

  // Slots take neighbouring inputs, so that values meet in the order of the inputs.
  absl::Status FillTables(const Inputs& inputs, Tables& tables, StepContext& context,
                          std::int64_t& input_records) const {
    const int num_slots = static_cast<int>(tables.size());
    // Of a few inputs most slots get none: theirs is the memory of the others.
    const int num_tables = std::clamp(static_cast<int>(inputs.size()), 1, num_slots);
    std::vector<std::int64_t> records(tables.size());
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const SlotShare share = ShareOf(slot, num_slots, static_cast<int>(inputs.size()));
      for (int input = share.begin; input < share.end; ++input) {
        absl::Status read = ReadSection(*inputs[static_cast<std::size_t>(input)],
                                        *tables[static_cast<std::size_t>(slot)], num_tables,
                                        context, stop, records[static_cast<std::size_t>(slot)]);
        if (!read.ok()) return read;
      }
      return absl::OkStatus();
    });
    for (const std::int64_t of_slot : records) input_records += of_slot;
    return status.ok() ? MergeTables(tables, context) : status;
  }

  static absl::Status ReadSection(RunSource& source, Batch& batch, int num_tables,
                                  StepContext& context, const std::function<bool()>& stop,
                                  std::int64_t& records) {
    SectionReader reader(source);
    SectionRecord record;
    Value value;
    while (true) {
      if (!reader.NextInBlock(record)) {
        if (reader.at_block_end()) {
          absl::Status status = EndBlock(batch, 0, num_tables, context);
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

  absl::Status WriteSections(const Table& table, absl::Span<const double> consumer_key_end,
                             RunSink& sink, StepContext& context, StepTotals& totals) const {
    const KeyRanges ranges(consumer_key_end);
    totals.output_records = table.size();
    if constexpr (kOwnPartition) {
      return WriteByPartition(table, ranges, sink, context);
    } else {
      return WriteBySubTable(table, ranges, sink, context);
    }
  }

  struct Placed {
    int consumer;
    const Entry* entry;
  };
  static bool ForEarlier(const Placed& a, const Placed& b) { return a.consumer < b.consumer; }

  static constexpr bool kOwnPartition =
      requires(const Job& job, typename KeyForm<Key>::Argument key) {
    job.Partition(key);
  };

  // Sub-tables follow one another in the order of hashes, and so do their consumers: neighbours are
  // a piece, cut by entries, so that a run does not depend on the slots that wrote it.
  static absl::Status WriteBySubTable(const Table& table, const KeyRanges& ranges, RunSink& sink,
                                      StepContext& context) {
    std::vector<SlotShare> pieces;
    std::int64_t entries = 0;
    for (int sub = 0, begin = 0; sub < Table::kSubTables; ++sub) {
      entries += table.size(sub);
      if (entries < static_cast<std::int64_t>(kPieceEntries) && sub + 1 < Table::kSubTables)
        continue;
      pieces.push_back({begin, sub + 1});
      begin = sub + 1;
      entries = 0;
    }
    SharedRun run{sink};
    const auto write = [&](int piece, PieceTurn& turn) {
      PieceRunSink piece_sink(run, turn);
      SectionWriter writer(piece_sink);
      std::vector<Placed> placed;
      int section = -1;
      absl::Status status;
      const SlotShare& subs = pieces[static_cast<std::size_t>(piece)];
      for (int sub = subs.begin; sub < subs.end && status.ok(); ++sub) {
        placed.clear();
        table.ForEach(sub, [&](const Entry& entry) {
          placed.push_back({ranges.ConsumerOf(Table::PositionOf(sub, entry)), &entry});
        });
        if (!std::is_sorted(placed.begin(), placed.end(), ForEarlier)) {
          std::stable_sort(placed.begin(), placed.end(), ForEarlier);
        }
        status = WritePlaced(placed, writer, section);
      }
      if (status.ok()) status = writer.Finish();
      return status.ok() ? piece_sink.Finish() : status;
    };
    return MakePieces(static_cast<int>(pieces.size()), context, write);
  }

  // Places of the job's own have no order in the table: consumers' entries are brought together
  // first, those of a consumer in the order of the table.
  absl::Status WriteByPartition(const Table& table, const KeyRanges& ranges, RunSink& sink,
                                StepContext& context) const {
    std::vector<std::vector<Placed>> placed(static_cast<std::size_t>(context.slots().num_slots()));
    absl::Status status = PlaceByPartition(table, ranges, context, placed);
    if (!status.ok()) return status;
    const std::vector<absl::Span<const Placed>> lists(placed.begin(), placed.end());
    const auto size = static_cast<std::size_t>(table.size());
    const std::size_t num_pieces = NumPieces(size, size, kPieceEntries);
    SharedRun run{sink};
    const auto write = [&](int piece, PieceTurn& turn) {
      PieceRunSink piece_sink(run, turn);
      SectionWriter writer(piece_sink);
      const auto at = static_cast<std::size_t>(piece);
      const auto begin = CutMerge<Placed>(lists, CutOf(size, at, num_pieces), ForEarlier);
      const auto end = CutMerge<Placed>(lists, CutOf(size, at + 1, num_pieces), ForEarlier);
      std::vector<Placed> merged;
      for (std::size_t i = 0; i < lists.size(); ++i) {
        merged.insert(merged.end(), lists[i].begin() + static_cast<std::ptrdiff_t>(begin[i]),
                      lists[i].begin() + static_cast<std::ptrdiff_t>(end[i]));
      }
      std::stable_sort(merged.begin(), merged.end(), ForEarlier);
      int section = -1;
      absl::Status written = WritePlaced(merged, writer, section);
      if (written.ok()) written = writer.Finish();
      return written.ok() ? piece_sink.Finish() : written;
    };
    return MakePieces(static_cast<int>(num_pieces), context, write);
  }

  absl::Status PlaceByPartition(const Table& table, const KeyRanges& ranges, StepContext& context,
                                std::vector<std::vector<Placed>>& placed) const {
    const int num_slots = static_cast<int>(placed.size());
    return RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      std::vector<Placed>& mine = placed[static_cast<std::size_t>(slot)];
      const SlotShare share = ShareOf(slot, num_slots, Table::kSubTables);
      absl::Status status;
      for (int sub = share.begin; sub < share.end && status.ok() && !stop(); ++sub) {
        table.ForEach(sub, [&](const Entry& entry) {
          typename KeyForm<Key>::Held key{};
          if (!KeyForm<Key>::Read(entry.key(), key)) {
            status = DamagedSection();
          } else if (status.ok()) {
            const double place = job_.Partition(KeyForm<Key>::Of(key));
            mine.push_back({ranges.ConsumerOf(KeyRanges::PositionOf(place)), &entry});
          }
        });
      }
      std::stable_sort(mine.begin(), mine.end(), ForEarlier);
      return status;
    });
  }

  static absl::Status WritePlaced(const std::vector<Placed>& placed, SectionWriter& writer,
                                  int& section) {
    // Long keys lie in the order in which they came, not in that of the table.
    constexpr std::size_t kAheadKeys = 12;
    std::string scratch;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const Placed& one = placed[i];
      if (placed.size() - i > kAheadKeys) {
        __builtin_prefetch(placed[i + kAheadKeys].entry->key().data());
      }
      if (one.consumer != section) {
        section = one.consumer;
        if (absl::Status status = writer.Begin(section); !status.ok()) return status;
      }
      scratch.clear();
      ValueCodec<Value>::Append(one.entry->value, scratch);
      if (absl::Status status = writer.Add(one.entry->key(), scratch); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Slots sort all entries together, then format them in pieces.
  absl::Status WriteSorted(const Table& table, PartSink& sink, StepContext& context,
                           StepTotals& totals) const {
    using Sorted = SortedEntry<Entry>;
    const auto size = static_cast<std::size_t>(table.size());
    totals.output_records = table.size();
    SlabArray<Sorted> sorted;
    if (absl::Status status = SortTable(table, sorted, context); !status.ok()) return status;
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
        typename KeyForm<Key>::Held key{};
        if (!KeyForm<Key>::Read(entry.key(), key)) return DamagedSection();
        return text.Add(
            [&](std::string& out) { job_.Format(KeyForm<Key>::Of(key), entry.value, out); });
      });
      if (written.ok()) written = text.Flush();
      return written.ok() ? piece_sink.Finish() : written;
    });
  }

  // Entries of neighbouring sub-tables, as a slot found them.
  struct FoundEntries {
    SlabArray<SortedEntry<Entry>> entries;
    std::size_t size = 0;
    std::uint64_t low = ~std::uint64_t{0};  // of the prefixes
    std::uint64_t high = 0;
  };

  FoundEntries FindEntries(const Table& table, SlotShare subs) const {
    FoundEntries found;
    std::size_t size = 0;
    for (int sub = subs.begin; sub < subs.end; ++sub) {
      size += static_cast<std::size_t>(table.size(sub));
    }
    found.entries = SlabArray<SortedEntry<Entry>>(*slabs_, size);
    for (int sub = subs.begin; sub < subs.end; ++sub) {
      table.ForEach(sub, [&found](const Entry& entry) {
        const auto one = SortedEntry<Entry>::Of(entry);
        found.low = std::min(found.low, one.prefix);
        found.high = std::max(found.high, one.prefix);
        found.entries[found.size++] = one;
      });
    }
    return found;
  }

  absl::Status SortTable(const Table& table, SlabArray<SortedEntry<Entry>>& sorted,
                         StepContext& context) const {
    using Sorted = SortedEntry<Entry>;
    const auto sort = [](Sorted* entries, std::size_t size, Sorted* spare) {
      SortEntries(entries, size, spare);
    };
    const auto size = static_cast<std::size_t>(table.size());
    if (size < kSortOnSlotsMin) {
      sorted = FindEntries(table, {0, Table::kSubTables}).entries;
      const SlabArray<Sorted> spare(*slabs_, size);
      sort(sorted.get(), size, spare.get());
      return absl::OkStatus();
    }
    const int num_slots = context.slots().num_slots();
    std::vector<FoundEntries> found(static_cast<std::size_t>(num_slots));
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>&) {
      found[static_cast<std::size_t>(slot)] =
          FindEntries(table, ShareOf(slot, num_slots, Table::kSubTables));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    std::vector<absl::Span<const Sorted>> arrays;
    std::uint64_t low = ~std::uint64_t{0};
    std::uint64_t high = 0;
    for (const FoundEntries& of_slot : found) {
      arrays.emplace_back(of_slot.entries.get(), of_slot.size);
      low = std::min(low, of_slot.low);
      high = std::max(high, of_slot.high);
    }
    sorted = SlabArray<Sorted>(*slabs_, size);
    return SortOnSlots<Sorted>(
        arrays, PrefixPlaces(low, high), sorted.get(), *slabs_, context,
        [&found] { found.clear(); }, sort);
  }

  // About kPieceBytes of short keys and values.
  static constexpr std::size_t kPieceEntries = std::size_t{1} << 15;

  const Job job_;
  const std::shared_ptr<SlabStore> slabs_;
};

}  // namespace weir
