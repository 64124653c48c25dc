#pragma once

// Shows the beginning of a result. Upstream: finished parts. Downstream: stdout, by
// JobDefinition::Present.

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jobs/api/job_definition.h"

namespace weir {

/// Declares the parameter `show`, how many lines of the result are printed.
void AddShowParameter(std::vector<ParameterInfo>& parameters);

/// Prints the first lines of the parts, as many as `show` says, in the order of `before`.
/// Errors: those of VisitPartLines. Checked by: tests/unit/jobs/weather_test.cc, records_test.cc.
absl::Status PresentFirstLines(
    absl::Span<const std::string> part_paths, const ParameterValues& values,
    const std::function<bool(std::string_view, std::string_view)>& before, std::ostream& out);

}  // namespace weir
