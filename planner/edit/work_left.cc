#include "planner/edit/work_left.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

#include "planner/plan/units.h"

namespace weir::planner {
namespace {

std::vector<std::vector<std::size_t>> SectionsByConsumer(const Plan& plan) {
  std::vector<std::vector<std::size_t>> sections(plan.steps.size());
  for (std::size_t i = 0; i < plan.sections.size(); ++i) {
    sections[At(plan.sections[i].consumer)].push_back(i);
  }
  return sections;
}

std::vector<StepIndex> ReadersFirst(const Plan& plan) {
  const std::vector<DataRank> ranks = DataRanks(plan);
  std::vector<StepIndex> order(plan.steps.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](StepIndex a, StepIndex b) { return ranks[At(a)] > ranks[At(b)]; });
  return order;
}

// Every piece of it is with the consumer, on the worker where that is now.
bool ArrivedWhole(const Plan& plan, const PlanState& state,
                  const std::vector<TransferIndex>& transfers, WorkerIndex reader) {
  return !transfers.empty() &&
         std::all_of(transfers.begin(), transfers.end(), [&](TransferIndex transfer) {
           return state.transfers[At(transfer)] == WorkState::kDone &&
                  plan.transfers[At(transfer)].receiver == reader;
         });
}

}  // namespace

std::vector<DataRank> DataRanks(const Plan& plan) {
  std::vector<DataRank> ranks(plan.steps.size());
  std::vector<std::vector<StepIndex>> readers(plan.steps.size());  // in the same layer
  std::vector<std::int32_t> waits(plan.steps.size(), 0);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) ranks[s].layer = plan.steps[s].layer;
  for (const Section& section : plan.sections) {
    if (ranks[At(section.producer)].layer != ranks[At(section.consumer)].layer) continue;
    readers[At(section.producer)].push_back(section.consumer);
    ++waits[At(section.consumer)];
  }
  std::vector<StepIndex> open;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (waits[s] == 0) open.push_back(static_cast<StepIndex>(s));
  }
  while (!open.empty()) {
    const StepIndex step = open.back();
    open.pop_back();
    for (const StepIndex reader : readers[At(step)]) {
      std::int32_t& depth = ranks[At(reader)].depth;
      depth = std::max(depth, ranks[At(step)].depth + 1);
      if (--waits[At(reader)] == 0) open.push_back(reader);
    }
  }
  return ranks;
}

bool CombinesAnything(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const ComputeStep& step) { return step.kind->combines; });
}

std::vector<std::vector<TransferIndex>> TransfersBySection(const Plan& plan) {
  std::vector<TransferIndex> transfers(plan.transfers.size());
  std::iota(transfers.begin(), transfers.end(), 0);
  const auto pair_of = [&](TransferIndex t) {
    return std::tie(plan.transfers[At(t)].producer, plan.transfers[At(t)].consumer);
  };
  std::stable_sort(transfers.begin(), transfers.end(),
                   [&](TransferIndex a, TransferIndex b) { return pair_of(a) < pair_of(b); });
  std::vector<std::vector<TransferIndex>> of_section(plan.sections.size());
  for (std::size_t i = 0; i < plan.sections.size(); ++i) {
    const auto wanted = std::tie(plan.sections[i].producer, plan.sections[i].consumer);
    auto at =
        std::lower_bound(transfers.begin(), transfers.end(), wanted,
                         [&](TransferIndex t, const auto& pair) { return pair_of(t) < pair; });
    for (; at != transfers.end() && pair_of(*at) == wanted; ++at) of_section[i].push_back(*at);
  }
  return of_section;
}

bool HasToBegin(const PlanState& state, const WorkLeft& left, StepIndex step) {
  return left.homeless[At(step)] || state.steps[At(step)] == WorkState::kWaiting;
}

namespace {

void FindHomeless(const Plan& plan, const PlanState& state, const std::vector<bool>& moved,
                  WorkLeft& left) {
  left.homeless.assign(plan.steps.size(), false);
  left.redone.assign(plan.steps.size(), false);
  if (!moved.empty()) left.homeless = moved;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (state.steps[s] == WorkState::kDone) {
      left.redone[s] = left.homeless[s];
      continue;
    }
    if (!left.alive[At(plan.steps[s].worker)]) left.homeless[s] = true;
    left.redone[s] = left.homeless[s] && state.steps[s] == WorkState::kUnderWay;
  }
}

void FindArrived(const Plan& plan, const PlanState& state, WorkLeft& left) {
  left.arrived.assign(plan.sections.size(), false);
  for (std::size_t i = 0; i < plan.sections.size(); ++i) {
    const StepIndex consumer = plan.sections[i].consumer;
    left.arrived[i] =
        ArrivedWhole(plan, state, left.transfers_of[i], plan.steps[At(consumer)].worker);
  }
  // Of what is made again though it is there, nothing counts: it can be cut then.
  for (std::size_t i = 0; i < plan.sections.size(); ++i) {
    if (left.redone[At(plan.sections[i].producer)] &&
        state.steps[At(plan.sections[i].producer)] == WorkState::kDone) {
      left.arrived[i] = false;
    }
  }
}

// From the last readers back: a done step whose run is gone and still read is homeless, too, and
// then reads all of its own inputs once more.
void FindLostRuns(const Plan& plan, const PlanState& state, WorkLeft& left) {
  const std::vector<std::vector<std::size_t>> read_by = SectionsByConsumer(plan);
  for (const StepIndex consumer : ReadersFirst(plan)) {
    if (left.homeless[At(consumer)]) {
      for (const std::size_t i : read_by[At(consumer)]) left.arrived[i] = false;
    } else if (state.steps[At(consumer)] != WorkState::kWaiting) {
      continue;
    }
    for (const std::size_t i : read_by[At(consumer)]) {
      const StepIndex producer = plan.sections[i].producer;
      if (left.arrived[i] || state.steps[At(producer)] != WorkState::kDone) continue;
      if (left.alive[At(plan.steps[At(producer)].worker)] && state.run_there[At(producer)])
        continue;
      left.homeless[At(producer)] = true;
      left.redone[At(producer)] = true;
    }
  }
}

void FindWhatCanBeCut(const Plan& plan, const PlanState& state, WorkLeft& left) {
  left.can_be_cut.assign(plan.steps.size(), false);
  for (const Section& section : plan.sections) {  // what nobody reads is an output part, and whole
    const auto producer = At(section.producer);
    left.can_be_cut[producer] = left.homeless[producer] && plan.steps[producer].kind->reads_input();
  }
  for (std::size_t i = 0; i < plan.sections.size(); ++i) {
    const Section& section = plan.sections[i];
    if (!HasToBegin(state, left, section.consumer) || left.arrived[i]) {
      left.can_be_cut[At(section.producer)] = false;
    }
  }
}

void FindInParts(const Plan& plan, const PlanState& state, const std::vector<bool>& moved,
                 WorkLeft& left) {
  std::vector<bool> by_places(plan.steps.size(), false);
  for (const Section& section : plan.sections) {
    if (section.indexes) by_places[At(section.producer)] = true;
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const bool is_moved = !moved.empty() && moved[s];
    const bool again = left.redone[s] && state.steps[s] == WorkState::kDone && !is_moved;
    if (!again || !plan.steps[s].kind->reads_input() || left.can_be_cut[s] || by_places[s])
      continue;
    left.in_parts[s] = true;
    left.homeless[s] = left.redone[s] = false;
  }
}

}  // namespace

WorkLeft FindWorkLeft(const Plan& plan, const PlanState& state, const std::vector<bool>& alive,
                      PartlyRead partly_read, const std::vector<bool>& moved) {
  WorkLeft left;
  left.alive = alive;
  left.transfers_of = TransfersBySection(plan);
  FindHomeless(plan, state, moved, left);
  FindArrived(plan, state, left);
  FindLostRuns(plan, state, left);
  FindWhatCanBeCut(plan, state, left);
  left.in_parts.assign(plan.steps.size(), false);
  if (partly_read == PartlyRead::kInParts) FindInParts(plan, state, moved, left);
  return left;
}

}  // namespace weir::planner
