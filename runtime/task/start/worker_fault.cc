#include "runtime/task/start/worker_fault.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"

namespace weir::task {

absl::Status OfWorker(const absl::Status& status, std::string_view what) {
  if (ErrnoOf(status) == 0 || CarriesJobError(status)) return status;
  // The codes of missing and unreadable files are of inputs.
  v1::JobError error =
      IsDiskFull(status)
          ? JobErrorFromStatus(status)
          : MakeJobError(job_error::kInternal,
                         absl::StrCat(std::string(what), ": ", status.message()),
                         "check the worker's work directory and the limits of its user");
  error.set_fault_of(v1::FAULT_OF_WORKER);
  return StatusFromJobError(status.code(), std::move(error));
}

}  // namespace weir::task
