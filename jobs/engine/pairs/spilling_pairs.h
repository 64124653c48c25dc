#pragma once

// Pairs in memory and beyond it on disk: of jobs without Combine, and of one producer. Upstream:
// group_layer.h, combine_one_input.h, jobs of scripts. Downstream: group_buffer.h, files beside the
// step.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "jobs/engine/pairs/group_buffer.h"
#include "jobs/engine/references/input_references.h"
#include "jobs/engine/sections/merged_sections.h"
#include "jobs/engine/spill/slot_spills.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// What pairs of a step are.
struct PairForm {
  ValueOrder value_order = ValueOrder::kOfInput;
  RecordShape shape = {};
  SortKeyOfValue sort_key_of = nullptr;  // with ValueOrder::kBySortKey
};

/// The pairs of one slot, in the order in which they came.
///
/// Thread-safety: one thread at a time.
/// Bounds: the slot's share of StepContext::spill_above_bytes. Pairs in place that lie on disk are
///   among it, until who keeps the input gives it up.
/// Checked by: tests/unit/jobs/spill_test.cc.
class SpillingPairs {
 public:
  /// `num_holders` slots share the memory. `context` outlives this.
  SpillingPairs(int num_consumers, const PairForm& form, std::shared_ptr<SlabStore> slabs,
                StepContext& context, int num_holders);
  /// The same where all slots do.
  SpillingPairs(int num_consumers, const PairForm& form, std::shared_ptr<SlabStore> slabs,
                StepContext& context)
      : SpillingPairs(num_consumers, form, std::move(slabs), context, context.slots().num_slots()) {
  }

  /// Where pairs are added.
  GroupBuffer& buffer() { return *buffer_; }
  const GroupBuffer& buffer() const { return *buffer_; }
  /// Puts what `other` has in memory in the place of what is in memory here. Requires: the same
  /// form; nothing of `other` lies on disk.
  void TakeMemoryOf(SpillingPairs& other);

  /// Puts all pairs on disk, if they are more than the slot may have; `held_bytes` of the step's
  /// memory are taken already. Call it often enough.
  /// Errors: OUT_OF_MEMORY, where there is no place for files or little to put there; those of the
  /// files.
  absl::Status EndBlock(std::int64_t held_bytes);
  /// Sorts what is in memory, for who has a slot to do it on; nothing may be added afterwards.
  void Sort();
  /// Whether any lie on disk.
  bool spilled() const { return !spills_.empty(); }

  /// Whether pairs of any of the slots of a step lie on disk.
  static bool AnySpilled(absl::Span<SpillingPairs* const> slots);
  /// Puts what is in memory on disk, too. Errors: those of the files; kCancelled.
  static absl::Status SpillAll(absl::Span<SpillingPairs* const> slots, StepContext& context);
  /// Opens the pairs of `consumer` that lie on disk, each source sorted, in the order of the slots.
  /// Requires: that these outlive the sources. Errors: those of the files.
  static absl::StatusOr<RunSources> OpenSpilled(absl::Span<const SpillingPairs* const> slots,
                                                int consumer);
  /// Where those that lie in memory are.
  static std::vector<GroupBuffer*> BuffersOf(absl::Span<SpillingPairs* const> slots);
  /// Writes the pairs of all slots as the sections of a run, equal keys in the order of their sort
  /// keys, then of the slots. Returns the records. `references`: as WriteSorted; not used where
  /// pairs lie on disk. Errors: those of the sink and of the files; kCancelled.
  static absl::StatusOr<std::int64_t> Write(absl::Span<SpillingPairs* const> slots,
                                            const InputReferences* references, RunSink& sink,
                                            StepContext& context);

 private:
  // Fewer pairs of fewer bytes are not worth a file. Few large ones are: they fill the memory as
  // well. A file of so many bytes is a block of a section.
  static constexpr std::int64_t kSpillPairsMin = 256;
  static constexpr std::int64_t kSpillBytesMin = 256 << 10;

  absl::Status Spill();

  StepContext& context_;
  const int num_consumers_;
  const int num_holders_;
  const SortKeyOfValue sort_key_of_;
  std::unique_ptr<GroupBuffer> buffer_;
  bool sorted_ = false;  // it is
  SlotSpills spills_;
  std::int64_t kept_bytes_ = 0;  // in place, of pairs that lie on disk
};

}  // namespace weir
