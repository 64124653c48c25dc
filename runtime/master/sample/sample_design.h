#pragma once

// Which pieces of a job's input its sample reads. Pure.
// Upstream: Planning. Downstream: SampleMachine.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/master/input/input_ranges.h"
#include "runtime/master/options/sample_policy.h"

namespace weir::master {

/// Two samples of different size a worker: what growth with size is fitted from. And one so small
/// that it takes what a step takes at any size.
struct SampleDesign {
  std::vector<std::vector<v1::InputRange>> tiny;   // by worker, at most one range; part of `small`
  std::vector<std::vector<v1::InputRange>> small;  // by worker
  std::vector<std::vector<v1::InputRange>> large;  // by worker, no byte of `small` among it
};

/// Spreads the sample evenly over the input: kPlacesPerWorker places a worker, each a fifth for the
/// small sample and the rest for the large one.
///
/// A gzip file has one reader, from its first byte: it is taken whole where a border of a place
/// falls near it, as long as all of them stay within the sample's size. Returns nothing when the
/// policy says no, or when that leaves less than half of the sample. Checked by:
/// tests/unit/master/sample_test.cc.
std::optional<SampleDesign> DesignSample(const InputList& input, std::size_t num_workers,
                                         const SamplePolicy& policy);

inline constexpr std::size_t kPlacesPerWorker = 4;

/// Enough for a record of most jobs, and read in no time.
inline constexpr std::int64_t kTinyBytes = 4096;

}  // namespace weir::master
