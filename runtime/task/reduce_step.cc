#include "runtime/task/reduce_step.h"

#include <memory>
#include <utility>

#include "runtime/task/counting_io.h"
#include "runtime/task/key_ends.h"
#include "runtime/task/start/guarded_call.h"
#include "runtime/task/stored_text.h"

namespace weir::task {
namespace {

absl::StatusOr<ReduceOrder> MakeReduceOrder(const StepWork& work) {
  ReduceOrder reduce;
  reduce.layer = work.order.layer();
  reduce.index_in_layer = work.order.index_in_layer();
  for (const v1::StepInput& input : work.order.inputs()) {
    absl::StatusOr<std::unique_ptr<RunSource>> source = OpenInput(input, work.activity);
    if (!source.ok()) return source.status();
    reduce.inputs.push_back(*std::move(source));
  }
  return reduce;
}

}  // namespace

absl::StatusOr<StepTotals> ReduceToRun(const StepWork& work, RunSink& sink) {
  if (work.order.text()) {
    if (absl::Status begun = sink.BeginSection(0); !begun.ok()) return begun;
    TextRunSink text(sink);
    return ReduceToPart(work, text);
  }
  absl::StatusOr<ReduceOrder> order = MakeReduceOrder(work);
  if (!order.ok()) return order.status();
  absl::StatusOr<std::vector<double>> key_ends =
      GuardedCall([&] { return KeyEnds(work.order, work.program.num_places(order->layer + 1)); });
  if (!key_ends.ok()) return key_ends.status();
  order->consumer_key_end = *std::move(key_ends);
  return GuardedCall(
      [&] { return work.program.ReduceToRun(*std::move(order), sink, work.context); });
}

absl::StatusOr<StepTotals> ReduceToPart(const StepWork& work, PartSink& sink) {
  absl::StatusOr<ReduceOrder> order = MakeReduceOrder(work);
  if (!order.ok()) return order.status();
  return GuardedCall(
      [&] { return work.program.ReduceToPart(*std::move(order), sink, work.context); });
}

}  // namespace weir::task
