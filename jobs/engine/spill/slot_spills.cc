#include "jobs/engine/spill/slot_spills.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

namespace weir {

absl::Status SlotSpills::Add(StepContext& context, const Write& write) {
  absl::StatusOr<std::unique_ptr<SpillFile>> file = context.NewSpill();
  if (!file.ok()) return file.status();
  absl::Status status = write(**file);
  if (status.ok()) status = (*file)->Finish();
  if (!status.ok()) return status;
  files_.push_back({*std::move(file), 0});
  while (files_.size() >= kTogether &&
         files_[files_.size() - kTogether].level == files_.back().level) {
    if (absl::Status merged = MergeLast(context); !merged.ok()) return merged;
  }
  return absl::OkStatus();
}

absl::Status SlotSpills::MergeLast(StepContext& context) {
  const std::size_t first = files_.size() - kTogether;
  absl::StatusOr<std::unique_ptr<SpillFile>> merged = context.NewSpill();
  if (!merged.ok()) return merged.status();
  for (int consumer = 0; consumer < num_consumers_; ++consumer) {
    RunSources sources;
    absl::Status status = OpenFrom(first, consumer, sources);
    if (status.ok()) status = merge_(consumer, sources, **merged);
    if (!status.ok()) return status;
  }
  if (absl::Status status = (*merged)->Finish(); !status.ok()) return status;
  const int level = files_.back().level + 1;
  files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(first), files_.end());
  files_.push_back({*std::move(merged), level});
  return absl::OkStatus();
}

int MergingSlots(std::size_t num_files, StepContext& context) {
  constexpr std::int64_t kBlockBytes = 256 << 10;  // as SectionWriter fills them
  const int num_slots = context.slots().num_slots();
  if (context.spill_above_bytes() <= 0) return num_slots;
  const std::int64_t of_slot =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(num_files)) * kBlockBytes;
  return static_cast<int>(
      std::clamp<std::int64_t>(context.spill_above_bytes() / 4 / of_slot, 1, num_slots));
}

absl::Status SlotSpills::OpenSection(int consumer, RunSources& sources) const {
  return OpenFrom(0, consumer, sources);
}

absl::Status SlotSpills::OpenFrom(std::size_t first, int consumer, RunSources& sources) const {
  for (std::size_t i = first; i < files_.size(); ++i) {
    absl::StatusOr<std::unique_ptr<RunSource>> source = files_[i].file->Open(consumer);
    if (!source.ok()) return source.status();
    sources.push_back(*std::move(source));
  }
  return absl::OkStatus();
}

}  // namespace weir
