#pragma once

// Tables that outgrew their memory: written in the order of keys, and folded when they are merged.
// Upstream: combine_layer.h. Downstream: files beside the step, then RunSink, PartSink.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/key_codec.h"
#include "jobs/api/program.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/merge/merge_on_slots.h"
#include "jobs/engine/part_text.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/sections/merged_sections.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/spill/slot_spills.h"
#include "jobs/engine/table/combine_table.h"
#include "jobs/engine/table/slab_array.h"
#include "jobs/engine/table/slab_store.h"
#include "jobs/engine/table/sorted_entries.h"

namespace weir {

/// Writes a table as sections, entries of each in the order of their keys. consumer_of(sub, entry)
/// says whose an entry is, below 0 when its key does not decode. Requires: the table is split.
/// Bounds: 32 bytes an entry and one block. Errors: those of the sink; kDataLoss.
template <typename Value, typename ConsumerOf>
absl::Status WriteTableByKey(const CombineTable<Value>& table, int num_consumers, SlabStore& slabs,
                             ConsumerOf&& consumer_of, RunSink& sink) {
  using Table = CombineTable<Value>;
  using Entry = typename Table::Entry;
  using Sorted = SortedEntry<Entry>;
  const auto for_each = [&](auto&& visit) {
    bool decoded = true;
    for (int sub = 0; sub < Table::kSubTables && decoded; ++sub) {
      table.ForEach(sub, [&](const Entry& entry) {
        const int consumer = consumer_of(sub, entry);
        decoded = decoded && consumer >= 0;
        if (decoded) visit(static_cast<std::size_t>(consumer), entry);
      });
    }
    return decoded ? absl::OkStatus() : DamagedSection();
  };
  const auto consumers = static_cast<std::size_t>(num_consumers);
  std::vector<std::size_t> sizes(consumers);
  absl::Status status = for_each([&](std::size_t consumer, const Entry&) { ++sizes[consumer]; });
  if (!status.ok()) return status;
  SlabArray<Sorted> sorted(slabs, static_cast<std::size_t>(table.size()));
  std::vector<Sorted*> next(consumers);
  Sorted* begin = sorted.get();
  for (std::size_t consumer = 0; consumer < consumers; ++consumer) {
    next[consumer] = begin;
    begin += sizes[consumer];
  }
  status = for_each(
      [&](std::size_t consumer, const Entry& entry) { *next[consumer]++ = Sorted::Of(entry); });
  if (!status.ok()) return status;
  const SlabArray<Sorted> spare(slabs, *std::max_element(sizes.begin(), sizes.end()));
  SectionWriter writer(sink);
  std::string scratch;
  for (std::size_t consumer = 0; status.ok() && consumer < consumers; ++consumer) {
    const std::size_t size = sizes[consumer];
    if (size == 0) continue;
    Sorted* const entries = next[consumer] - size;
    SortEntries(entries, size, spare.get());
    status = writer.Begin(static_cast<int>(consumer));
    if (!status.ok()) return status;
    status = VisitSorted(absl::Span<const Sorted>(entries, size), [&](const Entry& entry) {
      scratch.clear();
      ValueCodec<Value>::Append(entry.value, scratch);
      return writer.Add(entry.key(), scratch);
    });
  }
  return status.ok() ? writer.Finish() : status;
}

/// Calls take(bytes of the key, value) for each key of sorted sections, in the order of keys, until
/// it returns an error. Values of a key are combined in the order of the sources.
/// Errors: those of the sources; kDataLoss; kCancelled when stop() turns true.
template <typename Job, typename Take>
absl::Status FoldMerged(const Job& job, const RunSources& sources,
                        const std::function<bool()>& stop, Take&& take) {
  using Value = typename Job::Value;
  MergedSections merged(sources, stop);
  while (merged.NextGroup()) {
    std::string_view bytes;
    Value folded{};
    Value next{};
    for (bool first = true; merged.NextValue(bytes); first = false) {
      if (!ValueCodec<Value>::Take(bytes, first ? folded : next)) return DamagedSection();
      if (!first) job.Combine(folded, next);
    }
    if (!merged.status().ok()) break;
    if (absl::Status status = take(merged.key(), folded); !status.ok()) return status;
  }
  return merged.status();
}

/// Writes what the sources hold as one sorted section. Returns the records written.
template <typename Job>
absl::StatusOr<std::int64_t> MergeSection(const Job& job, int consumer, const RunSources& sources,
                                          RunSink& sink, const StepContext& context) {
  SectionWriter writer(sink);
  std::string scratch;
  absl::Status status = writer.Begin(consumer);
  if (!status.ok()) return status;
  status = FoldMerged(
      job, sources, [&context] { return context.cancelled(); },
      [&](std::string_view key, const typename Job::Value& value) {
        scratch.clear();
        ValueCodec<typename Job::Value>::Append(value, scratch);
        return writer.Add(key, scratch);
      });
  if (status.ok()) status = writer.Finish();
  if (!status.ok()) return status;
  return writer.records();
}

/// Writes what the sources hold as a part, on all slots, and counts its records.
template <typename Job>
absl::Status MergeToPart(const Job& job, const RunSources& sources, PartSink& sink,
                         StepContext& context, StepTotals& totals) {
  const auto format = [&](const RunSources& piece, PartText& text) {
    absl::Status status = FoldMerged(
        job, piece, [&context] { return context.cancelled(); },
        [&](std::string_view bytes, const typename Job::Value& value) {
          return AddResult(job, bytes, value, text);
        });
    return status.ok() ? text.Flush() : status;
  };
  if (context.slots().num_slots() == 1) {
    PartText text(sink);
    absl::Status status = format(sources, text);
    totals.output_records = text.records();
    return status;
  }
  SharedPart part{sink, {}};
  std::atomic<std::int64_t> records = 0;
  absl::Status status =
      MergeOnSlots(sources, context, [&](const RunSources& piece, PieceTurn& turn) {
        PiecePartSink piece_sink(part, turn);
        PartText text(piece_sink, part.spare);
        absl::Status written = format(piece, text);
        records += text.records();
        return written.ok() ? piece_sink.Finish() : written;
      });
  totals.output_records = records;
  return status;
}

}  // namespace weir
