#pragma once

// A master, some workers and some input, drawn at random: what tests of one kind of plan on the
// simulated cluster begin with. Upstream: loop_test.cc, tree_test.cc. Downstream: World.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/master/options/master_options.h"
#include "tests/sim/contents.h"
#include "tests/sim/scenario.h"

namespace weir::sim {

/// Under sanitizers a run takes five times as long; the decisions are those of the other build.
constexpr std::uint64_t SeedsHere([[maybe_unused]] std::uint64_t seeds,
                                  [[maybe_unused]] std::uint64_t under_sanitizers) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return under_sanitizers;
#else
  return seeds;
#endif
}

/// Makes the world of `scenario`, with a master and 2 to 8 workers that are called WorkerName(0)
/// and on; in one world of five (`one_host_chance`) they share a host. Their ports are as fast as
/// options say. Returns: how many workers there are.
int StartRandomCluster(std::uint64_t seed, master::MasterOptions options, SeededRandom& draw,
                       Scenario& scenario, double one_host_chance = 0.2);

std::string WorkerName(std::int64_t number);

/// Writes 1 to 3 files of 10 MB to `bytes_max` each. Returns them whole, in their order.
std::vector<InputPiece> WriteRandomInputs(std::int64_t bytes_max, SeededRandom& draw, World& world);

}  // namespace weir::sim
