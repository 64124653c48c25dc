#pragma once

// What came with the job, as its code finds it. Upstream: the worker put files and archives there.
// Downstream: the job's program, which looks into its working directory and environment.

#include "absl/status/status.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

/// Unpacks the archives of a task into its working directory, which is the current one, and names
/// in the environment what is there: WEIR_JOB_FILES and WEIR_JOB_ARCHIVES, a name a line; not set
/// where there is none. What an earlier task of the job unpacked there is removed. Blocking; call
/// before threads are started. Errors: as UnpackArchive and env::RemoveTree; those of the work
/// directory are its worker's (FAULT_OF_WORKER). Checked by: tests/unit/task/shipped_files_test.cc,
/// tests/integration/streaming_test.py (class ShippedFiles).
absl::Status PlaceShippedFiles(const v1::TaskCommand::Start& start);

}  // namespace weir::task
