#pragma once

// What a pattern of the input asks for, beside what is there now. Pure. Upstream: JobSpec.
// Downstream: input_expansion.h, earlier_results.h.

#include <string>
#include <string_view>
#include <vector>

namespace weir::master {

/// Says whether a path is a pattern where no file has exactly that name: it has *, ?, [ or {.
bool IsGlob(std::string_view path);

/// Returns the pattern and all that its braces stand for, one within the other, as glob(3) reads
/// them: of "a{b,c}" that, "ab" and "ac".
///
/// Bounds: kAlternativesMax and what one pair of braces stands for; what is beyond is left out.
/// Thread-safety: pure. Checked by: tests/unit/master/glob_pattern_test.cc.
std::vector<std::string> Alternatives(const std::string& pattern);

/// Says whether one name on the way, without braces, stands for another. A wildcard at its
/// beginning does not stand for "." nor for "_", which begin names that are no data.
///
/// Thread-safety: pure. Checked by: tests/unit/master/glob_pattern_test.cc.
bool MatchesName(const std::string& pattern, const std::string& name);

/// Says whether one of `alternatives` matches `path` name by name (MatchesName): what a glob found
/// otherwise was not asked for.
///
/// Thread-safety: pure. Checked by: tests/unit/master/glob_pattern_test.cc.
bool AsksFor(const std::vector<std::string>& alternatives, const std::string& path);

}  // namespace weir::master
