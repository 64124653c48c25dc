#include "runtime/master/learning/key_growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "runtime/master/learning/two_costs.h"

namespace weir::master {
namespace {

// Frequent keys, which are counted one by one.
constexpr int kHead = 32;
constexpr int kTailPieces = 128;  // even, for Simpson's rule
constexpr int kExponentSteps = 20;
// A search for keys ends where it knows their logarithm so well, or after so many steps.
constexpr double kLogKeysError = 1e-9;
constexpr int kKeysSteps = 60;
// A tiny sample of fewer keys says nothing.
constexpr double kTinyKeysMin = 20;
// Nor do fewer records of any sample.
constexpr double kRecordsMin = 20;
constexpr double kSame = 1.002;
// How many standard deviations of a few records that met are left out.
constexpr double kMetDeviations = 2;

// The laws of one exponent: what they have in common is computed once, for all searches among them.
class LawsOf {
 public:
  explicit LawsOf(double exponent) : exponent_(exponent) {
    double sum = 0;
    for (std::size_t i = 0; i < kHead; ++i) {
      head_[i] = std::pow(static_cast<double>(i + 1), -exponent);
      sum += head_[i];
      head_sum_[i] = sum;
    }
  }

  // As DistinctKeys.
  double Distinct(double law_keys, double records) const {
    const auto head = static_cast<std::size_t>(std::clamp<double>(law_keys, 1, kHead));
    const double head_end = static_cast<double>(head) + 0.5;
    const bool has_tail = law_keys > static_cast<double>(head);
    const double tail_weight = has_tail ? TailWeight(head_end, law_keys + 0.5) : 0;
    const double draws = records / (head_sum_[head - 1] + tail_weight);
    double keys = 0;
    for (std::size_t i = 0; i < head; ++i) keys -= std::expm1(-draws * head_[i]);
    if (!has_tail) return keys;
    const double piece = (std::log(law_keys + 0.5) - std::log(head_end)) / kTailPieces;
    // Keys and weights of places that are as far apart, in logarithms, grow and fall by a factor.
    const double rise = std::exp(piece);
    const double fall = std::exp(-exponent_ * piece);
    double at = head_end;
    double weight = std::pow(head_end, -exponent_);
    double tail = 0;
    for (int k = 0; k <= kTailPieces; ++k, at *= rise, weight *= fall) {
      const double simpson = k == 0 || k == kTailPieces ? 1 : k % 2 == 1 ? 4 : 2;
      tail -= simpson * std::expm1(-draws * weight) * at;
    }
    return std::min(keys + tail * piece / 3, std::min(law_keys, records));
  }

  // The law that has so many keys among so many records; nothing where none does.
  std::optional<KeyLaw> Through(const KeyCount& count) const {
    const auto missing = [&](double log_keys) {
      return count.keys - Distinct(std::exp(log_keys), count.records);
    };
    double low = std::log(std::max(1.0, count.keys));
    double high = std::log(KeyLaw::kKeysMax);
    double missing_at_low = missing(low);
    double missing_at_high = missing(high);
    if (missing_at_high > 0) return std::nullopt;
    if (missing_at_low <= 0) high = low;
    // Next is where a straight line between the ends says; of an end that stays for a second time
    // half counts (the Illinois rule), so that the other one moves, too.
    int stayed = 0;
    for (int step = 0; step < kKeysSteps && high - low > kLogKeysError; ++step) {
      const double line = low + (high - low) * missing_at_low / (missing_at_low - missing_at_high);
      const double middle = std::clamp(line, low + kLogKeysError / 2, high - kLogKeysError / 2);
      const double missing_at_middle = missing(middle);
      if (missing_at_middle > 0) {
        low = middle;
        missing_at_low = missing_at_middle;
        if (stayed > 0) missing_at_high /= 2;
        stayed = 1;
      } else {
        high = middle;
        missing_at_high = missing_at_middle;
        if (stayed < 0) missing_at_low /= 2;
        stayed = -1;
      }
    }
    return KeyLaw{exponent_, std::min(std::exp(high), KeyLaw::kKeysMax)};
  }

 private:
  // The integral of i^-exponent over [begin, end].
  double TailWeight(double begin, double end) const {
    if (std::abs(exponent_ - 1) < 1e-9) return std::log(end / begin);
    return (std::pow(end, 1 - exponent_) - std::pow(begin, 1 - exponent_)) / (1 - exponent_);
  }

  const double exponent_;
  std::array<double, kHead> head_;      // i^-exponent
  std::array<double, kHead> head_sum_;  // of the first ones
};

// Of all laws that have large.keys, the one that grows to them as from small.keys.
std::optional<KeyLaw> LawThrough(const KeyCount& small, const KeyCount& large) {
  const bool usable = small.records >= kRecordsMin && large.records > small.records &&
                      small.keys > 0 && large.keys <= large.records && small.keys <= small.records;
  if (!usable) return std::nullopt;
  // All are known; how often each comes, nothing tells.
  if (large.keys <= small.keys * kSame) return KeyLaw{0, std::max(1.0, large.keys)};
  // No law comes to its keys sooner than one whose keys are all as frequent.
  if (const std::optional<KeyLaw> even = LawsOf(0).Through(large);
      even && DistinctKeys(*even, small.records) <= small.keys) {
    return even;
  }
  KeyLaw law{0, KeyLaw::kKeysMax};
  double low = 0;
  double high = KeyLaw::kExponentMax;
  for (int step = 0; step < kExponentSteps; ++step) {
    const double exponent = (low + high) / 2;
    const LawsOf laws(exponent);
    const std::optional<KeyLaw> of_large = laws.Through(large);
    if (!of_large) {
      high = exponent;
      continue;
    }
    law = *of_large;
    // A law that had more of the keys in the small sample already grows too slowly.
    const bool too_slow = laws.Distinct(law.keys, small.records) > small.keys;
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
  return LawsOf(law.exponent).Distinct(law.keys, records);
}

double LargerTableCost(double grown) {
  constexpr double kPerDoubling = 0.125;
  return grown > 1 ? 1 + kPerDoubling * std::log2(grown) : 1;
}

double LargerSortCost(double grown) {
  constexpr double kPerDoubling = 0.03125;
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
