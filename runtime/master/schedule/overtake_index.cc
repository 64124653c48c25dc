#include "runtime/master/schedule/overtake_index.h"

#include <algorithm>

namespace weir::master {

OvertakeIndex::OvertakeIndex(std::int32_t num_places) : num_places_(num_places) {
  while (num_leaves_ < static_cast<std::size_t>(num_places)) num_leaves_ *= 2;
  most_.assign(2 * num_leaves_, kNever);
}

void OvertakeIndex::Set(std::int32_t place, double value) {
  std::size_t node = num_leaves_ + static_cast<std::size_t>(place);
  most_[node] = value;
  for (node /= 2; node > 0; node /= 2) {
    const double most = std::max(most_[2 * node], most_[2 * node + 1]);
    if (most == most_[node]) return;
    most_[node] = most;
  }
}

}  // namespace weir::master
