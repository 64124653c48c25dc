#include "planner/tree/choice/schedule_forms.h"

#include <algorithm>
#include <utility>

namespace weir::planner::tree {

namespace {

// Distance of every machine from the root, in edges.
std::vector<std::int32_t> Depths(const TimedTree& tree) {
  std::vector<std::int32_t> depth(tree.receiver.size(), 0);
  for (std::size_t i = 0; i < depth.size(); ++i) {
    for (MachineIndex at = tree.receiver[i]; at != kNoMachine; at = tree.receiver[at]) ++depth[i];
  }
  return depth;
}

}  // namespace

Schedule FromTree(std::string method, const TimedTree& tree, ElementCosts costs, double units) {
  Schedule schedule =
      EmptySchedule(std::move(method), static_cast<std::int32_t>(tree.receiver.size()), {units});
  schedule.makespan_s = tree.makespan_s;
  for (std::size_t i = 0; i < tree.receiver.size(); ++i) {
    const auto machine = static_cast<MachineIndex>(i);
    if (tree.receiver[i] == kNoMachine) {
      schedule.root = machine;
      continue;
    }
    schedule.messages.push_back(
        {machine, tree.receiver[i], 0, 1, 0, costs.transfer_s, costs.combine_s, tree.start_s[i]});
  }
  // Where nothing costs anything all starts are equal: deeper machines go first.
  const std::vector<std::int32_t> depth = Depths(tree);
  std::stable_sort(
      schedule.messages.begin(), schedule.messages.end(), [&](const Message& a, const Message& b) {
        return std::pair(a.start_s, -depth[a.sender]) < std::pair(b.start_s, -depth[b.sender]);
      });
  return schedule;
}

Schedule FromSenders(std::string method, const SenderSchedule& senders,
                     const std::vector<Seconds>& times, double units) {
  Schedule schedule =
      EmptySchedule(std::move(method), static_cast<std::int32_t>(times.size()) + 1, {units});
  schedule.makespan_s = senders.makespan_s;
  for (std::size_t k = 0; k < senders.sequence.size(); ++k) {
    const std::int32_t sender = senders.sequence[k];
    schedule.messages.push_back(
        {sender + 1, senders.receiver[k] + 1, 0, 1, 0, times[sender], 0, senders.start_s[k]});
  }
  return schedule;
}

void SlowDownPorts(const std::vector<double>& slowdown, const LinkCosts& costs,
                   Schedule& schedule) {
  if (slowdown.empty()) return;
  for (Message& message : schedule.messages) {
    double units = 0;
    for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
      units += schedule.segment_units[static_cast<std::size_t>(j) % schedule.segment_units.size()];
    }
    const double slower = std::max(slowdown[static_cast<std::size_t>(message.sender)],
                                   slowdown[static_cast<std::size_t>(message.receiver)]);
    message.port_s += costs.beta_s_per_unit * units * (slower - 1);
  }
}

std::int64_t MostTransfersAtOnce(const Schedule& schedule) {
  std::vector<std::pair<Seconds, int>> changes;
  for (const Message& message : schedule.messages) {
    if (message.port_s <= 0) continue;
    // Rounding of start + duration must not make neighbours overlap.
    const Seconds slack_s = 1e-9 * message.port_s;
    changes.push_back({message.start_s + slack_s, 1});
    changes.push_back({message.start_s + message.port_s - slack_s, -1});
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const auto& [time_s, change] : changes) most = std::max(most, now += change);
  return most;
}

void RenameMachines(const std::vector<MachineIndex>& name, Schedule& schedule) {
  schedule.root = name[schedule.root];
  for (Message& message : schedule.messages) {
    message.sender = name[message.sender];
    message.receiver = name[message.receiver];
  }
}

}  // namespace weir::planner::tree
