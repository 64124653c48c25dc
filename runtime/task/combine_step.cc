#include "runtime/task/combine_step.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/task/counting_io.h"
#include "runtime/task/key_ends.h"
#include "runtime/task/start/guarded_call.h"

namespace weir::task {
namespace {

// The only input into the only section.
absl::StatusOr<StepTotals> PassOn(const StepWork& work, RunSink& sink) {
  StepTotals totals;
  if (absl::Status begun = sink.BeginSection(0); !begun.ok()) return begun;
  for (const v1::StepInput& input : work.order.inputs()) {
    if (input.bytes() == 0) continue;
    auto section = format::RunReader::Open(input.path(), input.path_offset(), input.bytes());
    if (!section.ok()) return section.status();
    const format::RunReader& reader = **section;
    CountingRunSource source(*std::move(section), work.activity);
    std::int64_t before = 0;
    while (true) {
      const absl::StatusOr<absl::Span<const char>> block = source.NextBlock();
      if (!block.ok()) return block.status();
      if (block->empty()) break;
      if (work.context.cancelled()) return absl::CancelledError("the job is being ended");
      absl::Status appended =
          sink.Append(std::string_view(block->data(), block->size()), reader.records() - before);
      if (!appended.ok()) return appended;
      before = reader.records();
    }
    totals.input_records += before;
  }
  totals.output_records = totals.input_records;
  return totals;
}

int NumFilled(const v1::StepOrder& order) {
  int filled = 0;
  for (const v1::StepInput& input : order.inputs()) filled += input.bytes() > 0 ? 1 : 0;
  return filled;
}

}  // namespace

absl::StatusOr<StepTotals> CombineToRun(const StepWork& work, RunSink& sink) {
  CombineOrder combine;
  combine.layer = work.order.layer();
  absl::StatusOr<std::vector<double>> ends =
      GuardedCall([&] { return KeyEnds(work.order, work.program.num_places(combine.layer)); });
  if (!ends.ok()) return ends.status();
  if (ends->size() == 1 && NumFilled(work.order) <= 1) return PassOn(work, sink);
  combine.consumer_key_end = *std::move(ends);
  for (const v1::StepInput& input : work.order.inputs()) {
    absl::StatusOr<std::unique_ptr<RunSource>> source = OpenInput(input, work.activity);
    if (!source.ok()) return source.status();
    combine.inputs.push_back(*std::move(source));
  }
  return GuardedCall([&] { return work.program.Combine(std::move(combine), sink, work.context); });
}

}  // namespace weir::task
