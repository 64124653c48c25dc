#pragma once

// The plan of one shuffle whose bytes are known exactly. Upstream: lab_plan_main (files).
// Downstream: planner/plan, weir submit --plan-file.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"
#include "runtime/master/options/master_options.h"

namespace weir::netlab {

struct ShuffleRequest {
  planner::NetworkModel network;
  double pacing_fraction = master::MasterOptions().pacing_fraction;
  /// bytes[j][k]: of the section that the mapper on worker j makes for the reducer on worker k.
  std::vector<std::vector<planner::Bytes>> bytes;
  /// When mapper j is ready, seconds from the start of the run.
  std::vector<double> ready_s;
  /// Input bytes of each mapper.
  planner::Bytes record_bytes = 0;
  double reduce_s = 0.01;
  /// Section bytes moved at once at most; 0 = the planner's choice.
  planner::Bytes piece_bytes_max = 0;
  /// "planned" (as jobs are: CoalescePieces and OrderBySlack, or by rates or fetched from all where
  /// that is predicted to be shorter), "planned-pieces" (OrderBySlack with a grant for each
  /// piece), "rotation" (list rule), "rates" (OrderByRates), "rates-over-time"
  /// (OrderByRatesOverTime), "lanes-N" (OrderByLanes of the
  /// order of jobs; 1 is that order), "fetch-all" or "fetch-N".
  std::string method;
};

/// Errors: kInvalidArgument naming what is wrong with the request.
absl::StatusOr<planner::Plan> PlanShuffle(const ShuffleRequest& request);

}  // namespace weir::netlab
