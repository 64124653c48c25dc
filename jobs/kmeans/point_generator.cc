#include "jobs/kmeans/point_generator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace weir::kmeans {
namespace {

// The i-th number in [0, 1) of a stream.
double Uniform(std::uint64_t stream, std::uint64_t i) {
  std::uint64_t bits = stream * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

void PointGenerator::Append(std::int64_t number, std::string& out) {
  const std::uint64_t centres = options_.seed * 2 + 1;
  const std::uint64_t rows = options_.seed * 2 + 2;
  const std::uint64_t at = static_cast<std::uint64_t>(number) * 5;
  const double share = std::pow(Uniform(rows, at), 1 + options_.skew);
  const auto centre =
      static_cast<std::uint64_t>(std::min<int>(kCentres - 1, static_cast<int>(share * kCentres)));
  double row[2];
  for (std::uint64_t d = 0; d < 2; ++d) {
    // The sum of two uniform numbers: a triangle of width 8 around the centre.
    const double offset = Uniform(rows, at + 1 + 2 * d) + Uniform(rows, at + 2 + 2 * d) - 1;
    row[d] = 100 * Uniform(centres, centre * 2 + d) + 4 * offset;
  }
  char text[64];
  const int length = std::snprintf(text, sizeof(text), "%.6f,%.6f\n", row[0], row[1]);
  out.append(text, static_cast<std::size_t>(length));
}

}  // namespace weir::kmeans
