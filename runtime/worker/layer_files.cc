#include "runtime/worker/layer_files.h"

#include <utility>

namespace weir::worker {

void LayerFiles::Add(int layer, LayerFile file) {
  run_ids_[layer].emplace(std::move(file.path), std::move(file.own_run_id));
}

std::vector<LayerFile> LayerFiles::TakeBefore(int layer) {
  std::vector<LayerFile> taken;
  while (!run_ids_.empty() && run_ids_.begin()->first < layer) {
    for (const auto& [path, own_run_id] : run_ids_.begin()->second) {
      taken.push_back({path, own_run_id});
    }
    run_ids_.erase(run_ids_.begin());
  }
  return taken;
}

}  // namespace weir::worker
