#pragma once

// What is known of a job without running it, as data, so that only the process that answers for a
// module holds its code. Upstream: runtime/task (makes one), the client (sends it). Downstream: the
// master plans by it, the client prints it.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/job_definition.h"
#include "weir/v1/job.pb.h"

namespace weir {

/// Asks a job everything that planning needs, for these parameters. Runs user code.
/// Errors: kInvalidArgument of CheckParameters, CheckValues or Loop.
/// Checked by: tests/unit/modules/job_description_test.cc (what is asked of a described job is what
///   the job itself answers, for the jobs of this repository).
absl::StatusOr<v1::JobDescription> DescribeJob(
    const JobDefinition& job, absl::Span<const std::pair<std::string, std::string>> parameters);

/// The part of a description that does not depend on parameters.
JobInfo InfoOf(const v1::JobDescription& description);

/// Returns the job that answers as it is described, whatever the values: those that it was
/// described for. It has no code: MakeProgram and Present fail with kFailedPrecondition.
std::unique_ptr<JobDefinition> MakeDescribedJob(v1::JobDescription description);

/// The job of a spec: what its module says of it, else the one of that name in the catalog; null
/// when there is none. Ownership: what comes from the catalog must not outlive it.
std::shared_ptr<const JobDefinition> FindJob(const JobCatalog& catalog, const v1::JobSpec& spec);

}  // namespace weir
