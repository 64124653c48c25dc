#include "jobs/engine/input/page_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace weir {
namespace {

// What the handler reads: atomics without locks only.
struct Place {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;  // 0: nothing is guarded
  std::atomic<char> filler = 0;
  std::atomic<bool> broken = false;
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

std::array<Place, PageGuard::kGuardsMax> places;
struct sigaction action_before;
std::uintptr_t page_bytes = 0;

Place* PlaceOf(std::uintptr_t address) {
  for (Place& place : places) {
    if (address < place.end.load(std::memory_order_acquire) && address >= place.begin.load()) {
      return &place;
    }
  }
  return nullptr;
}

void ActAsBefore(int number, siginfo_t* info, void* context) {
  if ((action_before.sa_flags & SA_SIGINFO) != 0) {
    return action_before.sa_sigaction(number, info, context);
  }
  if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN) {
    return action_before.sa_handler(number);
  }
  // The access is tried again, and ends the process as it would have; a signal that somebody sent
  // is sent again.
  ::sigaction(number, &action_before, nullptr);
  if (info->si_code <= 0) ::raise(number);
}

void OnSigbus(int number, siginfo_t* info, void* context) {
  const int error_number = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  Place* const place = info->si_code > 0 ? PlaceOf(address) : nullptr;
  if (place == nullptr) return ActAsBefore(number, info, context);
  place->broken.store(true, std::memory_order_release);
  void* const page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
  if (::mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED) {
    return ActAsBefore(number, info, context);
  }
  std::memset(page, place->filler.load(), page_bytes);
  errno = error_number;
}

bool Install() {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = OnSigbus;
  // On the stack of who has one for signals; within the handler another SIGBUS is not expected.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  return ::sigaction(SIGBUS, &action, &action_before) == 0;
}

bool IsInstalled() {
  static const bool installed = Install();
  struct sigaction now {};
  return installed && ::sigaction(SIGBUS, nullptr, &now) == 0 && now.sa_sigaction == OnSigbus;
}

}  // namespace

bool PageGuard::Guard(char* begin, std::size_t bytes, char filler) {
  Release();
  if (!IsInstalled()) return false;
  for (int i = 0; i < kGuardsMax; ++i) {
    Place& place = places[static_cast<std::size_t>(i)];
    if (place.taken.exchange(true)) continue;
    place.broken = false;
    place.filler = filler;
    place.begin = reinterpret_cast<std::uintptr_t>(begin);
    place.end.store(reinterpret_cast<std::uintptr_t>(begin) + bytes, std::memory_order_release);
    place_ = i;
    return true;
  }
  return false;
}

void PageGuard::Release() {
  if (place_ < 0) return;
  Place& place = places[static_cast<std::size_t>(place_)];
  place.end = 0;
  place.taken = false;
  place_ = -1;
}

bool PageGuard::is_broken() const {
  return place_ >= 0 && places[static_cast<std::size_t>(place_)].broken.load();
}

}  // namespace weir
