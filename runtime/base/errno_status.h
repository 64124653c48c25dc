#pragma once

// The one place where errno becomes a status, so that a full disk is told apart from other bounds.

#include <string_view>

#include "absl/status/status.h"

namespace weir {

/// Turns an errno into a status whose message is "<what>: <reason>".
///
/// Returns: kNotFound (ENOENT, ENOTDIR), kPermissionDenied, kAlreadyExists (EEXIST, ENOTEMPTY),
///   kResourceExhausted (disk, quota, descriptors, memory), kInvalidArgument (name too long, is a
///   directory, symbolic link loop), else kUnavailable. The number itself travels as payload.
absl::Status ErrnoStatus(int error_number, std::string_view what);

/// Returns the errno that ErrnoStatus attached; 0 when there is none.
int ErrnoOf(const absl::Status& status);

/// True when the status says that a disk or quota is full.
bool IsDiskFull(const absl::Status& status);

}  // namespace weir
