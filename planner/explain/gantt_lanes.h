#pragma once

// Which bar stands on which lane of the Gantt picture; no pixels, no markup.
// Upstream: gantt_svg. Downstream: plan_report, interval_rows.

#include <cstdint>
#include <string>
#include <vector>

#include "planner/explain/explain.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// What a bar stands for: a step, by its kind, or a transfer, seen from one of its resources.
struct BarKind {
  const char* name = "";
  /// Place in the legend.
  std::int32_t rank = 0;
  /// Class in kGanttStyle.
  char style = 'h';
  /// Text on a solid bar must be light.
  bool dark = true;
  bool is_step = false;

  friend bool operator==(const BarKind& a, const BarKind& b) { return a.rank == b.rank; }

  static BarKind OfStep(StepKind kind) {
    return {kind->name, kind->number, kind->gantt_style, kind->gantt_dark, true};
  }
};
inline constexpr BarKind kSendBar{"send", 1001, 's', false, false};
inline constexpr BarKind kReceiveBar{"receive", 1002, 'v', true, false};
inline constexpr BarKind kChannelBar{"channel", 1003, 'h', true, false};

/// One step, one transfer, or several small ones of a kind drawn as one.
struct GanttBar {
  BarKind kind;
  Seconds start_s = 0;
  Seconds finish_s = 0;
  /// Index of the (first) step or transfer.
  std::int32_t item = 0;
  std::int32_t count = 1;
  Bytes bytes = 0;
  bool critical = false;
  /// Of a step.
  Bytes output_bytes = 0;
};

struct GanttLane {
  std::string name;
  /// A lane that only exists because more ran at once than the cut or the store allows.
  bool over_limit = false;
  std::vector<GanttBar> predicted;
  std::vector<GanttBar> actual;
};

/// A worker with its lanes, or a cut with those of its channels.
struct GanttGroup {
  std::string name;
  std::string detail;
  std::vector<GanttLane> lanes;
};

/// Lays out workers (compute, combine where there is one, send, receive), then cuts: the lanes of
/// their channels in use (cut_lanes.h; one a channel where no port is slow).
///
/// Predicted transfers stand on their planned lanes. Actual ones on the lowest lanes free at their
/// start, so that rows beyond the cut's lanes show a broken limit; overlaps shorter than
/// `visible_s` are taken for none. Plans without an order have no lanes and no cut groups.
/// Requires: CheckStructure(plan) is OK.
std::vector<GanttGroup> LayOutGantt(const Plan& plan, const Prediction& predicted,
                                    const ActualRun* actual, const ExplainOptions& options,
                                    Seconds visible_s);

/// Merges neighbours of one kind on a lane that are shorter than `visible_s` and less than that
/// apart; with `merge_overlaps` also those that overlap. Returns the number of bars left.
std::size_t MergeBars(Seconds visible_s, bool merge_overlaps, std::vector<GanttGroup>* groups);

}  // namespace weir::planner
