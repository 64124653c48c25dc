#pragma once

// A table as the sections of a run: which entry is whose, and all of them written on all slots.
// Upstream: combine_layer.h. Downstream: RunSink.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jobs/api/key_codec.h"
#include "jobs/api/program.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/pieces/merge_cuts.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/combine_table.h"
#include "jobs/engine/table/key_ranges.h"

namespace weir {

/// About kPieceBytes of short keys and values.
inline constexpr std::size_t kPieceEntries = std::size_t{1} << 15;

/// Thread-safety: one step at a time. Requires: a table that is split; all outlive this.
/// Checked by: tests/unit/jobs/combine_layer_test.cc, slots_agree_test.cc.
template <typename Job>
class TableSections {
 private:
  using Key = typename Job::Key;
  using Value = typename Job::Value;
  using Table = CombineTable<Value>;
  using Entry = typename Table::Entry;

  static constexpr bool kOwnPartition =
      requires(const Job& job, typename KeyForm<Key>::Argument key) {
    job.Partition(key);
  };

 public:
  TableSections(const Job& job, const Table& table, const KeyRanges& ranges)
      : job_(job), table_(table), ranges_(ranges) {}

  /// Errors: those of the sink; kDataLoss for a key that does not decode; kCancelled.
  absl::Status Write(RunSink& sink, StepContext& context) const {
    if constexpr (kOwnPartition) {
      return WriteByPartition(sink, context);
    } else {
      return WriteBySubTable(sink, context);
    }
  }

  /// Where in the key space an entry is. False when its key does not decode.
  static bool FindPosition([[maybe_unused]] const Job& job, [[maybe_unused]] int sub,
                           const Entry& entry, std::uint64_t& position) {
    if constexpr (kOwnPartition) {
      typename KeyForm<Key>::Held key{};
      if (!KeyForm<Key>::Read(entry.key(), key)) return false;
      position = KeyRanges::PositionOf(job.Partition(KeyForm<Key>::Of(key)));
    } else {
      position = Table::PositionOf(sub, entry);
    }
    return true;
  }

 private:
  struct Placed {
    int consumer;
    const Entry* entry;
  };
  static bool ForEarlier(const Placed& a, const Placed& b) { return a.consumer < b.consumer; }

  // Sub-tables follow one another in the order of hashes, and so do their consumers: neighbours are
  // a piece, cut by entries, so that a run does not depend on the slots that wrote it.
  absl::Status WriteBySubTable(RunSink& sink, StepContext& context) const {
    std::vector<SlotShare> pieces;
    std::int64_t entries = 0;
    for (int sub = 0, begin = 0; sub < Table::kSubTables; ++sub) {
      entries += table_.size(sub);
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
        table_.ForEach(sub, [&](const Entry& entry) {
          placed.push_back({ranges_.ConsumerOf(Table::PositionOf(sub, entry)), &entry});
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
  // first, those of a consumer in the order of the table_.
  absl::Status WriteByPartition(RunSink& sink, StepContext& context) const {
    std::vector<std::vector<Placed>> placed(static_cast<std::size_t>(context.slots().num_slots()));
    absl::Status status = PlaceByPartition(context, placed);
    if (!status.ok()) return status;
    const std::vector<absl::Span<const Placed>> lists(placed.begin(), placed.end());
    const auto size = static_cast<std::size_t>(table_.size());
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

  absl::Status PlaceByPartition(StepContext& context,
                                std::vector<std::vector<Placed>>& placed) const {
    const int num_slots = static_cast<int>(placed.size());
    return RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      std::vector<Placed>& mine = placed[static_cast<std::size_t>(slot)];
      const SlotShare share = ShareOf(slot, num_slots, Table::kSubTables);
      absl::Status status;
      for (int sub = share.begin; sub < share.end && status.ok() && !stop(); ++sub) {
        table_.ForEach(sub, [&](const Entry& entry) {
          std::uint64_t position = 0;
          if (!FindPosition(job_, sub, entry, position)) {
            status = DamagedSection();
          } else if (status.ok()) {
            mine.push_back({ranges_.ConsumerOf(position), &entry});
          }
        });
      }
      std::stable_sort(mine.begin(), mine.end(), ForEarlier);
      return status;
    });
  }

  static absl::Status WritePlaced(const std::vector<Placed>& placed, SectionWriter& writer,
                                  int& section) {
    // Long keys lie in the order in which they came, not in that of the table_.
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

  const Job& job_;
  const Table& table_;
  const KeyRanges& ranges_;
};

}  // namespace weir
