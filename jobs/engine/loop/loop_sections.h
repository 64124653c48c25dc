#pragma once

// Elements and states of a loop as sections of runs: blocks of vector_block.h that say what they
// are and of which iteration. Upstream: loop_program.h. Downstream: RunSink, RunSource.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"

namespace weir {

enum class LoopContent : std::uint32_t { kElement = 1, kState = 2 };

/// Neighbouring places of a section: the places [first_place, first_place + bytes / place_bytes) of
/// an element or of a state that has `places` of them. Plain data.
struct LoopSection {
  LoopContent content = LoopContent::kElement;
  std::int32_t iteration = 0;
  std::int64_t places = 0;
  std::int64_t first_place = 0;
  std::string bytes;
};

/// Appends a piece's bytes to the section that `sink` has begun. Requires: whole places of
/// place_bytes bytes each, at most half of kBlockBytesMax.
absl::Status WriteLoopSection(const LoopSection& section, std::string_view bytes,
                              std::int64_t place_bytes, RunSink& sink);

/// Reads a section piece by piece, by rising place: a step may hold places with others between that
/// it does not hold. One without blocks has no pieces.
/// Errors: DATA_LOSS where places fall or blocks say different things.
/// Checked by: tests/unit/jobs/loop_program_test.cc.
absl::StatusOr<std::vector<LoopSection>> ReadLoopSection(RunSource& source,
                                                         std::int64_t place_bytes);

/// The error of a section that does not belong where it was read.
absl::Status WrongLoopSection(std::string_view what);

/// Turns ends of consumers, as parts of `places` places, into places, within what is held: the
/// first consumer's begin at `begin`, the last one's end at `end`. One range a consumer, in order.
std::vector<std::pair<std::int64_t, std::int64_t>> ConsumerPlaces(
    absl::Span<const double> consumer_key_end, std::int64_t places, std::int64_t begin,
    std::int64_t end);

}  // namespace weir
