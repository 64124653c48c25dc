#include "planner/plan/store.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/transfer_orders.h"

namespace weir::planner {
namespace {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

bool Writes(const Plan& plan, StepIndex step) {
  return plan.steps[At(step)].kind == StepKind::kWrite;
}

// Starts write steps whenever a channel is free: of those that are ready the one that was ready
// first. Write steps of one worker follow each other.
class StoreSchedule {
 public:
  explicit StoreSchedule(const Plan& plan) : plan_(plan), ready_s_(plan.steps.size(), 0) {
    for (const std::vector<StepIndex>& order : plan.compute_order) {
      Seconds before_s = 0;  // end of the last step that is no write
      std::vector<StepIndex> writes;
      for (const StepIndex step : order) {
        if (Writes(plan, step)) {
          ready_s_[At(step)] = std::max(before_s, InputsEnd(step));
          writes.push_back(step);
        } else if (plan.steps[At(step)].kind != StepKind::kCombine) {
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
    while (!waiting_.empty() || !ready_.empty()) {
      if (order.size() < static_cast<std::size_t>(channels)) {
        free_at.push({0, order.size()});
        order.emplace_back();
      }
      const auto [free_s, channel] = free_at.top();
      free_at.pop();
      Seconds now_s = free_s;
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

absl::Status CheckStoreOrder(const Plan& plan) {
  if (plan.store_channels < 0 ||
      plan.store_order.size() > static_cast<std::size_t>(plan.store_channels)) {
    return Invalid("store_order has ", plan.store_order.size(), " channels; store_channels is ",
                   plan.store_channels);
  }
  if (plan.store_channels == 0) return absl::OkStatus();
  std::vector<bool> seen(plan.steps.size(), false);
  for (const std::vector<StepIndex>& order : plan.store_order) {
    for (const StepIndex step : order) {
      if (step < 0 || static_cast<std::size_t>(step) >= plan.steps.size() || !Writes(plan, step)) {
        return Invalid("store_order names step ", step, ", which is no write step of the ",
                       plan.steps.size(), " steps");
      }
      if (seen[static_cast<std::size_t>(step)]) {
        return Invalid("store_order holds step ", step, " twice");
      }
      seen[static_cast<std::size_t>(step)] = true;
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i] && Writes(plan, static_cast<StepIndex>(i))) {
      return Invalid("store_order lacks write step ", i);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWrites(const Plan& plan) {
  std::vector<Bytes> read(plan.steps.size(), 0);
  std::vector<bool> stored(plan.steps.size(), false);
  std::vector<bool> read_by_others(plan.steps.size(), false);
  std::int32_t layer = -1;  // of the write steps
  for (const Section& section : plan.sections) {
    const auto from = static_cast<std::size_t>(section.producer);
    const auto to = static_cast<std::size_t>(section.consumer);
    if (!Writes(plan, section.consumer)) {
      read_by_others[from] = true;
      continue;
    }
    const ComputeStep& producer = plan.steps[from];
    const bool result = producer.kind == StepKind::kReduce || producer.kind == StepKind::kCombine;
    if (!result || producer.layer + 1 != plan.steps[to].layer) {
      return Invalid("Step ", to, " writes layer ", plan.steps[to].layer, " but reads ",
                     StepKindName(producer.kind), " step ", from, " of layer ", producer.layer);
    }
    if (stored[from]) return Invalid("The output of step ", from, " is written twice");
    stored[from] = true;
    if (section.bytes != producer.output_bytes) {
      return Invalid("Step ", from, " makes ", producer.output_bytes, " bytes of output, but ",
                     section.bytes, " of them are written");
    }
    if (__builtin_add_overflow(read[to], section.bytes, &read[to])) {
      return Invalid("Step ", to, " would write over 2^63 bytes");
    }
    layer = plan.steps[to].layer;
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ComputeStep& step = plan.steps[i];
    if (step.kind == StepKind::kWrite) {
      if (step.input_bytes != read[i] || step.output_bytes != read[i]) {
        return Invalid("Step ", i, " writes ", step.output_bytes, " bytes of ", step.input_bytes,
                       ", but its sections hold ", read[i]);
      }
      if (layer >= 0 && step.layer != layer) {
        return Invalid("Step ", i, " writes in layer ", step.layer, "; others write in layer ",
                       layer);
      }
    } else if (stored[i] && read_by_others[i]) {
      return Invalid("The output of step ", i, " is written and read by another step as well");
    } else if (step.kind == StepKind::kReduce && step.layer + 1 == layer && !stored[i] &&
               !read_by_others[i]) {  // by a reduction tree
      return Invalid("The output of step ", i, " is not written, that of others of layer ",
                     step.layer, " is");
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::planner
