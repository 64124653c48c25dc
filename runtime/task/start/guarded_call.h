#pragma once

#include <exception>
#include <new>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::task {

/// Calls user code, which may throw; Weir's own code does not. `call` returns a Status or StatusOr.
/// Errors: USER_ERROR with the exception's text; OUT_OF_MEMORY for bad_alloc.
template <typename Call>
std::invoke_result_t<Call> GuardedCall(Call&& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return StatusFromJobError(
        absl::StatusCode::kResourceExhausted,
        MakeJobError(job_error::kOutOfMemory, "the job's code ran out of memory",
                     "give each task more memory, or split the input over more mappers"));
  } catch (const std::exception& thrown) {
    return StatusFromJobError(
        absl::StatusCode::kInternal,
        MakeJobError(job_error::kUserError,
                     absl::StrCat("the job's code threw an exception: ", thrown.what()),
                     "see the job's stderr"));
  } catch (...) {
    return StatusFromJobError(
        absl::StatusCode::kInternal,
        MakeJobError(job_error::kUserError, "the job's code threw something that is no exception",
                     "see the job's stderr"));
  }
}

}  // namespace weir::task
