#pragma once

// How many losses of workers a job tells one by one. Pure. Upstream: JobRun. Downstream: the status
// and the plans of a job, and so users and later masters.

#include "weir/v1/job.pb.h"

namespace weir::master {

/// Losses that a job tells one by one: more than anybody reads. Each status that is sent and each
/// plan in the journal names them all.
inline constexpr int kLossesToldMax = 100;

/// Puts one entry, without a worker, in the place of the oldest losses where there are more than
/// kLossesToldMax. Those for which no plan was made yet stay: the next one is for them.
///
/// Returns: nothing; `losses` stay in their order, and never get fewer than kLossesToldMax.
/// Requires: a loss without a plan stands behind all that have one.
/// Thread-safety: pure. O(losses).
/// Checked by: tests/unit/master/told_losses_test.cc.
void SumUpOldLosses(google::protobuf::RepeatedPtrField<v1::WorkerLoss>& losses);

/// Whether it stands for several that are told no more.
bool IsSumOfLosses(const v1::WorkerLoss& loss);

}  // namespace weir::master
