#include "tests/unit/planner_plan/naive_simulation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "planner/plan/units.h"

namespace weir::planner {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Simulation {
 public:
  explicit Simulation(const Plan& plan) : plan_(plan) {
    times_.steps.assign(plan.steps.size(), {kNever, kNever});
    times_.transfers.assign(plan.transfers.size(), {kNever, kNever});
    for (const Transfer& transfer : plan.transfers) {
      left_.push_back(static_cast<double>(transfer.bytes));
    }
  }

  NaiveTimes Run() {
    for (;;) {
      while (StartSome()) {
      }
      const double next = NextMoment();
      if (next == kNever) {
        if (std::exchange(forgotten_, true)) break;
        continue;
      }
      if (Fluid()) Flow(next);
      now_ = next;
    }
    for (const Interval& interval : times_.steps) {
      times_.makespan_s = std::max(times_.makespan_s, interval.finish_s);
    }
    for (const Interval& interval : times_.transfers) {
      times_.makespan_s = std::max(times_.makespan_s, interval.finish_s);
    }
    return times_;
  }

 private:
  bool Fluid() const { return plan_.transfer_order == TransferOrder::kFetchAll; }
  bool StepDone(StepIndex i) const { return times_.steps[At(i)].finish_s <= now_; }
  bool TransferDone(TransferIndex i) const { return times_.transfers[At(i)].finish_s <= now_; }

  bool ByRates() const { return plan_.transfer_order == TransferOrder::kRates; }

  // Whether the rates of all that is under way, and with lanes of all that is to begin before it,
  // leave its own, everywhere.
  bool RateIsLeft(TransferIndex i) const {
    for (std::size_t r = 0; r < 2 * At(plan_.network.num_workers) + plan_.network.cuts.size();
         ++r) {
      if (!UsesResource(At(i), r)) continue;
      double left = FullRate(r) *
                    (plan_.network.pacing_fraction > 0 ? plan_.network.pacing_fraction : 1) *
                    (1 + 1e-9);
      left -= plan_.transfers[At(i)].rate_bytes_per_s;
      for (std::size_t other = 0; other < plan_.transfers.size(); ++other) {
        const Interval& interval = times_.transfers[other];
        const bool under_way = interval.start_s != kNever && interval.finish_s > now_;
        const bool waits_before = plan_.port_lanes > 0 && other < At(i) &&
                                  interval.start_s == kNever &&
                                  (!forgotten_ || StepDone(plan_.transfers[other].producer));
        if ((under_way || waits_before) && UsesResource(other, r))
          left -= plan_.transfers[other].rate_bytes_per_s;
      }
      if (left < 0) return false;
    }
    return true;
  }

  bool HeadsList(const std::vector<TransferIndex>& list, TransferIndex item) const {
    for (const TransferIndex other : list) {
      if (other == item) return true;
      if (!TransferDone(other)) return false;
    }
    return true;
  }

  bool StepMayStart(StepIndex i) const {
    const ComputeStep& step = plan_.steps[At(i)];
    if (step.release_s > now_) return false;
    for (const StepIndex before : step.after_steps) {
      if (!StepDone(before)) return false;
    }
    for (const TransferIndex before : step.after_transfers) {
      if (!TransferDone(before)) return false;
    }
    for (const StepIndex other : plan_.compute_order[At(step.worker)]) {
      if (other == i) break;
      const bool same_queue =
          (plan_.steps[At(other)].kind == StepKind::kCombine) == (step.kind == StepKind::kCombine);
      if (same_queue && !StepDone(other)) return false;
    }
    for (const auto& list : plan_.store_order) {
      for (const StepIndex other : list) {
        if (other == i) break;
        const bool here = std::find(list.begin(), list.end(), i) != list.end();
        if (here && !StepDone(other)) return false;
      }
    }
    return true;
  }

  bool TransferMayStart(TransferIndex i) const {
    const Transfer& transfer = plan_.transfers[At(i)];
    if (!StepDone(transfer.producer)) return false;
    if (Fluid()) return true;
    if (ByRates()) return RateIsLeft(i);
    if (!HeadsList(plan_.send_order[At(transfer.sender)], i)) return false;
    if (!HeadsList(plan_.receive_order[At(transfer.receiver)], i)) return false;
    for (const auto& channels : plan_.channel_order) {
      for (const auto& list : channels) {
        if (std::find(list.begin(), list.end(), i) != list.end() && !HeadsList(list, i)) {
          return false;
        }
      }
    }
    return true;
  }

  bool StartSome() {
    bool any = false;
    for (StepIndex i = 0; At(i) < plan_.steps.size(); ++i) {
      Interval& interval = times_.steps[At(i)];
      if (interval.start_s != kNever || !StepMayStart(i)) continue;
      interval = {now_, now_ + plan_.steps[At(i)].duration_s};
      any = true;
    }
    for (TransferIndex i = 0; At(i) < plan_.transfers.size(); ++i) {
      Interval& interval = times_.transfers[At(i)];
      if (interval.start_s != kNever || !TransferMayStart(i)) continue;
      const Transfer& transfer = plan_.transfers[At(i)];
      interval.start_s = now_;
      const NetworkModel& network = plan_.network;
      if (!Fluid() || network.seconds_per_byte == 0 || transfer.bytes == 0) {
        interval.finish_s =
            now_ +
            (ByRates()
                 ? (plan_.port_lanes > 0 && network.transfer_gap_s > 0 ? network.transfer_gap_s
                                                                       : network.latency_s) +
                       static_cast<double>(transfer.bytes) / transfer.rate_bytes_per_s
                 : network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes));
      }
      any = true;
    }
    return any;
  }

  bool IsFlowing(std::size_t i) const {
    return times_.transfers[i].start_s != kNever && times_.transfers[i].finish_s == kNever &&
           times_.transfers[i].start_s + plan_.network.latency_s <= now_;
  }

  bool UsesResource(std::size_t i, std::size_t resource) const {
    const Transfer& transfer = plan_.transfers[i];
    const std::size_t n = At(plan_.network.num_workers);
    if (resource < n) return At(transfer.sender) == resource;
    if (resource < 2 * n) return At(transfer.receiver) == resource - n;
    return plan_.network.cuts[resource - 2 * n].Crosses(transfer.sender, transfer.receiver);
  }

  double FullRate(std::size_t resource) const {
    const std::size_t n = At(plan_.network.num_workers);
    const double channel = 1 / plan_.network.seconds_per_byte;
    if (resource >= 2 * n) return channel * plan_.network.cuts[resource - 2 * n].channels;
    const std::vector<double>& slowdown = plan_.network.port_slowdown;
    return slowdown.empty() ? channel : channel / slowdown[resource % n];
  }

  // Raises all rates together; whoever uses a full resource stops.
  std::vector<double> Rates() const {
    const std::size_t n = At(plan_.network.num_workers);
    const std::size_t num_resources = 2 * n + plan_.network.cuts.size();
    std::vector<double> rates(plan_.transfers.size(), 0);
    std::vector<bool> rising(plan_.transfers.size());
    for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = IsFlowing(i);
    while (std::find(rising.begin(), rising.end(), true) != rising.end()) {
      double raise = kNever;
      std::size_t full = 0;
      for (std::size_t r = 0; r < num_resources; ++r) {
        double free = FullRate(r);
        int users = 0;
        for (std::size_t i = 0; i < rates.size(); ++i) {
          if (!UsesResource(i, r)) continue;
          free -= rates[i];
          users += rising[i] ? 1 : 0;
        }
        if (users > 0 && free / users < raise) {
          raise = free / users;
          full = r;
        }
      }
      for (std::size_t i = 0; i < rates.size(); ++i) {
        if (rising[i]) rates[i] += raise;
      }
      for (std::size_t i = 0; i < rates.size(); ++i) {
        if (UsesResource(i, full)) rising[i] = false;
      }
    }
    return rates;
  }

  double NextMoment() {
    double next = kNever;
    const auto consider = [&](double moment) {
      if (moment > now_) next = std::min(next, moment);
    };
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      consider(times_.steps[i].finish_s);
      consider(plan_.steps[i].release_s);
    }
    if (Fluid() && plan_.network.seconds_per_byte > 0) rates_ = Rates();
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      consider(times_.transfers[i].finish_s);
      consider(times_.transfers[i].start_s + plan_.network.latency_s);
      if (IsFlowing(i)) consider(now_ + left_[i] / rates_[i]);
    }
    return next;
  }

  void Flow(double until) {
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      if (!IsFlowing(i)) continue;
      left_[i] -= rates_[i] * (until - now_);
      if (left_[i] <= 1e-9 * static_cast<double>(plan_.transfers[i].bytes)) {
        times_.transfers[i].finish_s = until;
      }
    }
  }

  const Plan& plan_;
  double now_ = 0;
  bool forgotten_ = false;  // that those whose run is not there yet keep their places
  std::vector<double> left_;
  std::vector<double> rates_;
  NaiveTimes times_;
};

}  // namespace

NaiveTimes SimulateNaively(const Plan& plan) { return Simulation(plan).Run(); }

}  // namespace weir::planner
