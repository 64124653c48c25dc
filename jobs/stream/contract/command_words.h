#pragma once

// How Hadoop Streaming reads a command. Upstream: parameters mapper, combiner, reducer. Downstream:
// the arguments of a process; no shell sees them.

#include <string>
#include <string_view>
#include <vector>

namespace weir::stream {

/// Splits a command at blanks; ' and " keep blanks within a word and end the word before them, as
/// PipeMapRed does: `-x='a b'` is the two words `-x=` and `a b`, `""` is none. A quote that is not
/// closed reaches to the end. Checked by: tests/unit/jobs/stream/contract_test.cc.
std::vector<std::string> SplitCommand(std::string_view command);

}  // namespace weir::stream
