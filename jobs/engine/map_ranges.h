#pragma once

// Feeds the records of input ranges to a job's Map. Upstream: MapOrder. Downstream: the job's
// reader, then its emit.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/input/open_blocks.h"

namespace weir {

/// Maps the ranges in order. After each block `end_block()` must leave nothing that points into it.
/// Errors: those of the reader; BadRecord; of end_block.
template <typename Job, typename Emit, typename EndBlock>
absl::Status MapRanges(Job& job, const std::vector<InputRange>& ranges, Emit& emit,
                       StepContext& context, const std::function<bool()>& stop,
                       EndBlock&& end_block) {
  // A progress call a few times a second.
  constexpr std::int64_t kProgressBytes = 8 << 20;
  typename Job::Reader reader;
  std::int64_t unreported_bytes = 0;
  std::int64_t text_bytes = 0;  // since the last report; many for few when the input is compressed
  for (const InputRange& range : ranges) {
    auto source = OpenBlocks(Job::Reader::kFraming, range);
    TextBlock block;
    while (true) {
      if (stop()) return absl::OkStatus();
      const absl::StatusOr<bool> more = [&] {
        const ReadUnderWay reading(context);
        return source.Next(block);
      }();
      if (!more.ok()) return more.status();
      unreported_bytes += source.TakeProgressBytes();
      if (!*more) break;
      emit.SetBlock(block);
      reader.MapBlock(job, block, emit);
      if (emit.bad()) return BadRecordError(*emit.bad());
      if (absl::Status status = end_block(); !status.ok()) return status;
      text_bytes += block.bytes;
      if (std::max(unreported_bytes, text_bytes) >= kProgressBytes) {
        context.AddProgress(unreported_bytes);
        unreported_bytes = 0;
        text_bytes = 0;
      }
    }
  }
  context.AddProgress(unreported_bytes);
  return absl::OkStatus();
}

/// Adds the counters of one emit to the step's.
template <typename Job, typename Emit>
void ReportCounters(const Emit& emit, StepContext& context) {
  if constexpr (Emit::kNumCounters > 0) {
    for (std::size_t i = 0; i < Emit::kNumCounters; ++i) {
      context.AddCounter(Job::kCounters[i], emit.counters()[i]);
    }
  }
}

}  // namespace weir
