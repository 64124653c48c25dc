#include "runtime/master/workers/process_watch.h"

#include <utility>

#include "runtime/base/limits.h"

namespace weir::master {

ProcessWatch::ProcessWatch(env::EventLoop& loop, rpc::WorkerConnector& connector,
                           absl::AnyInvocable<void(WorkerId, Epoch)> on_break)
    : loop_(loop), connector_(connector), on_break_(std::move(on_break)) {}

void ProcessWatch::Follow(WorkerId worker, Epoch epoch, const std::string& control_endpoint) {
  followed_[worker] = {epoch, control_endpoint, nullptr};
  Hold(worker, epoch);
}

ProcessWatch::Followed* ProcessWatch::Find(WorkerId worker, Epoch epoch) {
  const auto it = followed_.find(worker);
  return it != followed_.end() && it->second.epoch == epoch ? &it->second : nullptr;
}

void ProcessWatch::Hold(WorkerId worker, Epoch epoch) {
  Followed* followed = Find(worker, epoch);
  if (followed == nullptr) return;
  followed->connection = connector_.HoldOpen(
      followed->control_endpoint,
      callbacks_.Guard([this, worker, epoch](bool was_open) { Ended(worker, epoch, was_open); }));
}

void ProcessWatch::Ended(WorkerId worker, Epoch epoch, bool was_open) {
  if (was_open) {
    loop_.RunAt(loop_.Now() + limits::kProcessEndSettles, callbacks_.Guard([this, worker, epoch] {
      if (Find(worker, epoch) != nullptr) on_break_(worker, epoch);
    }));
  }
  loop_.RunAt(loop_.Now() + limits::kHoldAgain,
              callbacks_.Guard([this, worker, epoch] { Hold(worker, epoch); }));
}

}  // namespace weir::master
