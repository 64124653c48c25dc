#pragma once

// A second opinion on Predict: looks at every item in every moment and knows neither graph nor
// heap.

#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

struct NaiveTimes {
  std::vector<Interval> steps;
  std::vector<Interval> transfers;
  Seconds makespan_s = 0;
};

/// Simulates a small feasible plan moment by moment. O(items^2) and worse.
NaiveTimes SimulateNaively(const Plan& plan);

}  // namespace weir::planner
