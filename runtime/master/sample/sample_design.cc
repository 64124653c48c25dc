#include "runtime/master/sample/sample_design.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

namespace weir::master {
namespace {

constexpr double kSmallPart = 0.2;
// Smaller places hold few records, and the border of a place cuts one.
constexpr std::int64_t kPlaceBytesMin = 32 << 10;
constexpr std::int64_t kPlacesMin = 4;
// Two sizes that are closer say nothing about growth.
constexpr std::int64_t kLargerBy = 2;

// Pieces of one size, up to N bytes in all.
struct Pieces {
  std::vector<std::vector<v1::InputRange>> of_worker;
  std::int64_t bytes_left = 0;
  std::int64_t bytes = 0;

  void Add(const InputRanges& input, std::int64_t begin, std::int64_t end, std::size_t worker) {
    for (v1::InputRange& range : input.Cut(begin, end)) {
      const std::int64_t size = range.end() - range.begin();
      if (size > bytes_left) continue;
      bytes_left -= size;
      bytes += size;
      of_worker[worker].push_back(std::move(range));
    }
  }
};

}  // namespace

std::optional<SampleDesign> DesignSample(const InputList& input, std::size_t num_workers, int slots,
                                         const SamplePolicy& policy) {
  if (!policy.enabled || num_workers == 0) return std::nullopt;
  if (input.total_bytes < policy.input_bytes_min) return std::nullopt;
  const auto part = [&input](double fraction) {
    return static_cast<std::int64_t>(fraction * static_cast<double>(input.total_bytes));
  };
  const auto workers = static_cast<std::int64_t>(num_workers);
  const std::int64_t telling =
      std::min(workers * slots * policy.slot_bytes_min, part(policy.fraction_max));
  const std::int64_t worker_bytes =
      std::min(std::max(part(policy.fraction), telling), policy.bytes_max) / workers;
  const std::int64_t of_worker =
      std::min<std::int64_t>(std::int64_t{slots} * policy.places_per_slot,
                             std::max<std::int64_t>(kPlacesMin, worker_bytes / kPlaceBytesMin));
  const std::int64_t places = workers * of_worker;
  const std::int64_t stratum = input.total_bytes / places;
  const std::int64_t bytes = worker_bytes / of_worker;
  const auto small_bytes = static_cast<std::int64_t>(kSmallPart * static_cast<double>(bytes));
  if (small_bytes < 1 || bytes > stratum) return std::nullopt;
  const InputRanges ranges(input);
  Pieces small{std::vector<std::vector<v1::InputRange>>(num_workers), small_bytes * places, 0};
  Pieces large{std::vector<std::vector<v1::InputRange>>(num_workers),
               (bytes - small_bytes) * places, 0};
  const std::int64_t places_again =
      std::clamp<std::int64_t>(std::int64_t{slots} * policy.places_again, 1, of_worker);
  const std::int64_t again_bytes = small_bytes * of_worker / places_again;
  Pieces again{std::vector<std::vector<v1::InputRange>>(num_workers),
               again_bytes * workers * places_again, 0};
  std::vector<std::vector<v1::InputRange>> tiny(num_workers);
  // Places at even distances miss, or meet each time, what comes in periods, as the days of the
  // year do. The same ones for every run of a job on the same input.
  std::mt19937_64 random;
  for (std::int64_t place = 0; place < places; ++place) {
    const auto worker = static_cast<std::size_t>(place / of_worker);
    const auto room = static_cast<std::uint64_t>(stratum - bytes + 1);
    const std::int64_t begin = place * stratum + static_cast<std::int64_t>(random() % room);
    small.Add(ranges, begin, begin + small_bytes, worker);
    large.Add(ranges, begin + small_bytes, begin + bytes, worker);
    const std::int64_t nth = place % of_worker;
    const bool first_of_part =
        nth == 0 || nth * places_again / of_worker != (nth - 1) * places_again / of_worker;
    if (first_of_part) {
      again.Add(ranges, begin, begin + again_bytes, worker);
    }
    // A file that has one reader comes whole, or not at all.
    for (v1::InputRange& range : ranges.Cut(begin, begin + std::min(kTinyBytes, small_bytes))) {
      if (tiny[worker].empty() && range.end() - range.begin() <= kTinyBytes) {
        tiny[worker].push_back(std::move(range));
      }
    }
  }
  const bool enough = 2 * (small.bytes + large.bytes) >= bytes * places && small.bytes > 0 &&
                      large.bytes >= kLargerBy * small.bytes;
  if (!enough) return std::nullopt;
  return SampleDesign{std::move(tiny), std::move(small.of_worker), std::move(large.of_worker),
                      std::move(again.of_worker)};
}

}  // namespace weir::master
