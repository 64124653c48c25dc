#pragma once

// Names around an output directory. Upstream: everything that stages, publishes or removes output.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::master {

/// Names of everything that a job's output goes through, all beside the output.
///
/// A job that a later master takes up again has other names (`life`: that master's epoch) than
/// where it began (0): a task that has not heard yet that its master is gone still writes, and then
/// finds no folder.
struct OutputPlaces {
  OutputPlaces(const std::string& output_path, const std::string& job_id, std::int64_t life = 0);
  std::string output;    // without trailing slashes
  std::string staging;   // <output>.weir-staging-<job>, in a later life with .<life> behind it
  std::string marker;    // in staging; workers look for it to see that they share the file system
  std::string replaced;  // <output>.weir-old-<job>, too: the old output during an overwrite
  std::string removed;   // <output>.weir-removed-<job>, too: the old output while it is deleted
};

/// What stands between output and job id in OutputPlaces.
inline constexpr char kStagingInfix[] = ".weir-staging-";
inline constexpr char kReplacedInfix[] = ".weir-old-";

/// "part-00003", and its name while only one attempt under one plan vouches for it:
/// "part-00003.2.1" of the first attempt under plan epoch 2. Whoever still works for an earlier
/// plan writes elsewhere.
std::string PartName(int index);
std::string StagedPartName(int index, std::int64_t plan_epoch, int attempt);
bool IsStagedPartName(absl::string_view name);

/// What `name` is called that lies in `directory`.
std::string PathIn(const std::string& directory, absl::string_view name);

}  // namespace weir::master
