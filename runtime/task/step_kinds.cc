#include "runtime/task/step_kinds.h"

#include "runtime/task/combine_step.h"
#include "runtime/task/loop_step.h"
#include "runtime/task/map_step.h"
#include "runtime/task/reduce_step.h"
#include "runtime/task/write_step.h"

namespace weir::task {

const StepImplementations& BuiltInSteps() {
  static const auto* const kinds = new StepImplementations{
      {v1::STEP_KIND_MAP, {.name = "map", .make_run = MapToRun, .make_part = nullptr}},
      {v1::STEP_KIND_REDUCE,
       {.name = "reduce", .make_run = ReduceToRun, .make_part = ReduceToPart}},
      {v1::STEP_KIND_COMBINE, {.name = "combine", .make_run = CombineToRun, .make_part = nullptr}},
      {v1::STEP_KIND_ITERATE, {.name = "iterate", .make_run = IterateToRun, .make_part = nullptr}},
      {v1::STEP_KIND_UPDATE, {.name = "update", .make_run = UpdateToRun, .make_part = nullptr}},
      {v1::STEP_KIND_WRITE, {.name = "write", .make_run = nullptr, .make_part = JoinTextToPart}},
  };
  return *kinds;
}

}  // namespace weir::task
