#include "runtime/env/real/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/env/real/directory_names.h"

namespace weir::env {
namespace {

// A descriptor each; several removals run at once, and 1024 descriptors are a common limit.
constexpr int kLevelsMax = 64;

// For messages: the ends of a long one tell where it is.
std::string Shortened(const std::string& path) {
  constexpr std::size_t kEndBytes = 120;
  if (path.size() <= 2 * kEndBytes) return path;
  return absl::StrCat(path.substr(0, kEndBytes), "...", path.substr(path.size() - kEndBytes));
}

absl::Status NotRemoved(int error, const std::string& path) {
  return ErrnoStatus(error, absl::StrCat("remove ", Shortened(path)));
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

// One removal. It has so many levels open at most, each by a descriptor: what lies deeper is moved
// into the root first and goes from there.
class TreeRemoval {
 public:
  absl::Status Remove(int parent, const std::string& name, const std::string& path, int level);

 private:
  absl::Status Empty(int directory, const std::string& path, int level);
  absl::Status MoveIntoRoot(int parent, const std::string& name, const std::string& path);

  int root_ = -1;
  std::vector<std::string> moved_;  // names in the root
  std::int64_t last_number_ = 0;
};

absl::Status TreeRemoval::Remove(int parent, const std::string& name, const std::string& path,
                                 int level) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  // POSIX says EPERM of a directory, and the kernel of a file that has to stay.
  const int error = errno;
  if (error != EISDIR && error != EPERM) return NotRemoved(error, path);
  if (level == kLevelsMax) return MoveIntoRoot(parent, name, path);
  const Fd directory = OpenDirectory(parent, name);
  if (!directory.valid()) {
    if (errno == ENOENT) return absl::OkStatus();
    return NotRemoved(errno == ENOTDIR ? error : errno, path);
  }
  OpenUp(directory.get());
  if (level == 0) root_ = directory.get();
  if (absl::Status emptied = Empty(directory.get(), path, level); !emptied.ok()) return emptied;
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return NotRemoved(errno, path);
}

absl::Status TreeRemoval::Empty(int directory, const std::string& path, int level) {
  const int listed = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
  if (listed < 0) return NotRemoved(errno, path);
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(listed, Shortened(path));
  if (!names.ok()) return names.status();
  absl::Status removed;
  const auto remove = [&](const std::string& entry) {
    removed = Remove(directory, entry, absl::StrCat(path, "/", entry), level + 1);
    return removed.ok();
  };
  for (const std::string& entry : *names) {
    if (!remove(entry)) return removed;
    // What was too deep in it goes before the next one.
    while (level == 0 && !moved_.empty()) {
      const std::string moved = std::move(moved_.back());
      moved_.pop_back();
      if (!remove(moved)) return removed;
    }
  }
  return removed;
}

absl::Status TreeRemoval::MoveIntoRoot(int parent, const std::string& name,
                                       const std::string& path) {
  bool opened = false;
  while (true) {
    std::string fresh = absl::StrCat(".weir-removed-", ++last_number_);
    if (::renameat(parent, name.c_str(), root_, fresh.c_str()) == 0) {
      moved_.push_back(std::move(fresh));
      return absl::OkStatus();
    }
    const int error = errno;
    if (error == ENOENT) return absl::OkStatus();
    // The number is one that a removal which was cut short, or user code, has left.
    if (error == EEXIST || error == ENOTEMPTY || error == ENOTDIR) continue;
    // To move it writes its "..".
    if (error != EACCES || std::exchange(opened, true) ||
        ::fchmodat(parent, name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW) != 0) {
      return NotRemoved(error, path);
    }
  }
}

}  // namespace

absl::Status RemoveTree(const std::string& path) {
  return TreeRemoval().Remove(AT_FDCWD, path, path, 0);
}

}  // namespace weir::env
