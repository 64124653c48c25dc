#pragma once

// What the task processes of a job printed last, as it is kept with the job. Pure. Upstream:
// JobReservation, by what workers say when they release the job. Downstream: the journal, GetLogs.

#include <cstddef>
#include <vector>

#include "weir/v1/services.pb.h"

namespace weir::master {

/// What logs of one job may have together. Each worker keeps up to limits::kTaskOutputTailBytes: of
/// a thousand workers they would be a message's whole length, for each job that the journal
/// remembers.
inline constexpr std::size_t kLogsBytesMax = 16 << 20;

/// Returns the logs, of which the longest lose what comes first, all down to one length, so that
/// their words have `bytes_max` bytes together at most.
/// Checked by: tests/unit/master/worker_logs_test.cc.
std::vector<v1::WorkerLog> FittedLogs(std::vector<v1::WorkerLog> logs,
                                      std::size_t bytes_max = kLogsBytesMax);

}  // namespace weir::master
