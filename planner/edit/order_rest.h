#pragma once

// Orders what is left of an edited plan by the ordinary builders. Upstream: EditPlan. Downstream:
// planner/order.

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/edit/edited_plan.h"
#include "planner/order/order_by_slack.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// Work (SlackSchedule::work) that ordering what is left may cost: a tenth of what a first plan may
/// have. The job goes on by the old plan meanwhile, and what is ordered now is often edited again.
inline constexpr std::int64_t kEditSlackWorkMax = 10'000'000;

/// How much is tried to find a good order.
enum class OrderEffort { kList, kSlack };

/// Orders what is left of `edited`, adds it to the orders of what is done, and fills in planned
/// times: seconds since the start of the run, as predicted. Returns the prediction of the whole.
///
/// Model: list scheduling (OrderByPriority), what is under way first; with kSlack also
/// OrderBySlack,
///   which may cut waiting transfers, where that ends earlier. kFetchAll plans: OrderFetchAll.
///   kRates plans: OrderRestByRates, with lanes OrderRestByLanes, which leave what is under way its
///   rates. Then OrderStore, under-way writes first.
/// Errors: those of the order builders.
absl::StatusOr<Prediction> OrderRest(OrderEffort effort, EditedPlan* edited);

}  // namespace weir::planner
