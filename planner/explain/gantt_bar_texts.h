#pragma once

// What stands on a bar of the Gantt picture and in its tooltip. Upstream: gantt_svg.

#include <cstddef>
#include <string>
#include <vector>

#include "planner/explain/explain.h"
#include "planner/explain/gantt_lanes.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Texts of the bars of one plan. Refers to plan and options, which must outlive it.
class BarTexts {
 public:
  BarTexts(const Plan& plan, const ExplainOptions& options);

  /// Returns what to write on a bar of one item, long to short; the first that fits is to be taken.
  std::vector<std::string> Labels(const GanttBar& bar) const;

  /// Returns a line with all that is known of the bar.
  std::string Tooltip(const GanttBar& bar, bool predicted) const;

 private:
  // What tells the worker from the others: its name without the beginning that all names share.
  std::string ShortName(WorkerIndex worker) const;

  const Plan& plan_;
  const ExplainOptions& options_;
  std::size_t shared_prefix_ = 0;
};

}  // namespace weir::planner
