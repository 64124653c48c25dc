#include "planner/load/communication.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace weir::planner::load {
namespace {

double LargestOverlap(std::vector<std::vector<std::pair<double, double>>>& ports) {
  double overlap = 0;
  for (auto& port : ports) {
    std::sort(port.begin(), port.end());
    double busy_until = -std::numeric_limits<double>::infinity();
    for (const auto& [begin, end] : port) {
      overlap = std::max(overlap, std::min(busy_until, end) - begin);
      busy_until = std::max(busy_until, end);
    }
  }
  return overlap;
}

}  // namespace

std::vector<Piece> MergeTouching(std::vector<Piece> pieces, double tolerance) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.sender, a.receiver, a.begin) < std::tie(b.sender, b.receiver, b.begin);
  });
  std::vector<Piece> merged;
  for (const Piece& piece : pieces) {
    if (!merged.empty() && merged.back().sender == piece.sender &&
        merged.back().receiver == piece.receiver && piece.begin - merged.back().end <= tolerance) {
      merged.back().end = std::max(piece.end, merged.back().end);
    } else {
      merged.push_back(piece);
    }
  }
  std::sort(merged.begin(), merged.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.begin, a.sender, a.receiver) < std::tie(b.begin, b.sender, b.receiver);
  });
  return merged;
}

ScheduleFault CheckSchedule(const ShuffleDemand& demand, const std::vector<Piece>& pieces,
                            double grain) {
  ScheduleFault fault;
  const auto num_senders = static_cast<std::size_t>(demand.num_senders());
  const auto num_receivers = static_cast<std::size_t>(demand.num_receivers());
  std::vector<std::vector<double>> left = demand.send_time;
  std::vector<std::vector<std::pair<double, double>>> sends(num_senders), receives(num_receivers);
  std::vector<std::pair<double, std::int32_t>> events;
  for (const Piece& piece : pieces) {
    const auto j = static_cast<std::size_t>(piece.sender);
    const auto k = static_cast<std::size_t>(piece.receiver);
    // It would make room for another one of its pair; what is no number cannot be compared at all.
    if (!(piece.end - piece.begin >= -grain)) {
      fault.demand = std::numeric_limits<double>::infinity();
      continue;
    }
    left[j][k] -= piece.end - piece.begin;
    sends[j].push_back({piece.begin, piece.end});
    receives[k].push_back({piece.begin, piece.end});
    fault.early = std::max(fault.early, demand.release[j] - piece.begin);
    if (piece.end - piece.begin <= 2 * grain) continue;
    events.push_back({piece.begin + grain, 1});
    events.push_back({piece.end - grain, -1});
  }
  for (const auto& row : left) {
    for (const double rest : row) fault.demand = std::max(fault.demand, std::abs(rest));
  }
  fault.port_overlap = std::max(LargestOverlap(sends), LargestOverlap(receives));
  std::sort(events.begin(), events.end());  // at equal times ends come first
  std::int32_t open = 0;
  for (const auto& [time, step] : events) {
    open += step;
    fault.channels_over = std::max(fault.channels_over, open - demand.channels);
  }
  return fault;
}

}  // namespace weir::planner::load
