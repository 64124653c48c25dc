#include "jobs/api/job_definition.h"

namespace weir {

ElementInfo JobDefinition::Element(const ParameterValues&, int) const { return {}; }

}  // namespace weir
