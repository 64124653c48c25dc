#include "runtime/worker/run_files.h"

#include <utility>

namespace weir::worker {

void RunFiles::Add(const std::string& run_id, std::string path) {
  paths_[run_id].insert(std::move(path));
}

std::vector<std::string> RunFiles::Take(const std::string& run_id) {
  const auto it = paths_.find(run_id);
  if (it == paths_.end()) return {};
  std::vector<std::string> taken(it->second.begin(), it->second.end());
  paths_.erase(it);
  return taken;
}

}  // namespace weir::worker
