// Properties of rates over time: plans are feasible by CheckPlan and by a sweep that knows nothing
// of it, one wave ends when the busiest port or cut can, and whatever senders have heard, what they
// may send at never adds up to more than a port or cut carries.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_rates.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/predict/rate_allocation.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_job/rated_shuffles.h"

namespace weir::planner {
namespace {

double RateAt(const Plan& plan, const Transfer& transfer, Seconds time_s) {
  const Seconds touch_s = 1e-9 * plan.summary.makespan_s;
  if (time_s < transfer.start_s || time_s >= transfer.start_s + transfer.duration_s - touch_s) {
    return 0;
  }
  double rate = transfer.rate_bytes_per_s;
  for (const RateChange& change : transfer.rate_changes) {
    if (change.at_s <= time_s) rate = change.bytes_per_s;
  }
  return rate;
}

/// At every begin and change: what is under way then, by resource.
void ExpectRatesFitOverTime(const Plan& plan) {
  std::vector<Seconds> moments;
  for (const Transfer& transfer : plan.transfers) {
    moments.push_back(transfer.start_s);
    for (const RateChange& change : transfer.rate_changes) moments.push_back(change.at_s);
  }
  for (std::size_t r = 0; r < NumResources(plan); ++r) {
    for (const Seconds moment_s : moments) {
      double together = 0;
      for (const Transfer& transfer : plan.transfers) {
        if (Uses(plan, transfer, r)) together += RateAt(plan, transfer, moment_s);
      }
      RC_ASSERT(together <= Carries(plan, r) * (1 + 1e-6));
    }
  }
}

Seconds LastEnd(const Plan& plan) {
  Seconds end_s = 0;
  for (const Transfer& transfer : plan.transfers) {
    end_s = std::max(end_s, transfer.start_s + transfer.duration_s);
  }
  return end_s;
}

RC_GTEST_PROP(RatesOverTimeProperty, WavesAreFeasibleAndConfirmed, ()) {
  Plan plan = DrawShuffle([] { return *rc::gen::element(0.5, 1.0, 1.2, 1.7); });
  RC_ASSERT(OrderByRatesOverTime(&plan).ok());
  const absl::Status checked = CheckPlan(plan);
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
  ExpectRatesFitOverTime(plan);
  const Prediction prediction = *Predict(plan);
  RC_ASSERT(prediction.makespan_s == plan.summary.makespan_s);
  RC_ASSERT(*OrderBound(plan) <= prediction.makespan_s * (1 + 1e-9));
}

RC_GTEST_PROP(RatesOverTimeProperty, OneWaveEndsWhenTheBusiestPortOrCutCan, ()) {
  Plan plan = DrawShuffle([] { return 1.0; });
  RC_ASSERT(OrderByRatesOverTime(&plan).ok());
  Plan constant = plan;
  RC_ASSERT(OrderByRates(&constant).ok());
  RC_ASSERT(LastEnd(plan) <= LastEnd(constant) * (1 + 1e-9));
}

/// As long as runs are to come, nothing is left of some port or cut of each transfer, but for what
/// was not worth a change: had a division given everybody less than a twentieth more, that much
/// less than it carries was in use.
RC_GTEST_PROP(RatesOverTimeProperty, NobodyCouldHaveMuchMore, ()) {
  Plan plan = DrawShuffle([] { return *rc::gen::element(0.5, 1.0, 1.2, 1.7); });
  RC_ASSERT(OrderByRatesOverTime(&plan).ok());
  std::vector<Seconds> moments;
  for (const Transfer& transfer : plan.transfers) {
    // What happens at one moment is apart by rounding.
    const Seconds touch_s = 2e-9 * plan.summary.makespan_s;
    moments.push_back(transfer.start_s + touch_s);
    moments.push_back(transfer.start_s + transfer.duration_s + touch_s);
  }
  Seconds last_comes_s = 0;
  for (const Transfer& t : plan.transfers) {
    last_comes_s = std::max(last_comes_s, plan.steps[At(t.producer)].duration_s);
  }
  for (const Seconds moment_s : moments) {
    if (moment_s >= last_comes_s) continue;
    for (const Transfer& transfer : plan.transfers) {
      const double rate = RateAt(plan, transfer, moment_s);
      const Seconds left_s = transfer.start_s + transfer.duration_s - moment_s;
      // What ends soon keeps its rate, at whatever rate the others then are.
      if (rate == 0 || left_s <= 2 * kRateKeptS) continue;
      double more = std::numeric_limits<double>::infinity();
      double largest = 0;
      for (std::size_t r = 0; r < NumResources(plan); ++r) {
        if (!Uses(plan, transfer, r)) continue;
        double left = Carries(plan, r);
        for (const Transfer& other : plan.transfers) {
          if (!Uses(plan, other, r)) continue;
          left -= RateAt(plan, other, moment_s);
        }
        more = std::min(more, left);
        largest = std::max(largest, Carries(plan, r));
      }
      RC_LOG() << "at " << moment_s << " s, transfer to step " << transfer.consumer << " from "
               << transfer.producer << " at " << rate << ", could have " << more << " more of "
               << largest << "\n";
      RC_ASSERT(more <= largest * kRateGainMin);
    }
  }
}

/// What senders may be sending at, by what they were told and what they have confirmed.
class Senders {
 public:
  explicit Senders(const Plan& plan) : plan_(plan) {}

  void Tell(const RateOrder& order) { told_[order.transfer].push_back(order); }
  void Ended(TransferIndex transfer) { told_.erase(transfer); }
  bool empty() const { return told_.empty(); }
  std::size_t size() const { return told_.size(); }

  TransferIndex Draw() const {
    auto it = told_.begin();
    std::advance(it, *rc::gen::inRange<std::size_t>(0, told_.size()));
    return it->first;
  }

  /// One that was told its rates up to some number: earlier ones are forgotten.
  std::int32_t Confirm(TransferIndex transfer) {
    std::vector<RateOrder>& told = told_.at(transfer);
    const auto upto =
        *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(told.size()));
    told.erase(told.begin(), told.begin() + upto);
    return told.front().number;
  }

  void ExpectFit() const {
    for (std::size_t r = 0; r < NumResources(plan_); ++r) {
      double together = 0;
      for (const auto& [transfer, told] : told_) {
        if (!Uses(plan_, plan_.transfers[At(transfer)], r)) continue;
        double most = 0;
        for (const RateOrder& order : told) most = std::max(most, order.bytes_per_s);
        together += most;
      }
      RC_ASSERT(together <= Carries(plan_, r) * (1 + 1e-6));
    }
  }

 private:
  const Plan& plan_;
  std::map<TransferIndex, std::vector<RateOrder>> told_;
};

RC_GTEST_PROP(RatesOverTimeProperty, RatesFitWhateverSendersHaveHeard, ()) {
  Plan plan = DrawShuffle([] { return 1.0; });
  RC_ASSERT(OrderByRatesOverTime(&plan).ok());
  RateAllocation allocation(plan);
  Senders senders(plan);
  std::vector<TransferIndex> to_come;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    to_come.push_back(static_cast<TransferIndex>(t));
  }
  std::size_t waiting = 0;
  Seconds now_s = 1;
  const auto take = [&] {
    const RateAllocation::Turn turn = allocation.Take(now_s);
    waiting -= turn.begin.size();
    for (const RateOrder& order : turn.begin) senders.Tell(order);
    for (const RateOrder& order : turn.change) senders.Tell(order);
    senders.ExpectFit();
  };
  const int num_events = *rc::gen::inRange(1, 200);
  for (int i = 0; i < num_events; ++i) {
    now_s += *rc::gen::element(0.0, 0.001, 0.1, 1.0);
    const int what = *rc::gen::inRange(0, 5);
    if (what == 0 && !to_come.empty()) {
      const auto bytes = plan.transfers[At(to_come.back())].bytes;
      allocation.Wait(to_come.back(), bytes);
      to_come.pop_back();
      ++waiting;
    } else if (what == 1 && !senders.empty()) {
      const TransferIndex ends = senders.Draw();
      allocation.End(ends);
      senders.Ended(ends);
    } else if (what == 2 && !senders.empty() && *rc::gen::inRange(0, 4) == 0) {
      allocation.Fix(senders.Draw());
    } else if (!senders.empty()) {
      const TransferIndex confirms = senders.Draw();
      allocation.Confirm(confirms, senders.Confirm(confirms));
    }
    take();
  }
  // All that is under way ends: whoever waits must have begun by then.
  for (int turns = 0; !senders.empty() || waiting > 0; ++turns) {
    RC_ASSERT(turns <= static_cast<int>(plan.transfers.size()));
    RC_ASSERT(!senders.empty());
    now_s += 0.1;
    const TransferIndex ends = senders.Draw();
    allocation.End(ends);
    senders.Ended(ends);
    take();
  }
}

}  // namespace
}  // namespace weir::planner
