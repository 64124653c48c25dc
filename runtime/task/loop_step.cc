#include "runtime/task/loop_step.h"

#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/valid_utf8.h"
#include "runtime/task/counting_io.h"
#include "runtime/task/key_ends.h"
#include "runtime/task/start/guarded_call.h"

namespace weir::task {
namespace {

absl::StatusOr<std::vector<std::unique_ptr<RunSource>>> OpenInputs(const StepWork& work) {
  std::vector<std::unique_ptr<RunSource>> inputs;
  for (const v1::StepInput& input : work.order.inputs()) {
    absl::StatusOr<std::unique_ptr<RunSource>> source = OpenInput(input, work.activity);
    if (!source.ok()) return source.status();
    inputs.push_back(*std::move(source));
  }
  return inputs;
}

}  // namespace

absl::StatusOr<StepTotals> IterateToRun(const StepWork& work, RunSink& sink) {
  IterateOrder iterate;
  iterate.iteration = work.order.layer();
  absl::StatusOr<std::vector<double>> ends =
      GuardedCall([&] { return KeyEnds(work.order, work.program.num_places(1)); });
  if (!ends.ok()) return ends.status();
  iterate.consumer_key_end = *std::move(ends);
  auto inputs = OpenInputs(work);
  if (!inputs.ok()) return inputs.status();
  iterate.inputs = *std::move(inputs);
  return GuardedCall([&] { return work.program.Iterate(std::move(iterate), sink, work.context); });
}

absl::StatusOr<StepTotals> UpdateToRun(const StepWork& work, RunSink& sink) {
  UpdateOrder update;
  update.iteration = work.order.layer();
  // All read the same, so the state lies in the run once.
  update.num_consumers = SectionOfConsumers(work.order).back() + 1;
  auto inputs = OpenInputs(work);
  if (!inputs.ok()) return inputs.status();
  update.inputs = *std::move(inputs);
  LoopReport report;
  absl::StatusOr<StepTotals> totals = GuardedCall(
      [&] { return work.program.Update(std::move(update), sink, work.context, report); });
  if (!totals.ok()) return totals;
  if (report.measure_name.empty()) return totals;
  v1::LoopReport& loop = *work.result.mutable_loop();
  loop.set_iteration(report.iteration);
  loop.set_measure(report.measure);
  loop.set_measure_name(ValidUtf8(report.measure_name));
  loop.set_converged(report.converged);
  return totals;
}

}  // namespace weir::task
