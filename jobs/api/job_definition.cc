#include "jobs/api/job_definition.h"

namespace weir {

absl::Status JobDefinition::CheckValues(const ParameterValues&) const { return absl::OkStatus(); }

ElementInfo JobDefinition::Element(const ParameterValues&, int) const { return {}; }

absl::StatusOr<std::optional<LoopInfo>> JobDefinition::Loop(const ParameterValues&) const {
  return std::nullopt;
}

}  // namespace weir
