#pragma once

// From what ends a reader's records to what cuts a range into blocks of them. Upstream: readers.h,
// MapRanges.

#include "jobs/api/program.h"
#include "jobs/api/record_framing.h"
#include "jobs/engine/input/delimited_blocks.h"
#include "jobs/engine/input/fixed_blocks.h"

namespace weir {

inline DelimitedBlocks OpenBlocks(const DelimitedBy& framing, const InputRange& range,
                                  std::int64_t decoder_bytes_max = kDecoderBytesDefault) {
  return {Delimiters(framing.bytes), range, InputAccess::kInPlace, decoder_bytes_max};
}

inline FixedBlocks OpenBlocks(const FixedSize& framing, const InputRange& range,
                              std::int64_t decoder_bytes_max = kDecoderBytesDefault) {
  return {framing.bytes, range, decoder_bytes_max};
}

}  // namespace weir
