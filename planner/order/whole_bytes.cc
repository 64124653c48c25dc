#include "planner/order/whole_bytes.h"

#include <algorithm>
#include <cmath>

namespace weir::planner {

std::vector<Bytes> WholeBytes(Bytes total, absl::Span<const double> shares) {
  // 64 bits of mantissa: a border of a total near 2^63 still falls on the right byte.
  long double sum = 0;
  std::size_t end_of_positive = 0;  // rounding must not leave bytes to a share of 0 at the end
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sum += static_cast<long double>(shares[i]);
    if (shares[i] > 0) end_of_positive = i + 1;
  }
  const bool equal = end_of_positive == 0;
  std::vector<Bytes> parts;
  parts.reserve(shares.size());
  long double running = 0;
  Bytes border = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    running += static_cast<long double>(shares[i]);
    const long double part =
        equal ? static_cast<long double>(i + 1) / static_cast<long double>(shares.size())
              : running / sum;
    const bool at_end = i + 1 >= (equal ? shares.size() : end_of_positive);
    const Bytes next = at_end
                           ? total
                           : std::clamp<Bytes>(std::llround(part * static_cast<long double>(total)),
                                               border, total);
    parts.push_back(next - border);
    border = next;
  }
  return parts;
}

}  // namespace weir::planner
