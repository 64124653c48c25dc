#include "planner/plan/input/input_parts.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

#include "absl/numeric/int128.h"
#include "planner/plan/plan.h"

namespace weir::planner {
namespace {

// The first number beyond all sizes.
constexpr double kBytesEnd = 0x1p63;

// Where part `index` of `parts` equal ones begins.
Bytes EvenBegin(Bytes input_bytes, std::size_t parts, std::size_t index) {
  return static_cast<Bytes>(absl::int128(input_bytes) * index / parts);
}

// A position of [from, from_end) as far on in [to, to_end). Requires: from < from_end.
Bytes Along(Bytes from, Bytes from_end, Bytes to, Bytes to_end, Bytes position) {
  return to + static_cast<Bytes>(absl::int128(position - from) * (to_end - to) / (from_end - from));
}

// The other way round than InputPosition, to within rounding. Requires: position < the end.
Bytes CountedPosition(absl::Span<const Bytes> part_ends, Bytes position) {
  const std::size_t parts = part_ends.size();
  std::size_t part = static_cast<std::size_t>(absl::int128(position) * parts / part_ends.back());
  // Parts begin at whole bytes, rounded down.
  while (part + 1 < parts && EvenBegin(part_ends.back(), parts, part + 1) <= position) ++part;
  return Along(EvenBegin(part_ends.back(), parts, part),
               EvenBegin(part_ends.back(), parts, part + 1), part == 0 ? 0 : part_ends[part - 1],
               part_ends[part], position);
}

}  // namespace

std::vector<Bytes> InputPartEnds(absl::Span<const double> weights, Bytes input_bytes) {
  const std::size_t parts = weights.size();
  if (parts < 2 || parts > kInputPartsMax || input_bytes < static_cast<Bytes>(parts)) return {};
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Bytes> ends;
  double until = 0;
  for (const double weight : weights.first(parts - 1)) {
    until += weight;
    const double end = until / all * static_cast<double>(input_bytes);
    // As a double, the size of an input may be 2^63, which is none. Without any weight it is NaN.
    if (!(end < kBytesEnd)) return {};
    ends.push_back(static_cast<Bytes>(end));
  }
  ends.push_back(input_bytes);
  const bool rising = ends.front() > 0 && std::adjacent_find(ends.begin(), ends.end(),
                                                             std::greater_equal<>()) == ends.end();
  return rising ? ends : std::vector<Bytes>();
}

Bytes InputPosition(absl::Span<const Bytes> part_ends, Bytes counted) {
  if (part_ends.empty() || counted >= part_ends.back()) return counted;
  const std::size_t parts = part_ends.size();
  const auto part = static_cast<std::size_t>(
      std::upper_bound(part_ends.begin(), part_ends.end(), counted) - part_ends.begin());
  return Along(part == 0 ? 0 : part_ends[part - 1], part_ends[part],
               EvenBegin(part_ends.back(), parts, part),
               EvenBegin(part_ends.back(), parts, part + 1), counted);
}

Bytes CountedBytes(absl::Span<const Bytes> part_ends, Bytes begin, Bytes end, Bytes read) {
  if (part_ends.empty()) return std::clamp<Bytes>(read, 0, end - begin);
  const Bytes position = InputPosition(part_ends, begin) + std::max<Bytes>(0, read);
  if (position >= InputPosition(part_ends, end)) return end - begin;
  return std::clamp(CountedPosition(part_ends, position) - begin, Bytes{0}, end - begin);
}

}  // namespace weir::planner
