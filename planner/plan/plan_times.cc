#include "planner/plan/plan_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/plan_structure.h"

namespace weir::planner {
namespace {

constexpr double kTimeTolerance = 1e-9;

struct SumChange {
  Seconds when_s = 0;
  double bytes_per_s = 0;  // below 0: an end, or a lower rate
  TransferIndex transfer = kNoIndex;
};

// One port or one cut and all that uses it. `what` names it when it is overloaded.
absl::Status CheckSum(const Plan& plan, const std::vector<TransferIndex>& uses, double carries,
                      const std::string& what, Seconds tolerance_s) {
  std::vector<SumChange> changes;
  for (const TransferIndex index : uses) {
    const Transfer& transfer = plan.transfers[At(index)];
    const Seconds end_s = transfer.start_s + transfer.duration_s - tolerance_s;
    if (end_s <= transfer.start_s) continue;
    changes.push_back({transfer.start_s, transfer.rate_bytes_per_s, index});
    double rate = transfer.rate_bytes_per_s;
    for (const RateChange& change : transfer.rate_changes) {
      if (change.at_s >= end_s) break;
      changes.push_back({change.at_s, change.bytes_per_s - rate, index});
      rate = change.bytes_per_s;
    }
    changes.push_back({end_s, -rate, index});
  }
  std::sort(changes.begin(), changes.end(), [](const SumChange& a, const SumChange& b) {
    return std::tie(a.when_s, a.bytes_per_s, a.transfer) <
           std::tie(b.when_s, b.bytes_per_s, b.transfer);
  });
  double together = 0;
  for (const SumChange& change : changes) {
    together += change.bytes_per_s;
    if (together <= carries * (1 + kRateTolerance)) continue;
    return Invalid("Rates of ", what, " add up to ", together, " bytes/s at ", change.when_s,
                   " s, when transfer ", change.transfer,
                   " begins or gets a higher one; it carries ", carries);
  }
  return absl::OkStatus();
}

// What one port or one cut has to carry of one transfer of a kFetchAll plan.
struct Demand {
  Seconds from_s = 0;  // its latency is over
  Seconds until_s = 0;
  Seconds left_s = 0;  // with all of the rate
  TransferIndex transfer = kNoIndex;
};

// Whether any division of one rate over time serves all demands within their times. The one that
// must end first gets all of it: what is late then is late however the rate is divided (W. A. Horn,
// "Some simple scheduling algorithms", Naval Research Logistics Quarterly 21, 1974).
absl::Status CheckDemands(std::vector<Demand> demands, const std::string& what,
                          Seconds tolerance_s) {
  std::sort(demands.begin(), demands.end(), [](const Demand& a, const Demand& b) {
    return std::tie(a.from_s, a.transfer) < std::tie(b.from_s, b.transfer);
  });
  using Entry = std::pair<Seconds, std::size_t>;  // until_s, position in demands
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;
  Seconds now_s = 0;
  std::size_t next = 0;
  while (next < demands.size() || !waiting.empty()) {
    if (waiting.empty()) now_s = std::max(now_s, demands[next].from_s);
    for (; next < demands.size() && demands[next].from_s <= now_s; ++next) {
      waiting.push({demands[next].until_s, next});
    }
    Demand& first = demands[waiting.top().second];
    const Seconds end_s = now_s + first.left_s;
    if (next < demands.size() && demands[next].from_s < end_s) {
      first.left_s = std::max(0.0, first.left_s - (demands[next].from_s - now_s));
      now_s = demands[next].from_s;
      continue;
    }
    waiting.pop();
    now_s = end_s;
    if (end_s <= first.until_s + tolerance_s) continue;
    return Invalid("Transfers that share ", what, " are planned to end earlier than it can carry ",
                   "them: transfer ", first.transfer, " at ", first.until_s,
                   " s; with all that must be over by then, at ", end_s, " s");
  }
  return absl::OkStatus();
}

// One port or cut, and all transfers that use it.
struct PortOrCut {
  std::string name;
  const std::vector<TransferIndex>& transfers;
  double paced_bytes_per_s = 0;
  double seconds_per_byte = 0;  // of transfers that share it without an order
};

// Calls check(PortOrCut) for each until one fails. Requires: the network's rate is known.
template <typename Check>
absl::Status CheckEachPortAndCut(const Plan& plan, const Check& check) {
  const NetworkModel& network = plan.network;
  for (WorkerIndex worker = 0; worker < network.num_workers; ++worker) {
    for (const bool sends : {true, false}) {
      const auto& orders = sends ? plan.send_order : plan.receive_order;
      absl::Status status = check(
          PortOrCut{absl::StrCat("the ", sends ? "send" : "receive", " port of worker ", worker),
                    orders[At(worker)], network.PacedBytesPerS(worker),
                    network.SecondsPerByte(worker, worker)});
      if (!status.ok()) return status;
    }
  }
  for (const Cut& cut : network.cuts) {
    std::vector<TransferIndex> crossing;
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
      if (!cut.Crosses(plan.transfers[i].sender, plan.transfers[i].receiver)) continue;
      crossing.push_back(static_cast<TransferIndex>(i));
    }
    absl::Status status =
        check(PortOrCut{absl::StrCat("cut ", cut.name), crossing, network.PacedBytesPerS(cut),
                        network.seconds_per_byte / cut.channels});
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// No port and no cut has more than it carries: each by itself, every begin adds a rate to its sum,
// every end takes it off, changes in between change it, what lowers the sum first where they fall
// together.
absl::Status CheckRatesInTime(const Plan& plan, Seconds tolerance_s) {
  if (plan.transfer_order != TransferOrder::kRates) return absl::OkStatus();
  return CheckEachPortAndCut(plan, [&](const PortOrCut& used) {
    return CheckSum(plan, used.transfers, used.paced_bytes_per_s, used.name, tolerance_s);
  });
}

// No port and no cut has to carry more bytes in any span of time than it can.
absl::Status CheckSharedTimes(const Plan& plan, Seconds tolerance_s) {
  const NetworkModel& network = plan.network;
  if (plan.transfer_order != TransferOrder::kFetchAll || network.seconds_per_byte == 0) {
    return absl::OkStatus();
  }
  return CheckEachPortAndCut(plan, [&](const PortOrCut& used) {
    std::vector<Demand> demands;
    for (const TransferIndex index : used.transfers) {
      const Transfer& transfer = plan.transfers[At(index)];
      if (transfer.bytes == 0) continue;
      const Seconds takes_s = static_cast<double>(transfer.bytes) * used.seconds_per_byte;
      demands.push_back({transfer.start_s + network.latency_s,
                         transfer.start_s + transfer.duration_s, takes_s / (1 + kRateTolerance),
                         index});
    }
    return CheckDemands(std::move(demands), used.name, tolerance_s);
  });
}

class PlannedTimes {
 public:
  explicit PlannedTimes(const Plan& plan) : plan_(plan) {
    for (const ComputeStep& step : plan.steps) {
      last_finish_s_ = std::max(last_finish_s_, step.start_s + step.duration_s);
    }
    for (const Transfer& transfer : plan.transfers) {
      last_finish_s_ = std::max(last_finish_s_, transfer.start_s + transfer.duration_s);
    }
    tolerance_s_ = kTimeTolerance * last_finish_s_;
  }

  absl::Status CheckDurations() const {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const ComputeStep& step = plan_.steps[i];
      if (step.spill_s <= step.duration_s + tolerance_s_) continue;
      return Invalid("Step ", i, " takes ", step.spill_s,
                     " s for what it puts on disk, and lasts only ", step.duration_s, " s");
    }
    const bool shared = plan_.transfer_order == TransferOrder::kFetchAll;
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      const Transfer& transfer = plan_.transfers[i];
      const NetworkModel& network = plan_.network;
      const Seconds alone_s =
          shared
              ? network.latency_s + static_cast<double>(transfer.bytes) *
                                        network.SecondsPerByte(transfer.sender, transfer.receiver)
              : TransferSeconds(plan_, transfer, transfer.bytes);
      const Seconds excess_s = transfer.duration_s - alone_s;
      if (excess_s < -tolerance_s_ || (!shared && excess_s > tolerance_s_)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Transfer ", i, " is planned to last ", transfer.duration_s, " s; ",
                         transfer.bytes, " bytes from worker ", transfer.sender, " to ",
                         transfer.receiver, " take ", alone_s, " s"));
      }
      const Seconds end_s = transfer.start_s + transfer.duration_s;
      if (transfer.rate_changes.empty()) continue;
      if (const Seconds last_s = transfer.rate_changes.back().at_s; last_s > end_s + tolerance_s_) {
        return Invalid("Transfer ", i, " changes its rate at ", last_s, " s, after its end at ",
                       end_s, " s");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckPrecedence() const {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const ComputeStep& step = plan_.steps[i];
      if (step.start_s < step.release_s - tolerance_s_) {
        return absl::InvalidArgumentError(absl::StrCat("Step ", i, " starts at ", step.start_s,
                                                       " s, before its release at ", step.release_s,
                                                       " s"));
      }
      for (const StepIndex before : step.after_steps) {
        if (absl::Status status = CheckPair("Precedence", StepAt(before), StepAt(i));
            !status.ok()) {
          return status;
        }
      }
    }
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      const Transfer& transfer = plan_.transfers[i];
      absl::Status status = CheckPair("Precedence", StepAt(transfer.producer), TransferAt(i));
      if (status.ok()) status = CheckPair("Precedence", TransferAt(i), StepAt(transfer.consumer));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status CheckComputeOrder() const {
    for (const std::vector<StepIndex>& order : plan_.compute_order) {
      // Each kind of order is kept, and all steps take turns.
      StepIndex last[2] = {kNoIndex, kNoIndex};
      for (const StepIndex step : order) {
        const bool combines = plan_.steps[static_cast<std::size_t>(step)].kind->own_order;
        StepIndex& before = last[combines ? 1 : 0];
        if (before != kNoIndex) {
          absl::Status status = CheckPair("One step at a time", StepAt(before), StepAt(step));
          if (!status.ok()) return status;
        }
        before = step;
      }
      if (last[0] == kNoIndex || last[1] == kNoIndex) continue;
      if (absl::Status status = CheckTurns(order); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status CheckTransferOrder(const char* rule,
                                  const std::vector<std::vector<TransferIndex>>& lists) const {
    for (const std::vector<TransferIndex>& order : lists) {
      for (std::size_t i = 1; i < order.size(); ++i) {
        absl::Status status = CheckPair(rule, TransferAt(order[i - 1]), TransferAt(order[i]));
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckStoreOrder() const {
    for (const std::vector<StepIndex>& order : plan_.store_order) {
      for (std::size_t i = 1; i < order.size(); ++i) {
        absl::Status status =
            CheckPair("Limit of the store", StepAt(order[i - 1]), StepAt(order[i]));
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  // A receiver of a kFetchAll plan has at most fetch_limit transfers under way.
  absl::Status CheckFetchLimit() const {
    const auto limit = static_cast<std::size_t>(plan_.fetch_limit);
    if (limit == 0) return absl::OkStatus();
    for (const std::vector<TransferIndex>& order : plan_.receive_order) {
      std::vector<TransferIndex> by_start = order;
      std::sort(by_start.begin(), by_start.end(), [&](TransferIndex a, TransferIndex b) {
        const Item left = TransferAt(a);
        const Item right = TransferAt(b);
        return std::tie(left.start_s, left.finish_s) < std::tie(right.start_s, right.finish_s);
      });
      std::multiset<Seconds> under_way_until_s;
      for (const TransferIndex index : by_start) {
        const Item transfer = TransferAt(index);
        while (!under_way_until_s.empty() &&
               *under_way_until_s.begin() <= transfer.start_s + tolerance_s_) {
          under_way_until_s.erase(under_way_until_s.begin());
        }
        under_way_until_s.insert(transfer.finish_s);
        if (under_way_until_s.size() > limit) {
          return absl::InvalidArgumentError(absl::StrCat(
              "Fetch limit is broken: transfer ", index, " starts at ", transfer.start_s,
              " s, when its receiver has ", limit, " under way already"));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckRates() const {
    if (absl::Status status = CheckSharedTimes(plan_, tolerance_s_); !status.ok()) return status;
    return CheckRatesInTime(plan_, tolerance_s_);
  }

  absl::Status CheckSummary() const {
    const PlanSummary& summary = plan_.summary;
    if (!(std::abs(summary.makespan_s - last_finish_s_) <= tolerance_s_)) {
      return absl::InvalidArgumentError(absl::StrCat("summary.makespan_s is ", summary.makespan_s,
                                                     ", but the last item ends at ",
                                                     last_finish_s_));
    }
    if (!(summary.lower_bound_s >= 0 && summary.lower_bound_s <= last_finish_s_ + tolerance_s_)) {
      return absl::InvalidArgumentError(
          absl::StrCat("summary.lower_bound_s is ", summary.lower_bound_s,
                       ", outside [0, makespan ", last_finish_s_, "]"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckTurns(std::vector<StepIndex> steps) const {
    std::sort(steps.begin(), steps.end(), [this](StepIndex a, StepIndex b) {
      const Item left = StepAt(a);
      const Item right = StepAt(b);
      return std::tie(left.start_s, left.finish_s, a) < std::tie(right.start_s, right.finish_s, b);
    });
    for (std::size_t i = 1; i < steps.size(); ++i) {
      absl::Status status = CheckPair("One step at a time", StepAt(steps[i - 1]), StepAt(steps[i]));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  struct Item {
    const char* kind;
    std::size_t index;
    Seconds start_s;
    Seconds finish_s;
  };

  template <typename Index>
  Item StepAt(Index index) const {
    const auto i = static_cast<std::size_t>(index);
    const ComputeStep& step = plan_.steps[i];
    return {"step ", i, step.start_s, step.start_s + step.duration_s};
  }

  template <typename Index>
  Item TransferAt(Index index) const {
    const auto i = static_cast<std::size_t>(index);
    const Transfer& transfer = plan_.transfers[i];
    return {"transfer ", i, transfer.start_s, transfer.start_s + transfer.duration_s};
  }

  absl::Status CheckPair(const char* rule, const Item& before, const Item& after) const {
    if (after.start_s >= before.finish_s - tolerance_s_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(rule, " is broken: ", after.kind, after.index, " starts at ", after.start_s,
                     " s, but ", before.kind, before.index, " ends at ", before.finish_s, " s"));
  }

  const Plan& plan_;
  Seconds last_finish_s_ = 0;
  Seconds tolerance_s_ = 0;
};

}  // namespace

absl::Status CheckTimes(const Plan& plan) {
  const PlannedTimes times(plan);
  if (absl::Status status = times.CheckDurations(); !status.ok()) return status;
  if (absl::Status status = times.CheckPrecedence(); !status.ok()) return status;
  if (absl::Status status = times.CheckComputeOrder(); !status.ok()) return status;
  if (absl::Status status = times.CheckStoreOrder(); !status.ok()) return status;
  if (IsOrdered(plan.transfer_order)) {
    absl::Status status = times.CheckTransferOrder("One-port rule (send)", plan.send_order);
    if (status.ok()) {
      status = times.CheckTransferOrder("One-port rule (receive)", plan.receive_order);
    }
    for (std::size_t cut = 0; status.ok() && cut < plan.channel_order.size(); ++cut) {
      const std::string rule = absl::StrCat("Channel limit of cut ", plan.network.cuts[cut].name);
      status = times.CheckTransferOrder(rule.c_str(), plan.channel_order[cut]);
    }
    if (!status.ok()) return status;
  }
  if (absl::Status status = times.CheckFetchLimit(); !status.ok()) return status;
  if (absl::Status status = times.CheckRates(); !status.ok()) return status;
  return times.CheckSummary();
}

}  // namespace weir::planner
