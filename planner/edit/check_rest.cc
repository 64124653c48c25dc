#include "planner/edit/check_rest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/edit/rest_plan.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/plan_times.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

constexpr double kTimeTolerance = 1e-9;

absl::Status CheckFirst(const std::vector<std::vector<std::int32_t>>& lists,
                        const std::vector<WorkState>& states, const char* what) {
  for (const std::vector<std::int32_t>& list : lists) {
    bool waits = false;
    for (const std::int32_t item : list) {
      if (item < 0 || At(item) >= states.size()) return Invalid("No such ", what, ": ", item);
      const bool begun = states[At(item)] != WorkState::kWaiting;
      if (begun && waits) {
        return Invalid("The ", what, " ", item, " has begun, but stands behind one that waits");
      }
      waits = waits || !begun;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOrders(const Plan& plan, const PlanState& state) {
  absl::Status status = CheckFirst(plan.compute_order, state.steps, "step");
  if (status.ok()) status = CheckFirst(plan.store_order, state.steps, "write step");
  if (status.ok()) status = CheckFirst(plan.send_order, state.transfers, "transfer");
  if (status.ok()) status = CheckFirst(plan.receive_order, state.transfers, "transfer");
  for (std::size_t cut = 0; status.ok() && cut < plan.channel_order.size(); ++cut) {
    status = CheckFirst(plan.channel_order[cut], state.transfers, "transfer");
  }
  return status;
}

/// Holds planned starts and the makespan against those of the rest, whose times are predicted.
absl::Status CheckPlannedTimes(const Plan& plan, const PlanState& state, const RestPlan& rest) {
  Seconds last_s = 0;
  const auto check = [&](const char* kind, std::size_t index, Seconds planned_s, WorkState work,
                         const auto& left) -> absl::Status {
    const Seconds start_s = state.now_s + left.start_s;
    const Seconds finish_s = start_s + left.duration_s;
    last_s = std::max(last_s, finish_s);
    if (work != WorkState::kWaiting || std::abs(planned_s - start_s) <= kTimeTolerance * finish_s) {
      return absl::OkStatus();
    }
    return Invalid(kind, index, " is planned to start at ", planned_s, " s, but can start at ",
                   start_s, " s");
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (state.steps[s] == WorkState::kDone) continue;
    absl::Status status =
        check("Step ", s, plan.steps[s].start_s, state.steps[s], rest.plan.steps[s]);
    if (!status.ok()) return status;
  }
  for (std::size_t t = 0; t < rest.transfer_of.size(); ++t) {
    const auto whole = At(rest.transfer_of[t]);
    absl::Status status = check("Transfer ", whole, plan.transfers[whole].start_s,
                                state.transfers[whole], rest.plan.transfers[t]);
    if (!status.ok()) return status;
  }
  for (const Seconds ended_s : state.step_ended_s) last_s = std::max(last_s, ended_s);
  for (const Seconds ended_s : state.transfer_ended_s) last_s = std::max(last_s, ended_s);
  if (std::abs(plan.summary.makespan_s - last_s) <= kTimeTolerance * last_s) {
    return absl::OkStatus();
  }
  return Invalid("The edit says that it ends at ", plan.summary.makespan_s, " s; it ends at ",
                 last_s, " s");
}

/// What a section brings: places of a range of input, or of the run of a step that read none.
struct Operand {
  StepIndex step = kNoIndex;  // of input: none
  IndexRange places = {-1, -1};
  Bytes begin = 0;
  Bytes end = 0;
  friend bool operator==(const Operand&, const Operand&) = default;
};

std::string Text(const Operand& operand) {
  std::string text = operand.step == kNoIndex
                         ? absl::StrCat("input [", operand.begin, ", ", operand.end, ")")
                         : absl::StrCat("step ", operand.step);
  if (operand.places.begin < 0) return text;
  return absl::StrCat(text, " at [", operand.places.begin, ", ", operand.places.end, ")");
}

std::string Text(const std::vector<Operand>& operands) {
  return absl::StrJoin(operands, ", ",
                       [](std::string* out, const Operand& o) { absl::StrAppend(out, Text(o)); });
}

/// What one step reads.
struct Reads {
  std::vector<Operand> operands;
  Bytes of_input = 0;                  // not cut by places
  Bytes num_of_input = 0;              // sections of that
  std::map<StepIndex, Bytes> of_step;  // that read no input
  Bytes largest_part = 0;              // of input, cut by places
};

std::vector<Reads> ReadsOf(const Plan& plan) {
  std::vector<Reads> reads(plan.steps.size());
  for (const Section& section : plan.sections) {
    const ComputeStep& producer = plan.steps[At(section.producer)];
    Reads& reader = reads[At(section.consumer)];
    Operand operand;
    if (section.indexes) operand.places = *section.indexes;
    if (!producer.kind->reads_input()) {
      operand.step = section.producer;
      reader.of_step[section.producer] = section.bytes;
      reader.operands.push_back(operand);
      continue;
    }
    if (section.indexes) {
      reader.largest_part = std::max(reader.largest_part, section.bytes);
    } else {
      reader.of_input += section.bytes;
      ++reader.num_of_input;
    }
    if (producer.input_begin == producer.input_end) continue;
    operand.begin = producer.input_begin;
    operand.end = producer.input_end;
    reader.operands.push_back(operand);
  }
  return reads;
}

/// Joins ranges of input that follow each other; `ordered`: as they stand.
std::vector<Operand> Joined(std::vector<Operand> operands, bool ordered) {
  if (!ordered) {
    std::sort(operands.begin(), operands.end(), [](const Operand& a, const Operand& b) {
      return std::tuple(a.step, a.places.begin, a.places.end, a.begin, a.end) <
             std::tuple(b.step, b.places.begin, b.places.end, b.begin, b.end);
    });
  }
  std::vector<Operand> joined;
  for (const Operand& operand : operands) {
    const bool follows = !joined.empty() && operand.step == kNoIndex &&
                         joined.back().step == kNoIndex && joined.back().places == operand.places &&
                         joined.back().end == operand.begin;
    if (follows) {
      joined.back().end = operand.end;
    } else {
      joined.push_back(operand);
    }
  }
  return joined;
}

/// OK if no byte of input is in two of them.
absl::Status CheckOnce(StepIndex consumer, const std::vector<Operand>& sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Operand &a = sorted[i - 1], &b = sorted[i];
    if (b.step != kNoIndex || a.step != kNoIndex || a.places != b.places || b.begin >= a.end) {
      continue;
    }
    return Invalid("Step ", consumer, " does not get every byte of input once: a range begins at ",
                   b.begin, ", the one before it ends at ", a.end);
  }
  return absl::OkStatus();
}

/// Parts make as much as the whole together, or more where each finds keys of the others again, but
/// none more than the whole.
absl::Status CheckSizes(StepIndex consumer, const PartCost& cost, const Reads& was,
                        const Reads& now) {
  const bool same = now.of_input == was.of_input;
  const bool in_range = now.of_input >= was.of_input - now.num_of_input &&
                        now.of_input <= was.of_input * std::max<Bytes>(1, now.num_of_input);
  const bool of_input_fits = cost.output_growth == 1 ? same : in_range;
  if (!of_input_fits || now.largest_part > was.largest_part) {
    return Invalid("Step ", consumer, " reads ", now.of_input,
                   " bytes of what read input and up to ", now.largest_part,
                   " of a part, before the edit ", was.of_input, " and ", was.largest_part);
  }
  if (was.of_step == now.of_step) return absl::OkStatus();
  return Invalid("Step ", consumer, " reads runs of other steps, or sections of another size");
}

}  // namespace

absl::Status CheckRest(const Plan& plan, const PlanState& state) {
  if (absl::Status status = CheckOrders(plan, state); !status.ok()) return status;
  RestPlan rest = RestOf(plan, state);
  if (absl::Status status = CheckStructure(rest.plan); !status.ok()) return status;
  if (absl::Status status = AdoptPrediction(&rest.plan); !status.ok()) return status;
  if (absl::Status status = CheckTimes(rest.plan); !status.ok()) return status;
  return CheckPlannedTimes(plan, state, rest);
}

absl::Status CheckOperands(const Plan& before, const Plan& after, const PlanState& is) {
  std::set<std::pair<StepIndex, StepIndex>> seen;
  for (const Section& section : after.sections) {
    if (seen.insert({section.producer, section.consumer}).second) continue;
    return Invalid("The section from step ", section.producer, " to step ", section.consumer,
                   " is there twice");
  }
  const std::vector<Reads> was = ReadsOf(before), now = ReadsOf(after);
  for (std::size_t c = 0; c < before.steps.size(); ++c) {
    if (is.steps[c] != WorkState::kWaiting) continue;
    const auto consumer = static_cast<StepIndex>(c);
    const std::vector<Operand> sorted = Joined(now[c].operands, /*ordered=*/false);
    if (absl::Status status = CheckOnce(consumer, sorted); !status.ok()) return status;
    const bool ordered = before.steps[c].kind->combines;
    const std::vector<Operand> operands_was = Joined(was[c].operands, ordered);
    const std::vector<Operand> operands = Joined(now[c].operands, ordered);
    if (operands != operands_was) {
      return Invalid("Step ", consumer, " gets ", Text(operands), ", before the edit ",
                     Text(operands_was));
    }
    if (absl::Status status = CheckSizes(consumer, before.part_cost, was[c], now[c]); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

}  // namespace weir::planner
