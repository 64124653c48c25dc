#include "planner/plan/predict/fair_sharing.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace weir::planner {
namespace {

absl::Span<const std::int32_t> ResourcesOf(const SharingProblem& problem, std::int32_t flow) {
  const auto f = static_cast<std::size_t>(flow);
  const std::size_t begin = problem.resource_begin[f];
  return absl::MakeConstSpan(problem.resources)
      .subspan(begin, problem.resource_begin[f + 1] - begin);
}

// Active flows of each resource, as a flat table.
struct FlowsByResource {
  std::vector<std::size_t> begin;
  std::vector<std::int32_t> flows;
};

FlowsByResource Invert(const SharingProblem& problem, absl::Span<const std::int32_t> active) {
  FlowsByResource table;
  table.begin.assign(problem.capacity.size() + 1, 0);
  for (const std::int32_t flow : active) {
    for (const std::int32_t r : ResourcesOf(problem, flow)) {
      ++table.begin[static_cast<std::size_t>(r) + 1];
    }
  }
  for (std::size_t r = 0; r < problem.capacity.size(); ++r) table.begin[r + 1] += table.begin[r];
  table.flows.resize(table.begin.back());
  std::vector<std::size_t> fill(table.begin.begin(), table.begin.end() - 1);
  for (const std::int32_t flow : active) {
    for (const std::int32_t r : ResourcesOf(problem, flow)) {
      table.flows[fill[static_cast<std::size_t>(r)]++] = flow;
    }
  }
  return table;
}

}  // namespace

void AddFlow(const NetworkModel& network, WorkerIndex sender, WorkerIndex receiver,
             SharingProblem& problem) {
  if (problem.resource_begin.empty()) problem.resource_begin.push_back(0);
  problem.resources.push_back(sender);
  problem.resources.push_back(network.num_workers + receiver);
  for (const std::int32_t cut : CutsCrossed(network, sender, receiver)) {
    problem.resources.push_back(2 * network.num_workers + cut);
  }
  problem.resource_begin.push_back(problem.resources.size());
}

SharingProblem PacedResources(const Plan& plan) {
  const NetworkModel& network = plan.network;
  SharingProblem problem;
  for (int direction = 0; direction < 2; ++direction) {
    for (WorkerIndex worker = 0; worker < network.num_workers; ++worker) {
      problem.capacity.push_back(network.PacedBytesPerS(worker));
    }
  }
  for (const Cut& cut : network.cuts) problem.capacity.push_back(network.PacedBytesPerS(cut));
  for (const Transfer& transfer : plan.transfers) {
    AddFlow(network, transfer.sender, transfer.receiver, problem);
  }
  return problem;
}

void WeightedMaxMinRates(const SharingProblem& problem, absl::Span<const std::int32_t> active,
                         absl::Span<const double> weights, std::vector<double>* rates) {
  const FlowsByResource table = Invert(problem, active);
  const std::size_t num_resources = problem.capacity.size();
  const auto weight_of = [&](std::int32_t flow) {
    return weights.empty() ? 1 : weights[static_cast<std::size_t>(flow)];
  };
  double least_weight = 1;
  if (!active.empty()) least_weight = weight_of(active.front());
  for (const std::int32_t flow : active) least_weight = std::min(least_weight, weight_of(flow));
  std::vector<double> left = problem.capacity;
  std::vector<std::size_t> unfixed(num_resources);
  std::vector<double> unfixed_weight(num_resources, 0);
  double level =
      0;  // never falls; without it, rounding could leave the last flow of a resource nothing
  const auto share = [&](std::size_t r) {
    return std::max(left[r] / std::max(unfixed_weight[r], least_weight), level);
  };
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> fullest;
  for (std::size_t r = 0; r < num_resources; ++r) {
    unfixed[r] = table.begin[r + 1] - table.begin[r];
    for (std::size_t i = table.begin[r]; i < table.begin[r + 1]; ++i) {
      unfixed_weight[r] += weight_of(table.flows[i]);
    }
    if (unfixed[r] > 0) fullest.push({share(r), r});
  }
  for (const std::int32_t flow : active) (*rates)[static_cast<std::size_t>(flow)] = -1;

  while (!fullest.empty()) {
    const auto [key, r] = fullest.top();
    fullest.pop();
    if (unfixed[r] == 0) continue;
    const double rise = share(r);
    if (rise > key) {  // others took less than their part since; ask again in its new place
      fullest.push({rise, r});
      continue;
    }
    level = rise;
    for (std::size_t i = table.begin[r]; i < table.begin[r + 1]; ++i) {
      double& flow_rate = (*rates)[static_cast<std::size_t>(table.flows[i])];
      if (flow_rate >= 0) continue;
      const double weight = weight_of(table.flows[i]);
      flow_rate = rise * weight;
      for (const std::int32_t used : ResourcesOf(problem, table.flows[i])) {
        left[static_cast<std::size_t>(used)] -= flow_rate;
        unfixed_weight[static_cast<std::size_t>(used)] -= weight;
        --unfixed[static_cast<std::size_t>(used)];
      }
    }
  }
}

void MaxMinRates(const SharingProblem& problem, absl::Span<const std::int32_t> active,
                 std::vector<double>* rates) {
  WeightedMaxMinRates(problem, active, {}, rates);
}

}  // namespace weir::planner
