#pragma once

// The reference system of 004, section 5.2: R = 2, m = r_1 = r_2 = 5, l = 5.

#include "planner/load/chain.h"

namespace weir::planner::load {

inline Chain ReferenceChain() {
  Chain chain;
  chain.num_mappers = 5;
  chain.map_seconds_per_byte = 1e-7;
  chain.map_startup_s = 1;
  chain.map_output_ratio = 0.1;
  chain.input_bytes = 1e15;
  chain.reducers = {{5, 1e-7, 1e-2, 0.1, ReduceCurve::kChords},
                    {5, 1e-7, 1e-2, 0.1, ReduceCurve::kChords}};
  chain.channel_seconds_per_byte = 1e-8;
  chain.channels = 5;
  return chain;
}

}  // namespace weir::planner::load
