#pragma once

// Which pieces of a job's input its sample reads. Pure.
// Upstream: Planning. Downstream: SampleMachine.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "runtime/master/input_ranges.h"

namespace weir::master {

/// When jobs are sampled before they are planned, and how much of them.
struct SamplePolicy {
  bool enabled = true;
  /// Below this a sample of a hundredth says nothing about rates and costs as much as the job.
  std::int64_t input_bytes_min = 64 << 20;
  /// The same where data crosses a network: there a wrong plan costs more than a sample.
  std::int64_t network_input_bytes_min = 16 << 20;
  double fraction = 0.01;
  /// More than that fraction where it takes so much to tell rates from overheads.
  std::int64_t worker_bytes_min = 4 << 20;
  double fraction_max = 0.05;
  std::int64_t bytes_max = 64 << 20;
  /// The sample is given up when it takes longer; the job is then planned without.
  absl::Duration budget = absl::Seconds(10);
};

/// Two samples of different size a worker: what growth with size is fitted from.
struct SampleDesign {
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

}  // namespace weir::master
