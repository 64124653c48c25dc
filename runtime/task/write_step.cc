#include "runtime/task/write_step.h"

#include <memory>
#include <utility>
#include <vector>

#include "runtime/format/run_reader.h"
#include "runtime/task/stored_text.h"

namespace weir::task {

absl::StatusOr<StepTotals> JoinTextToPart(const StepWork& work, PartSink& sink) {
  std::vector<std::unique_ptr<format::RunReader>> sections;
  for (const v1::StepInput& input : work.order.inputs()) {
    if (input.bytes() == 0) continue;
    auto reader = format::RunReader::Open(input.path(), input.path_offset(), input.bytes());
    if (!reader.ok()) return reader.status();
    sections.push_back(*std::move(reader));
  }
  return JoinText(std::move(sections), sink, work.activity);
}

}  // namespace weir::task
