#include "runtime/env/real/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace weir::env {

void OpenClosedStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // Takes the lowest descriptor that is free: this one.
    static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY));
  }
}

namespace {

// Before what libraries open while the program is loaded (gRPC tries an event descriptor):
// priorities up to 100 are the compiler's own.
[[gnu::constructor(101)]] void OpenBeforeOthers() { OpenClosedStreams(); }

}  // namespace

}  // namespace weir::env
