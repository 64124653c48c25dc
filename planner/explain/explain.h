#pragma once

// Pictures and tables of a plan, predicted beside actual. Pure: returns text, writes nothing.
// All require a plan that CheckPlan accepts; times of items may be missing.

#include <string>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// What happened, seconds from the start of the run. Items that never ran have finish_s < start_s.
struct ActualRun {
  std::vector<Interval> steps;
  /// From the grant until its ports could be granted again. Its last bytes may arrive after that:
  /// transfer_in_flight_bytes, at most half of it.
  std::vector<Interval> transfers;
  std::vector<Bytes> transfer_bytes;
  std::vector<Bytes> transfer_in_flight_bytes;
  /// Plans whose rates change over time: what each transfer's sender was told to pace it at, the
  /// first from its grant on. Others: empty.
  std::vector<std::vector<RateChange>> transfer_rates;
  /// What each step read, and what it made; empty or 0 where nobody knows.
  std::vector<Bytes> step_input_bytes;
  std::vector<Bytes> step_output_bytes;
  /// What the same would be if it were not packed.
  std::vector<Bytes> step_unpacked_output_bytes;
  /// What each step put on disk because its memory was full; as step_output_bytes.
  std::vector<Bytes> step_spilled_bytes;
  Seconds makespan_s = 0;
};

struct ExplainOptions {
  std::string title;
  /// Names of the workers, by WorkerIndex; empty: "worker 0", ...
  std::vector<std::string> worker_names;
  /// What happened is all of it. A run that broke off or goes on is not held against its
  /// prediction.
  bool ended = true;
};

/// Returns a summary for people: workers, chunk sizes, load fractions, makespan predicted and
/// actual, bound, gap, what limits, notes. Plain text, at most 100 columns.
std::string ExplainText(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                        const ExplainOptions& options);

/// Returns the same as one JSON object, "schema": 1, all times in seconds, sizes in bytes.
std::string ExplainJson(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                        const ExplainOptions& options);

/// Returns an SVG Gantt: per worker lanes compute, send, receive; the lanes of each cut's channels;
/// predicted light beside actual solid, the critical path outlined; time axis with units; legend; a
/// tooltip on each bar. Merges what is below half a pixel, and more where the plan is large: the
/// file stays below about 2 MB. Actual transfers beyond a cut's channels stand on a row named "over
/// limit".
std::string GanttSvg(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                     const ExplainOptions& options);

/// Returns Chrome-trace JSON (ph "X", ts and dur in microseconds, pid = worker, tid = lane, flow
/// events for transfers; predicted and actual as separate process groups). Opens in Perfetto.
std::string ChromeTraceJson(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                            const ExplainOptions& options);

}  // namespace weir::planner
