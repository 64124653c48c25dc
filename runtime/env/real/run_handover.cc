#include "runtime/env/real/run_handover.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/whole_write.h"

namespace weir::env {
namespace {

// Large enough that a run takes few calls, small enough that a kill is not held up by one.
constexpr std::size_t kCopyBytes = 8 << 20;

// For a file system from which sendfile cannot take, as some of FUSE.
absl::Status ReadAndWrite(int from, int to, const std::string& what) {
  std::vector<char> piece(kCopyBytes);
  while (true) {
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got == 0) return absl::OkStatus();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, what);
    const int refusal = WriteWhole(
        {piece.data(), static_cast<std::size_t>(got)},
        [to](std::string_view left, std::int64_t) { return write(to, left.data(), left.size()); });
    if (refusal != 0) return ErrnoStatus(refusal, what);
  }
}

absl::Status CopyBytes(int from, int to, const std::string& what) {
  while (true) {
    // Not copy_file_range, which refuses two file systems of different kinds.
    const ssize_t n = sendfile(to, from, nullptr, kCopyBytes);
    if (n == 0) return absl::OkStatus();
    if (n >= 0 || errno == EINTR) continue;
    // Both offsets are where sendfile left them.
    if (errno == EINVAL || errno == ENOSYS) return ReadAndWrite(from, to, what);
    return ErrnoStatus(errno, what);
  }
}

absl::Status CopyRun(const std::string& source, const std::string& destination) {
  const std::string what = absl::StrCat("cannot copy run ", source, " to ", destination);
  const Fd from(open(source.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.valid()) return ErrnoStatus(errno, what);
  // By thread: of one run another section may be handed over at the same time.
  const std::string partial = absl::StrCat(destination, ".partial-", gettid());
  Fd to(open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!to.valid()) return ErrnoStatus(errno, what);
  absl::Status status = CopyBytes(from.get(), to.get(), what);
  // Network file systems report a full disk only here.
  if (close(to.Release()) != 0 && status.ok()) status = ErrnoStatus(errno, what);
  if (status.ok() && rename(partial.c_str(), destination.c_str()) != 0) {
    status = ErrnoStatus(errno, what);
  }
  if (!status.ok()) unlink(partial.c_str());
  return status;
}

}  // namespace

absl::Status HandOverRun(const std::string& source, const std::string& destination) {
  if (link(source.c_str(), destination.c_str()) == 0 || errno == EEXIST) return absl::OkStatus();
  switch (errno) {
    case EXDEV:
    case EPERM:
    case EMLINK:
    case EOPNOTSUPP:
    case ENOSYS:
    case EINVAL:
      return CopyRun(source, destination);
    default:
      return ErrnoStatus(errno, absl::StrCat("cannot link run ", source, " to ", destination));
  }
}

}  // namespace weir::env
