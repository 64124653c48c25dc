#include "planner/edit/added_workers.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/cut_lanes.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

template <typename... Parts>
absl::Status Refused(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("New workers: ", parts...));
}

absl::Status CheckRates(const std::vector<double>& rates, std::size_t known) {
  for (std::size_t w = 0; w < rates.size(); ++w) {
    const bool unknown = w < known && rates[w] == 0;
    if (unknown || (rates[w] >= kPlanValueMin && rates[w] <= kPlanValueMax)) continue;
    return Refused("the compute rate of worker ", w, " must be between 1e-100 and 1e100, is ",
                   rates[w]);
  }
  return absl::OkStatus();
}

double SlowdownOf(const NetworkModel& network, std::size_t worker) {
  return network.port_slowdown.empty() ? 1 : network.port_slowdown[worker];
}

/// The same pairs of the first workers cross it.
bool SameBetween(std::size_t known, const Cut& before, const Cut& after) {
  const auto same = [known](const std::vector<bool>& a, const std::vector<bool>& b) {
    return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(known), b.begin());
  };
  return before.name == after.name && before.channels == after.channels &&
         same(before.from, after.from) && same(before.to, after.to);
}

bool AnyCrosses(std::size_t known, const Cut& cut) {
  for (std::size_t a = 0; a < known; ++a) {
    for (std::size_t b = 0; b < known; ++b) {
      if (a != b && cut.from[a] && cut.to[b]) return true;
    }
  }
  return false;
}

/// Sorts the cuts so that those of the plan before have their places.
absl::Status KeepCuts(const NetworkModel& before, NetworkModel* after) {
  const auto known = At(before.num_workers);
  std::vector<Cut> more = std::exchange(after->cuts, {});
  for (const Cut& cut : before.cuts) {
    const auto same = std::find_if(more.begin(), more.end(),
                                   [&](const Cut& c) { return SameBetween(known, cut, c); });
    if (same == more.end()) {
      return Refused("the cut '", cut.name, "' would be another one between workers of the plan");
    }
    after->cuts.push_back(*same);
    more.erase(same);
  }
  for (Cut& cut : more) {
    if (AnyCrosses(known, cut)) {
      return Refused("the cut '", cut.name, "' would be new between workers of the plan");
    }
    after->cuts.push_back(std::move(cut));
  }
  return absl::OkStatus();
}

/// Errors: where it would be another one between the workers of `before`.
absl::Status KeepNetwork(const NetworkModel& before, NetworkModel* after) {
  const auto known = At(before.num_workers);
  if (before.seconds_per_byte != after->seconds_per_byte || before.latency_s != after->latency_s ||
      before.pacing_fraction != after->pacing_fraction ||
      before.sharing_fraction != after->sharing_fraction ||
      before.cut_sharing_fraction != after->cut_sharing_fraction ||
      before.sharing_resent_fraction != after->sharing_resent_fraction ||
      before.transfer_gap_s != after->transfer_gap_s) {
    return Refused("the network would have other rates between workers of the plan");
  }
  for (std::size_t w = 0; w < known; ++w) {
    if (SlowdownOf(before, w) == SlowdownOf(*after, w)) continue;
    return Refused("the port of worker ", w, " would be another one");
  }
  // Transfers under way hold lanes of the cuts.
  if (!before.cuts.empty() && CutLanes(before).per_channel() != CutLanes(*after).per_channel()) {
    return Refused("the port of a new one is so slow that channels would have other lanes");
  }
  return KeepCuts(before, after);
}

absl::Status CheckSizes(const PlanChange::Added& added, std::size_t known) {
  const std::size_t all = known + added.names.size();
  if (added.compute_rate.size() != all || At(added.network.num_workers) != all) {
    return Refused(added.names.size(), " beside ", known, " of the plan, but ",
                   added.compute_rate.size(), " compute rates and a network of ",
                   added.network.num_workers);
  }
  if (absl::Status status = CheckNetwork(added.network); !status.ok()) return status;
  return CheckRates(added.compute_rate, known);
}

/// Of the plan's own rates, for a worker whose profile says 1; 0: not known.
double PlanRatePerRate(const PlanState& state, const std::vector<double>& of_plan,
                       const std::vector<double>& rates) {
  std::vector<double> known;
  for (std::size_t w = 0; w < of_plan.size(); ++w) {
    const bool gone = !state.gone.empty() && state.gone[w];
    if (!gone && rates[w] > 0) known.push_back(of_plan[w] / rates[w]);
  }
  if (known.empty()) return 0;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), middle, known.end());
  return *middle;
}

}  // namespace

absl::Status AddWorkers(const PlanChange::Added& added, Plan* plan, PlanState* state) {
  if (added.names.empty()) return absl::OkStatus();
  const auto known = At(plan->network.num_workers);
  if (absl::Status status = CheckSizes(added, known); !status.ok()) return status;
  const std::size_t all = known + added.names.size();
  NetworkModel network = added.network;
  // Who was alone has sent nothing.
  if (known > 1) {
    if (absl::Status status = KeepNetwork(plan->network, &network); !status.ok()) return status;
  }
  network.port_lag = plan->network.port_lag;
  if (!network.port_lag.empty()) network.port_lag.resize(all, 1);

  std::vector<double> rates = ComputeRates(*plan);
  const double per_rate = PlanRatePerRate(*state, rates, added.compute_rate);
  for (std::size_t w = known; w < all; ++w) {
    const double rate = added.compute_rate[w] * per_rate;
    rates.push_back(rate > 0 ? std::clamp(rate, kPlanValueMin, kPlanValueMax) : 1);
  }
  plan->compute_rate = std::move(rates);
  if (!state->gone.empty()) state->gone.resize(all, false);

  plan->network = std::move(network);
  plan->compute_order.resize(all);
  plan->send_order.resize(all);
  plan->receive_order.resize(all);
  plan->channel_order.resize(plan->network.cuts.size());
  return absl::OkStatus();
}

}  // namespace weir::planner
