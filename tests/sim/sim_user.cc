#include "tests/sim/sim_user.h"

#include "runtime/master/job/job_machine.h"

namespace weir::sim {

void SimUser::Watch(const std::string& job_id, std::function<void(const v1::JobStatus&)> on_end) {
  v1::WatchRequest request;
  request.set_job_id(job_id);
  watch_ = jobs_->Subscribe<rpc::Watch>(
      std::move(request), [this](v1::JobStatus status) { watched_ = std::move(status); },
      [this, job_id, on_end](const absl::Status& status) {
        if (master::IsTerminal(watched_.state())) return on_end(watched_);
        if (!status.ok() && !absl::IsUnavailable(status)) {
          return world_.Wrong(absl::StrCat("Watch of a user: ", status.ToString()));
        }
        loop_->RunAt(loop_->Now() + kPause, [this, job_id, on_end] { Watch(job_id, on_end); });
      });
}

}  // namespace weir::sim
