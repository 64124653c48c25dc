#pragma once

// The only bridge between Plan and its messages. Upstream: planner/job, journal, RPC. Downstream:
// journal, RPC, files.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/explain/explain.h"
#include "planner/plan/plan.h"
#include "weir/v1/plan.pb.h"

namespace weir::planner {

v1::Codec CodecToProto(Codec codec);
/// Errors: kInvalidArgument for a number that is not a codec.
absl::StatusOr<Codec> CodecFromProto(v1::Codec codec);

/// Returns the plan as a message, with its id and the names of its workers (by WorkerIndex; may be
/// empty). The id is 16 hex digits that depend on everything in the plan but these names: equal
/// plans have equal ids on every machine.
v1::Plan PlanToProto(const Plan& plan, const std::vector<std::string>& worker_names);

/// Returns the plan of a message, with lanes where it was written before there were any
/// (whole_channels.h). Checks enum values and list sizes only; CheckPlan says whether it is
/// feasible. Errors: kInvalidArgument naming the field.
absl::StatusOr<Plan> PlanFromProto(const v1::Plan& message);

v1::ActualRun ActualToProto(const ActualRun& actual);

/// Errors: kInvalidArgument when the lists do not have one entry a step and a transfer of `plan`.
absl::StatusOr<ActualRun> ActualFromProto(const v1::ActualRun& message, const Plan& plan);

}  // namespace weir::planner
