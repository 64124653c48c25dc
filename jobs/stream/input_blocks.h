#pragma once

// The read loop of map steps that hand text to scripts.
// Upstream: map slots of stream_program and framed_program. Downstream: DelimitedBlocks.

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/input/delimited_blocks.h"
#include "jobs/engine/slot_work.h"

namespace weir::stream {

/// Calls take(block) -> absl::Status for each block of whole lines of the range, in order, until
/// one is not OK or `is_stopped`. What was read counts as progress before its block is taken.
/// Errors: those of reading, and of `take`. Thread-safety: one slot's thread.
template <typename Take>
absl::Status ForEachLineBlock(const InputRange& range, StepContext& context,
                              const std::function<bool()>& is_stopped, Take&& take) {
  // Pipes are fed by system calls.
  DelimitedBlocks blocks(Delimiters("\n"), range, InputAccess::kCopied, DecoderBytesMax(context));
  DecoderMemory decoder(context);
  TextBlock block;
  while (!is_stopped()) {
    const absl::StatusOr<bool> more = [&] {
      const ReadUnderWay reading(context);
      return blocks.Next(block);
    }();
    if (!more.ok()) return more.status();
    decoder.Set(blocks.decoder_bytes());
    context.AddProgress(blocks.TakeProgressBytes());
    if (!*more) break;
    if (absl::Status taken = take(block); !taken.ok()) return taken;
  }
  return absl::OkStatus();
}

}  // namespace weir::stream
