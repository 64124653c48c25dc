#include "jobs/api/program.h"

#include "absl/strings/str_cat.h"

namespace weir {

absl::StatusOr<StepTotals> JobProgram::Combine(CombineOrder order, RunSink&, StepContext&) {
  return absl::UnimplementedError(
      absl::StrCat("the values of layer ", order.layer, " cannot be combined"));
}

std::int64_t JobProgram::num_places(int) const { return kTablePlaces; }

}  // namespace weir
