#include "jobs/engine/input/input_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"

namespace weir {
namespace {

// The reason decides what helps: permissions are one of many.
std::string AdviceFor(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return "make the file readable for the user that runs the workers, or leave it out";
    case EIO:
    case EREMOTEIO:
      return "the disk or file server failed, not the permissions: see dmesg and the log of that "
             "server, or use a copy elsewhere";
    case ESTALE:
      return "its file server replaced or removed it while it was open: run the job again once "
             "nobody does that, or on a copy of it";
    case EMFILE:
    case ENFILE:
      return "raise the limit on open files (ulimit -n) of the workers";
    case EINVAL:
    case EISDIR:
      return "write it to a regular file first, or leave it out";
    default:
      return "see to that reason on the worker, then run the job again";
  }
}

absl::Status FileError(const std::string& path, const char* what, int error_number) {
  const std::string message = absl::StrCat("cannot ", what, " input file ", path, ": ",
                                           std::generic_category().message(error_number));
  if (error_number == ENOENT || error_number == ENOTDIR) {
    return StepErrorStatus(
        absl::StatusCode::kNotFound,
        {std::string(step_error::kInputNotFound), message,
         "every worker must see the input under the same path; check path and mounts", path});
  }
  return StepErrorStatus(
      error_number == EACCES || error_number == EPERM ? absl::StatusCode::kPermissionDenied
                                                      : absl::StatusCode::kUnavailable,
      {std::string(step_error::kInputUnreadable), message, AdviceFor(error_number), path});
}

/// Whether two views of a file can mean the same moment: some file systems cut times off, at 100 ns
/// (SMB) to 2 s (FAT).
bool SameTime(std::int64_t a, std::int64_t b) {
  for (const std::int64_t grain :
       {std::int64_t{1}, std::int64_t{100}, std::int64_t{1'000}, std::int64_t{1'000'000},
        std::int64_t{1'000'000'000}, std::int64_t{2'000'000'000}}) {
    if (a - a % grain == b || b - b % grain == a) return true;
  }
  return false;
}

}  // namespace

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status InputFile::Open(const InputRange& range) {
  path_ = range.path;
  // Not to wait for a writer if the path has become a pipe; regular files do not care.
  do {
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd_ < 0 && errno == EINTR);
  if (fd_ < 0) return FileError(path_, "open", errno);
  if (absl::Status status = Look(opened_); !status.ok()) return status;
  if (absl::Status status = CheckListed(range); !status.ok()) return status;
  // A hint only: the kernel reads ahead further.
  ::posix_fadvise(fd_, range.begin, range.end - range.begin, POSIX_FADV_SEQUENTIAL);
  return absl::OkStatus();
}

absl::Status InputFile::Read(std::int64_t offset, char* into, std::int64_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::pread(fd_, into, static_cast<std::size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(path_, "read", errno);
    if (got == 0) return Changed(absl::StrCat("it now ends at byte ", offset));
    offset += got;
    into += got;
    bytes -= got;
  }
  return absl::OkStatus();
}

void InputFile::Map(const InputRange& range, char filler, std::int64_t bytes_min) {
  mapped_.Open(fd_, range.begin, range.end, filler, bytes_min);
}

absl::StatusOr<const char*> InputFile::Window(std::int64_t offset, std::int64_t bytes) {
  if (mapped_.is_broken()) {
    if (absl::Status status = CheckUnchanged(); !status.ok()) return status;
  }
  return mapped_.Window(offset, bytes);
}

absl::Status InputFile::CheckListed(const InputRange& range) const {
  if (opened_.bytes != range.file_bytes) {
    return Changed(absl::StrCat("it had ", range.file_bytes,
                                " bytes when the job was planned and now has ", opened_.bytes));
  }
  const FileVersion& listed = range.version;
  const FileVersion& found = opened_.version;
  const bool same_view = listed.device != 0 && listed.device == found.device;
  if (listed.modified_ns != 0 && (same_view ? listed.modified_ns != found.modified_ns
                                            : !SameTime(listed.modified_ns, found.modified_ns))) {
    return Changed("it was written to, or replaced, after the job was planned");
  }
  if (!same_view) return absl::OkStatus();
  if (listed.inode != found.inode && InodesAreStable()) {
    return Changed("another file has taken its place since the job was planned");
  }
  if (listed.changed_ns != found.changed_ns) {
    return Changed("it was changed, linked or replaced after the job was planned");
  }
  return absl::OkStatus();
}

absl::Status InputFile::CheckUnchanged() const {
  const bool broken = mapped_.is_broken();  // before the look that is to explain it
  Found now;
  if (absl::Status status = Look(now); !status.ok()) return status;
  if (now.bytes < opened_.bytes) return Changed(absl::StrCat("it now ends at byte ", now.bytes));
  if (now.bytes != opened_.bytes || now.version.modified_ns != opened_.version.modified_ns) {
    return Changed("it was written to while it was being read");
  }
  return broken ? FileError(path_, "read", EIO) : absl::OkStatus();
}

absl::Status InputFile::Look(Found& found) const {
  constexpr std::int64_t kNanos = 1'000'000'000;
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return FileError(path_, "examine", errno);
  if (!S_ISREG(status.st_mode)) return FileError(path_, "read as regular", EINVAL);
  found = {status.st_size,
           {.modified_ns = status.st_mtim.tv_sec * kNanos + status.st_mtim.tv_nsec,
            .changed_ns = status.st_ctim.tv_sec * kNanos + status.st_ctim.tv_nsec,
            .inode = status.st_ino,
            .device = status.st_dev}};
  return absl::OkStatus();
}

bool InputFile::InodesAreStable() const {
  // FUSE file systems may make up a number whenever the kernel has forgotten the last one.
  struct statfs file_system {};
  return ::fstatfs(fd_, &file_system) != 0 || file_system.f_type != FUSE_SUPER_MAGIC;
}

absl::Status InputFile::Changed(const std::string& how) const {
  return StepErrorStatus(
      absl::StatusCode::kFailedPrecondition,
      {std::string(step_error::kInputChanged),
       absl::StrCat("input file ", path_, " changed while the job ran: ", how),
       "run the job again once nobody writes to the file, or on a copy of it", path_});
}

}  // namespace weir
