#pragma once

// The layer planner as a function of text: instances in, results out. What `weir planner load`
// prints.
// Upstream: runtime/client (reads the file, owns the clock). Downstream: solve_layer.h,
// schedule_layer.h.

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/load/solve_layer.h"

namespace weir::planner::load {

struct InstanceOptions {
  LayerMethod method = LayerMethod::kAutomatic;
  /// Returns the time in microseconds of any steady clock; empty: `micros` is reported as 0.
  std::function<double()> now_micros;
};

/// Returns the method of a flag value.
/// Errors: kInvalidArgument listing "automatic", "fast", "exact", "paper", "paper-free-order".
absl::StatusOr<LayerMethod> ParseLayerMethod(std::string_view name);

/// Solves every instance of a file and returns {"schema":1,"results":[{"id", "makespan",
/// "lower_bound", "share", "gap", "method", "micros"}]} (and "warning" where there is one).
///
/// Method kPaper also gives "schedules": that of the document's section 4.3 and beside it ours for
/// the same loads, {"method", "makespan", "pieces", "pieces_per_pair", "micros"}, or {"method",
/// "error"} where rounding keeps one from finding any.
/// Model: {"schema": 1 or "layer-golden/1", "instances": [...]}; an instance has id, type
///   ("reducer" or "mapper"), n, r, l, V, C, g, delta_next (r fractions), and a_red, s_red or A, S.
///   Seconds and bytes. Other fields are ignored.
/// Errors: kInvalidArgument naming instance, field, value and legal range. Nothing is solved when
///   one is wrong.
absl::StatusOr<std::string> SolveInstancesJson(std::string_view json_text,
                                               const InstanceOptions& options);

/// Solves the same and returns a table for people.
absl::StatusOr<std::string> SolveInstancesTable(std::string_view json_text,
                                                const InstanceOptions& options);

}  // namespace weir::planner::load
