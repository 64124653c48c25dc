#pragma once

// Combines what mappers made along a tree drawn at random: any neighbours, any parts of the places,
// any number of slots. Upstream: tests of combine steps. Downstream: JobProgram.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/testing/in_process_job.h"

namespace weir::testing {

/// Maps as `cut` says, cuts the elements of layer 1 at random places, combines neighbours until one
/// partial result a range is left, and reduces these to `num_parts` parts. The result must be that
/// of RunJob, whatever the seed. Elements that do not split stay whole.
absl::StatusOr<std::vector<std::string>> RunAlongRandomTree(JobProgram& program, const JobCut& cut,
                                                            int num_parts, std::uint64_t seed,
                                                            bool splits = true);

/// Property: for shares, slots and a tree drawn by RapidCheck, `program` makes of `text` what one
/// slot of one mapper makes of it, shuffled as well as combined along the tree.
void HoldsForAnyCut(JobProgram& program, const std::string& text, bool splits);

/// The parts one after the other.
std::string Joined(const std::vector<std::string>& parts);

/// The run of one mapper with one slot over the whole file, for one consumer.
MemoryRun MapOf(JobProgram& program, const ScratchFile& file);

}  // namespace weir::testing
