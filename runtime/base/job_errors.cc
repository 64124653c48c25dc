#include "runtime/base/job_errors.h"

#include <cerrno>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/valid_utf8.h"

namespace weir {
namespace {

constexpr char kJobErrorPayload[] = "weir/v1.JobError";

std::string_view CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kCancelled:
      return job_error::kCancelled;
    case absl::StatusCode::kInvalidArgument:
      return job_error::kInvalidJob;
    case absl::StatusCode::kDeadlineExceeded:
      return job_error::kDeadline;
    case absl::StatusCode::kAlreadyExists:
      return job_error::kOutputExists;
    case absl::StatusCode::kUnavailable:
      return job_error::kWorkerUnreachable;
    case absl::StatusCode::kDataLoss:
      return job_error::kDataLoss;
    default:
      return job_error::kInternal;
  }
}

// Local files fail by errno; which code that is does not depend on the status code alone.
v1::JobError ErrorOfFile(const absl::Status& status) {
  const std::string message(status.message());
  if (IsDiskFull(status)) {
    return MakeJobError(job_error::kDiskFull, message,
                        "free disk space, or choose another --work-dir or output directory");
  }
  // No reading ends so.
  if (ErrnoOf(status) == EFBIG) {
    return MakeJobError(job_error::kOutputUnusable, message, AdviceForErrno(EFBIG));
  }
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return MakeJobError(job_error::kInputNotFound, message, "check the path");
    case absl::StatusCode::kPermissionDenied:
      return MakeJobError(job_error::kInputUnreadable, message, AdviceForErrno(ErrnoOf(status)));
    case absl::StatusCode::kResourceExhausted:
      return MakeJobError(job_error::kOutOfMemory, message,
                          "raise the limit on memory or open files");
    case absl::StatusCode::kAlreadyExists:
      return MakeJobError(job_error::kOutputExists, message,
                          "choose another output directory or pass --overwrite");
    default:
      return MakeJobError(job_error::kInputUnreadable, message, AdviceForErrno(ErrnoOf(status)));
  }
}

}  // namespace

v1::JobError MakeJobError(std::string_view code, std::string_view message,
                          std::string_view advice) {
  v1::JobError error;
  error.set_code(std::string(code));
  error.set_message(ValidUtf8(message));
  error.set_advice(ValidUtf8(advice));
  return error;
}

v1::JobError JobErrorFromStatus(const absl::Status& status) {
  if (const auto payload = status.GetPayload(kJobErrorPayload)) {
    v1::JobError error;
    if (error.ParseFromString(std::string(*payload))) return error;
  }
  if (ErrnoOf(status) != 0) return ErrorOfFile(status);
  return MakeJobError(CodeOf(status), std::string(status.message()));
}

absl::Status StatusFromJobError(absl::StatusCode code, const v1::JobError& error) {
  absl::Status status(code, error.message());
  status.SetPayload(kJobErrorPayload, absl::Cord(error.SerializeAsString()));
  return status;
}

bool CarriesJobError(const absl::Status& status) {
  return status.GetPayload(kJobErrorPayload).has_value();
}

std::string DescribeJobError(const v1::JobError& error) {
  std::string line = absl::StrCat(error.code(), ": ", error.message());
  std::string where;
  const auto add = [&where](const std::string& part) {
    absl::StrAppend(&where, where.empty() ? "" : ", ", part);
  };
  if (!error.worker().empty()) add(absl::StrCat("worker ", error.worker()));
  if (!error.step().empty()) add(error.step());
  // Only a place inside a file is worth an offset; a whole file stands in the message already.
  const bool inside = error.byte_offset() > 0 || error.code() == job_error::kBadRecord;
  if (!error.file().empty() && inside) {
    add(absl::StrCat(error.file(), " at byte ", error.byte_offset()));
  }
  if (!where.empty()) absl::StrAppend(&line, " (", where, ")");
  if (!error.advice().empty()) absl::StrAppend(&line, "; ", error.advice());
  return line;
}

}  // namespace weir
