#pragma once

// What one slot of a step has put on disk, as sorted sections, in the order of its input. Upstream:
// combine_layer.h, group_layer.h, when the memory of the step is full. Downstream: the same, which
// merge it at the end.

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "jobs/api/program.h"

namespace weir {

using RunSources = std::vector<std::unique_ptr<RunSource>>;

/// Files of sorted sections, one behind the other. A number of files of one size become one of the
/// next size, so that few of them are open at a time, however many there were.
///
/// Thread-safety: one thread at a time; OpenSection by several.
/// Bounds: of each size kTogether - 1 files, of which a merge reads a block each; each byte is
///   written again for each size.
/// Checked by: tests/unit/jobs/spill_test.cc.
class SlotSpills {
 public:
  /// Writes sorted sections in rising order of consumer.
  using Write = std::function<absl::Status(RunSink& sink)>;
  /// Writes what the sources, in their order, hold for a consumer as one sorted section.
  using Merge = std::function<absl::Status(int consumer, const RunSources& sources, RunSink& sink)>;

  /// So many files of one size become one.
  static constexpr std::size_t kTogether = 16;

  /// `merge` must keep the order of what is equal.
  SlotSpills(int num_consumers, Merge merge)
      : num_consumers_(num_consumers), merge_(std::move(merge)) {}

  /// Adds a file behind the others. Errors: those of StepContext::NewSpill, of the file, of merge.
  absl::Status Add(StepContext& context, const Write& write);

  bool empty() const { return files_.empty(); }
  std::size_t num_files() const { return files_.size(); }
  /// Appends the section of `consumer` of each file. Errors: those of SpillFile::Open.
  absl::Status OpenSection(int consumer, RunSources& sources) const;

 private:
  struct File {
    std::unique_ptr<SpillFile> file;
    int level = 0;  // how often its records were merged
  };

  absl::Status MergeLast(StepContext& context);
  absl::Status OpenFrom(std::size_t first, int consumer, RunSources& sources) const;

  int num_consumers_;
  Merge merge_;
  std::vector<File> files_;  // levels fall
};

/// How many slots may merge sections of so many files each: their blocks take a quarter of what the
/// step may have, or one slot merges.
int MergingSlots(std::size_t num_files, StepContext& context);

}  // namespace weir
