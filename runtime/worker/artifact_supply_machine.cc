#include "runtime/worker/artifact_supply_machine.h"

namespace weir::worker {

void ArtifactSupplyMachine::Ended(const absl::Status& status) {
  if (status.ok()) {
    if (act_ == Act::kFetch) {
      act_ = Act::kLink;
      return;
    }
    ++index_;
    fetches_ = damaged_copies_ = 0;
    return Settle();
  }
  const bool damaged = absl::IsDataLoss(status);
  const bool missing = absl::IsNotFound(status) && act_ == Act::kLink;
  if (damaged) ++damaged_copies_;
  if ((!damaged && !missing) || damaged_copies_ > 1 || fetches_ == kFetchesMax) {
    failure_ = status;
    act_ = Act::kFail;
    return;
  }
  ++fetches_;
  act_ = Act::kFetch;
}

}  // namespace weir::worker
