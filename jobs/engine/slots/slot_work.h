#pragma once

// Shares work among the slots of a task. Upstream: combine_layer.h, group_layer.h.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"

namespace weir {

/// Cuts the concatenation of `ranges` into `num_slots` contiguous pieces of equal size; a cut
/// within a packed file that has borders moves to the nearest. Fixed cuts, not work taken from a
/// queue, because the order in which values are combined must not depend on the speed of threads.
std::vector<std::vector<InputRange>> SplitRanges(absl::Span<const InputRange> ranges,
                                                 int num_slots);

/// First and one-past-last of `count` things for one slot.
struct SlotShare {
  int begin = 0;
  int end = 0;
};
SlotShare ShareOf(int slot, int num_slots, int count);

/// Runs `body` on each slot and returns the error of the lowest slot that failed. `stop()` turns
/// true for a slot once a lower one failed or the job is being ended; kCancelled in the latter
/// case.
absl::Status RunOnSlots(
    StepContext& context,
    const std::function<absl::Status(int slot, const std::function<bool()>& stop)>& body);

/// Fails with OUT_OF_MEMORY when a slot holds more than its share of what the step may use beyond
/// `taken_bytes` and what decoders of input hold, where `num_holders` slots hold something. `what`
/// names what fills the memory.
absl::Status CheckSlotMemory(std::int64_t slot_bytes, std::int64_t taken_bytes, int num_holders,
                             const char* what, StepContext& context);

/// Whether a slot holds more than its share of what the step may have before it puts it on disk; as
/// CheckSlotMemory.
bool ShouldSpill(std::int64_t slot_bytes, std::int64_t taken_bytes, int num_holders,
                 const StepContext& context);

/// What the decoder of an input file may hold: half of what a slot may have and at least
/// kDecoderBytesMin, or kDecoderBytesDefault where the step has no limit.
std::int64_t DecoderBytesMax(StepContext& context);

/// Counts what the decoder of one input holds into the memory of the step, as long as this exists.
/// Thread-safety: one thread at a time.
class DecoderMemory {
 public:
  explicit DecoderMemory(StepContext& context) : context_(context) {}
  ~DecoderMemory() { Set(0); }
  DecoderMemory(const DecoderMemory&) = delete;
  DecoderMemory& operator=(const DecoderMemory&) = delete;

  void Set(std::int64_t bytes) {
    if (bytes == counted_) return;
    context_.AddDecoderBytes(bytes - std::exchange(counted_, bytes));
  }

 private:
  StepContext& context_;
  std::int64_t counted_ = 0;
};

}  // namespace weir
