#pragma once

// Quantities of the planner. Ground floor: includes nothing of ours.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir::planner {

/// Size in bytes. Signed, 64 bit: differences are as common as sizes.
using Bytes = std::int64_t;

/// Time in seconds from the start of the plan, or a duration in seconds. Finite.
using Seconds = double;

/// Position of a worker in a plan: 0 .. num_workers - 1. Not an identity: the runtime maps it to a
/// registered worker.
using WorkerIndex = std::int32_t;

/// Position of a compute step in Plan::steps.
using StepIndex = std::int32_t;

/// Position of a transfer in Plan::transfers.
using TransferIndex = std::int32_t;

/// Legal size of a rate or of a duration in a plan (a rate may also be 0). Inside it no sum over a
/// whole plan overflows, so that bad input ends in an error and not in infinities.
inline constexpr double kPlanValueMin = 1e-100;
inline constexpr double kPlanValueMax = 1e100;

inline constexpr std::int32_t kNoIndex = -1;

/// Index of any of these kinds as a position in a std::vector. Requires: index >= 0.
constexpr std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace weir::planner
