#include "runtime/master/conduct/progress.h"

#include <algorithm>

namespace weir::master {
namespace {

// Of a step that has read all, and works on: how much of it is done, nobody knows.
constexpr double kReadPart = 0.95;

/// Of a step that is not done.
double ShareDone(std::int64_t read, std::int64_t total) {
  if (total <= 0) return 0;
  return std::clamp(static_cast<double>(read) / static_cast<double>(total), 0.0, kReadPart);
}

// Unknown (negative) while nothing is done after the whole predicted time has passed.
double RemainingSeconds(double share, double predicted_s, double elapsed_s) {
  const double by_plan_s = (1 - share) * predicted_s;
  if (share <= 0) return elapsed_s < predicted_s ? predicted_s - elapsed_s : -1;
  const double by_experience_s = elapsed_s * (1 - share) / share;
  return (1 - share) * by_plan_s + share * by_experience_s;
}

}  // namespace

v1::JobProgress MeasureProgress(const planner::Plan& plan, const planner::Prediction& prediction,
                                const PlanProgress& done_so_far,
                                const std::vector<std::int64_t>& step_bytes_done,
                                double elapsed_s) {
  const planner::ActualRun& actual = done_so_far.actual();
  v1::JobProgress progress = ProgressBeforeRun(plan, prediction);
  double work_s = 0;
  double work_done_s = 0;
  std::int64_t input_done = 0;
  bool all_read = false;  // by a step that is not done
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const planner::ComputeStep& step = plan.steps[s];
    const bool done = actual.steps[s].finish_s >= actual.steps[s].start_s;
    // A script may have been given its whole input long before it has worked on it.
    const std::int64_t bytes =
        done ? step.input_bytes
             : std::clamp<std::int64_t>(step_bytes_done[s], 0,
                                        std::max<std::int64_t>(0, step.input_bytes - 1));
    all_read =
        all_read || (!done && step.input_bytes > 0 && step_bytes_done[s] >= step.input_bytes);
    work_s += step.duration_s;
    work_done_s += step.duration_s * (done ? 1.0 : ShareDone(bytes, step.input_bytes));
    if (step.kind->reads_input()) input_done += bytes;
  }
  std::int64_t shuffle_done = 0;
  std::int64_t shuffle_total = 0;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const bool done = actual.transfers[t].finish_s >= actual.transfers[t].start_s;
    const planner::Interval& predicted = prediction.transfers[t];
    const double duration_s = predicted.finish_s - predicted.start_s;
    work_s += duration_s;
    if (done) work_done_s += duration_s;
    if (done) shuffle_done += actual.transfer_bytes[t];
    shuffle_total += done ? actual.transfer_bytes[t] : plan.transfers[t].bytes;
  }
  progress.set_input_bytes_done(input_done);
  progress.set_shuffle_bytes_done(shuffle_done);
  progress.set_shuffle_bytes_total(shuffle_total);
  progress.set_steps_done(done_so_far.steps_done());
  progress.set_transfers_done(done_so_far.transfers_done());
  progress.set_elapsed_s(elapsed_s);
  const double share = work_s > 0 ? work_done_s / work_s : (done_so_far.finished() ? 1 : 0);
  progress.set_done_fraction(share);
  const bool unknown = all_read && elapsed_s > prediction.makespan_s;
  progress.set_remaining_s(done_so_far.finished() ? 0
                           : unknown              ? -1
                                     : RemainingSeconds(share, prediction.makespan_s, elapsed_s));
  return progress;
}

v1::JobProgress ProgressBeforeRun(const planner::Plan& plan,
                                  const planner::Prediction& prediction) {
  v1::JobProgress progress;
  std::int64_t input_total = 0;
  for (const planner::ComputeStep& step : plan.steps) {
    if (step.kind->reads_input()) input_total += step.input_bytes;
  }
  std::int64_t shuffle_total = 0;
  for (const planner::Transfer& transfer : plan.transfers) shuffle_total += transfer.bytes;
  progress.set_input_bytes_total(input_total);
  progress.set_shuffle_bytes_total(shuffle_total);
  progress.set_steps_total(static_cast<std::int32_t>(plan.steps.size()));
  progress.set_transfers_total(static_cast<std::int32_t>(plan.transfers.size()));
  progress.set_remaining_s(prediction.makespan_s);
  std::int32_t iterations = 0;
  for (const planner::ComputeStep& step : plan.steps) {
    if (step.kind->updates_state) iterations = std::max(iterations, step.layer);
  }
  progress.set_iterations_max(iterations);
  return progress;
}

}  // namespace weir::master
