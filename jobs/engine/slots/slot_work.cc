#include "jobs/engine/slots/slot_work.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/input/packed_input.h"

namespace weir {
namespace {

std::int64_t NearestBorder(const InputRange& range, std::int64_t cut) {
  const auto after =
      std::upper_bound(range.borders.begin(), range.borders.end(), cut,
                       [](std::int64_t at, const PackedBorder& border) { return at < border.at; });
  if (after == range.borders.begin() || after == range.borders.end()) return cut;
  const std::int64_t before_at = std::prev(after)->at;
  return cut - before_at < after->at - cut ? before_at : after->at;
}

// Requires: places that NearestBorder gave.
InputRange PartOf(const InputRange& range, std::int64_t begin, std::int64_t end) {
  InputRange part = range;
  part.begin = begin;
  part.end = end;
  std::erase_if(part.borders,
                [&](const PackedBorder& border) { return border.at < begin || border.at > end; });
  return part;
}

}  // namespace

std::vector<std::vector<InputRange>> SplitRanges(absl::Span<const InputRange> ranges,
                                                 int num_slots) {
  std::int64_t total_bytes = 0;
  for (const InputRange& range : ranges) total_bytes += range.end - range.begin;
  // Not total * slot / slots: that product may not fit.
  const auto cut = [&](int slot) {
    return total_bytes / num_slots * slot + total_bytes % num_slots * slot / num_slots;
  };
  std::vector<std::vector<InputRange>> pieces(static_cast<std::size_t>(num_slots));
  std::int64_t before = 0;  // bytes of the ranges so far
  for (const InputRange& range : ranges) {
    const std::int64_t bytes = range.end - range.begin;
    for (int slot = 0; slot < num_slots; ++slot) {
      const auto place = [&](std::int64_t at) {
        return NearestBorder(range, range.begin + std::clamp<std::int64_t>(at - before, 0, bytes));
      };
      const std::int64_t begin = place(cut(slot));
      const std::int64_t end = place(cut(slot + 1));
      if (begin == end) continue;
      pieces[static_cast<std::size_t>(slot)].push_back(PartOf(range, begin, end));
    }
    before += bytes;
  }
  return pieces;
}

SlotShare ShareOf(int slot, int num_slots, int count) {
  const auto cut = [&](std::int64_t of) { return static_cast<int>(of * count / num_slots); };
  return {cut(slot), cut(slot + 1)};
}

absl::Status RunOnSlots(
    StepContext& context,
    const std::function<absl::Status(int slot, const std::function<bool()>& stop)>& body) {
  const int num_slots = context.slots().num_slots();
  std::vector<absl::Status> statuses(static_cast<std::size_t>(num_slots));
  std::atomic<int> lowest_failed = num_slots;
  context.slots().RunOnAll([&](int slot) {
    const std::function<bool()> stop = [&, slot] {
      return lowest_failed.load(std::memory_order_relaxed) < slot || context.cancelled();
    };
    const auto failed = [&, slot] {
      int lowest = lowest_failed.load();
      while (slot < lowest && !lowest_failed.compare_exchange_weak(lowest, slot)) {
      }
    };
    absl::Status status;
    try {
      status = body(slot, stop);
    } catch (...) {
      failed();
      throw;
    }
    if (!status.ok()) failed();
    statuses[static_cast<std::size_t>(slot)] = std::move(status);
  });
  for (absl::Status& status : statuses) {
    if (!status.ok()) return std::move(status);
  }
  if (context.cancelled()) return absl::CancelledError("the job is being ended");
  return absl::OkStatus();
}

namespace {

std::int64_t SlotShareOf(std::int64_t bytes, std::int64_t taken_bytes, int num_holders,
                         const StepContext& context) {
  return std::max<std::int64_t>(bytes - taken_bytes - context.decoder_bytes(), 0) / num_holders;
}

}  // namespace

bool ShouldSpill(std::int64_t slot_bytes, std::int64_t taken_bytes, int num_holders,
                 const StepContext& context) {
  return context.spill_above_bytes() > 0 &&
         slot_bytes > SlotShareOf(context.spill_above_bytes(), taken_bytes, num_holders, context);
}

absl::Status CheckSlotMemory(std::int64_t slot_bytes, std::int64_t taken_bytes, int num_holders,
                             const char* what, StepContext& context) {
  if (context.memory_bytes() <= 0) return absl::OkStatus();
  const std::int64_t allowed_bytes =
      SlotShareOf(context.memory_bytes(), taken_bytes, num_holders, context);
  if (slot_bytes <= allowed_bytes) return absl::OkStatus();
  return StepErrorStatus(
      absl::StatusCode::kResourceExhausted,
      {std::string(step_error::kOutOfMemory),
       absl::StrCat("the step needs more memory than it may use: ", what, " fill ", slot_bytes,
                    " bytes, allowed are ", allowed_bytes),
       "run the job with more --mappers and --reducers, on more workers, or with more memory per "
       "worker",
       ""});
}

std::int64_t DecoderBytesMax(StepContext& context) {
  constexpr std::int64_t kPartOfSlot = 2;
  const std::int64_t bytes = context.spill_above_bytes();
  if (bytes <= 0) return kDecoderBytesDefault;
  return std::max(kDecoderBytesMin, bytes / context.slots().num_slots() / kPartOfSlot);
}

}  // namespace weir
