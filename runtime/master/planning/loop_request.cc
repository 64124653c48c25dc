#include "runtime/master/planning/loop_request.h"

#include <string>
#include <utility>
#include <vector>

namespace weir::master {

absl::StatusOr<std::optional<planner::LoopShape>> LoopOf(const v1::JobSpec& spec,
                                                         const JobDefinition& job,
                                                         const MasterOptions& options) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const v1::JobParameter& parameter : spec.parameters()) {
    given.emplace_back(parameter.name(), parameter.value());
  }
  const absl::StatusOr<ParameterValues> values = CheckParameters(job.info(), given);
  if (!values.ok()) return values.status();
  const absl::StatusOr<std::optional<LoopInfo>> loop = job.Loop(*values);
  if (!loop.ok()) return loop.status();
  if (!loop->has_value()) return std::nullopt;
  planner::LoopShape shape;
  shape.iterations = (*loop)->iterations;
  shape.element_places = (*loop)->element_places;
  shape.element_place_bytes = (*loop)->place_bytes;
  shape.state_places = (*loop)->state_places;
  shape.state_place_bytes = (*loop)->place_bytes;
  shape.splits = (*loop)->splits;
  shape.first_splits = (*loop)->splits && (*loop)->first_splits;
  shape.commutative = (*loop)->commutative;
  shape.element_wise = (*loop)->element_wise;
  shape.iterate_seconds_per_byte = (*loop)->iterate_seconds_per_byte;
  shape.combine_seconds_per_byte = (*loop)->combine_seconds_per_byte;
  shape.update_seconds_per_byte = (*loop)->update_seconds_per_byte;
  shape.step_overhead_s = options.reduce_startup_s;
  return shape;
}

}  // namespace weir::master
