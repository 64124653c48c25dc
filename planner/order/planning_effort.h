#pragma once

// What trying another plan may cost, and what it must gain. Upstream: builders that try several.
// Downstream: nothing.

namespace weir::planner {

/// Planning must stay far shorter than what it plans: the part of a plan's makespan that trying
/// others may take. Effort is counted, not measured, so that the same question gets the same plan
/// everywhere.
inline constexpr double kPlanningPart = 0.03;

/// A finer order must be this much better than a coarser one: each piece more costs a wait for two
/// ports, which no model of the network tells.
inline constexpr double kFinerGain = 0.01;

/// Rates must be this much better than what they stand for. A section that is larger than planned
/// takes as much longer at the rate that was planned for it, and of many sections the largest
/// decides; in an order, what one has too much another one has too little. Where rates change over
/// time they are given by real sizes, but what is lowered stays taken until its sender has
/// answered: measured, that took 3 to 5 % more than predicted (docs/benchmarks/network.md).
inline constexpr double kRatesReserve = 0.05;

/// More of all segments than this must not be sent again where everybody fetches from all: what one
/// shuffle gains by it, everything else in its queues loses. Queues as short as that overflow when
/// all send at once at paced rates, too.
/// Measured on emulated networks of 50 Mbit/s: 0 to 5 of 1000 with queues of 1 MB, 43 to 103 of
/// 1000 with 32 KB, where shuffles by rates sent 1268 to 1560 segments again
/// (docs/benchmarks/network.md).
inline constexpr double kResentMax = 0.002;

}  // namespace weir::planner
