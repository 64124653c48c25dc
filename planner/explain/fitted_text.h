#pragma once

// Text of any origin inside XML and inside a box. Upstream: gantt_svg, other pictures of the
// planner.

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::planner {

/// Returns text for XML 1.0: markup escaped; control characters, which it forbids, and bytes that
/// are not UTF-8 replaced by "?". For element content, not for attributes.
/// Checked by: tests/unit/planner_plan/gantt_test.cc (OddNamesAndMissingTimesDoNoHarm).
std::string XmlText(absl::string_view text);

/// Cuts a name to at most `chars_max` (>= 3) bytes, marked by two points; counts bytes, which errs
/// to the short side.
std::string Fitted(absl::string_view text, std::size_t chars_max);

}  // namespace weir::planner
