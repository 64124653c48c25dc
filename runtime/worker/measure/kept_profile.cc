#include "runtime/worker/measure/kept_profile.h"

#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/format/xxh3_stream.h"

namespace weir::worker {
namespace {

constexpr std::size_t kRates = 5;

std::string KeyText(const ProfileKey& key) {
  return absl::StrFormat("weir-machine 1 %016x %s %d %.6f %s", key.machine_id, key.version,
                         key.slots, key.cores, key.work_dir);
}

}  // namespace

std::string KeptProfileName(absl::string_view work_dir) {
  return absl::StrFormat("weir-machine-%016x", format::Xxh3({work_dir.data(), work_dir.size()}));
}

std::string KeptProfileText(const ProfileKey& key, const MachineProfile& profile) {
  return absl::StrFormat("%s %.17g %.17g %.17g %.17g %.17g end\n", KeyText(key),
                         profile.slot_compute_rate, profile.compute_rate,
                         profile.disk_write_bytes_per_s, profile.disk_read_bytes_per_s,
                         profile.task_start_s);
}

std::optional<MachineProfile> KeptProfile(const ProfileKey& key, absl::string_view text) {
  if (key.machine_id == 0) return std::nullopt;
  if (!absl::ConsumePrefix(&text, absl::StrCat(KeyText(key), " ")) ||
      !absl::ConsumeSuffix(&text, " end\n")) {
    return std::nullopt;
  }
  std::vector<double> rates;
  for (const absl::string_view field : absl::StrSplit(text, ' ')) {
    double& rate = rates.emplace_back();
    if (!absl::SimpleAtod(field, &rate) || !std::isfinite(rate) || rate < 0) return std::nullopt;
  }
  if (rates.size() != kRates) return std::nullopt;
  MachineProfile profile;
  profile.slot_compute_rate = rates[0];
  profile.compute_rate = rates[1];
  profile.disk_write_bytes_per_s = rates[2];
  profile.disk_read_bytes_per_s = rates[3];
  profile.task_start_s = rates[4];
  return profile;
}

}  // namespace weir::worker
