#pragma once

// The one form of a block of a vector: results that are a vector, elements and states of loops.
// Upstream: vector_blocks.h, loop_sections.h. Downstream: RunSink, RunSource.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weir {

/// What a block says of itself: which places of which vector follow. Plain data, as it lies there.
struct VectorBlockHead {
  std::int64_t first = 0;   // place
  std::int64_t count = 0;   // of places
  std::int64_t places = 0;  // of the whole vector
  /// Which of the vectors of a loop it is (LoopContent), and of which iteration; 0 elsewhere.
  std::uint32_t content = 0;
  std::int32_t iteration = 0;
};

/// Makes `block` the head alone, with its values to be appended: count places, or none at all for
/// places that nothing has touched.
void BeginVectorBlock(const VectorBlockHead& head, std::string& block);

/// Returns the head of a block that holds whole places of place_bytes bytes, or none, all of them
/// at `read_to` or behind. Trusts nothing.
/// Errors: kDataLoss saying what does not fit. Checked by: tests/unit/jobs/vector_blocks_test.cc.
absl::StatusOr<VectorBlockHead> ReadVectorBlock(absl::Span<const char> block,
                                                std::int64_t place_bytes, std::int64_t read_to);

/// The values of a block that ReadVectorBlock has passed.
inline absl::Span<const char> ValuesOfVectorBlock(absl::Span<const char> block) {
  return block.subspan(sizeof(VectorBlockHead));
}

}  // namespace weir
