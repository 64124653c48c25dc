#include "jobs/api/program.h"

#include "absl/strings/str_cat.h"

namespace weir {

absl::StatusOr<StepTotals> JobProgram::Combine(CombineOrder order, RunSink&, StepContext&) {
  return absl::UnimplementedError(
      absl::StrCat("the values of layer ", order.layer, " cannot be combined"));
}

absl::StatusOr<StepTotals> JobProgram::Iterate(IterateOrder order, RunSink&, StepContext&) {
  return absl::UnimplementedError(
      absl::StrCat("iteration ", order.iteration, " of a job that is no loop"));
}

absl::StatusOr<StepTotals> JobProgram::Update(UpdateOrder order, RunSink&, StepContext&,
                                              LoopReport&) {
  return absl::UnimplementedError(
      absl::StrCat("end of iteration ", order.iteration, " of a job that is no loop"));
}

std::int64_t JobProgram::num_places(int) const { return kTablePlaces; }

}  // namespace weir
