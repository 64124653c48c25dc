#pragma once

// Solves the tree instances of a file: what `weir planner tree --instance FILE.json` prints.
// Upstream: command line, golden tests. Downstream: JSON text.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weir::planner::tree {

struct SolveOptions {
  /// Spaces per level of the printed JSON; -1 prints one line.
  std::int32_t indent_spaces = -1;
};

/// Solves every instance of {"schema":1,"instances":[{"id","alg","input"}]}, other fields ignored.
///
/// Returns: {"schema":1,"results":[{"id":..., fields of that alg}]}; fields as
///   tests/golden/trees/README.md names them.
/// Errors: kInvalidArgument naming instance and field: text that is not JSON, another schema, an
///   unknown alg, input that is missing, out of range or too large for an exact search. The first
///   error ends the file.
/// Thread-safety: pure; same text, same result.
/// Checked by: tests/unit/planner_tree/golden_trees_test.cc.
absl::StatusOr<std::string> SolveInstancesJson(std::string_view json_text,
                                               const SolveOptions& options = {});

}  // namespace weir::planner::tree
