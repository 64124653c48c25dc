#include "jobs/quantiles/magnitude_bins.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace weir::quantiles {
namespace {

constexpr std::int32_t kBinsPerOctave = 35;

double Polynomial(double s) { return ((6 * s - 21) * s + 50) * s; }

// Begins of the bins of an octave as s, and its end: where the polynomial is 0, 1, ... 35.
std::array<double, kBinsPerOctave + 1> FindBegins() {
  std::array<double, kBinsPerOctave + 1> begins{};
  for (std::int32_t bin = 1; bin < kBinsPerOctave; ++bin) {
    // Halving ends at the last s below the bin's begin and the first in it.
    double below = 0;
    double inside = 1;
    while (true) {
      const double middle = (below + inside) / 2;
      if (middle <= below || middle >= inside) break;
      (Polynomial(middle) < bin ? below : inside) = middle;
    }
    begins[static_cast<std::size_t>(bin)] = inside;
  }
  begins[kBinsPerOctave] = 1;
  return begins;
}

}  // namespace

std::int32_t BinOf(double magnitude) {
  int exponent = 0;
  const double s = 2 * std::frexp(magnitude, &exponent) - 1;
  return kBinsPerOctave * (exponent - 1) + static_cast<std::int32_t>(Polynomial(s));
}

double ValueOfBin(std::int32_t bin) {
  static const std::array<double, kBinsPerOctave + 1> kBegins = FindBegins();
  std::int32_t octave = bin / kBinsPerOctave;
  if (bin % kBinsPerOctave < 0) --octave;
  const auto in_octave = static_cast<std::size_t>(bin - octave * kBinsPerOctave);
  const double begin = 1 + kBegins[in_octave];
  const double end = 1 + kBegins[in_octave + 1];
  // As far from the begin as from the end, relative to each.
  return std::ldexp(2 * begin * end / (begin + end), octave);
}

}  // namespace weir::quantiles
