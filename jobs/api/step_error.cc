#include "jobs/api/step_error.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/payload_fields.h"

namespace weir {
namespace {
constexpr std::string_view kPayload = "weir/StepError";
}  // namespace

absl::Status StepErrorStatus(absl::StatusCode code, const StepError& error) {
  absl::Status status(code, error.message);
  AttachFields(status, kPayload,
               {error.code, error.message, error.advice, error.file,
                absl::StrCat(error.byte_offset), error.stderr_tail});
  return status;
}

std::optional<StepError> StepErrorOf(const absl::Status& status) {
  const auto fields = AttachedFields(status, kPayload, 6);
  StepError error;
  if (!fields || !absl::SimpleAtoi((*fields)[4], &error.byte_offset)) return std::nullopt;
  error.code = (*fields)[0];
  error.message = (*fields)[1];
  error.advice = (*fields)[2];
  error.file = (*fields)[3];
  error.stderr_tail = (*fields)[5];
  return error;
}

}  // namespace weir
