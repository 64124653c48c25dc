#pragma once

// What a script finds around it: where it runs, and its environment. Upstream: the job as it was
// told, and the task's own environment. Downstream: script_run.h.

#include <string>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/stream/contract/stream_spec.h"
#include "jobs/stream/script_run.h"

namespace weir::stream {

enum class Side { kMap, kReduce };

/// Thread-safe. Ownership: the spec outlives this.
/// Checked by: tests/integration/streaming_test.py.
class Surroundings {
 public:
  explicit Surroundings(const StreamSpec& spec);

  /// Starts the script of a step; `range` is the input of a mapper, null where it has none.
  /// Errors: as ScriptRun::Start.
  absl::Status Start(ScriptRun& run, const StepIdentity& step, Side side,
                     const InputRange* range) const;

 private:
  using Variables = absl::btree_map<std::string, std::string>;

  Variables VariablesOf(const StepIdentity& step, Side side, const InputRange* range) const;
  void SetShipped(const Variables& variables, const char* variable, const char* property,
                  Properties& properties) const;

  const StreamSpec& spec_;
  const std::string directory_;
};

}  // namespace weir::stream
