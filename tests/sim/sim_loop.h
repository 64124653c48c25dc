#pragma once

// A loop on the simulated cluster: each state says which states and inputs it was made of, so that
// a run can be compared with one that goes through the input alone. Upstream: World's catalog,
// tests of loops. Downstream: SimTask.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jobs/api/job_definition.h"
#include "tests/sim/contents.h"

namespace weir::sim {

/// The job; its parameters are `iterations` and `converges`, the iteration whose update ends it
/// (-1: none).
inline constexpr char kLoopJob[] = "simloop";

/// Places of its elements and of its states, and bytes of all of them.
inline constexpr std::int64_t kLoopPlaces = 1 << 17;
inline constexpr std::int64_t kLoopBytes = kLoopPlaces * 8;

std::unique_ptr<JobDefinition> MakeLoopJob();

/// Values of one place; they fit pieces of a Content.
using LoopPlace = std::vector<InputPiece>;

/// What a mapper makes of its input with a state: pieces of input that say which state it was. The
/// first pass has none.
LoopPlace MapWithState(const LoopPlace& input, const LoopPlace& state);

/// What an update makes of places of an element, all the same, and the state before.
LoopPlace NextState(int iteration, const LoopPlace& element, const LoopPlace& state);

bool IsState(const Content& content);

/// The state after `iterations` of them, by one mapper of all the input.
LoopPlace SequentialState(const LoopPlace& input, int iterations);

}  // namespace weir::sim
