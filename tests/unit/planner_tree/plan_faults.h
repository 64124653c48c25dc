#pragma once

// What is wrong with the plan of a reduction: its result, its port orders, its predicted times.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/model/schedule.h"
#include "tests/unit/planner_tree/plan_execution.h"

namespace weir::planner::tree {

namespace plan_faults {

using Matrix = std::array<std::uint64_t, 4>;  // 2 x 2, by rows

inline Matrix Product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

inline Matrix MatrixOf(WorkerIndex worker) {
  const auto i = static_cast<std::uint64_t>(worker);
  return {1 + i, 2 + i * i, 3, 1 + 2 * i};
}

inline std::string LetterOf(WorkerIndex worker) {
  return std::string(1, static_cast<char>('!' + worker));
}

inline std::string MatrixFault(const Plan& plan, WorkerIndex root, std::int64_t num_places,
                               Bytes place_bytes) {
  Matrix product = MatrixOf(0);
  for (WorkerIndex i = 1; i < plan.network.num_workers; ++i) {
    product = Product(product, MatrixOf(i));
  }
  const auto values = ExecutePlan<Matrix>(
      plan, num_places, place_bytes, [](const ComputeStep& step) { return MatrixOf(step.worker); },
      Product);
  if (!values.ok()) return std::string(values.status().message());
  const auto results = ReductionResult(plan, root, *values);
  if (!results.ok()) return std::string(results.status().message());
  const bool right = std::all_of(results->begin(), results->end(),
                                 [&](const Matrix& result) { return result == product; });
  return right ? "" : "the matrices are not multiplied in order";
}

}  // namespace plan_faults

/// Returns "" when the plan brings every operand to the root once in every place, and in the order
/// of the workers if `keeps_order`. Strings show what is lost, doubled or out of order; matrices
/// are a real operation that does not commute.
inline std::string ResultFault(const Plan& plan, WorkerIndex root, std::int64_t num_places,
                               Bytes place_bytes, bool keeps_order) {
  const auto values = ExecutePlan<std::string>(
      plan, num_places, place_bytes,
      [](const ComputeStep& step) { return plan_faults::LetterOf(step.worker); },
      [](const std::string& a, const std::string& b) { return a + b; });
  if (!values.ok()) return std::string(values.status().message());
  const auto results = ReductionResult(plan, root, *values);
  if (!results.ok()) return std::string(results.status().message());
  std::string expected;
  for (WorkerIndex i = 0; i < plan.network.num_workers; ++i) {
    expected += plan_faults::LetterOf(i);
  }
  for (std::string result : *results) {
    if (!keeps_order) std::sort(result.begin(), result.end());
    if (result != expected) return absl::StrCat("result is ", result, ", not ", expected);
  }
  return keeps_order ? plan_faults::MatrixFault(plan, root, num_places, place_bytes) : "";
}

/// Returns "" when every port serves the schedule's messages in the schedule's order.
inline std::string OrderFault(const Plan& plan, const Schedule& schedule) {
  // A message that became two transfers stands in a list twice.
  const auto without_repeats = [](std::vector<MachineIndex> list) {
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  };
  for (MachineIndex i = 0; i < schedule.num_machines; ++i) {
    std::vector<MachineIndex> sends_to;
    std::vector<MachineIndex> receives_from;
    for (const Message& message : schedule.messages) {
      if (message.sender == i) sends_to.push_back(message.receiver);
      if (message.receiver == i) receives_from.push_back(message.sender);
    }
    std::vector<MachineIndex> sent;
    for (TransferIndex t : plan.send_order[i]) sent.push_back(plan.transfers[t].receiver);
    std::vector<MachineIndex> received;
    for (TransferIndex t : plan.receive_order[i]) received.push_back(plan.transfers[t].sender);
    if (without_repeats(sent) != without_repeats(sends_to) ||
        without_repeats(received) != without_repeats(receives_from)) {
      return absl::StrCat("ports of worker ", i, " do not keep the schedule's order");
    }
  }
  return "";
}

/// Returns "" when the predicted times keep the port model (a Plan alone promises full duplex and
/// overlap), else the first worker that breaks it.
inline std::string PortFault(const Plan& plan, const Prediction& times, PortModel ports) {
  const Seconds same_s = 1e-9 * times.makespan_s;
  using Intervals = std::vector<Interval>;
  const auto meet = [&](const Intervals& left, const Intervals& right) {
    for (const Interval& a : left) {
      for (const Interval& b : right) {
        if (std::max(a.start_s, b.start_s) < std::min(a.finish_s, b.finish_s) - same_s) return true;
      }
    }
    return false;
  };
  for (WorkerIndex worker = 0; worker < plan.network.num_workers; ++worker) {
    Intervals sends;
    Intervals receives;
    Intervals combines;
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
      if (plan.transfers[i].sender == worker) sends.push_back(times.transfers[i]);
      if (plan.transfers[i].receiver == worker) receives.push_back(times.transfers[i]);
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      if (plan.steps[i].worker == worker) combines.push_back(times.steps[i]);
    }
    if (!ports.full_duplex && meet(sends, receives)) {
      return absl::StrCat("worker ", worker, " sends while it receives");
    }
    if (!ports.overlaps_compute && (meet(sends, combines) || meet(receives, combines))) {
      return absl::StrCat("worker ", worker, " transfers while it combines");
    }
  }
  return "";
}

}  // namespace weir::planner::tree
