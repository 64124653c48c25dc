#pragma once

// What both limit programs share: the mapped input, cut at delimiters. They use nothing of Weir.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace limit {

struct Input {
  const char* data = nullptr;
  std::size_t bytes = 0;
};

// Maps the file with a page of zeros behind it, so that wide loads need no care.
inline Input MapInput(const char* path) {
  const int fd = ::open(path, O_RDONLY);
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) {
    std::perror(path);
    std::exit(1);
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  const std::size_t room = (bytes / 4096 + 2) * 4096;
  void* place = ::mmap(nullptr, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes > 0) {
    place = ::mmap(place, bytes, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
  }
  if (place == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  ::close(fd);
  return {static_cast<const char*>(place), bytes};
}

template <typename Body>
void RunThreads(int count, Body&& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace limit
