#pragma once

// Reads finished part files back. Upstream: output parts. Downstream: JobDefinition::Present.

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace weir {

/// Calls visit(line) for each line of each part, without its '\n', until it returns an error.
/// Errors: StepError INPUT_NOT_FOUND or INPUT_UNREADABLE naming the part; those of visit.
absl::Status VisitPartLines(absl::Span<const std::string> part_paths,
                            const std::function<absl::Status(std::string_view line)>& visit);

/// Returns the error for a line that the job did not write.
absl::Status DamagedPartLine(std::string_view line);

}  // namespace weir
