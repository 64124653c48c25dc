#include "runtime/task/map_step.h"

#include "runtime/env/real/machine_id.h"
#include "runtime/task/key_ends.h"
#include "runtime/task/start/guarded_call.h"

namespace weir::task {

namespace {

/// What the master saw, as far as it must be seen here too.
FileVersion VersionHere(const v1::FileVersion& listed) {
  FileVersion version{.modified_ns = listed.modified_ns()};
  if (listed.machine() == 0 || listed.machine() != env::MachineId()) return version;
  version.changed_ns = listed.changed_ns();
  version.inode = listed.inode();
  version.device = listed.device();
  return version;
}

}  // namespace

absl::StatusOr<StepTotals> MapToRun(const StepWork& work, RunSink& sink) {
  MapOrder map;
  for (const v1::InputRange& range : work.order.ranges()) {
    map.ranges.push_back({range.path(), range.begin(), range.end(), range.file_bytes(),
                          VersionHere(range.version())});
    for (const v1::PackedBorder& border : range.borders()) {
      map.ranges.back().borders.push_back({border.at(), border.text_at()});
    }
    map.ranges.back().text_bytes = range.text_bytes();
  }
  absl::StatusOr<std::vector<double>> key_ends =
      GuardedCall([&] { return KeyEnds(work.order, work.program.num_places(1)); });
  if (!key_ends.ok()) return key_ends.status();
  map.consumer_key_end = *std::move(key_ends);
  return GuardedCall([&] { return work.program.Map(map, sink, work.context); });
}

}  // namespace weir::task
