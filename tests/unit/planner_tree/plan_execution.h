#pragma once

// Reads a reduction's Plan as a program and runs it on values of any kind: pure, and knows nothing
// of schedules, only of steps, sections and their index ranges.

#include <absl/status/statusor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/plan.h"

namespace weir::planner::tree {

/// What every step makes of a plan, by step and slice. A slice is a range of places that no section
/// cuts; a step holds what its sections bring it.
template <typename Value>
struct PlanValues {
  std::vector<std::int64_t> slice_begin;
  std::vector<std::vector<std::optional<Value>>> of_step;
  /// How many sections read it.
  std::vector<std::vector<std::int32_t>> reads;
};

namespace plan_execution {

inline std::vector<std::int64_t> SliceBegins(const Plan& plan, std::int64_t num_places) {
  std::set<std::int64_t> borders = {0};
  for (const Section& section : plan.sections) {
    if (!section.indexes.has_value()) continue;
    borders.insert(section.indexes->begin);
    borders.insert(section.indexes->end);
  }
  borders.erase(num_places);
  return {borders.begin(), borders.end()};
}

// Steps so that each stands after what its sections come from; shorter when they form a cycle.
inline std::vector<StepIndex> DataOrder(const Plan& plan) {
  std::vector<std::vector<StepIndex>> next(plan.steps.size());
  std::vector<std::size_t> waits(plan.steps.size(), 0);
  for (const Section& section : plan.sections) {
    next[static_cast<std::size_t>(section.producer)].push_back(section.consumer);
    ++waits[static_cast<std::size_t>(section.consumer)];
  }
  std::vector<StepIndex> order;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) order.push_back(static_cast<StepIndex>(i));
  }
  for (std::size_t head = 0; head < order.size(); ++head) {
    for (StepIndex step : next[static_cast<std::size_t>(order[head])]) {
      if (--waits[static_cast<std::size_t>(step)] == 0) order.push_back(step);
    }
  }
  return order;
}

}  // namespace plan_execution

/// Runs the plan: a map step makes leaf(step) in every slice; every other step folds its sections
/// in the order in which the plan lists them, each over its own places.
/// Errors: kInvalidArgument naming the section that has no places, the wrong size, or brings what
///   its producer does not hold.
template <typename Value>
absl::StatusOr<PlanValues<Value>> ExecutePlan(
    const Plan& plan, std::int64_t num_places, Bytes place_bytes,
    const std::function<Value(const ComputeStep&)>& leaf,
    const std::function<Value(const Value&, const Value&)>& combine) {
  PlanValues<Value> values;
  values.slice_begin = plan_execution::SliceBegins(plan, num_places);
  const std::size_t slices = values.slice_begin.size();
  values.of_step.assign(plan.steps.size(), std::vector<std::optional<Value>>(slices));
  values.reads.assign(plan.steps.size(), std::vector<std::int32_t>(slices, 0));
  std::vector<std::vector<const Section*>> sections_of(plan.steps.size());
  for (const Section& section : plan.sections) {
    sections_of[static_cast<std::size_t>(section.consumer)].push_back(&section);
  }
  const std::vector<StepIndex> order = plan_execution::DataOrder(plan);
  if (order.size() != plan.steps.size()) return absl::InvalidArgumentError("sections form a cycle");
  for (const StepIndex index : order) {
    const auto step = static_cast<std::size_t>(index);
    if (plan.steps[step].kind->reads_input()) {
      for (auto& value : values.of_step[step]) value = leaf(plan.steps[step]);
    }
    for (const Section* section : sections_of[step]) {
      const auto producer = static_cast<std::size_t>(section->producer);
      const std::string name = absl::StrCat("section ", producer, " -> ", step);
      if (!section->indexes.has_value() || section->indexes->end > num_places) {
        return absl::InvalidArgumentError(absl::StrCat(name, " has no places"));
      }
      const IndexRange places = *section->indexes;
      if (section->bytes != (places.end - places.begin) * place_bytes) {
        return absl::InvalidArgumentError(absl::StrCat(name, " has ", section->bytes, " bytes"));
      }
      for (std::size_t slice = 0; slice < slices; ++slice) {
        const std::int64_t place = values.slice_begin[slice];
        if (place < places.begin || place >= places.end) continue;
        const std::optional<Value>& operand = values.of_step[producer][slice];
        if (!operand.has_value()) {
          return absl::InvalidArgumentError(
              absl::StrCat(name, " brings place ", place, ", which its producer does not hold"));
        }
        ++values.reads[producer][slice];
        std::optional<Value>& result = values.of_step[step][slice];
        result = result.has_value() ? combine(*result, *operand) : *operand;
      }
    }
  }
  return values;
}

/// Returns the result of a reduction by slice. Errors: kInvalidArgument when a partial result is
/// read twice, or one that nobody reads is not on the root's worker.
template <typename Value>
absl::StatusOr<std::vector<Value>> ReductionResult(const Plan& plan, WorkerIndex root,
                                                   const PlanValues<Value>& values) {
  std::vector<Value> result;
  for (std::size_t slice = 0; slice < values.slice_begin.size(); ++slice) {
    std::optional<Value> found;
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      if (!values.of_step[step][slice].has_value()) continue;
      const std::int32_t reads = values.reads[step][slice];
      const bool at_root = plan.steps[step].worker == root;
      if (reads > 1 || (reads == 0 && (!at_root || found.has_value()))) {
        return absl::InvalidArgumentError(
            absl::StrCat("place ", values.slice_begin[slice], " of step ", step, " on worker ",
                         plan.steps[step].worker, " is read ", reads, " times"));
      }
      if (reads == 0) found = values.of_step[step][slice];
    }
    if (!found.has_value()) return absl::InvalidArgumentError("the root holds no result");
    result.push_back(*found);
  }
  return result;
}

}  // namespace weir::planner::tree
