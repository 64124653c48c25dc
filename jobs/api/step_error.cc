#include "jobs/api/step_error.h"

#include <vector>

#include "jobs/api/payload_fields.h"

namespace weir {
namespace {
constexpr std::string_view kPayload = "weir/StepError";
}  // namespace

absl::Status StepErrorStatus(absl::StatusCode code, const StepError& error) {
  absl::Status status(code, error.message);
  AttachFields(status, kPayload, {error.code, error.message, error.advice, error.file});
  return status;
}

std::optional<StepError> StepErrorOf(const absl::Status& status) {
  const auto fields = AttachedFields(status, kPayload, 4);
  if (!fields) return std::nullopt;
  return StepError{(*fields)[0], (*fields)[1], (*fields)[2], (*fields)[3]};
}

}  // namespace weir
