#include "runtime/master/sample_design.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace weir::master {
namespace {

constexpr double kSmallPart = 0.2;

void AddRanges(const InputRanges& input, std::int64_t begin, std::int64_t bytes,
               std::vector<v1::InputRange>& ranges) {
  for (v1::InputRange& range : input.Cut(begin, begin + bytes)) ranges.push_back(std::move(range));
}

}  // namespace

std::optional<SampleDesign> DesignSample(const InputList& input, std::size_t num_workers,
                                         const SamplePolicy& policy) {
  if (!policy.enabled || num_workers == 0) return std::nullopt;
  InputList plain;
  for (const InputFile& file : input.files) {
    if (absl::EndsWithIgnoreCase(file.path, ".gz")) continue;
    plain.files.push_back(file);
    plain.total_bytes += file.bytes;
  }
  if (plain.total_bytes < policy.input_bytes_min || plain.total_bytes < input.total_bytes / 2) {
    return std::nullopt;
  }
  const auto places = static_cast<std::int64_t>(num_workers * kPlacesPerWorker);
  const std::int64_t stratum = plain.total_bytes / places;
  const std::int64_t bytes =
      std::min({static_cast<std::int64_t>(policy.fraction * static_cast<double>(plain.total_bytes)),
                policy.bytes_max}) /
      places;
  const auto small = static_cast<std::int64_t>(kSmallPart * static_cast<double>(bytes));
  if (small < 1 || bytes > stratum) return std::nullopt;
  const InputRanges ranges(std::move(plain));
  SampleDesign design;
  design.small.resize(num_workers);
  design.large.resize(num_workers);
  for (std::int64_t place = 0; place < places; ++place) {
    const auto worker = static_cast<std::size_t>(place) % num_workers;
    const std::int64_t begin = place * stratum + (stratum - bytes) / 2;
    AddRanges(ranges, begin, small, design.small[worker]);
    AddRanges(ranges, begin + small, bytes - small, design.large[worker]);
  }
  return design;
}

}  // namespace weir::master
