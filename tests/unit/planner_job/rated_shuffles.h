#pragma once

// Shuffles drawn at random whose transfers get rates, and a sweep over the rates that they got.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "planner/plan/plan.h"

namespace weir::planner {

/// Resources of a plan: ports out by worker, ports in by worker, cuts.
bool Uses(const Plan& plan, const Transfer& transfer, std::size_t resource);
std::size_t NumResources(const Plan& plan);

/// What a port or cut carries of paced transfers, from the description of the model alone.
double Carries(const Plan& plan, std::size_t resource);

/// At every begin: the rates of all that is then under way, by resource. Requires: called inside a
/// RapidCheck property.
void ExpectRatesFit(const Plan& plan);

/// Times of a plan by rates, as it is or with rates that were not made to fit beside each other,
/// are those of a naive simulation. Requires: called inside a RapidCheck property.
void ExpectNaiveSimulationAgrees(Plan plan);

/// A shuffle between 2 to workers_max workers, whose mappers are done when `ready_s` says, on a
/// network on which rates of kSlowestRateBytesPerS do not matter; without orders. Requires: called
/// inside a RapidCheck property.
Plan DrawShuffle(const std::function<Seconds()>& ready_s, std::int32_t workers_max = 6);

}  // namespace weir::planner
