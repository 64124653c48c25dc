#pragma once

// What a worker measured of its machine, kept for the daemon that takes its place after a kill: it
// serves sooner, and its job may still be able to use it. Upstream: runtime/app. Downstream:
// MachineProfile.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/worker/worker_options.h"

namespace weir::worker {

/// What a measured profile holds for. Plain data.
struct ProfileKey {
  std::uint64_t machine_id = 0;  // env::MachineId: another one after each boot
  std::string version;           // of Weir: no white space
  int slots = 1;
  double cores = 1;      // what a quota leaves
  std::string work_dir;  // the disk that was measured
};

/// Returns the name of the file in the state directory of whoever runs workers: one a work
/// directory, as workers of one machine may have different disks. Pure.
std::string KeptProfileName(absl::string_view work_dir);

/// Returns the profile as one line of text. What changes from moment to moment (free memory) is not
/// in it. Pure.
std::string KeptProfileText(const ProfileKey& key, const MachineProfile& profile);

/// Returns the profile of such a line; nothing if it is of another key, or is no such line. Where
/// the machine is not known (id 0) nothing is ever kept. Pure.
/// Checked by: tests/unit/worker/kept_profile_test.cc, tests/integration/cluster_failure_test.py.
std::optional<MachineProfile> KeptProfile(const ProfileKey& key, absl::string_view text);

}  // namespace weir::worker
