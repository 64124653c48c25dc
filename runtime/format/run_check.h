#pragma once

// Whether a run is still what was written. Upstream: a worker daemon that finds runs of its life
// before. Downstream: run_reader.h.

#include "absl/status/status.h"
#include "weir/v1/steps.pb.h"

namespace weir::format {

/// Reads all sections of a run. Blocking.
/// Errors: as RunReader: kDataLoss naming file and offset.
/// Checked by: tests/unit/format/run_test.cc.
absl::Status CheckRun(const v1::RunInfo& run);

}  // namespace weir::format
