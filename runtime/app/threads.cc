#include "runtime/app/threads.h"

#include <pthread.h>

#include <cstddef>
#include <system_error>

namespace weir::app {
namespace {

// Enough for one that does nothing. With stacks and heaps as others have, a process that may have
// little memory would be told that it has no threads.
constexpr std::size_t kTriedStackBytes = 256 << 10;

void* WaitAtGate(void* gate) {
  const std::lock_guard opened(*static_cast<std::mutex*>(gate));
  return nullptr;
}

}  // namespace

void TryThreads(int num_threads) {
  std::mutex gate;
  std::vector<pthread_t> tried;
  tried.reserve(static_cast<std::size_t>(num_threads));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, kTriedStackBytes);
  int error = 0;
  {
    const std::lock_guard closed(gate);
    while (error == 0 && tried.size() < static_cast<std::size_t>(num_threads)) {
      pthread_t thread{};
      error = pthread_create(&thread, &small, WaitAtGate, &gate);
      if (error == 0) tried.push_back(thread);
    }
  }
  for (const pthread_t thread : tried) pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  if (error != 0) throw std::system_error(error, std::generic_category(), "threads");
}

}  // namespace weir::app
