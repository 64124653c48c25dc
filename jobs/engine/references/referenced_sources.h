#pragma once

// Sections of runs with the records that they refer to. Upstream: sections of runs. Downstream:
// who merges them, which sees whole records only.

#include <memory>
#include <vector>

#include "jobs/api/program.h"
#include "jobs/engine/references/referenced_files.h"

namespace weir {

/// Sections of runs whose blocks hold whole records, wherever these came from.
///
/// Where the step is not told of references (StepContext::refers_to_input), blocks are passed on as
/// they are, and whoever reads one of references finds it damaged: a run of others must not say
/// which files are read here.
///
/// Thread-safety: each source one thread at a time, several at once.
/// Errors: of sources, those of RecordFinder too.
/// Bounds: the block that each source gave last, and what RecordFinder holds.
/// Checked by: tests/unit/jobs/references_test.cc.
class ReferencedSources {
 public:
  using Sources = std::vector<std::unique_ptr<RunSource>>;

  /// All outlive this.
  ReferencedSources(const Sources& sources, ReferencedFiles& files, StepContext& context);

  const Sources& sources() const { return whole_.empty() ? given_ : whole_; }

 private:
  const Sources& given_;
  Sources whole_;  // around those; none where nothing is referred to
};

}  // namespace weir
