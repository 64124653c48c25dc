#pragma once

// A job's state as a line for people. Pure functions and one small printer.
// Upstream: statuses of a watch. Downstream: stderr.

#include <optional>
#include <ostream>
#include <string>

#include "runtime/client/command_host.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

/// "queued" or "queued, place 3", "planning", "map", "shuffle and reduce", "publishing", "cleaning
/// up", "done", "failed", "cancelled".
std::string PhaseName(const v1::JobStatus& status);

/// Share of the planned work that is done, 0 .. 1.
double DoneFraction(const v1::JobStatus& status);

/// One line of at most `columns` columns: bar, per cent, phase, rate, time left.
std::string ProgressLine(const v1::JobStatus& status, int columns);

/// The plan of a job in one line: input, size, predicted time, what limits, as far as the head of
/// its text (planner/explain) says them, else the first line of that.
std::string PlanLine(const v1::JobStatus& status);

/// Writes progress: on a terminal one line redrawn in place, elsewhere, once a job has run for
/// two seconds, a line each time the phase changes or another tenth is done.
class ProgressPrinter {
 public:
  ProgressPrinter(std::ostream& out, const Terminal& terminal) : out_(out), terminal_(terminal) {}
  void Show(const v1::JobStatus& status);
  /// Clears the redrawn line, so that other text may follow.
  void Clear();

 private:
  std::ostream& out_;
  const Terminal terminal_;
  bool line_shown_ = false;
  std::string last_phase_;
  int last_tenth_ = -1;
};

/// A worker that the job lost: "worker W was lost: no heartbeat for 6s (in map 3); planned again
/// (epoch 2)". An entry without a worker, which stands for older ones, as it is.
std::string DescribeLoss(const v1::WorkerLoss& loss);

/// Index of the first loss of the status behind the one that was shown last; 0 where none was, or
/// where that one is told no more: a job that has lost many tells the last ones.
int FirstLossAfter(const std::optional<v1::WorkerLoss>& shown, const v1::JobStatus& status);

/// A record that was left out: "FILE at byte N: reason: 'content'".
std::string DescribeSkipped(const v1::SkippedRecord& record);

}  // namespace weir::client
