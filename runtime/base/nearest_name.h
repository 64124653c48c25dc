#pragma once

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace weir {

/// Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into
/// the other. Time: O(|a| * |b|).
int EditDistance(std::string_view a, std::string_view b);

/// Returns the known name that `given` was probably meant to be; empty when none is near (more than
/// a third of the letters differ). Ties: the first in `known`. Upper and lower case count as equal.
std::string NearestName(std::string_view given, absl::Span<const std::string> known);

/// Returns " Did you mean 'x'?" or nothing, ready to be appended to a message.
std::string SuggestName(std::string_view given, absl::Span<const std::string> known);

}  // namespace weir
