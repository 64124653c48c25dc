#pragma once

// Reduce steps with one producer, of jobs with Combine. A section holds each key once (it is
// written from tables that were merged, or merged itself), so nothing of it meets: no table is
// needed, and all slots work on one section. Upstream: combine_layer.h. Downstream:
// layered_program.h, PartSink.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/key_codec.h"
#include "jobs/api/program.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/combine_spill.h"
#include "jobs/engine/pairs/sorted_pairs.h"
#include "jobs/engine/pairs/spilling_pairs.h"
#include "jobs/engine/part_text.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_sections.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// What lies in one section, for the layer behind. Which slot gets a key depends on the section's
/// blocks and the number of slots only.
///
/// Thread-safety: Visit by each slot once, by all at the same time: they wait for one another.
/// Bounds: those of SharedSection.
/// Checked by: tests/unit/jobs/one_input_test.cc.
template <typename Job>
class OneInputResults {
 public:
  /// Requires: one input. It outlives this.
  OneInputResults(const SlotSections::Sources& inputs, int num_slots)
      : sections_(inputs, num_slots) {}

  /// Requires: that all slots have ended.
  std::int64_t input_records() const { return input_records_; }

  /// Calls take(key, value) for the slot's share until it returns an error.
  /// Errors: those of the input; kDataLoss for what does not decode.
  template <typename Take>
  absl::Status Visit(int slot, const std::function<bool()>& stop, Take&& take) {
    return sections_.Visit(slot, [&](RunSource& source) { return VisitShare(source, stop, take); });
  }

 private:
  template <typename Take>
  absl::Status VisitShare(RunSource& share, const std::function<bool()>& stop, Take& take) {
    using Form = KeyForm<typename Job::Key>;
    using Value = typename Job::Value;
    SectionReader reader(share);
    SectionRecord record;
    Value value;
    std::int64_t records = 0;
    absl::Status status;
    while (status.ok()) {
      if (!reader.NextInBlock(record)) {
        if (reader.at_block_end() && stop()) break;
        const absl::StatusOr<bool> more = reader.Next(record);
        if (!more.ok()) return more.status();
        if (!*more) break;
      }
      ++records;
      typename Form::Held key{};
      if (!Form::Read(record.key, key) || !ValueCodec<Value>::Take(record.value, value)) {
        return DamagedSection();
      }
      status = take(Form::Of(key), value);
    }
    input_records_ += records;
    return status;
  }

  SlotSections sections_;
  std::atomic<std::int64_t> input_records_ = 0;
};

namespace one_input_internal {

// Takes all pairs of a share, on disk what memory does not hold, and counts them.
inline absl::Status TakePairs(RunSource& share, const std::function<bool()>& stop,
                              SpillingPairs& pairs, std::int64_t& taken) {
  SectionReader reader(share);
  std::string_view encoded;
  while (!stop()) {
    const absl::StatusOr<bool> more = reader.NextRecords(encoded);
    if (!more.ok()) return more.status();
    if (!*more) break;
    const std::int64_t before = pairs.buffer().size();
    if (!pairs.buffer().AddEncoded(0, encoded)) return DamagedSection();
    taken += pairs.buffer().size() - before;
    if (absl::Status status = pairs.EndBlock(0); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace one_input_internal

/// Writes one section as a part, in the order of keys, on all slots. Requires: one input.
///
/// Errors: those of the input and of the sink; kDataLoss for what does not decode; OUT_OF_MEMORY
///   where the step has no place for files; kCancelled.
/// Bounds: StepContext::spill_above_bytes, beyond which pairs go to disk.
/// Checked by: tests/unit/jobs/one_input_test.cc.
template <typename Job>
absl::StatusOr<StepTotals> OneInputToPart(const Job& job, const SlotSections::Sources& inputs,
                                          const std::shared_ptr<SlabStore>& slabs, PartSink& sink,
                                          StepContext& context) {
  using Value = typename Job::Value;
  const int num_slots = context.slots().num_slots();
  SlotSections sections(inputs, num_slots);
  std::deque<SpillingPairs> pairs;
  std::vector<SpillingPairs*> slots;
  for (int slot = 0; slot < num_slots; ++slot) {
    slots.push_back(&pairs.emplace_back(1, PairForm{}, slabs, context, sections.num_holders(slot)));
  }
  std::vector<std::int64_t> taken(slots.size());
  absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
    const auto at = static_cast<std::size_t>(slot);
    return sections.Visit(slot, [&](RunSource& share) {
      return one_input_internal::TakePairs(share, stop, *slots[at], taken[at]);
    });
  });
  if (!status.ok()) return status;
  StepTotals totals;
  for (const std::int64_t of_slot : taken) totals.input_records += of_slot;
  if (SpillingPairs::AnySpilled(slots)) {
    status = SpillingPairs::SpillAll(slots, context);
    if (!status.ok()) return status;
    const absl::StatusOr<RunSources> sources = SpillingPairs::OpenSpilled(slots, 0);
    status = sources.ok() ? MergeToPart(job, *sources, sink, context, totals) : sources.status();
    if (!status.ok()) return status;
    return totals;
  }
  const std::vector<GroupBuffer*> buffers = SpillingPairs::BuffersOf(slots);
  SortedPairs sorted(buffers);
  status = sorted.Sort(context);
  if (!status.ok()) return status;
  SharedPart part{sink, {}};
  std::atomic<std::int64_t> records = 0;
  status = MakePieces(sorted.num_pieces(), context, [&](int piece, PieceTurn& turn) {
    PiecePartSink piece_sink(part, turn);
    PartText text(piece_sink, part.spare);
    Value value;
    absl::Status written =
        sorted.VisitPiece(piece, [&](std::string_view key, std::string_view bytes) {
          if (!ValueCodec<Value>::Take(bytes, value)) return DamagedSection();
          return AddResult(job, key, value, text);
        });
    if (written.ok()) written = text.Flush();
    records += text.records();
    return written.ok() ? piece_sink.Finish() : written;
  });
  if (!status.ok()) return status;
  totals.output_records = records;
  return totals;
}

}  // namespace weir
