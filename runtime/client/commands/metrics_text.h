#pragma once

// A cluster as numbers for programs that watch it.
// Upstream: what a master answers to ListJobs and ListWorkers. Downstream: `weir list metrics`.

#include <string>

#include "absl/strings/string_view.h"
#include "weir/v1/services.pb.h"

namespace weir::client {

/// Says of a cluster what an alarm needs, in the text format of Prometheus (0.0.4): gauges alone.
///
/// Sizes are bytes, times seconds. No job's id is a label: each would begin series that never end.
/// What is not known has no sample. `version` is that of the program that asks.
/// Requires: jobs newest first, and each name of a worker once, as a master lists them.
/// Thread-safety: pure.
/// Checked by: tests/unit/client/metrics_text_test.cc.
std::string MetricsText(const v1::ListJobsResponse& jobs, const v1::ListWorkersResponse& workers,
                        absl::string_view version);

}  // namespace weir::client
