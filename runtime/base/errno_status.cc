#include "runtime/base/errno_status.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr char kErrnoPayload[] = "weir/errno";

absl::StatusCode CodeOf(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case EEXIST:
    case ENOTEMPTY:
      return absl::StatusCode::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case ENAMETOOLONG:
    case EISDIR:
    case ELOOP:
    case EINVAL:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::Status ErrnoStatus(int error_number, std::string_view what) {
  absl::Status status(CodeOf(error_number),
                      std::string(what) + ": " + std::generic_category().message(error_number));
  status.SetPayload(kErrnoPayload, absl::Cord(absl::StrCat(error_number)));
  return status;
}

int ErrnoOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrnoPayload);
  int error_number = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &error_number)) return 0;
  return error_number;
}

bool IsDiskFull(const absl::Status& status) {
  const int error_number = ErrnoOf(status);
  return error_number == ENOSPC || error_number == EDQUOT;
}

}  // namespace weir
