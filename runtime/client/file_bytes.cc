#include "runtime/client/file_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"

namespace weir::client {

absl::Status VisitFileBytes(const std::string& path,
                            const std::function<absl::Status(std::string_view)>& visit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  std::vector<char> buffer(std::size_t{1} << 20);
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (got == 0) return absl::OkStatus();
    absl::Status status = visit({buffer.data(), static_cast<std::size_t>(got)});
    if (!status.ok()) return status;
  }
}

}  // namespace weir::client
