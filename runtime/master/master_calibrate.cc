// Handlers of Master for users: calibration, and what is known of the network.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/master_impl.h"
#include "runtime/master/planning/cluster_profile.h"

namespace weir::master {
namespace {

absl::Status Refused(std::string_view code, std::string message, std::string advice) {
  return StatusFromJobError(absl::StatusCode::kFailedPrecondition,
                            MakeJobError(code, std::move(message), std::move(advice)));
}

}  // namespace

absl::Status Master::Impl::StartCalibration(const v1::CalibrateRequest& request) {
  if (calibration_ && calibration_->id() == request.calibration_id()) return absl::OkStatus();
  if (CalibrationRuns()) {
    const absl::Duration age = seams_.loop.Now() - calibration_->began();
    return Refused(
        "CALIBRATION_RUNS",
        absl::StrCat("another calibration is under way, for ", absl::ToInt64Seconds(age), " s now"),
        "wait until it has ended; two at once would measure each other");
  }
  if (!queue_.idle()) {
    const std::vector<std::string> running = queue_.running();
    const std::string job = running.empty() ? queue_.waiting().front() : running.front();
    return Refused("JOB_RUNS",
                   absl::StrCat("job ", job, " uses the network, so that nothing can be measured"),
                   absl::StrCat("wait until it has ended (weir watch ", job,
                                ") or cancel it (weir cancel ", job, ")"));
  }
  if (!dry_runs_.empty()) {
    return Refused("JOB_RUNS", "a dry run (weir plan) samples its input on the workers",
                   "calibrate again in a moment");
  }
  std::vector<RegisteredWorker> workers = workers_->Alive();
  if (workers.size() < 2) {
    return Refused(job_error::kNoWorkers,
                   absl::StrCat("calibration measures between workers, and ",
                                workers.empty() ? "none is" : "only one is", " alive"),
                   "start more workers with: weir worker --master HOST:PORT");
  }
  const absl::Duration at_most = request.seconds_max() > 0 ? absl::Seconds(request.seconds_max())
                                                           : limits::kCalibrationDefault;
  calibration_ = std::make_unique<CalibrationRun>(
      CalibrationRun::Context{seams_,
                              journal_,
                              context_->master_epoch,
                              {options_.pacing_fraction, options_.look_ahead_bytes},
                              [this] { CalibrationEnded(); }},
      request.calibration_id(), at_most, std::move(workers));
  calibration_->Begin();
  return absl::OkStatus();
}

void Master::Impl::CalibrationEnded() {
  if (calibration_->stored() != nullptr) options_.measured = calibration_->spec();
  BeginJobs();
  StopIfIdle();
}

void Master::Impl::Handle(rpc::Call<rpc::Calibrate> call) {
  call.reply(AnswerCalibration(call.request));
}

absl::StatusOr<v1::CalibrateResponse> Master::Impl::AnswerCalibration(
    const v1::CalibrateRequest& request) {
  if (request.start()) {
    if (absl::Status started = StartCalibration(request); !started.ok()) return started;
  }
  if (!calibration_ || calibration_->id() != request.calibration_id()) {
    return absl::NotFoundError(
        absl::StrCat("no calibration ", request.calibration_id(),
                     ": the master was restarted, or another one was started; start again"));
  }
  if (request.cancel()) calibration_->Cancel(absl::CancelledError("cancelled by its user"));
  return calibration_->Answer();
}

void Master::Impl::TakeRecovered(const v1::MeasuredNetwork& measured) {
  absl::StatusOr<NetworkSpec> spec = ParseNetworkSpec(measured.spec_json());
  if (!spec.ok()) {
    LogWarning("The network measured earlier is not used: calibrate again",
               {{"error", std::string(spec.status().message())}});
    return;
  }
  options_.measured = *std::move(spec);
}

void Master::Impl::Handle(rpc::Call<rpc::ListWorkers> call) {
  v1::ListWorkersResponse response = workers_->List(seams_.loop.Now());
  const NetworkSpec network = KnownNetwork(options_);
  for (v1::WorkerStatus& worker : *response.mutable_workers()) {
    const std::string& name = worker.identity().name();
    worker.mutable_profile()->set_port_bytes_per_s(PortRate(network, name));
    worker.mutable_profile()->set_rack(RackOf(network, name));
  }
  call.reply(std::move(response));
}

}  // namespace weir::master
