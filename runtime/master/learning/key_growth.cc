#include "runtime/master/learning/key_growth.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/master/learning/two_costs.h"

namespace weir::master {
namespace {

// Frequent keys, which are counted one by one.
constexpr int kHead = 32;
constexpr int kTailPieces = 128;  // even, for Simpson's rule
constexpr int kKeysSteps = 40;
constexpr int kExponentSteps = 20;
// A tiny sample of fewer keys says nothing.
constexpr double kTinyKeysMin = 20;
// Nor do fewer records of any sample.
constexpr double kRecordsMin = 20;
constexpr double kSame = 1.002;
// How many standard deviations of a few records that met are left out.
constexpr double kMetDeviations = 2;

double LastOfHead(const KeyLaw& law) { return std::floor(std::min<double>(kHead, law.keys)); }

// The integral of i^-exponent over [begin, end].
double TailWeight(double exponent, double begin, double end) {
  if (std::abs(exponent - 1) < 1e-9) return std::log(end / begin);
  return (std::pow(end, 1 - exponent) - std::pow(begin, 1 - exponent)) / (1 - exponent);
}

double AllWeight(const KeyLaw& law) {
  const double head = LastOfHead(law);
  double weight = 0;
  for (double i = 1; i <= head; ++i) weight += std::pow(i, -law.exponent);
  if (law.keys > head) weight += TailWeight(law.exponent, head + 0.5, law.keys + 0.5);
  return weight;
}

// The law of that exponent that has so many keys among so many records; nothing where none does.
std::optional<KeyLaw> LawOf(double exponent, const KeyCount& count) {
  double low = std::log(std::max(1.0, count.keys));
  double high = std::log(KeyLaw::kKeysMax);
  if (DistinctKeys({exponent, KeyLaw::kKeysMax}, count.records) < count.keys) return std::nullopt;
  for (int step = 0; step < kKeysSteps; ++step) {
    const double middle = (low + high) / 2;
    const bool too_few = DistinctKeys({exponent, std::exp(middle)}, count.records) < count.keys;
    (too_few ? low : high) = middle;
  }
  return KeyLaw{exponent, std::min(std::exp(high), KeyLaw::kKeysMax)};
}

// Of all laws that have large.keys, the one that grows to them as from small.keys.
std::optional<KeyLaw> LawThrough(const KeyCount& small, const KeyCount& large) {
  const bool usable = small.records >= kRecordsMin && large.records > small.records &&
                      small.keys > 0 && large.keys <= large.records && small.keys <= small.records;
  if (!usable) return std::nullopt;
  // All are known; how often each comes, nothing tells.
  if (large.keys <= small.keys * kSame) return KeyLaw{0, std::max(1.0, large.keys)};
  // No law comes to its keys sooner than one whose keys are all as frequent.
  if (const std::optional<KeyLaw> even = LawOf(0, large);
      even && DistinctKeys(*even, small.records) <= small.keys) {
    return even;
  }
  KeyLaw law{0, KeyLaw::kKeysMax};
  double low = 0;
  double high = KeyLaw::kExponentMax;
  for (int step = 0; step < kExponentSteps; ++step) {
    const double exponent = (low + high) / 2;
    const std::optional<KeyLaw> of_large = LawOf(exponent, large);
    if (!of_large) {
      high = exponent;
      continue;
    }
    law = *of_large;
    // A law that had more of the keys in the small sample already grows too slowly.
    const bool too_slow = DistinctKeys(law, small.records) > small.keys;
    (too_slow ? low : high) = exponent;
  }
  return law;
}

}  // namespace

bool IsKeyLaw(const KeyLaw& law) {
  return law.exponent >= 0 && law.exponent <= KeyLaw::kExponentMax && law.keys >= 1 &&
         law.keys <= KeyLaw::kKeysMax;
}

double DistinctKeys(const KeyLaw& law, double records) {
  const double draws = records / AllWeight(law);
  const double head = LastOfHead(law);
  double keys = 0;
  for (double i = 1; i <= head; ++i) keys -= std::expm1(-draws * std::pow(i, -law.exponent));
  if (law.keys <= head) return keys;
  const double begin = std::log(head + 0.5);
  const double piece = (std::log(law.keys + 0.5) - begin) / kTailPieces;
  double tail = 0;
  for (int k = 0; k <= kTailPieces; ++k) {
    const double log_i = begin + piece * k;
    const double seen = -std::expm1(-draws * std::exp(-law.exponent * log_i)) * std::exp(log_i);
    const double simpson = k == 0 || k == kTailPieces ? 1 : k % 2 == 1 ? 4 : 2;
    tail += simpson * seen;
  }
  return std::min(keys + tail * piece / 3, std::min(law.keys, records));
}

double LargerTableCost(double grown) {
  constexpr double kPerDoubling = 0.125;
  return grown > 1 ? 1 + kPerDoubling * std::log2(grown) : 1;
}

double PartInFewPlaces(const KeyCount& few, const KeyCount& many, double growth) {
  if (!(few.records > 0 && few.keys > 0 && many.records > 0 && many.keys > 0)) return 1;
  return few.keys / (many.keys * std::pow(few.records / many.records, growth));
}

std::optional<LocalKeys> FitLocalKeys(absl::Span<const PlacedKeys> samples) {
  std::vector<TwoParts> counts;
  for (const PlacedKeys& sample : samples) {
    if (!(sample.count.keys > 0)) return std::nullopt;
    counts.push_back({sample.places, sample.count.records, sample.count.keys});
  }
  const std::optional<TwoCosts> fitted = FitTwoCosts(counts);
  if (!fitted) return std::nullopt;
  const LocalKeys keys{fitted->of_first, fitted->of_second};
  if (!(keys.a_record > 0 && keys.at_once >= 0)) return std::nullopt;
  for (const PlacedKeys& sample : samples) {
    const double expected = sample.places * keys.at_once + keys.a_record * sample.count.records;
    if (!(sample.count.keys < kLocalFactor * expected &&
          expected < kLocalFactor * sample.count.keys)) {
      return std::nullopt;
    }
  }
  return keys;
}

std::optional<KeyLaw> FitKeyLaw(const KeyCount& tiny, const KeyCount& small,
                                const KeyCount& large) {
  if (tiny.keys < kTinyKeysMin || small.records <= tiny.records) return std::nullopt;
  const std::optional<KeyLaw> law = LawThrough(small, large);
  if (!law || large.keys <= small.keys * kSame) return law;
  const double off = DistinctKeys(*law, tiny.records) / tiny.keys;
  if (off > kTinyFactor || off < 1 / kTinyFactor) return std::nullopt;
  return law;
}

std::optional<KeyLaw> FitGrowth(const KeyCount& small, const KeyCount& large) {
  const double met = small.records - small.keys;
  if (met < 0 || !(small.keys > 0)) return std::nullopt;
  const double beyond_chance = std::max(0.0, met - kMetDeviations * std::sqrt(met));
  return LawThrough({small.records, small.records - beyond_chance}, large);
}

}  // namespace weir::master
