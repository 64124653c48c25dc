#include "runtime/env/real/posix_storage.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/whole_write.h"
#include "runtime/env/real/directory_names.h"
#include "runtime/env/real/free_space.h"
#include "runtime/env/real/machine_id.h"
#include "runtime/env/real/remove_tree.h"
#include "runtime/env/real/rename_without_loss.h"
#include "runtime/env/real/run_handover.h"

namespace weir::env {
namespace {

absl::Status Failed(const char* what, const std::string& path) {
  return ErrnoStatus(errno, absl::StrCat(what, " ", path));
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A second mount of the same file system has the device of the directory above, so the kernel is
// asked first; one that does not know has devices only.
bool IsMountPoint(const std::string& path, const struct stat& st) {
  struct statx more;
  if (::statx(AT_FDCWD, path.c_str(), 0, 0, &more) == 0 &&
      (more.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  struct stat above;
  return ::stat((path + "/..").c_str(), &above) == 0 && above.st_dev != st.st_dev;
}

FileVersion VersionFrom(const struct stat& st) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  return {.modified_ns = st.st_mtim.tv_sec * kNanos + st.st_mtim.tv_nsec,
          .changed_ns = st.st_ctim.tv_sec * kNanos + st.st_ctim.tv_nsec,
          .inode = st.st_ino,
          .device = st.st_dev,
          .machine = MachineId()};
}

FileInfo InfoFrom(const std::string& path, const struct stat& st) {
  return {.path = path,
          .is_directory = S_ISDIR(st.st_mode),
          .is_regular = S_ISREG(st.st_mode),
          .bytes = st.st_size,
          .is_mount_point = S_ISDIR(st.st_mode) && IsMountPoint(path, st),
          .version = VersionFrom(st)};
}

/// ELOOP for a link that leads back to a directory on its own path: whoever follows links down the
/// tree would never come to an end. No errno of the kernel says so before its limit of links.
absl::Status CheckLeadsNotBack(const std::string& path) {
  struct stat link, target, above;
  if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return absl::OkStatus();
  if (::stat(path.c_str(), &target) != 0) return absl::OkStatus();
  for (std::string up = ParentOf(path);; up = ParentOf(up)) {
    if (::stat(up.c_str(), &above) == 0 && above.st_ino == target.st_ino &&
        above.st_dev == target.st_dev) {
      return ErrnoStatus(ELOOP, absl::StrCat("the link ", path, " leads back to ", up));
    }
    if (up == "/" || up == ".") return absl::OkStatus();
  }
}

absl::Status WriteAll(int fd, std::string_view content, const std::string& what) {
  const int refusal = WriteWhole(content, [fd](std::string_view left, std::int64_t) {
    return ::write(fd, left.data(), left.size());
  });
  return refusal == 0 ? absl::OkStatus() : ErrnoStatus(refusal, what);
}

// Stdout or stderr where it is this file, else -1. A file that the shell opened for them is not
// replaced under them, and only through them is what they write next put behind.
int OutputStreamTo(const struct stat& file) {
  struct stat stream;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::fstat(fd, &stream) == 0 && stream.st_dev == file.st_dev && stream.st_ino == file.st_ino) {
      return fd;
    }
  }
  return -1;
}

// The kernel drops it with the descriptor.
class Flock final : public FileLock {
 public:
  explicit Flock(Fd fd) : fd_(std::move(fd)) {}

 private:
  Fd fd_;
};

absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, int flags) {
  // Who holds a lease on the file could let an open wait.
  Fd fd(::open(path.c_str(), flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("cannot open", path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Failed("cannot lock", path);
  return std::make_unique<Flock>(std::move(fd));
}

}  // namespace

absl::StatusOr<FileInfo> PosixStorage::Stat(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return Failed("look up", path);
  return InfoFrom(path, st);
}

absl::StatusOr<std::vector<std::string>> PosixStorage::ListNames(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failed("list", directory);
  return NamesIn(fd, directory);
}

absl::StatusOr<std::vector<FileInfo>> PosixStorage::List(const std::string& directory) {
  auto names = ListNames(directory);
  if (!names.ok()) return names.status();
  const std::string prefix = directory.ends_with('/') ? directory : directory + "/";
  std::vector<FileInfo> entries;
  entries.reserve(names->size());
  for (const std::string& name : *names) {
    auto info = Stat(prefix + name);
    if (absl::IsNotFound(info.status())) {
      // A link to nowhere is an entry, neither file nor directory; what was removed since it was
      // listed is none.
      struct stat link;
      if (::lstat((prefix + name).c_str(), &link) == 0) entries.push_back({.path = prefix + name});
      continue;
    }
    if (!info.ok()) return info.status();
    if (info->is_directory) {
      if (absl::Status loop = CheckLeadsNotBack(info->path); !loop.ok()) return loop;
    }
    entries.push_back(*std::move(info));
  }
  return entries;
}

absl::StatusOr<std::vector<std::string>> PosixStorage::Glob(const std::string& pattern) {
  glob_t found = {};
  int result = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  // Braces are alternatives where no name has them, and not all of these need be there.
  const bool nothing = result == GLOB_NOMATCH || (result == GLOB_ABORTED && errno == ENOENT);
  if (nothing && pattern.find('{') != std::string::npos) {
    ::globfree(&found);
    const auto stop_at = [](const char*, int error) { return error == ENOENT ? 0 : error; };
    result = ::glob(pattern.c_str(), GLOB_BRACE, stop_at, &found);
  }
  const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, ::globfree);
  if (result == GLOB_NOMATCH) return std::vector<std::string>();
  if (result == GLOB_NOSPACE) return ErrnoStatus(ENOMEM, absl::StrCat("expand ", pattern));
  if (result != 0) return Failed("expand", pattern);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  // glob sorts by locale, and each alternative for itself; one file may match two of them.
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  // ".*" stands for hidden names, as in shells, not for the directory and the one above it.
  const auto is_dots = [](const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return name == "." || name == "..";
  };
  if (!is_dots(pattern)) std::erase_if(paths, is_dots);
  return paths;
}

bool PosixStorage::MayWriteIn(const std::string& directory) {
  return ::access(directory.c_str(), W_OK | X_OK) == 0;
}

absl::Status PosixStorage::MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) return Failed("make directory", path);
  return absl::OkStatus();
}

absl::Status PosixStorage::MakePrivate(const std::string& directory) {
  if (::chmod(directory.c_str(), S_IRWXU) != 0) return Failed("cannot make private:", directory);
  return absl::OkStatus();
}

absl::StatusOr<Privacy> PosixStorage::PrivacyOf(const std::string& path) {
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0) return Failed("look up", path);
  if (!S_ISDIR(st.st_mode)) return Privacy::kNoDirectory;
  if (st.st_uid != ::geteuid()) return Privacy::kForeign;
  return (st.st_mode & (S_IRWXG | S_IRWXO)) == 0 ? Privacy::kPrivate : Privacy::kOpen;
}

absl::StatusOr<std::unique_ptr<FileLock>> PosixStorage::MakeLock(const std::string& path) {
  return Lock(path, O_CREAT);
}

absl::StatusOr<std::unique_ptr<FileLock>> PosixStorage::TakeLock(const std::string& path) {
  return Lock(path, 0);
}

absl::Status PosixStorage::WriteFileAtomically(const std::string& path, std::string_view content) {
  // Two writers of one path must not share the temporary file.
  static std::atomic<std::int64_t> last_number = 0;
  std::string temporary;
  Fd fd;
  do {
    // One that is there may be somebody's: of a process with this number in another container or on
    // another machine, or a trap in a directory that all may write to.
    temporary = absl::StrCat(path, ".tmp-", ::getpid(), "-", ++last_number);
    fd.Reset(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (!fd.valid() && errno == EEXIST);
  if (!fd.valid()) return Failed("create", path);
  absl::Status status = WriteAll(fd.get(), content, absl::StrCat("write ", path));
  if (status.ok() && ::fsync(fd.get()) != 0) status = Failed("sync", path);
  // Some file systems report a full disk only here.
  if (status.ok() && ::close(fd.Release()) != 0) status = Failed("close", path);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = Failed("publish", path);
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return SyncDirectory(ParentOf(path));
}

absl::Status PosixStorage::WriteNamed(const std::string& path, std::string_view content) {
  struct stat there;
  if (::lstat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode)) {
    return WriteFileAtomically(path, content);
  }
  // Opened, not read link by link: the kernel knows whose links nobody should follow, and makes
  // the file behind one that leads nowhere yet.
  const int make = S_ISLNK(there.st_mode) ? O_CREAT : 0;
  const Fd fd(::open(path.c_str(), O_WRONLY | make | O_NOCTTY | O_CLOEXEC, 0666));
  if (!fd.valid() || ::fstat(fd.get(), &there) != 0) return Failed("cannot write", path);
  const std::string what = absl::StrCat("cannot write ", path);
  if (!S_ISREG(there.st_mode)) return WriteAll(fd.get(), content, what);
  if (const int own = OutputStreamTo(there); own >= 0) return WriteAll(own, content, what);
  std::error_code error;
  const auto file = std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd.get()), error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("look up the file behind ", path));
  return WriteFileAtomically(file.string(), content);
}

absl::Status PosixStorage::WriteFile(const std::string& path, std::string_view content) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("cannot write", path);
  absl::Status status = WriteAll(fd.get(), content, absl::StrCat("cannot write ", path));
  if (::close(fd.Release()) != 0 && status.ok()) status = Failed("cannot write", path);
  return status;
}

absl::StatusOr<std::string> PosixStorage::ReadFile(const std::string& path,
                                                   std::int64_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path);
  std::string content;
  constexpr std::size_t kStep = 64 << 10;
  while (true) {
    const std::size_t before = content.size();
    content.resize(before + kStep);
    const ssize_t got = ::read(fd.get(), content.data() + before, kStep);
    if (got < 0) {
      if (errno != EINTR) return Failed("read", path);
      content.resize(before);
      continue;
    }
    content.resize(before + static_cast<std::size_t>(got));
    if (got == 0) return content;
    if (static_cast<std::int64_t>(content.size()) > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("read ", path, ": file is larger than ", max_bytes, " bytes"));
    }
  }
}

absl::StatusOr<std::string> PosixStorage::ReadAt(const std::string& path, std::int64_t offset,
                                                 std::int64_t bytes_max) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path);
  std::string bytes(static_cast<std::size_t>(bytes_max), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(fd.get(), bytes.data() + have, bytes.size() - have,
                                offset + static_cast<std::int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

absl::StatusOr<std::vector<std::int64_t>> PosixStorage::NotInMemory(
    const std::string& path, const std::vector<std::int64_t>& offsets) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path);
  // The question itself makes the kernel begin to read: one page, not all that it would read ahead.
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);
  std::vector<std::int64_t> missing;
  for (const std::int64_t offset : offsets) {
    char byte = 0;
    const iovec into = {&byte, 1};
    // Not mincore, which tells it to the file's owner only. Other errors: the file system cannot.
    if (::preadv2(fd.get(), &into, 1, offset, RWF_NOWAIT) < 0 && errno == EAGAIN) {
      missing.push_back(offset);
    }
  }
  return missing;
}

absl::Status PosixStorage::WriteAt(const std::string& path, std::int64_t offset,
                                   std::string_view bytes) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("cannot write", path);
  errno = WriteWhole(bytes, [&fd, offset](std::string_view left, std::int64_t done) {
    return ::pwrite(fd.get(), left.data(), left.size(), offset + done);
  });
  if (errno != 0) return Failed("cannot write", path);
  // Network file systems report a full disk only here, and to a sync that comes later no more.
  return ::close(fd.Release()) == 0 ? absl::OkStatus() : Failed("cannot write", path);
}

absl::Status PosixStorage::Seal(const std::string& path, bool executable) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path);
  if (::fsync(fd.get()) != 0) return Failed("sync", path);
  if (::fchmod(fd.get(), executable ? 0500 : 0400) != 0) return Failed("seal", path);
  return absl::OkStatus();
}

absl::Status PosixStorage::Rename(const std::string& from, const std::string& to) {
  if (absl::Status renamed = RenameWithoutLoss(from, to); !renamed.ok()) return renamed;
  return SyncDirectory(ParentOf(to));
}

absl::Status PosixStorage::HandOverRun(const std::string& source, const std::string& destination) {
  return env::HandOverRun(source, destination);
}

absl::Status PosixStorage::Exchange(const std::string& a, const std::string& b) {
  if (absl::Status exchanged = ExchangeNames(a, b); !exchanged.ok()) return exchanged;
  absl::Status synced = SyncDirectory(ParentOf(a));
  return synced.ok() && ParentOf(a) != ParentOf(b) ? SyncDirectory(ParentOf(b)) : synced;
}

absl::Status PosixStorage::SyncDirectory(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path);
  // Where directories cannot be synced, names are as durable as that file system makes them.
  if (::fsync(fd.get()) != 0 && !IsUnknownToFileSystem(errno)) return Failed("sync", path);
  return absl::OkStatus();
}

absl::Status PosixStorage::RemoveAll(const std::string& path) { return RemoveTree(path); }

absl::StatusOr<std::int64_t> PosixStorage::FreeBytes(const std::string& path) {
  struct statvfs fs;
  if (::statvfs(path.c_str(), &fs) != 0) return Failed("look up free space of", path);
  return FreeBytesOf(fs);
}

}  // namespace weir::env
