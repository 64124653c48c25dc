#pragma once

// Runs one step of a job: opens what it reads, writes its run or part, sums up. Upstream: a
// TaskCommand.Run, with all paths resolved by the daemon. Downstream: the kinds of steps, then the
// StepResult.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "jobs/api/program.h"
#include "runtime/base/mono_time.h"
#include "runtime/task/step_activity.h"
#include "runtime/task/step_kinds.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

/// Finds the job, checks its parameters and makes its program.
/// Errors: kInvalidArgument (unknown job, parameter), or what the job itself says. What user code
/// throws becomes USER_ERROR.
absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const v1::TaskCommand::Start& start,
                                                        const JobCatalog& catalog);

/// Checks an order once, so that the rest may trust it. Errors: kInvalidArgument, naming the field.
absl::Status CheckRun(const v1::TaskCommand::Run& run, const StepImplementations& kinds);

/// What the steps of a task may use.
StepRoom RoomOf(const v1::TaskCommand::Start& start);

/// Runs the step and never fails: whatever goes wrong is the result's `error`, with step, and file
/// and offset where they are known. A failed step leaves no run and no part behind.
///
/// Thread-safety: one step of a program at a time.
/// Checked by: tests/unit/task/step_runner_test.cc.
v1::StepResult RunStep(const StepImplementations& kinds, JobProgram& program,
                       const v1::TaskCommand::Run& run, SlotPool& slots, const StepRoom& room,
                       StepActivity& activity, const std::function<MonoTime()>& now);

}  // namespace weir::task
