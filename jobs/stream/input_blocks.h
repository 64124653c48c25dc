#pragma once

// The read loop of map steps that hand text to scripts.
// Upstream: map slots of stream_program and framed_program. Downstream: DelimitedBlocks.

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/input/delimited_blocks.h"
#include "jobs/engine/slots/slot_work.h"

namespace weir::stream {

/// Calls take(block) -> absl::Status for each block of whole lines of `text`, in order, until one
/// is not OK or `is_stopped`. The bytes of `range`, which `text` holds, count as progress before
/// their blocks are taken, in proportion to what was read up to the end of the range: a step that
/// reads what lies before it does not hang.
/// Errors: those of reading, and of `take`. Thread-safety: one slot's thread.
template <typename Take>
absl::Status ForEachLineBlock(const InputRange& text, const InputRange& range, StepContext& context,
                              const std::function<bool()>& is_stopped, Take&& take) {
  // Pipes are fed by system calls.
  DelimitedBlocks blocks(Delimiters("\n"), text, InputAccess::kCopied, DecoderBytesMax(context));
  DecoderMemory decoder(context);
  TextBlock block;
  std::int64_t at = text.begin;
  std::int64_t counted = range.begin;
  const std::int64_t to_read = range.end - text.begin;
  const auto range_bytes = static_cast<double>(range.end - range.begin);
  while (!is_stopped()) {
    const absl::StatusOr<bool> more = [&] {
      const ReadUnderWay reading(context);
      return blocks.Next(block);
    }();
    if (!more.ok()) return more.status();
    decoder.Set(blocks.decoder_bytes());
    at += blocks.TakeProgressBytes();
    const double part =
        to_read <= 0 ? 1 : static_cast<double>(at - text.begin) / static_cast<double>(to_read);
    const std::int64_t of_range =
        part >= 1 ? range.end : range.begin + static_cast<std::int64_t>(part * range_bytes);
    context.AddProgress(of_range - std::exchange(counted, of_range));
    if (!*more) break;
    if (absl::Status taken = take(block); !taken.ok()) return taken;
  }
  return absl::OkStatus();
}

/// The same for the lines of a range.
template <typename Take>
absl::Status ForEachLineBlock(const InputRange& range, StepContext& context,
                              const std::function<bool()>& is_stopped, Take&& take) {
  return ForEachLineBlock(range, range, context, is_stopped, std::forward<Take>(take));
}

}  // namespace weir::stream
