#pragma once

// Names around an output directory. Upstream: everything that stages, publishes or removes output.

#include <string>

namespace weir::master {

/// Names of everything that a job's output goes through, all beside the output.
struct OutputPlaces {
  OutputPlaces(const std::string& output_path, const std::string& job_id);
  std::string output;    // without trailing slashes
  std::string staging;   // <output>.weir-staging-<job>
  std::string marker;    // in staging; workers look for it to see that they share the file system
  std::string replaced;  // <output>.weir-old-<job>: the old output during an overwrite
  std::string removed;   // <output>.weir-removed-<job>: the old output while it is deleted
};

/// What stands between output and job id in OutputPlaces.
inline constexpr char kStagingInfix[] = ".weir-staging-";
inline constexpr char kReplacedInfix[] = ".weir-old-";

/// "part-00003", and its name while only attempt `attempt` vouches for it: "part-00003.1".
std::string PartName(int index);
std::string StagedPartName(int index, int attempt);

}  // namespace weir::master
