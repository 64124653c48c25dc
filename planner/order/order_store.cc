#include "planner/order/order_store.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "planner/order/transfer_orders.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

bool Writes(const Plan& plan, StepIndex step) { return plan.steps[At(step)].kind->stores; }

// Starts write steps whenever a channel is free: of those that are ready the one that was ready
// first. Write steps of one worker follow each other.
class StoreSchedule {
 public:
  explicit StoreSchedule(const Plan& plan) : plan_(plan), ready_s_(plan.steps.size(), 0) {
    for (const std::vector<StepIndex>& order : plan.compute_order) {
      Seconds before_s = 0;  // end of the last step that is not a write
      std::vector<StepIndex> writes;
      for (const StepIndex step : order) {
        if (Writes(plan, step)) {
          ready_s_[At(step)] = std::max(before_s, InputsEnd(step));
          writes.push_back(step);
        } else if (!plan.steps[At(step)].kind->own_order) {
          before_s = EndOf(step);
        }
      }
      std::reverse(writes.begin(), writes.end());  // the next one last
      if (writes.empty()) continue;
      Wait(writes.back(), 0, lanes_.size());
      lanes_.push_back(std::move(writes));
    }
  }

  // Returns the order on each of at most `channels` channels.
  std::vector<std::vector<StepIndex>> Deal(std::int32_t channels) {
    std::vector<std::vector<StepIndex>> order;
    using FreeAt = std::pair<Seconds, std::size_t>;
    std::priority_queue<FreeAt, std::vector<FreeAt>, std::greater<>> free_at;
    Seconds now_s = 0;  // a channel that is new, or was free all the while, begins no sooner
    while (!waiting_.empty() || !ready_.empty()) {
      if (order.size() < static_cast<std::size_t>(channels)) {
        free_at.push({0, order.size()});
        order.emplace_back();
      }
      const auto [free_s, channel] = free_at.top();
      free_at.pop();
      now_s = std::max(now_s, free_s);
      if (ready_.empty()) now_s = std::max(now_s, waiting_.top().first);
      while (!waiting_.empty() && waiting_.top().first <= now_s) {
        const auto [step, lane] = waiting_.top().second;
        ready_.push({ready_s_[At(step)], {step, lane}});
        waiting_.pop();
      }
      const auto [step, lane] = ready_.top().second;
      ready_.pop();
      order[channel].push_back(step);
      const Seconds end_s = now_s + plan_.steps[At(step)].duration_s;
      free_at.push({end_s, channel});
      lanes_[lane].pop_back();
      if (!lanes_[lane].empty()) Wait(lanes_[lane].back(), end_s, lane);
    }
    return order;
  }

 private:
  using Head = std::pair<StepIndex, std::size_t>;  // with its lane
  using Heads = std::priority_queue<std::pair<Seconds, Head>, std::vector<std::pair<Seconds, Head>>,
                                    std::greater<>>;

  Seconds EndOf(StepIndex step) const {
    return plan_.steps[At(step)].start_s + plan_.steps[At(step)].duration_s;
  }

  Seconds InputsEnd(StepIndex step) const {
    Seconds end_s = 0;
    for (const StepIndex before : plan_.steps[At(step)].after_steps) {
      end_s = std::max(end_s, EndOf(before));
    }
    for (const TransferIndex before : plan_.steps[At(step)].after_transfers) {
      const Transfer& transfer = plan_.transfers[At(before)];
      end_s = std::max(end_s, transfer.start_s + transfer.duration_s);
    }
    return end_s;
  }

  void Wait(StepIndex step, Seconds lane_free_s, std::size_t lane) {
    waiting_.push({std::max(lane_free_s, ready_s_[At(step)]), {step, lane}});
  }

  const Plan& plan_;
  std::vector<Seconds> ready_s_;  // by step: when all it reads is there and its worker got to it
  std::vector<std::vector<StepIndex>> lanes_;
  Heads waiting_;  // by the moment from which they may start
  Heads ready_;    // by ready_s_
};

}  // namespace

absl::Status OrderStore(std::int32_t channels, Plan* plan) {
  plan->store_channels = channels;
  plan->store_order.clear();
  if (channels > 0) plan->store_order = StoreSchedule(*plan).Deal(channels);
  return AdoptPrediction(plan);
}

}  // namespace weir::planner
