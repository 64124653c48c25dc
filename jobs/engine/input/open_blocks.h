#pragma once

// From what ends a reader's records to what cuts a range into blocks of them. Upstream: readers.h,
// MapRanges.

#include "jobs/api/program.h"
#include "jobs/api/record_framing.h"
#include "jobs/engine/input/delimited_blocks.h"
#include "jobs/engine/input/fixed_blocks.h"

namespace weir {

inline DelimitedBlocks OpenBlocks(const DelimitedBy& framing, const InputRange& range) {
  return {Delimiters(framing.bytes), range};
}

inline FixedBlocks OpenBlocks(const FixedSize& framing, const InputRange& range) {
  return {framing.bytes, range};
}

}  // namespace weir
