#include "runtime/master/planning/sampling_rule.h"

#include <algorithm>

namespace weir::master {
namespace {

// What the job takes on one unit worker if its own rates hold. Rates that say how keys come again
// tell small inputs better than a sample is worth: of those, what reading takes.
double WorkSeconds(const JobRates& rates, std::int64_t input_bytes) {
  double bytes = static_cast<double>(input_bytes);
  double seconds = bytes * rates.map_seconds_per_byte;
  if (rates.output_growth.at_bytes > 0) return seconds;
  bytes *= rates.map_output_ratio;
  for (const LayerRates& layer : rates.layers) {
    seconds += bytes * layer.reduce_seconds_per_byte;
    bytes *= layer.output_ratio;
  }
  return seconds;
}

}  // namespace

SamplePolicy PolicyFor(SamplePolicy policy, const JobRates& rates, const SampledJob& job) {
  if (job.across_hosts) policy.input_bytes_min = policy.network_input_bytes_min;
  if (WorkSeconds(rates, job.input_bytes) >= policy.work_s_min) {
    policy.input_bytes_min = std::min(policy.input_bytes_min, policy.slow_input_bytes_min);
    policy.fraction_max = std::max(policy.fraction_max, policy.slow_fraction_max);
  }
  if (job.combines) {
    policy.places_per_slot = policy.places_per_slot_of_keys;
  } else {
    policy.places_again = 1;
  }
  return policy;
}

}  // namespace weir::master
