#include "jobs/engine/input/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"

namespace weir {
namespace {

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
      absl::StatusCode::kPermissionDenied,
      {std::string(step_error::kInputUnreadable), message,
       "make the file readable for the user that runs the workers, or leave it out", path});
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
  if (absl::Status status = GetVersion(version_); !status.ok()) return status;
  if (version_.bytes != range.file_bytes) {
    return Changed(absl::StrCat("it had ", range.file_bytes,
                                " bytes when the job was planned and now has ", version_.bytes));
  }
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

absl::Status InputFile::CheckUnchanged() const {
  Version now;
  if (absl::Status status = GetVersion(now); !status.ok()) return status;
  return now == version_ ? absl::OkStatus() : Changed("it was written to while it was being read");
}

absl::Status InputFile::GetVersion(Version& version) const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return FileError(path_, "examine", errno);
  if (!S_ISREG(status.st_mode)) return FileError(path_, "read as regular", EINVAL);
  version = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  return absl::OkStatus();
}

absl::Status InputFile::Changed(const std::string& how) const {
  return StepErrorStatus(
      absl::StatusCode::kFailedPrecondition,
      {std::string(step_error::kInputChanged),
       absl::StrCat("input file ", path_, " changed while the job ran: ", how),
       "run the job again once nobody writes to the file, or on a copy of it", path_});
}

}  // namespace weir
