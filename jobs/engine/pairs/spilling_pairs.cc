#include "jobs/engine/pairs/spilling_pairs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "jobs/engine/merge/merge_on_slots.h"
#include "jobs/engine/pairs/sorted_pairs.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_work.h"

namespace weir {
namespace {

absl::Status WritePairs(const GroupBuffer& buffer, RunSink& sink) {
  SectionWriter writer(sink);
  int section = -1;
  absl::Status status =
      buffer.Visit([&](int consumer, std::string_view key, std::string_view value) {
        if (consumer != section) {
          section = consumer;
          if (absl::Status begun = writer.Begin(section); !begun.ok()) return begun;
        }
        return writer.Add(key, value);
      });
  return status.ok() ? writer.Finish() : status;
}

// Returns the records written.
absl::StatusOr<std::int64_t> MergePairs(int consumer, const RunSources& sources,
                                        const SortKeyOfValue& sort_key_of, RunSink& sink,
                                        const StepContext& context) {
  MergedSections merged(
      sources, [&context] { return context.cancelled(); }, sort_key_of);
  SectionWriter writer(sink);
  absl::Status status = writer.Begin(consumer);
  while (status.ok() && merged.NextGroup()) {
    for (std::string_view value; status.ok() && merged.NextValue(value);) {
      status = writer.Add(merged.key(), value);
    }
  }
  if (status.ok()) status = merged.status();
  if (status.ok()) status = writer.Finish();
  if (!status.ok()) return status;
  return writer.records();
}

}  // namespace

SpillingPairs::SpillingPairs(int num_consumers, const PairForm& form,
                             std::shared_ptr<SlabStore> slabs, StepContext& context,
                             int num_holders)
    : context_(context),
      num_consumers_(num_consumers),
      num_holders_(num_holders),
      sort_key_of_(form.sort_key_of),
      buffer_(std::make_unique<GroupBuffer>(form.value_order, form.shape, std::move(slabs))),
      spills_(num_consumers, [&context, sort_key_of = form.sort_key_of](
                                 int consumer, const RunSources& sources, RunSink& sink) {
        return MergePairs(consumer, sources, sort_key_of, sink, context).status();
      }) {}

absl::Status SpillingPairs::EndBlock(std::int64_t held_bytes) {
  const std::int64_t bytes = buffer_->memory_bytes();
  const bool worth_a_file = buffer_->size() >= kSpillPairsMin || bytes >= kSpillBytesMin;
  if (worth_a_file && ShouldSpill(bytes + kept_bytes_, held_bytes, num_holders_, context_)) {
    absl::Status status = Spill();
    if (!absl::IsUnimplemented(status)) return status;
  }
  return CheckSlotMemory(bytes, held_bytes, num_holders_, "the pairs of one slot", context_);
}

void SpillingPairs::TakeMemoryOf(SpillingPairs& other) {
  buffer_ = std::move(other.buffer_);
  sorted_ = other.sorted_;
}

void SpillingPairs::Sort() {
  if (!std::exchange(sorted_, true)) buffer_->Sort();
}

absl::Status SpillingPairs::Spill() {
  if (buffer_->size() == 0) return absl::OkStatus();
  // Sorted only where there is a place for it: else more pairs follow.
  absl::Status status = spills_.Add(context_, [this](RunSink& sink) {
    Sort();
    return WritePairs(*buffer_, sink);
  });
  if (!status.ok()) return status;
  kept_bytes_ += buffer_->in_place_bytes();
  buffer_->Clear();
  sorted_ = false;
  return absl::OkStatus();
}

bool SpillingPairs::AnySpilled(absl::Span<SpillingPairs* const> slots) {
  return std::any_of(slots.begin(), slots.end(),
                     [](const SpillingPairs* slot) { return slot->spilled(); });
}

absl::Status SpillingPairs::SpillAll(absl::Span<SpillingPairs* const> slots, StepContext& context) {
  return RunOnSlots(context, [&](int slot, const std::function<bool()>&) {
    return slots[static_cast<std::size_t>(slot)]->Spill();
  });
}

absl::StatusOr<RunSources> SpillingPairs::OpenSpilled(absl::Span<const SpillingPairs* const> slots,
                                                      int consumer) {
  RunSources sources;
  for (const SpillingPairs* slot : slots) {
    absl::Status opened = slot->spills_.OpenSection(consumer, sources);
    if (!opened.ok()) return opened;
  }
  return sources;
}

absl::StatusOr<std::int64_t> SpillingPairs::Write(absl::Span<SpillingPairs* const> slots,
                                                  const InputReferences* references, RunSink& sink,
                                                  StepContext& context) {
  if (!AnySpilled(slots)) {
    return WriteSorted(BuffersOf(slots), references, sink, context);
  }
  absl::Status status = SpillAll(slots, context);
  if (!status.ok()) return status;
  std::size_t num_files = 0;
  for (const SpillingPairs* slot : slots) num_files += slot->spills_.num_files();
  const SectionsOnDisk sections{slots[0]->num_consumers_, num_files,
                                [&](int consumer) { return OpenSpilled(slots, consumer); },
                                [&](int consumer, const RunSources& sources, RunSink& section) {
                                  return MergePairs(consumer, sources, slots[0]->sort_key_of_,
                                                    section, context);
                                }};
  return MergeSectionsOnSlots(sections, sink, context);
}

std::vector<GroupBuffer*> SpillingPairs::BuffersOf(absl::Span<SpillingPairs* const> slots) {
  std::vector<GroupBuffer*> buffers;
  for (SpillingPairs* slot : slots) buffers.push_back(slot->buffer_.get());
  return buffers;
}

}  // namespace weir
