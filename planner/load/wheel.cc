#include "planner/load/wheel.h"

#include <algorithm>
#include <cmath>

namespace weir::planner::load {

std::vector<Piece> WheelTurn(const std::vector<std::int32_t>& senders,
                             const std::vector<double>& fractions, std::int32_t width, double begin,
                             double end) {
  // An arc that starts this little before a channel's offset starts at it.
  constexpr double kSameAngle = 1e-13;
  std::vector<Piece> pieces;
  const double length = end - begin;
  for (std::size_t channel = 0; channel < senders.size(); ++channel) {
    const double offset = static_cast<double>(channel) / width;
    double arc_begin = 0;
    for (std::size_t k = 0; k < fractions.size(); ++k) {
      const auto receiver = static_cast<std::int32_t>(k);
      double turn = arc_begin - offset;
      arc_begin += fractions[k];
      if (fractions[k] == 0) continue;
      turn -= std::floor(turn + kSameAngle);
      turn = std::max(turn, 0.0);
      const double turn_end = turn + fractions[k];
      pieces.push_back({senders[channel], receiver, begin + turn * length,
                        begin + std::min(turn_end, 1.0) * length});
      if (turn_end > 1 + kSameAngle) {
        pieces.push_back({senders[channel], receiver, begin, begin + (turn_end - 1) * length});
      }
    }
  }
  return pieces;
}

}  // namespace weir::planner::load
