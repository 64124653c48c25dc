#pragma once

// How long the output's file system takes until bytes are on disk. Upstream: JobRun, for a plan
// whose output is large. Downstream: env::Storage.

#include <string>

#include "runtime/env/event_loop.h"
#include "runtime/env/storage.h"

namespace weir::master {

/// Returns the seconds per byte that synced files of this file system take, whoever writes them; 0
/// where that cannot be told.
///
/// Writes a small and a larger file beside the output, some times, and takes by how much the sync
/// of one was longer than that of the other, since what any file takes is in both. Takes some 30 ms
/// where a second writes 400 MB. Leaves nothing; a master that dies meanwhile leaves
/// TrialDirectory(output).
/// Thread-safety: as `storage`; blocks. `clock` is asked for the time only.
/// Checked by: tests/unit/master/write_rate_test.cc.
double MeasureWriteSeconds(env::Storage& storage, const env::EventLoop& clock,
                           const std::string& output);

}  // namespace weir::master
