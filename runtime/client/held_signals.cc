#include "runtime/client/held_signals.h"

namespace weir::client {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

HeldSignals::HeldSignals() {
  sigemptyset(&held_);
  for (const int signal : kSignals) {
    struct sigaction action;
    // Under nohup some are ignored, and stay so.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      sigaddset(&held_, signal);
    }
  }
  pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool HeldSignals::AnyCame() const {
  sigset_t waiting;
  sigpending(&waiting);
  for (const int signal : kSignals) {
    if (sigismember(&held_, signal) == 1 && sigismember(&waiting, signal) == 1) return true;
  }
  return false;
}

}  // namespace weir::client
