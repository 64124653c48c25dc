#pragma once

// Which files on this worker hold runs of which layer, so that those that nobody reads any more can
// go and a chain of layers does not fill the disk. Pure.
// Upstream: WorkerJob, as steps start. Downstream: WorkerJob, which removes them.

#include <string>
#include <vector>

#include "absl/container/btree_map.h"

namespace weir::worker {

/// One file with a run, or with sections of one.
struct LayerFile {
  std::string path;
  /// Set for runs made here, which others may have been allowed to fetch.
  std::string own_run_id;
};

/// The files of one job.
/// Checked by: tests/unit/worker/layer_files_test.cc.
class LayerFiles {
 public:
  /// Remembers a file of a run that a step of `layer` made; once, however often it is named.
  void Add(int layer, LayerFile file);

  /// Returns and forgets the files of all layers before `layer`.
  std::vector<LayerFile> TakeBefore(int layer);

 private:
  absl::btree_map<int, absl::btree_map<std::string, std::string>> run_ids_;  // by layer and path
};

}  // namespace weir::worker
