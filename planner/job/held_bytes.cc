#include "planner/job/held_bytes.h"

#include <algorithm>
#include <cmath>

namespace weir::planner {
namespace {

constexpr double kEntryBytes = 32;
constexpr double kSubTables = 256;
constexpr int kLog2SubEntries = 6;
constexpr int kLog2LargeEntries = 10;
constexpr int kLog2EntriesMax = 48;
// Memory of a small table, to which slabs are added when it doubles for the first time.
constexpr double kFirstRegionBytes = 256 << 10;
constexpr double kFirstKeys = 2560;
constexpr double kSlabBytes = 2 << 20;
// Lengths and a value of 8 bytes stand beside a key of 16 bytes, which is the longest in place.
constexpr double kRecordOfInlineKey = 26;
constexpr double kRecordBesideKey = 10;
constexpr double kArenaUsed = 32.0 / 31;
constexpr double kPairEntryBytes = 16;
// Where the records of pairs begin to lie in whole huge pages: from 512 KiB on, with the last slab
// before that, a sixteenth.
constexpr double kUnitsFrom = 528 << 10;
constexpr double kUnitBytes = 2 << 20;
// Entries come in chunks of an eighth of what a consumer has, from so many on in chunks of as many.
constexpr double kChunkEntriesMax = 128 << 10;

// The part of the sub-tables of 2^log2 entries that have doubled, where they have so many keys on
// average. Large ones double as soon as the one before them has, so that the first of 256 that is
// full, some three deviations before the mean one, has most follow it.
double DoubledPart(int log2, double mean) {
  constexpr double kAheadDeviations = 2;
  const bool large = log2 >= kLog2LargeEntries;
  const double limit = std::exp2(log2) * (large ? 0.625 : 0.5);
  const double deviation = std::sqrt(mean);
  const double missing = limit - mean - (large ? kAheadDeviations * deviation : 0);
  return std::erfc(missing / (std::sqrt(2.0) * deviation)) / 2;
}

// What an arena takes for the records of pairs.
double ArenaBytes(double bytes) {
  if (bytes <= kUnitsFrom) return bytes * kArenaUsed;
  const double units = std::ceil((bytes - kUnitsFrom) / kUnitBytes);
  return std::max(kUnitsFrom + units * kUnitBytes, bytes * kArenaUsed);
}

}  // namespace

double TableBytes(double keys, double record_bytes) {
  const double long_keys =
      record_bytes > kRecordOfInlineKey ? keys * (record_bytes - kRecordBesideKey) * kArenaUsed : 0;
  if (keys <= kFirstKeys) return kFirstRegionBytes + long_keys;
  const double mean = keys / kSubTables;
  double entries = std::exp2(kLog2SubEntries);
  for (int log2 = kLog2SubEntries; log2 < kLog2EntriesMax; ++log2) {
    const double part = DoubledPart(log2, mean);
    entries += std::exp2(log2) * part;
    if (part < 1e-9) break;
  }
  return kFirstRegionBytes + std::max(kSlabBytes, kSubTables * entries * kEntryBytes) + long_keys;
}

double PairBytes(double bytes, double record_bytes, double largest_part) {
  const double pairs = bytes / record_bytes;
  const double largest = pairs * largest_part;
  const double unused = largest < kChunkEntriesMax ? largest / 16 : kChunkEntriesMax / 2;
  return ArenaBytes(bytes) + kPairEntryBytes * (pairs + unused / largest_part + largest);
}

}  // namespace weir::planner
