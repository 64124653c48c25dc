#include "runtime/env/real/directory_names.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"

namespace weir::env {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

absl::StatusOr<std::vector<std::string>> NamesIn(int directory_fd, const std::string& path) {
  const std::string what = absl::StrCat("list ", path);
  // fdopendir takes the descriptor over.
  std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(directory_fd));
  if (!directory) {
    const absl::Status status = ErrnoStatus(errno, what);
    ::close(directory_fd);
    return status;
  }
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (!entry) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return ErrnoStatus(errno, what);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace weir::env
