#pragma once

// The figures of a plan, predicted and actual, that every form of Explain shows.
// Upstream: explain_text, explain_json, gantt_svg, chrome_trace. Downstream: predict, plan_limits.

#include <optional>
#include <string>
#include <vector>

#include "planner/explain/explain.h"
#include "planner/explain/plan_limits.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// Busy times of one worker, seconds.
struct WorkerTimes {
  Seconds compute_s = 0;
  Seconds send_s = 0;
  Seconds receive_s = 0;
  Seconds idle_s = 0;
  Seconds finish_s = 0;
};

struct WorkerReport {
  std::string name;
  Bytes map_input_bytes = 0;
  Bytes sent_bytes = 0;
  Bytes received_bytes = 0;
  /// Share of the keys of each reducing layer, from layer 1.
  std::vector<double> load_fractions;
  WorkerTimes predicted;
  std::optional<WorkerTimes> actual;
};

/// Steps of one kind in one layer.
struct LayerReport {
  std::int32_t layer = 0;
  StepKind kind = StepKind::kMap;
  std::int32_t num_steps = 0;
  Bytes input_bytes = 0;
  Bytes output_bytes = 0;
  Bytes step_input_bytes_min = 0;
  Bytes step_input_bytes_max = 0;
  /// What they put on disk because their memory is full, and what the step does that is busy with
  /// it longest.
  Bytes spilled_bytes = 0;
  Seconds step_spill_s_max = 0;
  Bytes actual_spilled_bytes = 0;
  Interval predicted;
  std::optional<Interval> actual;
};

struct PlanReport {
  std::vector<WorkerReport> workers;
  std::vector<LayerReport> layers;
  Bytes section_bytes = 0;
  Bytes moved_bytes = 0;
  /// As of all layers.
  Bytes spilled_bytes = 0;
  Bytes actual_spilled_bytes = 0;
  PlanLimits limits;
  Seconds predicted_s = 0;
  std::optional<Seconds> actual_s;
  /// Instead, of a run that is not at its end: when the last of its steps that are done ended.
  std::optional<Seconds> unfinished_s;
  bool HasRun() const { return actual_s.has_value() || unfinished_s.has_value(); }
};

/// Adds up the figures.
/// Requires: CheckItems(plan) is OK. Times that are missing or never ran count as 0.
PlanReport MakeReport(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                      const ExplainOptions& options);

/// Returns the interval at `index`, or null when there is none or the item never ran.
const Interval* FindInterval(const std::vector<Interval>& intervals, std::size_t index);

/// Returns the size of what the step is to read; of the input as it lies, whatever the plan counts
/// by (input_parts.h).
Bytes BytesRead(const Plan& plan, const ComputeStep& step);

/// The same as it was seen in the run, where that is known.
Bytes BytesRead(const Plan& plan, const ActualRun* actual, std::size_t step);

/// Returns the name of the worker: from the options, else "worker 3".
std::string WorkerName(const ExplainOptions& options, WorkerIndex worker);

/// Returns for example "map 3", or "layer 2 reduce 0" from the second layer of reducers on.
std::string StepName(const Plan& plan, StepIndex step);

/// Returns the name and shorter forms of it for little room: "layer 2 reduce 0", "reduce 2.0",
/// "2.0".
std::vector<std::string> StepLabels(const Plan& plan, StepIndex step);

}  // namespace weir::planner
