#pragma once

// Groups of N lines of a file, as NLineInputFormat counts them: from the beginning of the file,
// wherever it is cut. Upstream: map slots of stream_program. Downstream: input_blocks.h.

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"

namespace weir::stream {

/// The file of a range, whole.
InputRange WholeFile(const InputRange& range);

/// Takes whole lines of one group that lie in one block; `ends`: the group has all its lines.
using TakeGroupLines =
    std::function<absl::Status(const TextBlock& block, std::string_view lines, bool ends)>;

/// Calls take for the groups of `group_lines` lines whose first line begins in the range, in order,
/// until one is not OK or `is_stopped`. Ranges that cover a file have each of its groups once.
/// Only the lines before a range tell where groups of more than one line begin, so those are read,
/// too. The last group of a file may be shorter, and its end is that of the call.
/// Errors, Thread-safety: as ForEachLineBlock.
/// Checked by: tests/unit/jobs/stream/line_groups_test.cc.
absl::Status ForEachLineGroup(const InputRange& range, std::int64_t group_lines,
                              StepContext& context, const std::function<bool()>& is_stopped,
                              const TakeGroupLines& take);

}  // namespace weir::stream
