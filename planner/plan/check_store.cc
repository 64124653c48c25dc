#include "planner/plan/check_store.h"

#include <vector>

#include "planner/plan/plan_structure.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

bool Writes(const Plan& plan, StepIndex step) { return plan.steps[At(step)].kind->stores; }

}  // namespace

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
    const bool result = !producer.kind->reads_input() && !producer.kind->stores;
    if (!result || producer.layer + 1 != plan.steps[to].layer) {
      return Invalid("Step ", to, " writes layer ", plan.steps[to].layer, " but reads ",
                     producer.kind->name, " step ", from, " of layer ", producer.layer);
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
    if (step.kind->stores) {
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
    } else if (step.kind->splits_keys() && step.layer + 1 == layer && !stored[i] &&
               !read_by_others[i]) {  // by a reduction tree
      return Invalid("The output of step ", i, " is not written, that of others of layer ",
                     step.layer, " is");
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::planner
