#include "runtime/master/workers/call_error.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::master {

v1::JobError ErrorOfCall(const RegisteredWorker& worker, const std::string& what,
                         const absl::Status& status) {
  v1::JobError error = JobErrorFromStatus(status);
  const std::string& name = worker.identity.name();
  const bool silent = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  if (!CarriesJobError(status)) {
    if (absl::IsAborted(status) || absl::IsNotFound(status)) {
      error.set_code(std::string(job_error::kWorkerLost));
    } else {
      const auto code = silent ? job_error::kWorkerUnreachable : job_error::kInternal;
      error.set_code(std::string(code));
      error.set_fault_of(v1::FAULT_OF_WORKER);
    }
  }
  error.set_message(absl::StrCat("worker ", name, silent ? " does not answer: " : " refused ", what,
                                 ": ", error.message()));
  if (error.worker().empty()) error.set_worker(name);
  if (error.advice().empty()) {
    error.set_advice(absl::StrCat("check the worker daemon at ", worker.identity.control_endpoint(),
                                  ", then run the job again"));
  }
  return error;
}

bool LeaseMayTell(const absl::Status& status) {
  if (CarriesJobError(status)) return false;
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsAborted(status) || absl::IsNotFound(status);
}

}  // namespace weir::master
