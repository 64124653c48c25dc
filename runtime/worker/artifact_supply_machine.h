#pragma once

// How the artifacts of one job get to one worker: what is tried next, and when it is given up.
// Pure. Upstream: ArtifactSupply. Downstream: nothing.

#include <string>

#include "absl/status/status.h"

namespace weir::worker {

/// Takes the artifacts of a job one by one: linked from the cache and looked at; fetched where they
/// are missing or damaged; a second damaged copy of one ends it.
/// Checked by: tests/unit/worker/artifact_supply_test.cc.
class ArtifactSupplyMachine {
 public:
  enum class Act {
    kLink,   // artifact index(): from the cache into the job's directory, and check it
    kFetch,  // artifact index(): from the master into the cache, and check it
    kDone,
    kFail,  // failure() says why
  };

  explicit ArtifactSupplyMachine(int num_artifacts) : num_artifacts_(num_artifacts) { Settle(); }

  Act act() const { return act_; }
  int index() const { return index_; }
  const absl::Status& failure() const { return failure_; }

  /// How act() ended: OK; kDataLoss: that copy is damaged; kNotFound of a link: the cache does not
  /// have it.
  void Ended(const absl::Status& status);

 private:
  // The cache may lose a file between its fetch and its link, but not all the time.
  static constexpr int kFetchesMax = 3;
  void Settle() { act_ = index_ < num_artifacts_ ? Act::kLink : Act::kDone; }

  const int num_artifacts_;
  int index_ = 0;
  int fetches_ = 0;         // of this one
  int damaged_copies_ = 0;  // of this one
  Act act_ = Act::kLink;
  absl::Status failure_;
};

}  // namespace weir::worker
