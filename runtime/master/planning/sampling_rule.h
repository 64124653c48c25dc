#pragma once

// How large an input of a job must be to be sampled, and from how many places. Pure.
// Upstream: Planning. Downstream: DesignSample.

#include <cstdint>

#include "jobs/api/job_definition.h"
#include "runtime/master/options/sample_policy.h"

namespace weir::master {

/// What the rule is applied to.
struct SampledJob {
  std::int64_t input_bytes = 0;
  /// Workers are of several hosts: a wrong plan then costs what crosses the network.
  bool across_hosts = false;
  /// The first layer's mappers combine the values of a key.
  bool combines = false;
};

/// Returns `policy` as it holds for a job of these rates: `input_bytes_min`, `fraction_max`,
/// `places_per_slot` and `places_again` are those of its kind.
/// Source: docs/prediction.md, "Where a predicted time comes from".
/// Checked by: tests/unit/master/sampling_rule_test.cc.
SamplePolicy PolicyFor(SamplePolicy policy, const JobRates& rates, const SampledJob& job);

}  // namespace weir::master
