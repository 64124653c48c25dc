#pragma once

// How a worker carries out each kind of step: one row a kind. What planner and conductor know of it
// stands in planner/plan/step_kind.h. Upstream: step_runner. Downstream: map_step, combine_step,
// loop_step, reduce_step, write_step.

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "runtime/task/step_activity.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

/// What a step has at hand while it runs.
struct StepWork {
  JobProgram& program;
  const v1::StepOrder& order;
  StepContext& context;
  StepActivity& activity;
  /// For what a kind has to say beside its run or part.
  v1::StepResult& result;
};

/// Carries out the steps of one kind. The runner makes and ends the run or part; a kind that never
/// makes one of them leaves its function out, and orders that ask for it are refused.
struct StepImplementation {
  const char* name = "";
  /// Fills the run for the order's consumers; sections by their place in the order, from 0, rising.
  absl::StatusOr<StepTotals> (*make_run)(const StepWork& work, RunSink& sink) = nullptr;
  /// Fills the output part of an order without consumers.
  absl::StatusOr<StepTotals> (*make_part)(const StepWork& work, PartSink& sink) = nullptr;
};

/// By v1.StepKind.
using StepImplementations = absl::btree_map<int, StepImplementation>;

/// All kinds that this version carries out.
const StepImplementations& BuiltInSteps();

}  // namespace weir::task
