#include "runtime/env/real/rename_without_loss.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"

namespace weir::env {
namespace {

std::string Renaming(const std::string& from, const std::string& to) {
  return absl::StrCat("rename ", from, " to ", to);
}

// rename itself never lets a directory take the place of a file or of a directory with entries; the
// look only gives a file that is there its proper name among errors.
absl::Status RenameDirectory(const std::string& from, const std::string& to) {
  struct stat st;
  if (::lstat(to.c_str(), &st) == 0 && !S_ISDIR(st.st_mode)) {
    return ErrnoStatus(EEXIST, Renaming(from, to));
  }
  if (::rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, Renaming(from, to));
  return absl::OkStatus();
}

absl::Status RenameFile(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) {
    if (::unlink(from.c_str()) != 0) return ErrnoStatus(errno, Renaming(from, to));
    return absl::OkStatus();
  }
  // EPERM: a file system without hard links, or one that forbids this one.
  if (errno != EPERM && errno != EMLINK && !IsUnknownToFileSystem(errno)) {
    return ErrnoStatus(errno, Renaming(from, to));
  }
  struct stat st;
  if (::lstat(to.c_str(), &st) == 0) return ErrnoStatus(EEXIST, Renaming(from, to));
  if (errno != ENOENT) return ErrnoStatus(errno, Renaming(from, to));
  // A file that somebody else makes here at this moment is lost. Only `weir data generate` can meet
  // one: parts get their names inside the staging directory of their job.
  if (::rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, Renaming(from, to));
  return absl::OkStatus();
}

}  // namespace

bool IsUnknownToFileSystem(int error_number) {
  return error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP;
}

absl::Status RenameWithoutLoss(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return absl::OkStatus();
  }
  if (IsUnknownToFileSystem(errno)) return RenameWithoutFlags(from, to);
  if (errno != EEXIST) return ErrnoStatus(errno, Renaming(from, to));
  struct stat st;
  if (::lstat(from.c_str(), &st) != 0) return ErrnoStatus(errno, Renaming(from, to));
  if (!S_ISDIR(st.st_mode)) return ErrnoStatus(EEXIST, Renaming(from, to));
  return RenameDirectory(from, to);
}

absl::Status RenameWithoutFlags(const std::string& from, const std::string& to) {
  struct stat st;
  if (::lstat(from.c_str(), &st) != 0) return ErrnoStatus(errno, Renaming(from, to));
  return S_ISDIR(st.st_mode) ? RenameDirectory(from, to) : RenameFile(from, to);
}

absl::Status ExchangeNames(const std::string& a, const std::string& b) {
  const std::string what = absl::StrCat("exchange ", a, " and ", b);
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) {
    return absl::OkStatus();
  }
  if (IsUnknownToFileSystem(errno)) return absl::UnimplementedError(what);
  return ErrnoStatus(errno, what);
}

}  // namespace weir::env
