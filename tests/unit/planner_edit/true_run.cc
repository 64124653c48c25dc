#include "tests/unit/planner_edit/true_run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "planner/edit/rest_plan.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_edit/progress_of.h"

namespace weir::planner {
namespace {

double RateOf(const std::vector<double>& rates, WorkerIndex worker) {
  return rates.empty() ? 1 : rates[At(worker)];
}

}  // namespace

TrueRun::TrueRun(Plan plan, Reality reality)
    : plan_(std::move(plan)),
      network_(plan_.network),
      reality_(std::move(reality)),
      state_(NothingDone(plan_)),
      planned_rate_(At(plan_.network.num_workers), 1) {
  FindTimes();
}

double TrueRun::Noise(std::uint64_t item) const {
  std::uint64_t x = (item + 1) * 0x9E3779B97F4A7C15U + reality_.seed * 0xD1B54A32D192ED03U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  x ^= x >> 31;
  return 1 + reality_.noise * (2 * static_cast<double>(x >> 11) * 0x1p-53 - 1);
}

void TrueRun::FindTimes() {
  Plan real = plan_;
  const std::size_t begun = seconds_.size();
  seconds_.resize(plan_.steps.size(), 0);
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const WorkerIndex worker = plan_.steps[s].worker;
    if (s >= begun || state_.steps[s] == WorkState::kWaiting) {
      const double rate = plan_.steps[s].kind->stores
                              ? 1
                              : RateOf(reality_.rate, worker) / planned_rate_[At(worker)];
      seconds_[s] = plan_.steps[s].duration_s * Noise(2 * s) / rate;
    }
    real.steps[s].duration_s = seconds_[s];
  }
  real.network = network_;
  if (!reality_.port_rate.empty()) {
    std::vector<double>& slowdown = real.network.port_slowdown;
    if (slowdown.empty()) slowdown.assign(reality_.port_rate.size(), 1);
    for (std::size_t w = 0; w < slowdown.size(); ++w) slowdown[w] /= reality_.port_rate[w];
    // Channels would have other lanes; the orders of ports stay.
    real.network.cuts.clear();
    real.channel_order.clear();
  }
  for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
    Transfer& transfer = real.transfers[t];
    const auto which = (static_cast<std::uint64_t>(transfer.producer) << 32) +
                       static_cast<std::uint64_t>(transfer.consumer);
    if (state_.transfers[t] == WorkState::kWaiting) {
      transfer.bytes =
          std::llround(static_cast<double>(transfer.bytes) *
                       Noise(2 * (which + static_cast<std::uint64_t>(transfer.offset)) + 1));
    } else if (state_.transfers[t] == WorkState::kUnderWay) {
      transfer.duration_s = times_.transfers[t].finish_s - times_.transfers[t].start_s;
    }
  }
  const RestPlan rest = RestOf(real, state_);
  const Prediction left = *Predict(rest.plan);
  Prediction times;
  times.steps.resize(plan_.steps.size());
  times.transfers.resize(plan_.transfers.size());
  const auto join = [&](const Interval& interval, WorkState work, Seconds began_s,
                        Seconds ended_s) {
    Interval joined{state_.now_s + interval.start_s, state_.now_s + interval.finish_s};
    if (work != WorkState::kWaiting) joined.start_s = began_s;
    if (work == WorkState::kDone) joined.finish_s = ended_s;
    times.makespan_s = std::max(times.makespan_s, joined.finish_s);
    return joined;
  };
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    times.steps[s] =
        join(left.steps[s], state_.steps[s], state_.step_began_s[s], state_.step_ended_s[s]);
  }
  for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
    if (state_.transfers[t] != WorkState::kDone) continue;
    times.transfers[t] =
        join({}, WorkState::kDone, state_.transfer_began_s[t], state_.transfer_ended_s[t]);
  }
  for (std::size_t r = 0; r < rest.transfer_of.size(); ++r) {
    const auto t = At(rest.transfer_of[r]);
    times.transfers[t] =
        join(left.transfers[r], state_.transfers[t], state_.transfer_began_s[t], -1);
  }
  times_ = std::move(times);
}

void TrueRun::Advance(Seconds until_s) {
  state_ = ProgressOf(plan_, times_, std::move(state_), until_s, RunsStay::kToTheEnd);
}

std::vector<Bytes> TrueRun::BytesHeard() const {
  std::vector<Bytes> heard(plan_.steps.size(), 0);
  for (std::size_t s = 0; s < heard.size(); ++s) {
    if (state_.steps[s] != WorkState::kUnderWay || seconds_[s] <= 0) continue;
    const double share =
        std::clamp((state_.now_s - 0.5 - state_.step_began_s[s]) / seconds_[s], 0.0, 1.0);
    heard[s] = static_cast<Bytes>(std::floor(share * 1024) / 1024 *
                                  static_cast<double>(plan_.steps[s].input_bytes));
  }
  return heard;
}

void TrueRun::TakeEdit(const PlanEdit& edit, const PlanChange& change) {
  for (std::size_t w = 0; w < planned_rate_.size(); ++w) {
    planned_rate_[w] *= change.pace * RateOf(change.rate_factor, static_cast<WorkerIndex>(w));
  }
  Prediction before = std::move(times_);
  plan_ = edit.plan;
  state_ = edit.state;
  times_.transfers.assign(plan_.transfers.size(), {});
  for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
    if (edit.transfer_was[t] == kNoIndex) continue;
    times_.transfers[t] = before.transfers[At(edit.transfer_was[t])];
  }
  FindTimes();
}

}  // namespace weir::planner
