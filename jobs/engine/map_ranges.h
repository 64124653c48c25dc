#pragma once

// Feeds the records of input ranges to a job's Map. Upstream: MapOrder. Downstream: the job's
// reader, then its emit.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/input/kept_input.h"
#include "jobs/engine/input/open_blocks.h"
#include "jobs/engine/slots/slot_work.h"

namespace weir {

/// Maps the ranges in order. After each block `end_block()` must leave nothing that points into it,
/// unless the emit asked for blocks that stay and is given what they belong to.
/// Errors: those of the reader; BadRecord; of end_block.
template <typename Job, typename Emit, typename EndBlock>
absl::Status MapRanges(Job& job, const std::vector<InputRange>& ranges, Emit& emit,
                       StepContext& context, const std::function<bool()>& stop,
                       EndBlock&& end_block) {
  typename Job::Reader reader;
  using Source = decltype(OpenBlocks(Job::Reader::kFraming, InputRange()));
  constexpr bool kMayKeep = requires(Source & source) { source.Keep(emit.KeepsInput()); };
  for (const InputRange& range : ranges) {
    std::unique_ptr<Source> opened(
        new Source(OpenBlocks(Job::Reader::kFraming, range, DecoderBytesMax(context))));
    Source& source = *opened;
    DecoderMemory decoder(context);
    TextBlock block;
    while (true) {
      if (stop()) return absl::OkStatus();
      if constexpr (kMayKeep) source.Keep(emit.KeepsInput());
      const absl::StatusOr<bool> more = [&] {
        const ReadUnderWay reading(context);
        return source.Next(block);
      }();
      if (!more.ok()) return more.status();
      decoder.Set(source.decoder_bytes());
      // Of each block, so that a slow worker is known by what it does, not by its silence.
      context.AddProgress(source.TakeProgressBytes());
      if (!*more) break;
      if constexpr (kMayKeep) {
        if (block.stays && opened != nullptr) {
          emit.KeepInput(std::make_unique<KeptSource<Source>>(std::move(opened)));
        }
      }
      emit.SetBlock(block);
      try {
        reader.MapBlock(job, block, emit);
      } catch (...) {
        if (absl::Status status = source.CheckUnchanged(); !status.ok()) return status;
        throw;
      }
      if (emit.bad()) {
        // What a writer leaves behind within a block is no record of the file that was listed.
        if (absl::Status status = source.CheckUnchanged(); !status.ok()) return status;
        return BadRecordError(*emit.bad());
      }
      if (absl::Status status = end_block(); !status.ok()) return status;
    }
  }
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
