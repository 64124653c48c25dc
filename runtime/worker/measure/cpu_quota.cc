#include "runtime/worker/measure/cpu_quota.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::worker {
namespace {

std::optional<double> CoresOf(absl::string_view quota, absl::string_view period) {
  double quota_us = 0;
  double period_us = 0;
  if (!absl::SimpleAtod(quota, &quota_us) || !absl::SimpleAtod(period, &period_us)) {
    return std::nullopt;
  }
  if (!(quota_us > 0 && period_us > 0)) return std::nullopt;
  return quota_us / period_us;
}

std::optional<double> QuotaOf(const ControlGroup& group, const ReadSmallFile& read) {
  if (group.version_one) {
    const auto quota = read(absl::StrCat(group.directory, "/cpu.cfs_quota_us"));
    const auto period = read(absl::StrCat(group.directory, "/cpu.cfs_period_us"));
    if (!quota || !period) return std::nullopt;
    return CoresOf(*quota, *period);
  }
  const auto text = read(absl::StrCat(group.directory, "/cpu.max"));
  if (!text) return std::nullopt;
  const std::vector<absl::string_view> words =
      absl::StrSplit(*text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return words.size() == 2 ? CoresOf(words[0], words[1]) : std::nullopt;
}

}  // namespace

std::optional<double> CpuQuotaCores(const ReadSmallFile& read) {
  std::optional<double> least;
  for (const ControlGroup& group : ControlGroupsOf("cpu", read)) {
    const auto cores = QuotaOf(group, read);
    if (cores) least = std::min(least.value_or(*cores), *cores);
  }
  return least;
}

int ThreadsFor(int cores, std::optional<double> quota_cores) {
  if (!quota_cores || *quota_cores >= cores) return cores;
  return std::max(1, static_cast<int>(std::ceil(*quota_cores)));
}

}  // namespace weir::worker
