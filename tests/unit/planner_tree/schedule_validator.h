#pragma once

// Event simulator of segmented schedules under any port model. Knows nothing of the builders: it
// replays the stated starts, recomputes every combine, and follows who holds which operands.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

namespace validator {

using Window = std::pair<double, double>;

inline bool Overlap(std::vector<Window> windows, double eps) {
  std::sort(windows.begin(), windows.end());
  double busy_to = -std::numeric_limits<double>::infinity();
  for (const Window& window : windows) {
    if (window.second <= window.first + eps) continue;
    if (window.first < busy_to - eps) return true;
    busy_to = std::max(busy_to, window.second);
  }
  return false;
}

// Comparisons with what is no number hold of nothing, and so find nothing.
inline bool IsTime(double time_s, double eps) { return std::isfinite(time_s) && time_s >= -eps; }

inline bool OverlapBetween(const std::vector<Window>& a, const std::vector<Window>& b, double eps) {
  for (const Window& x : a) {
    for (const Window& y : b) {
      if (std::max(x.first, y.first) < std::min(x.second, y.second) - eps) return true;
    }
  }
  return false;
}

}  // namespace validator

// Returns "" when the schedule is feasible, complete and ends at its makespan, else the first rule
// it breaks.
inline std::string ScheduleFault(const Schedule& schedule, PortModel ports, double eps = 1e-7) {
  using validator::Window;
  const auto p = static_cast<std::size_t>(schedule.num_machines);
  const std::size_t q = schedule.segment_units.size();
  // Operands by machine and segment, and when the partial is ready.
  std::vector<std::vector<std::set<std::int32_t>>> operands(p,
                                                            std::vector<std::set<std::int32_t>>(q));
  std::vector<std::vector<double>> ready(p, std::vector<double>(q, 0));
  for (std::size_t i = 0; i < p; ++i) {
    for (auto& held : operands[i]) held = {static_cast<std::int32_t>(i)};
  }
  for (const Message& m : schedule.messages) {
    for (const double time_s : {m.start_s, m.flight_s, m.port_s, m.combine_s}) {
      if (!validator::IsTime(time_s, eps)) return "a time that is none";
    }
  }
  if (!validator::IsTime(schedule.makespan_s, eps)) return "a makespan that is no time";
  std::vector<Message> by_arrival = schedule.messages;
  std::stable_sort(by_arrival.begin(), by_arrival.end(), [eps](const Message& a, const Message& b) {
    return a.start_s + a.flight_s + a.port_s < b.start_s + b.flight_s + b.port_s - eps / 10;
  });
  std::vector<std::vector<Window>> sends(p), receives(p), combines(p);
  std::vector<double> combine_free(p, 0);
  for (const Message& m : by_arrival) {
    if (m.sender < 0 || m.receiver < 0 || static_cast<std::size_t>(m.sender) >= p ||
        static_cast<std::size_t>(m.receiver) >= p || m.sender == m.receiver) {
      return "machine out of range";
    }
    sends[m.sender].push_back({m.start_s, m.start_s + m.port_s});
    const double arrival = m.start_s + m.flight_s + m.port_s;
    receives[m.receiver].push_back({arrival - m.port_s, arrival});
    double end = arrival;
    if (m.combine_s > 0) {
      double begin = std::max(arrival, combine_free[m.receiver]);
      // Without overlap: the first gap in the receiver's transfers that is long enough.
      for (bool moved = !ports.overlaps_compute; moved;) {
        moved = false;
        for (const Message& other : schedule.messages) {
          if (other.sender != m.receiver && other.receiver != m.receiver) continue;
          const double flight = other.receiver == m.receiver ? other.flight_s : 0;
          const double busy_from = other.start_s + flight;
          const double busy_to = busy_from + other.port_s;
          if (busy_from < begin + m.combine_s - eps && busy_to > begin + eps) {
            begin = busy_to;
            moved = true;
          }
        }
      }
      end = begin + m.combine_s;
      combines[m.receiver].push_back({begin, end});
      combine_free[m.receiver] = end;
    }
    for (std::int32_t k = m.segment_begin; k < m.segment_end; ++k) {
      const std::size_t j = static_cast<std::size_t>(k) % q;
      auto& from = operands[m.sender][j];
      auto& to = operands[m.receiver][j];
      if (from.empty()) return "sends a segment that it does not hold";
      if (m.start_s < ready[m.sender][j] - eps) return "sends before its partial is ready";
      for (std::int32_t operand : from) {
        if (!to.insert(operand).second) return "combines an operand twice";
      }
      from.clear();
      ready[m.receiver][j] = std::max(ready[m.receiver][j], end);
    }
  }
  double makespan = 0;
  for (std::size_t j = 0; j < q; ++j) {
    if (operands[schedule.root][j].size() != p) return "the root lacks operands";
    makespan = std::max(makespan, ready[schedule.root][j]);
  }
  for (std::size_t i = 0; i < p; ++i) {
    if (validator::Overlap(sends[i], eps)) return "send port used twice";
    if (validator::Overlap(receives[i], eps)) return "receive port used twice";
    if (!ports.full_duplex && validator::OverlapBetween(sends[i], receives[i], eps))
      return "sends while it receives";
    if (!ports.overlaps_compute && validator::OverlapBetween(sends[i], combines[i], eps)) {
      return "sends while it combines";
    }
    if (!ports.overlaps_compute && validator::OverlapBetween(receives[i], combines[i], eps)) {
      return "receives while it combines";
    }
  }
  const double slack = eps * (1 + makespan);
  const bool late = makespan > schedule.makespan_s + slack;
  // With overlap nothing is left to choice: the makespan is exact.
  if (late || (ports.overlaps_compute && makespan < schedule.makespan_s - slack)) {
    return "ends at " + std::to_string(makespan) + ", not at its makespan " +
           std::to_string(schedule.makespan_s);
  }
  return "";
}

}  // namespace weir::planner::tree
