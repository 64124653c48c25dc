#pragma once

// Output text on its way through a run: a reducer of the last layer leaves it, a write step stores
// it. Upstream: step_runner.h. Downstream: format::RunWriter, format::RunReader,
// format::PartWriter.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "runtime/format/run_reader.h"
#include "runtime/task/step_activity.h"

namespace weir::task {

/// Takes the bytes of a part and puts them, cut into blocks, into the open section of a run.
///
/// Checked by: tests/unit/task/stored_text_test.cc.
class TextRunSink : public PartSink {
 public:
  /// Requires: a section of `sink` was begun; it outlives this.
  explicit TextRunSink(RunSink& sink) : sink_(sink) {}

  /// Errors: those of the sink.
  absl::Status Append(std::string_view bytes, std::int64_t records) override;

 private:
  RunSink& sink_;
};

/// Copies the text of the sections, one after the other, into a part. Every block is verified.
///
/// Errors: kDataLoss (a damaged section), kCancelled, those of `part`.
/// Bounds: one block.
absl::StatusOr<StepTotals> JoinText(std::vector<std::unique_ptr<format::RunReader>> sections,
                                    PartSink& part, StepActivity& activity);

}  // namespace weir::task
