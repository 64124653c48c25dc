#pragma once

// Shuffles of all workers with all, by network, sizes of sections and ends of the mappers. For
// benches of orders.

#include <cstdint>
#include <functional>
#include <string>

#include "planner/plan/network_model.h"
#include "planner/plan/plan.h"
#include "planner/plan/units.h"

namespace weir::bench {

/// n hosts on links of 1 Gbit/s, which limit nothing but themselves.
planner::NetworkModel PortsOnly(std::int32_t n);
/// A quarter of the ports at once.
planner::NetworkModel OneTotal(std::int32_t n);
/// Racks of 16 hosts, or of a quarter of all, behind a quarter of their ports.
planner::NetworkModel Racks(std::int32_t n);
/// Hosts in racks (16 of them, or of 16 hosts), racks in pods of four, pods behind a core without
/// limits: a way out of a rack has one channel for `of_racks` hosts, one of a pod one for
/// `of_pods`.
planner::NetworkModel ThreeLevels(std::int32_t n, std::int32_t of_racks, std::int32_t of_pods);

/// Sizes of the sections by producer and consumer, relative to their mean.
using Sizes = double (*)(std::int32_t n, std::int32_t producer, std::int32_t consumer);

double Equal(std::int32_t n, std::int32_t producer, std::int32_t consumer);
/// Zipf's law with exponent 1/2 over the consumers.
double SkewedKeys(std::int32_t n, std::int32_t producer, std::int32_t consumer);
double Random(std::int32_t n, std::int32_t producer, std::int32_t consumer);

/// The moments at which mappers end, in waves.
inline constexpr int kWaves = 4;

/// The sections of `sizes`, in rotation order and not yet in an order in time; one of the mean size
/// takes 0.4 s. Mappers end in `waves` waves, the last one when a port alone would have moved half
/// of what it has.
planner::Plan Shuffle(const planner::NetworkModel& network, Sizes sizes, int waves);

/// A shuffle with the names under which its figures are kept.
struct Instance {
  std::string network, sections, maps;
  planner::Plan plan;
};

/// Calls `measure` with the shuffles of all sizes on a network, mappers ending at once and in
/// waves. Returns whether it was always true.
bool MeasureShuffles(const std::string& network, const planner::NetworkModel& model,
                     const std::function<bool(const Instance&)>& measure);

}  // namespace weir::bench
