#include "runtime/worker/measure/cpu_quota.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::worker {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup";

std::optional<double> CoresOf(absl::string_view quota, absl::string_view period) {
  double quota_us = 0;
  double period_us = 0;
  if (!absl::SimpleAtod(quota, &quota_us) || !absl::SimpleAtod(period, &period_us)) {
    return std::nullopt;
  }
  if (!(quota_us > 0 && period_us > 0)) return std::nullopt;
  return quota_us / period_us;
}

std::optional<double> QuotaOfGroup(const ReadSmallFile& read, const std::string& group, bool one) {
  if (one) {
    const auto quota = read(absl::StrCat(group, "/cpu.cfs_quota_us"));
    const auto period = read(absl::StrCat(group, "/cpu.cfs_period_us"));
    if (!quota || !period) return std::nullopt;
    return CoresOf(*quota, *period);
  }
  const auto text = read(absl::StrCat(group, "/cpu.max"));
  if (!text) return std::nullopt;
  const std::vector<absl::string_view> words =
      absl::StrSplit(*text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return words.size() == 2 ? CoresOf(words[0], words[1]) : std::nullopt;
}

// The least quota of the group at `path` below `mount` and of those above it.
std::optional<double> LeastQuota(const ReadSmallFile& read, const std::string& mount,
                                 std::string path, bool one) {
  std::optional<double> least;
  while (true) {
    if (path == "/") path.clear();
    const auto cores = QuotaOfGroup(read, absl::StrCat(mount, path), one);
    if (cores) least = std::min(least.value_or(*cores), *cores);
    if (path.empty()) return least;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace

std::optional<double> CpuQuotaCores(const ReadSmallFile& read) {
  const auto groups = read("/proc/self/cgroup");
  if (!groups) return std::nullopt;
  std::optional<double> least;
  for (const absl::string_view line : absl::StrSplit(*groups, '\n', absl::SkipEmpty())) {
    // number:controllers:path; version 2 names no controllers.
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    const bool one = absl::c_linear_search(controllers, "cpu");
    if (!one && !fields[1].empty()) continue;
    const std::string mount = one ? absl::StrCat(kRoot, "/", fields[1]) : std::string(kRoot);
    const auto cores = LeastQuota(read, mount, fields[2], one);
    if (cores) least = std::min(least.value_or(*cores), *cores);
  }
  return least;
}

}  // namespace weir::worker
