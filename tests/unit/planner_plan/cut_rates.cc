#include "tests/unit/planner_plan/cut_rates.h"

#include <algorithm>

namespace weir::planner {

std::vector<double> MostAcrossCuts(const Plan& plan, const std::vector<Interval>& transfers) {
  Seconds last_s = 0;
  for (const Interval& interval : transfers) last_s = std::max(last_s, interval.finish_s);
  const Seconds rounding_s = 1e-9 * last_s;
  std::vector<double> most(plan.network.cuts.size(), 0);
  for (std::size_t cut = 0; cut < most.size(); ++cut) {
    // The sum rises at starts only.
    for (const Interval& moment : transfers) {
      double sum = 0;
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        const Transfer& transfer = plan.transfers[i];
        if (!plan.network.cuts[cut].Crosses(transfer.sender, transfer.receiver)) continue;
        if (transfers[i].start_s > moment.start_s) continue;
        if (transfers[i].finish_s <= moment.start_s + rounding_s) continue;
        const auto sender = static_cast<std::size_t>(transfer.sender);
        const auto receiver = static_cast<std::size_t>(transfer.receiver);
        const std::vector<double>& slowdown = plan.network.port_slowdown;
        sum += slowdown.empty() ? 1 : 1 / std::max(slowdown[sender], slowdown[receiver]);
      }
      most[cut] = std::max(most[cut], sum);
    }
  }
  return most;
}

std::vector<Interval> PlannedTransfers(const Plan& plan) {
  std::vector<Interval> intervals;
  for (const Transfer& transfer : plan.transfers) {
    intervals.push_back({transfer.start_s, transfer.start_s + transfer.duration_s});
  }
  return intervals;
}

}  // namespace weir::planner
