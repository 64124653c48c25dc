#pragma once

// What must hold of a job before it is accepted or planned. Upstream: Master::Submit,
// Master::DryRun. Downstream: the catalog, input expansion, staged output.

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "runtime/env/callback_scope.h"
#include "runtime/master/input/input_lister.h"
#include "runtime/master/input/input_ranges.h"
#include "runtime/master/options/master_seams.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

enum class SubmissionKind {
  kRun,     // will write its output
  kDryRun,  // is planned only
};

/// Lists the input of a job and checks it and the output against each other; `path` says at which
/// of them it is.
/// Blocking: on a WorkPool. Errors: as CheckSubmission.
absl::StatusOr<InputList> ListInputs(env::Storage& storage, const v1::JobSpec& spec,
                                     SubmissionKind kind, PathLookedAt& path);

/// Checks a job whose fields are sound (rpc::Submit, rpc::DryRun): job name (with the nearest one
/// for a typo), parameters, plan method at once; a given plan on the compute pool; output and
/// inputs by the lister, which gives those of a job that runs kListingMax. The spec is
/// shared, because with a plan it may be as large as a message.
///
/// `done` on the loop, perhaps before the call returns, with the input as it is now. Every error
/// carries a JobError (INVALID_JOB, OUTPUT_EXISTS, INPUT_NOT_FOUND, INPUT_UNREADABLE, DEADLINE).
/// Checked by: tests/unit/master/master_test.cc, slow_storage_test.cc.
void CheckSubmission(const MasterSeams& seams, InputLister& lister,
                     const env::CallbackScope& callbacks, std::shared_ptr<const v1::JobSpec> spec,
                     SubmissionKind kind, absl::AnyInvocable<void(absl::StatusOr<InputList>)> done);

}  // namespace weir::master
