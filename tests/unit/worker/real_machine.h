#pragma once

// The real seams for tests of the worker with real processes and files, and what they check:
// nothing is left behind.

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/env/real/asio_event_loop.h"
#include "runtime/env/real/kernel_sources.h"
#include "runtime/env/real/posix_storage.h"
#include "runtime/worker/supervise/task_options.h"

namespace weir::worker {

/// A directory that goes with the test.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-worker-test-XXXXXX");
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Returns the processes that belong to this group. Of dead ones that nobody has collected only the
/// leader counts, which is the daemon's to collect; the others are init's.
inline std::vector<int> ProcessesOfGroup(int group) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    if (!std::getline(stat, line)) continue;
    // pid (name) state ppid pgrp
    char state = 0;
    int parent = 0;
    int pgrp = 0;
    const std::string rest = line.substr(line.rfind(')') + 1);
    const int pid = std::atoi(line.c_str());
    if (std::sscanf(rest.c_str(), " %c %d %d", &state, &parent, &pgrp) == 3 && pgrp == group &&
        (state != 'Z' || pid == group)) {
      found.push_back(pid);
    }
  }
  return found;
}

/// A killed process takes a moment to die, on a busy machine some seconds.
inline bool GroupIsGone(int group) {
  for (int i = 0; i < 1000; ++i) {
    if (ProcessesOfGroup(group).empty()) return true;
    usleep(10'000);
  }
  return false;
}

inline std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

/// Runs the loop until `done` holds; false when that takes longer than `at_most`.
inline bool RunUntil(env::AsioEventLoop& loop, const std::function<bool()>& done,
                     absl::Duration at_most) {
  // Shared, since the posted turn may come after this has returned.
  auto late = std::make_shared<bool>(false);
  loop.Post(
      [&loop, late, end = loop.Now() + at_most] { loop.RunAt(end, [late] { *late = true; }); });
  loop.RunUntil([&] { return *late || done(); });
  return !*late;
}

inline TaskOptions MisbehavingTask(const std::string& mode) {
  TaskOptions options;
  options.program = WEIR_MISBEHAVING_TASK;
  options.arguments = {"misbehaving_task", mode};
  return options;
}

}  // namespace weir::worker
