#include "runtime/master/calibrate/probe_shuffle.h"

#include <algorithm>
#include <map>

#include "planner/order/order_by_slack.h"
#include "planner/plan/predict/predict.h"

namespace weir::master {
namespace {

using planner::At;
using planner::StepIndex;

/// A mapper and a reducer on every worker that sends or receives.
void AddSteps(const std::vector<ProbeFlow>& flows, planner::Plan& plan,
              std::map<int, StepIndex>& mapper, std::map<int, StepIndex>& reducer) {
  plan.compute_order.resize(At(plan.network.num_workers));
  for (const ProbeFlow& flow : flows) {
    mapper[flow.sender] = 0;
    reducer[flow.receiver] = 0;
  }
  for (auto* steps : {&mapper, &reducer}) {
    const bool maps = steps == &mapper;
    double key = 0;
    for (auto& [worker, index] : *steps) {
      index = static_cast<StepIndex>(plan.steps.size());
      planner::ComputeStep step;
      step.kind = maps ? planner::StepKind::kMap : planner::StepKind::kReduce;
      step.layer = maps ? 0 : 1;
      step.index_in_layer = index - (maps ? 0 : static_cast<StepIndex>(mapper.size()));
      step.worker = worker;
      step.key_begin = key;
      if (!maps) key = step.index_in_layer + 1.0;
      plan.steps.push_back(step);
      plan.compute_order[At(worker)].push_back(index);
    }
  }
}

}  // namespace

std::vector<int> SpreadWorkers(const std::vector<bool>& left_out, std::size_t most) {
  std::vector<int> all;
  for (std::size_t w = 0; w < left_out.size(); ++w) {
    if (!left_out[w]) all.push_back(static_cast<int>(w));
  }
  if (all.size() <= most) return all;
  std::vector<int> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

std::vector<ProbeFlow> AllToAll(const std::vector<int>& workers) {
  std::vector<ProbeFlow> flows;
  for (std::size_t round = 1; round < workers.size(); ++round) {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      flows.push_back({workers[i], workers[(i + round) % workers.size()]});
    }
  }
  return flows;
}

std::vector<ProbeFlow> AllToFirst(const std::vector<int>& workers) {
  std::vector<ProbeFlow> flows;
  for (std::size_t i = 1; i < workers.size(); ++i) flows.push_back({workers[i], workers[0]});
  return flows;
}

BusiestSeconds BusiestOf(const planner::NetworkModel& network, const std::vector<ProbeFlow>& flows,
                         double bytes) {
  std::vector<double> up(At(network.num_workers), 0);
  std::vector<double> down(At(network.num_workers), 0);
  std::vector<double> cuts(network.cuts.size(), 0);
  BusiestSeconds busiest;
  const auto add = [](double seconds, double& sum, double& most) {
    sum += seconds;
    most = std::max(most, sum);
  };
  for (const ProbeFlow& flow : flows) {
    add(bytes * network.SecondsPerByte(flow.sender, flow.sender), up[At(flow.sender)],
        busiest.port_s);
    add(bytes * network.SecondsPerByte(flow.receiver, flow.receiver), down[At(flow.receiver)],
        busiest.port_s);
    for (const std::int32_t cut : planner::CutsCrossed(network, flow.sender, flow.receiver)) {
      add(bytes * network.seconds_per_byte / network.cuts[At(cut)].channels, cuts[At(cut)],
          busiest.cut_s);
    }
  }
  return busiest;
}

absl::StatusOr<planner::Plan> OrderedShuffle(const planner::NetworkModel& network,
                                             const std::vector<ProbeFlow>& flows,
                                             planner::Bytes section_bytes) {
  planner::Plan plan;
  plan.network = network;
  std::map<int, StepIndex> mapper;
  std::map<int, StepIndex> reducer;
  AddSteps(flows, plan, mapper, reducer);
  for (const ProbeFlow& flow : flows) {
    planner::Transfer transfer;
    transfer.producer = mapper[flow.sender];
    transfer.consumer = reducer[flow.receiver];
    transfer.sender = flow.sender;
    transfer.receiver = flow.receiver;
    transfer.bytes = section_bytes;
    plan.steps[At(transfer.producer)].output_bytes += section_bytes;
    plan.steps[At(transfer.consumer)].input_bytes += section_bytes;
    plan.steps[At(transfer.consumer)].after_transfers.push_back(
        static_cast<planner::TransferIndex>(plan.transfers.size()));
    plan.sections.push_back({transfer.producer, transfer.consumer, section_bytes});
    plan.transfers.push_back(transfer);
  }
  // As much work as a shuffle of a second gets.
  const absl::Status ordered =
      planner::OrderBySlack(&plan, planner::SlackWorkFor(plan, /*makespan_s=*/1));
  if (!ordered.ok()) return ordered;
  return plan;
}

std::vector<std::vector<std::size_t>> RightBefore(const planner::Plan& plan) {
  std::vector<std::vector<std::size_t>> before(plan.transfers.size());
  const auto add = [&before](const std::vector<planner::TransferIndex>& order) {
    for (std::size_t i = 1; i < order.size(); ++i) {
      std::vector<std::size_t>& own = before[At(order[i])];
      const std::size_t previous = At(order[i - 1]);
      if (std::find(own.begin(), own.end(), previous) == own.end()) own.push_back(previous);
    }
  };
  for (const auto& order : plan.send_order) add(order);
  for (const auto& order : plan.receive_order) add(order);
  for (const auto& lanes : plan.channel_order) {
    for (const auto& order : lanes) add(order);
  }
  return before;
}

double FittedGapSeconds(planner::Plan plan, double took_s) {
  const auto predicted_s = [&plan](double gap_s) {
    // Without a gap Predict takes the latency.
    plan.network.transfer_gap_s = gap_s;
    plan.network.latency_s = 0;
    const absl::StatusOr<planner::Prediction> prediction = planner::Predict(plan);
    return prediction.ok() ? prediction->makespan_s : 0;
  };
  constexpr int kHalvings = 24;
  double low = 0;
  double high = kGapMaxS;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (predicted_s(middle) < took_s ? low : high) = middle;
  }
  return predicted_s(0) >= took_s ? 0 : high;
}

}  // namespace weir::master
