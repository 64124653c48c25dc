#pragma once

// Networks of racks for tests, and what a schedule may not do on them: written without the clocks
// of planner/tree.

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/network_model.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

// Racks of these sizes, machines in order, each with a cut up and one down of so many channels.
inline NetworkModel RackNetwork(const std::vector<std::int32_t>& sizes, std::int32_t channels) {
  NetworkModel network;
  network.seconds_per_byte = 1;
  for (const std::int32_t size : sizes) network.num_workers += size;
  std::int32_t begin = 0;
  for (std::size_t rack = 0; rack < sizes.size() && sizes.size() > 1; ++rack) {
    std::vector<bool> inside(static_cast<std::size_t>(network.num_workers), false);
    std::fill_n(inside.begin() + begin, sizes[rack], true);
    std::vector<bool> outside = inside;
    outside.flip();
    begin += sizes[rack];
    network.cuts.push_back({absl::StrCat("rack ", rack, " up"), inside, outside, channels});
    network.cuts.push_back({absl::StrCat("rack ", rack, " down"), outside, inside, channels});
  }
  return network;
}

inline NetworkModel RandomRacks(std::mt19937_64& random) {
  std::vector<std::int32_t> sizes(1 + random() % 5);
  for (std::int32_t& size : sizes) size = static_cast<std::int32_t>(1 + random() % 5);
  return RackNetwork(sizes, static_cast<std::int32_t>(1 + random() % 2));
}

// Returns "" when no cut carries more messages at once than it has channels (no port is slow).
inline std::string LaneFault(const Schedule& schedule, const NetworkModel& network,
                             double eps = 1e-7) {
  for (const Cut& cut : network.cuts) {
    std::vector<std::pair<double, int>> changes;
    for (const Message& m : schedule.messages) {
      const double end_s = m.start_s + m.flight_s + m.port_s;
      if (!cut.Crosses(m.sender, m.receiver) || end_s - m.start_s <= 2 * eps) continue;
      changes.push_back({m.start_s + eps, 1});
      changes.push_back({end_s - eps, -1});
    }
    std::sort(changes.begin(), changes.end());
    int now = 0;
    for (const auto& [time_s, change] : changes) {
      now += change;
      if (now > cut.channels) return absl::StrCat(cut.name, " carries ", now, " at ", time_s);
    }
  }
  return "";
}

// The shortest length over all orders of the messages in which every machine has what it sends, and
// of one segment combines what it gets in the list's order. Overlapping ports only; at most some
// ten messages. A message starts when its ports, its partial and its lanes are free.
inline double BestOrderLength(const Schedule& schedule, PortModel ports,
                              const NetworkModel& network) {
  struct State {
    std::vector<bool> placed;
    std::vector<double> start_s, end_s;  // transfer
    std::vector<double> send_free, receive_free, combine_free;
    std::vector<std::vector<double>> ready;
  };
  const std::vector<Message>& messages = schedule.messages;
  const auto p = static_cast<std::size_t>(schedule.num_machines);
  const std::size_t q = schedule.segment_units.size();
  double best = std::numeric_limits<double>::infinity();
  const auto meets = [](const Message& a, const Message& b) {
    return a.segment_begin < b.segment_end && b.segment_begin < a.segment_end;
  };
  const auto search = [&](const auto& self, const State& state, double length) -> void {
    if (length >= best) return;
    bool done = true;
    for (std::size_t k = 0; k < messages.size(); ++k) {
      if (state.placed[k]) continue;
      done = false;
      const Message& m = messages[k];
      bool waits = false;
      for (std::size_t i = 0; i < k && !waits; ++i) {
        const bool same = messages[i].receiver == m.sender || messages[i].receiver == m.receiver;
        waits = !state.placed[i] && same && meets(messages[i], m);
      }
      if (waits) continue;
      State next = state;
      double start = std::max(next.send_free[m.sender], next.receive_free[m.receiver]);
      for (std::int32_t j = m.segment_begin; j < m.segment_end; ++j)
        start = std::max(start, next.ready[m.sender][j]);
      const double duration = m.flight_s + m.port_s;
      // Lanes: move on to the end of what fills a cut, as long as one is full.
      for (bool moved = true; moved;) {
        moved = false;
        for (const Cut& cut : network.cuts) {
          if (!cut.Crosses(m.sender, m.receiver)) continue;
          int busy = 0;
          double free_at = std::numeric_limits<double>::infinity();
          for (std::size_t i = 0; i < messages.size(); ++i) {
            if (!state.placed[i] || !cut.Crosses(messages[i].sender, messages[i].receiver))
              continue;
            if (state.end_s[i] <= start || state.start_s[i] >= start + duration) continue;
            ++busy;
            free_at = std::min(free_at, state.end_s[i]);
          }
          if (busy < cut.channels) continue;
          start = free_at;
          moved = true;
        }
      }
      next.placed[k] = true;
      next.start_s[k] = start;
      next.end_s[k] = start + duration;
      next.send_free[m.sender] = next.receive_free[m.receiver] = start + duration;
      double end = start + duration;
      if (m.combine_s > 0) {
        end = std::max(end, next.combine_free[m.receiver]) + m.combine_s;
        next.combine_free[m.receiver] = end;
      }
      for (std::int32_t j = m.segment_begin; j < m.segment_end; ++j)
        next.ready[m.receiver][j] = std::max(next.ready[m.receiver][j], end);
      self(self, next, m.receiver == schedule.root ? std::max(length, end) : length);
    }
    if (done) best = std::min(best, length);
  };
  (void)ports;
  const std::vector<double> free(p, 0);
  search(search,
         {std::vector<bool>(messages.size(), false), std::vector<double>(messages.size(), 0),
          std::vector<double>(messages.size(), 0), free, free, free,
          std::vector<std::vector<double>>(p, std::vector<double>(q, 0))},
         0);
  return best;
}

}  // namespace weir::planner::tree
