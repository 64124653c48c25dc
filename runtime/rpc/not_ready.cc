#include "runtime/rpc/not_ready.h"

#include "runtime/base/job_errors.h"

namespace weir::rpc {

absl::Status NotReadyError(std::string_view message) {
  return StatusFromJobError(absl::StatusCode::kUnavailable, MakeJobError(kNotReady, message));
}

bool IsNotReady(const absl::Status& status) {
  return absl::IsUnavailable(status) && CarriesJobError(status) &&
         JobErrorFromStatus(status).code() == kNotReady;
}

}  // namespace weir::rpc
