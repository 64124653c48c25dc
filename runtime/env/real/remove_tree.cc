#include "runtime/env/real/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/env/real/directory_names.h"

namespace weir::env {
namespace {

absl::Status NotRemoved(int error, const std::string& path) {
  return ErrnoStatus(error, absl::StrCat("remove ", path));
}

// Without the right to read, write and search it nothing in it could go. Where that is not its
// user's to give, what is in it says so.
void OpenUp(int directory) {
  struct stat st;
  if (::fstat(directory, &st) == 0 && st.st_uid == ::geteuid() &&
      (st.st_mode & S_IRWXU) != S_IRWXU) {
    ::fchmod(directory, S_IRWXU);
  }
}

Fd OpenDirectory(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd directory(::openat(parent, name.c_str(), kFlags));
  if (directory.valid() || errno != EACCES) return directory;
  if (::fchmodat(parent, name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW) != 0) {
    errno = EACCES;
    return directory;
  }
  directory.Reset(::openat(parent, name.c_str(), kFlags));
  return directory;
}

absl::Status RemoveAt(int parent, const std::string& name, const std::string& path) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  // POSIX says EPERM of a directory, and the kernel of a file that has to stay.
  const int error = errno;
  if (error != EISDIR && error != EPERM) return NotRemoved(error, path);
  const Fd directory = OpenDirectory(parent, name);
  if (!directory.valid()) {
    if (errno == ENOENT) return absl::OkStatus();
    return NotRemoved(errno == ENOTDIR ? error : errno, path);
  }
  OpenUp(directory.get());
  const int listed = ::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0);
  if (listed < 0) return NotRemoved(errno, path);
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(listed, path);
  if (!names.ok()) return names.status();
  for (const std::string& entry : *names) {
    absl::Status removed = RemoveAt(directory.get(), entry, absl::StrCat(path, "/", entry));
    if (!removed.ok()) return removed;
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return NotRemoved(errno, path);
}

}  // namespace

absl::Status RemoveTree(const std::string& path) { return RemoveAt(AT_FDCWD, path, path); }

}  // namespace weir::env
