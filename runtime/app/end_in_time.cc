#include "runtime/app/end_in_time.h"

#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "runtime/base/log.h"

namespace weir::app {

EndInTime::~EndInTime() {
  {
    const std::lock_guard lock(mutex_);
    in_time_ = true;
  }
  changed_.notify_one();
  threads_.Join();
}

void EndInTime::Begin(int code, absl::Duration patience) {
  const auto wait = [this, code, patience] {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, absl::ToChronoNanoseconds(patience), [this] { return in_time_; })) {
      return;
    }
    LogWarning("Ends though something that it waits for does not answer, as on a dead disk",
               {{"waited", absl::FormatDuration(patience)}});
    std::fflush(nullptr);
    ::_exit(code);
  };
  try {
    threads_.Start(wait);
  } catch (const std::system_error&) {
    // Without a thread for it the process waits as long as it takes.
  }
}

}  // namespace weir::app
