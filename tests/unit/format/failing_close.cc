#include "tests/unit/format/failing_close.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <mutex>
#include <string_view>

namespace weir::format {
namespace {

// Looked at by every close of the program, also of before main.
std::atomic<bool> armed = false;
std::atomic<int> num_failed = 0;

struct Fault {
  std::mutex mutex;
  std::string path;      // guarded by mutex
  int error_number = 0;  // guarded by mutex
};

Fault& TheFault() {
  static Fault fault;
  return fault;
}

// What closing the descriptor is to fail with; 0: nothing.
int ErrorOfClosing(int fd) {
  if (!armed) return 0;
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t bytes = ::readlink(link.c_str(), path, sizeof path);
  if (bytes < 0) return 0;
  Fault& fault = TheFault();
  const std::lock_guard lock(fault.mutex);
  const bool hit = std::string_view(path, static_cast<std::size_t>(bytes)) == fault.path;
  return hit ? fault.error_number : 0;
}

}  // namespace

FailingClose::FailingClose(const std::string& path, int error_number) {
  const std::filesystem::path named(path);
  Fault& fault = TheFault();
  const std::lock_guard lock(fault.mutex);
  // As the kernel names it: without links.
  fault.path = (std::filesystem::canonical(named.parent_path()) / named.filename()).string();
  fault.error_number = error_number;
  num_failed = 0;
  armed = true;
}

FailingClose::~FailingClose() { armed = false; }

int FailingClose::count() const { return num_failed; }

}  // namespace weir::format

extern "C" int close(int fd) {
  using Close = int (*)(int);
  // The next one: the C library's, or that of a sanitizer.
  static const auto next = reinterpret_cast<Close>(::dlsym(RTLD_NEXT, "close"));
  const int error_number = weir::format::ErrorOfClosing(fd);
  const int closed = next(fd);
  if (closed != 0 || error_number == 0) return closed;
  ++weir::format::num_failed;
  errno = error_number;
  return -1;
}
