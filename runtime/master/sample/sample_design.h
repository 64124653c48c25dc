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
  // By worker, as large as `small` and from few places: what is read once more and several times
  // over, to tell what finding keys again costs. Bytes of both others are among it.
  std::vector<std::vector<v1::InputRange>> again;
};

/// Spreads the sample over the input: as many places a slot as the policy says, each anywhere in
/// its own one of as many equal strata, a fifth for the small sample and the rest for the large
/// one. The input is cut into as many equal parts as there are workers, and each samples its own,
/// as mappers will read it: what differs between the parts, differs between the workers of the
/// sample. `slots`: of each worker.
///
/// A packed file has one reader, from its first byte: it is taken whole where a border of a place
/// falls near it, as long as all of them stay within the sample's size. Returns nothing when the
/// policy says no, or when that leaves less than half of the sample. Checked by:
/// tests/unit/master/sample_design_test.cc.
std::optional<SampleDesign> DesignSample(const InputList& input, std::size_t num_workers, int slots,
                                         const SamplePolicy& policy);

/// Enough for a record of most jobs, and read in no time.
inline constexpr std::int64_t kTinyBytes = 4096;

}  // namespace weir::master
