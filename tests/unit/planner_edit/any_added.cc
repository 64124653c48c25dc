#include "tests/unit/planner_edit/any_added.h"

#include <random>
#include <string>
#include <utility>

#include "planner/plan/units.h"

namespace weir::planner {

PlanChange::Added AnyAdded(const Plan& plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&random](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  PlanChange::Added added;
  const auto known = At(plan.network.num_workers);
  added.network = plan.network;
  added.network.port_lag.clear();
  added.compute_rate.assign(known, draw(0, 5) == 0 ? 0 : 1);
  for (int more = draw(1, 2); more > 0; --more) {
    added.names.push_back("new " + std::to_string(more));
    added.compute_rate.push_back(0.25 * draw(1, 16));
    ++added.network.num_workers;
    // As slow as one of the others, so that channels keep their lanes.
    std::vector<double>& slowdown = added.network.port_slowdown;
    if (!slowdown.empty()) {
      slowdown.push_back(slowdown[At(draw(0, static_cast<int>(known) - 1))]);
    }
    for (Cut& cut : added.network.cuts) {
      cut.from.push_back(draw(0, 1) == 1);
      cut.to.push_back(draw(0, 1) == 1);
    }
  }
  if (draw(0, 1) == 0) return added;
  Cut own;
  own.name = "to new ones of " + std::to_string(seed);
  own.channels = draw(1, 2);
  const auto all = At(added.network.num_workers);
  own.from.assign(all, true);
  own.to.assign(known, false);
  own.to.resize(all, true);
  // Wherever it stands, the cuts of the plan keep their places.
  added.network.cuts.insert(added.network.cuts.begin(), std::move(own));
  return added;
}

}  // namespace weir::planner
