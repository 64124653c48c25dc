#pragma once

// The names of the ways to pack runs. Pure.
// Upstream: JobSpec.codec, at submission and when the job is planned. Downstream: PlanRequest.

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/plan/codec.h"

namespace weir::master {

/// Returns the codec of that name: "none", "lz4", "zstd"; nothing for "auto" and "", by which the
/// planner decides. Errors: kInvalidArgument with the names that exist.
/// Checked by: tests/unit/master/codec_choice_test.cc.
absl::StatusOr<std::optional<planner::Codec>> ParseCodecChoice(absl::string_view name);

}  // namespace weir::master
