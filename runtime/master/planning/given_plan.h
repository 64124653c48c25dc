#pragma once

// A plan that the user hands in with a job: what must hold of it before it is run as it is.
// Upstream: CheckSubmission, JobRun, dry runs. Downstream: planner/wire, CheckPlan, Predict.

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/job_definition.h"
#include "runtime/master/planning/planned_job.h"
#include "runtime/master/workers/worker_table.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// Checks the plan of `spec` against the job: it is a plan that CheckPlan accepts, names each of
/// its workers once, has as many layers as the job, combines only what the job can combine, by
/// places that its elements have, in the order of the input where values do not commute, and the
/// spec asks for nothing that only a planner could grant. OK when the spec has no plan.
/// Requires: parameters that CheckParameters accepts.
/// Takes long for a large plan. Errors: kInvalidArgument saying what disagrees.
absl::Status CheckGivenPlan(const v1::JobSpec& spec, const JobDefinition& job);

/// Checks that the plan's map ranges cover exactly `input_bytes`.
/// Errors: kInvalidArgument with both sizes.
absl::Status CheckGivenPlanInput(const v1::Plan& plan, std::int64_t input_bytes);

/// Takes the plan out of the spec, in which only its id stays; null when there is none. Shared, so
/// that nobody copies it.
std::shared_ptr<const v1::Plan> TakeGivenPlan(v1::JobSpec& spec);

/// Returns the alive workers that the plan names, in its order.
/// Errors: kFailedPrecondition naming those that are not alive.
absl::StatusOr<std::vector<RegisteredWorker>> WorkersOfPlan(
    const v1::Plan& plan, absl::Span<const RegisteredWorker> alive);

/// Predicts and explains a plan that passed the checks, so that it runs like one of the planner's.
/// Takes long for a large plan. Errors: kInvalidArgument when the message does not hold a plan.
absl::StatusOr<PlannedJob> AdoptGivenPlan(const v1::Plan& plan, const std::string& job,
                                          const std::string& note = {});

}  // namespace weir::master
