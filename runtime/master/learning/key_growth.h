#pragma once

// How many different keys more input will have, told from a few small samples of it. Pure.
// Upstream: SampleMachine counts. Downstream: ApplyShape.

#include <optional>

#include "absl/types/span.h"

namespace weir::master {

/// Records of some input, and how many different keys they have.
struct KeyCount {
  double records = 0;
  double keys = 0;
};

/// Zipf's law with an end: of `keys` keys the i-th most frequent comes in proportion to
/// i^-exponent. Exponent 0 is keys that are all as frequent; so many keys that no input reaches
/// their end is a vocabulary that grows for ever (Heaps' law).
struct KeyLaw {
  static constexpr double kKeysMax = 1e12;
  static constexpr double kExponentMax = 4;

  double exponent = 0;
  double keys = 1;
};

/// Says whether the numbers are within the law's bounds: exponent in [0, kExponentMax], keys in
/// [1, kKeysMax].
bool IsKeyLaw(const KeyLaw& law);

/// Returns how many different keys are expected among `records` independent draws.
///
/// Model: the sum over i of 1 - exp(-n p_i), with p_i = i^-s / (the sum of all i^-s); the head is
///   summed, the tail integrated over log i. Requires: IsKeyLaw(law), records >= 0.
/// Time: some hundred exponentials. Error: below 1 %.
/// Source: Baayen, Word Frequency Distributions, 2001 (expected vocabulary size, its growth curve).
/// Checked by: tests/unit/master/key_growth_test.cc.
double DistinctKeys(const KeyLaw& law, double records);

/// Returns the law that has the keys of the large sample and grows to them as from the small one,
/// as far as any law does; nothing where the records do not look like independent draws from it.
///
/// Of all laws that have large.keys, the exponent says how they come to them: 0 soonest. Data that
/// repeats itself in places (sorted rows, a file about one thing) has keys that no law tells from
/// so few places; there the tiny sample, a few records from one place, has other keys than the law
/// says: more or fewer by the factor kTinyFactor. The caller then has only the power between two
/// sizes.
/// Checked by: tests/unit/master/key_growth_test.cc.
std::optional<KeyLaw> FitKeyLaw(const KeyCount& tiny, const KeyCount& small, const KeyCount& large);

inline constexpr double kTinyFactor = 1.2;

/// The same of two samples only, of which the small one may have hardly any key twice: an exponent
/// above 0 is told from records that met beyond chance alone. Nothing where it has too few records.
/// Checked by: tests/unit/master/key_growth_test.cc.
std::optional<KeyLaw> FitGrowth(const KeyCount& small, const KeyCount& large);

/// Keys of some input that was read from so many places.
struct PlacedKeys {
  KeyCount count;
  double places = 1;
};

/// Returns how many times the keys of as many records from many places those from few have; 1 where
/// either was not read. `growth` is the power by which keys grow with records.
///
/// Independent draws have as many (within kSameKeys). What is about one thing for some pages (text)
/// has more in many places, and what is sorted by time far more (less than kLocalPart in few).
/// Checked by: tests/unit/master/key_growth_test.cc.
double PartInFewPlaces(const KeyCount& few, const KeyCount& many, double growth);

inline constexpr double kSameKeys = 0.04;
inline constexpr double kLocalPart = 0.6;

/// Keys that come for a while and then never again, as those of rows in the order of time do: any
/// place has `at_once` of them from its first records on, and `a_record` more for each record.
struct LocalKeys {
  double at_once = 0;
  double a_record = 0;  // > 0
};

/// Returns the local keys that samples from different numbers of places say, by least squares;
/// nothing where one of them has others by the factor kLocalFactor.
///
/// Model: a place of n records has at_once + a_record n keys, and no two places share one.
/// Checked by: tests/unit/master/key_growth_test.cc.
std::optional<LocalKeys> FitLocalKeys(absl::Span<const PlacedKeys> samples);

/// Places are as many and as regular as what they are to tell from, so that a sample may be off.
inline constexpr double kLocalFactor = 1.3;

/// Returns what reducing takes where only `left` of the records stay, as a part of what it takes
/// where all keys differ: a record of a key that is there already is hashed and compared, but
/// neither stored nor sorted nor written. (Word count, processor time of reducers: 0.6 at left =
/// 0.5, 0.7 at 0.6.) Requires: left in [0, 1].
inline double ReducePartOf(double left) { return 0.25 + 0.75 * left; }

/// Returns how much more a key costs a reducer in a table of `grown` times as many keys, which
/// caches hold less of and which takes longer to sort: an eighth a doubling. (Word count of text,
/// processor time: 1.1 to 1.4 for keys of 10 MB, 1.2 to 1.8 for 30 to 45 MB.) 1 for smaller ones.
/// Mappers, which do not sort, show no such growth (0.7 to 1.4 at 8 to 25 times as many).
double LargerTableCost(double grown);
/// The same where a reducer has one producer, whose keys it sorts without a table
/// (combine_one_input.h): a thirty-second a doubling. (Word count of text, one worker of two slots:
/// 0.9 to 1.0 for keys of 18 MB, 1.0 to 1.3 for 70 MB.)
double LargerSortCost(double grown);

/// Keys of so many bytes of output, and fewer, are about as cheap as each other.
inline constexpr double kCachedBytes = 2e6;

}  // namespace weir::master
