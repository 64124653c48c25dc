#pragma once

// Runs a job that has Combine: hash tables per slot, merged by sub-table, written by key range or
// in key order. Upstream: make_program.h. Downstream: RunSink, PartSink.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/combine_emit.h"
#include "jobs/api/combine_table.h"
#include "jobs/api/key_batch.h"
#include "jobs/api/key_ranges.h"
#include "jobs/api/map_ranges.h"
#include "jobs/api/part_text.h"
#include "jobs/api/program.h"
#include "jobs/api/section_blocks.h"
#include "jobs/api/slot_work.h"
#include "jobs/api/sorted_entries.h"
#include "jobs/api/value_codec.h"

namespace weir {

/// JobProgram of a job with Combine(Value& into, const Value& from), which must be associative.
///
/// Order: values of one key are combined in the order of the input (ranges in the order given,
///   producers in the order given), whatever the number of slots, so Combine need not be
///   commutative; only the grouping depends on the cuts.
/// Bounds: the slots' tables together at most StepContext::memory_bytes, beyond which the step
/// fails
///   with OUT_OF_MEMORY; merging and sorting them takes at most as much again.
/// Checked by: tests/unit/jobs/combine_table_test.cc, wordcount_test.cc.
template <typename Job>
class CombineProgram : public JobProgram {
 public:
  explicit CombineProgram(Job job) : job_(std::move(job)) {}

  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    const int num_slots = context.slots().num_slots();
    const auto pieces = SplitRanges(order.ranges, num_slots);
    Tables tables = MakeTables(num_slots);
    std::vector<std::int64_t> records(static_cast<std::size_t>(num_slots));
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      Batch& batch = *tables[static_cast<std::size_t>(slot)];
      Job job = job_;
      CombineEmit<Job, Batch> emit(batch);
      absl::Status mapped = MapRanges(job, pieces[static_cast<std::size_t>(slot)], emit, context,
                                      stop, [&] { return EndBlock(batch, context); });
      ReportCounters<Job>(emit, context);
      records[static_cast<std::size_t>(slot)] = emit.records();
      return mapped;
    });
    StepTotals totals;
    for (const std::int64_t of_slot : records) totals.input_records += of_slot;
    if (status.ok()) status = MergeTables(tables, context);
    if (status.ok()) {
      status = WriteSections(tables[0]->table(), order.consumer_key_end, sink, totals);
    }
    if (!status.ok()) return status;
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder order, RunSink& sink,
                                         StepContext& context) override {
    StepTotals totals;
    Tables tables = MakeTables(context.slots().num_slots());
    absl::Status status = FillTables(order, tables, context, totals);
    if (status.ok()) {
      status = WriteSections(tables[0]->table(), order.consumer_key_end, sink, totals);
    }
    if (!status.ok()) return status;
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext& context) override {
    StepTotals totals;
    Tables tables = MakeTables(context.slots().num_slots());
    absl::Status status = FillTables(order, tables, context, totals);
    if (status.ok()) status = WritePart(tables[0]->table(), sink, context, totals);
    if (!status.ok()) return status;
    return totals;
  }

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

  Tables MakeTables(int num_slots) const {
    Tables tables;
    for (int slot = 0; slot < num_slots; ++slot) {
      tables.push_back(std::make_unique<Batch>(Fold{&job_}));
    }
    return tables;
  }

  static absl::Status EndBlock(Batch& batch, StepContext& context) {
    batch.Flush();
    const std::int64_t allowed = context.memory_bytes() / context.slots().num_slots();
    const std::int64_t held = batch.table().memory_bytes();
    if (context.memory_bytes() <= 0 || held <= allowed) return absl::OkStatus();
    return OutOfMemory(held, allowed, "the distinct keys of one slot");
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

  absl::Status FillTables(ReduceOrder& order, Tables& tables, StepContext& context,
                          StepTotals& totals) const {
    const int num_slots = static_cast<int>(tables.size());
    std::vector<std::int64_t> records(tables.size());
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const SlotShare share = ShareOf(slot, num_slots, static_cast<int>(order.inputs.size()));
      for (int input = share.begin; input < share.end; ++input) {
        absl::Status read = ReadSection(*order.inputs[static_cast<std::size_t>(input)],
                                        *tables[static_cast<std::size_t>(slot)], context, stop,
                                        records[static_cast<std::size_t>(slot)]);
        if (!read.ok()) return read;
      }
      return absl::OkStatus();
    });
    for (const std::int64_t of_slot : records) totals.input_records += of_slot;
    return status.ok() ? MergeTables(tables, context) : status;
  }

  static absl::Status ReadSection(RunSource& source, Batch& batch, StepContext& context,
                                  const std::function<bool()>& stop, std::int64_t& records) {
    SectionReader reader(source);
    SectionRecord record;
    Value value;
    while (true) {
      if (reader.at_block_end()) {
        if (absl::Status status = EndBlock(batch, context); !status.ok()) return status;
        if (stop()) return absl::OkStatus();
      }
      const absl::StatusOr<bool> more = reader.Next(record);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
      if (!ValueCodec<Value>::Take(record.value, value)) {
        return absl::DataLossError("section of a run is damaged: a value does not decode");
      }
      ++records;
      if (reader.block_end() - record.key.data() >= static_cast<std::ptrdiff_t>(kInlineKeyBytes)) {
        batch.AddStable(record.key.data(), record.key.size(), value);
      } else {
        batch.AddCopied(record.key, value);
      }
    }
  }

  absl::Status WriteSections(const Table& table, absl::Span<const double> consumer_key_end,
                             RunSink& sink, StepTotals& totals) const {
    const KeyRanges ranges(consumer_key_end);
    SectionWriter writer(sink);
    std::vector<Placed> placed;
    int section = -1;
    absl::Status status;
    for (int sub = 0; sub < Table::kSubTables && status.ok(); ++sub) {
      table.ForEach(sub, [&](const Entry& entry) {
        placed.push_back({ranges.ConsumerOf(PlaceOf(sub, entry)), &entry});
      });
      // Sub-tables follow one another in the order of hashes; places of the job's own do not.
      if (!kOwnPartition || sub + 1 == Table::kSubTables) {
        status = WritePlaced(placed, writer, section);
        placed.clear();
      }
    }
    if (status.ok()) status = writer.Finish();
    totals.output_records = writer.records();
    return status;
  }

  struct Placed {
    int consumer;
    const Entry* entry;
  };

  static constexpr bool kOwnPartition =
      requires(const Job& job, typename KeyForm<Key>::Argument key) {
    job.Partition(key);
  };

  std::uint64_t PlaceOf(int sub, const Entry& entry) const {
    if constexpr (kOwnPartition) {
      typename KeyForm<Key>::Held key{};
      KeyForm<Key>::Read(entry.key(), key);
      return KeyRanges::PositionOf(job_.Partition(key));
    } else {
      return Table::PositionOf(sub, entry);
    }
  }

  static absl::Status WritePlaced(std::vector<Placed>& placed, SectionWriter& writer,
                                  int& section) {
    const auto by_consumer = [](const Placed& a, const Placed& b) {
      return a.consumer < b.consumer;
    };
    if (!std::is_sorted(placed.begin(), placed.end(), by_consumer)) {
      std::stable_sort(placed.begin(), placed.end(), by_consumer);
    }
    std::string scratch;
    for (const Placed& one : placed) {
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

  absl::Status WritePart(const Table& table, PartSink& sink, StepContext& context,
                         StepTotals& totals) const {
    const int num_slots = context.slots().num_slots();
    std::vector<std::vector<SortedEntry<Entry>>> sorted(static_cast<std::size_t>(num_slots));
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>&) {
      auto& mine = sorted[static_cast<std::size_t>(slot)];
      const SlotShare share = ShareOf(slot, num_slots, Table::kSubTables);
      for (int sub = share.begin; sub < share.end; ++sub) {
        table.ForEach(sub,
                      [&](const Entry& entry) { mine.push_back(SortedEntry<Entry>::Of(entry)); });
      }
      std::sort(mine.begin(), mine.end());
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    PartText text(sink);
    status = VisitMerged(sorted, [&](const Entry& entry) {
      return text.Add([&](std::string& out) {
        typename KeyForm<Key>::Held key{};
        KeyForm<Key>::Read(entry.key(), key);
        job_.Format(key, entry.value, out);
      });
    });
    if (status.ok()) status = text.Flush();
    totals.output_records = text.records();
    return status;
  }

  const Job job_;
};

}  // namespace weir
