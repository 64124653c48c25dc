// What workers tell a run: results of steps, ends of transfers, progress.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/input/input_parts.h"
#include "planner/plan/units.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/conduct/conductor_run.h"

namespace weir::master {

using planner::At;

absl::Status ConductorRun::CheckHeld() const {
  if (stopped_) return absl::AbortedError("the job is ending; drop its work");
  if (editing_)
    return absl::UnavailableError("the plan is being edited; tell it again in a moment");
  return absl::OkStatus();
}

absl::Status ConductorRun::CheckFence(const v1::Fence& fence, WorkerId worker_id,
                                      planner::WorkerIndex expected, int attempt) const {
  const RegisteredWorker& worker = WorkerOf(expected);
  if (fence.plan_epoch() != fence_.plan_epoch() || fence.attempt() != attempt ||
      worker_id != worker.id || fence.worker_epoch() != worker.epoch) {
    return absl::AbortedError(absl::StrCat(
        "stale report: plan epoch ", fence.plan_epoch(), ", attempt ", fence.attempt(), ", worker ",
        worker_id, " under epoch ", fence.worker_epoch(), "; current are ", fence_.plan_epoch(),
        ", ", attempt, ", ", worker.id, ", ", worker.epoch));
  }
  return absl::OkStatus();
}

absl::Status ConductorRun::TakeReport(const v1::ReportStepRequest& report) {
  const v1::StepResult& result = report.result();
  const planner::StepIndex step = result.step();
  if (At(step) >= plan().steps.size()) {
    // What it was to do instead would be waited for for ever.
    const std::string why = absl::StrCat("the plan has no step ", step);
    TakeNonsense(report.fence(), report.worker_id(), why);
    return absl::InvalidArgumentError(why);
  }
  if (absl::Status held = CheckHeld(); !held.ok()) return held;
  if (TakeGivenUp(report)) {
    return absl::AbortedError(absl::StrCat("step ", step, " was given up there; others do it"));
  }
  const int attempt = conductor().progress().step_attempt(step);
  absl::Status fenced =
      CheckFence(report.fence(), report.worker_id(), plan().steps[At(step)].worker, attempt);
  if (!fenced.ok()) return fenced;
  if (!result.has_error()) return TakeResult(attempt, result);
  TakeError(step, result.error());
  return absl::OkStatus();
}

void ConductorRun::TakeError(planner::StepIndex step, v1::JobError error) {
  // Told twice: it waits for the attempt that the first time has brought about.
  if (!conductor().step_under_way(step)) return;
  // Nobody is to blame for another one's attempt.
  error.set_worker(WorkerOfStep(step));
  error.set_step(builder().StepName(step));
  std::optional<RunFault::Damage> damage = DamageIn(error, step);
  Fail({std::move(error), step, std::move(damage)});
}

absl::Status ConductorRun::TakeResult(int attempt, const v1::StepResult& result) {
  const planner::StepIndex step = result.step();
  const bool first_report = conductor().step_under_way(step);
  const std::string nonsense = first_report ? NonsenseIn(step, attempt, result) : "";
  if (!nonsense.empty()) {
    v1::JobError error = Nonsense(plan().steps[At(step)].worker, nonsense);
    error.set_step(builder().StepName(step));
    Fail({std::move(error), step});
    return absl::OkStatus();
  }
  if (first_report) runs_.Add({step, attempt}, result.run());
  ConductorOrders orders;
  const LoopGoes loop = result.loop().converged() ? LoopGoes::kNoFurther : LoopGoes::kOn;
  absl::Status taken =
      conductor().StepDone(step, SectionsOf(result.run()), loop_.Now(), orders, loop);
  if (!taken.ok() || !first_report) return taken;
  if (std::optional<v1::JobError> too_many = Count(step, result)) {
    too_many->set_worker(WorkerOfStep(step));
    too_many->set_step(builder().StepName(step));
    Fail(*std::move(too_many));
    return absl::OkStatus();
  }
  Commit(attempt, result);
  CarryOut(std::move(orders));
  return absl::OkStatus();
}

void ConductorRun::Commit(int attempt, const v1::StepResult& result) {
  const planner::StepIndex step = result.step();
  if (result.has_loop()) loop_report_ = result.loop();
  if (result.has_part()) {
    part_bytes_[step] = result.part().bytes();
    parts_.push_back(CommittedPart{plan().steps[At(step)].index_in_layer, fence_.plan_epoch(),
                                   attempt, result.part(), WorkerOfStep(step)});
  }
  LogInfo("Step committed", {{"job", fence_.job_id()},
                             {"step", builder().StepName(step)},
                             {"worker", WorkerOfStep(step)}});
  TellCommitted(step, attempt, result);
}

absl::Status ConductorRun::TakeReport(const v1::ReportTransferRequest& request) {
  const v1::TransferReport& report = request.report();
  const auto index_of_number = now_->numbers.IndexOf(report.transfer());
  if (!index_of_number && !now_->numbers.WasGiven(report.transfer())) {
    const std::string why = absl::StrCat("the plan has no transfer ", report.transfer());
    TakeNonsense(request.fence(), request.worker_id(), why);
    return absl::InvalidArgumentError(why);
  }
  if (absl::Status held = CheckHeld(); !held.ok()) return held;
  if (!index_of_number) {
    return absl::AbortedError(
        absl::StrCat("transfer ", report.transfer(), " is no more in the plan, which was edited"));
  }
  const planner::TransferIndex transfer = *index_of_number;
  const planner::WorkerIndex index = plan().transfers[At(transfer)].receiver;
  const int attempt = conductor().progress().transfer_attempt(transfer);
  absl::Status fenced = CheckFence(request.fence(), request.worker_id(), index, attempt);
  if (!fenced.ok()) return fenced;
  if (report.has_error()) {
    // Told twice.
    if (!conductor().transfer_under_way(transfer)) return absl::OkStatus();
    v1::JobError error = report.error();
    NameOwner(transfer, error);
    if (!TryAgain(transfer, error, report.bytes())) TransferFailed(transfer, std::move(error));
    return absl::OkStatus();
  }
  const bool under_way = conductor().transfer_under_way(transfer);
  const std::string nonsense = under_way ? NonsenseIn(transfer, report) : "";
  if (!nonsense.empty()) {
    v1::JobError error = Nonsense(index, nonsense);
    error.set_step(builder().TransferName(transfer));
    Fail(std::move(error));
    return absl::OkStatus();
  }
  if (!report.done() && !report.nearly_done()) return absl::OkStatus();
  ConductorOrders orders;
  absl::Status taken = report.done() ? conductor().TransferDone(transfer, loop_.Now(), orders)
                                     : conductor().TransferNearlyDone(transfer, report.bytes_left(),
                                                                      loop_.Now(), orders);
  if (taken.ok() && report.done()) patience_.Arrived(report.transfer());
  if (taken.ok()) CarryOut(std::move(orders));
  return taken;
}

void ConductorRun::TakeProgress(WorkerId worker, const v1::StepProgress& progress) {
  const planner::StepIndex step = progress.step();
  if (At(step) >= plan().steps.size() || WorkerOf(plan().steps[At(step)].worker).id != worker) {
    return;
  }
  // Of an attempt that has failed meanwhile.
  if (!conductor().step_under_way(step)) return;
  std::int64_t& done = step_bytes_done_[At(step)];
  const planner::ComputeStep& planned = plan().steps[At(step)];
  done = std::max(done, planned.kind->reads_input()
                            ? planner::CountedBytes(plan().input_part_ends, planned.input_begin,
                                                    planned.input_end, progress.input_bytes_done())
                            : progress.input_bytes_done());
  if (progress.status().empty() || progress.status() == step_status_[At(step)]) return;
  step_status_[At(step)] = progress.status();
  said_last_ = step;
}

// Whatever became of it: its worker is free.
bool ConductorRun::TakeGivenUp(const v1::ReportStepRequest& report) {
  if (report.fence().plan_epoch() != fence_.plan_epoch()) return false;
  const RunName attempt{report.result().step(), report.fence().attempt()};
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto worker = static_cast<planner::WorkerIndex>(w);
    const bool from_it =
        workers_[w].id == report.worker_id() && workers_[w].epoch == report.fence().worker_epoch();
    if (!from_it || !conductor().given_up(worker, attempt)) continue;
    CarryOut(conductor().GivenUpEnded(worker, attempt, loop_.Now()));
    return true;
  }
  return false;
}

std::optional<v1::JobError> ConductorRun::Count(planner::StepIndex step,
                                                const v1::StepResult& result) {
  const planner::ComputeStep& planned = plan().steps[At(step)];
  const std::int32_t made = planned.kind->layer_made(planned.layer);
  codec_trials_.Add(made, planner::CodecToProto(planner::CodecOfLayer(plan().run_codec, made)),
                    result.run());
  // Other steps count the same records.
  if (planned.is_rerun) return std::nullopt;
  std::optional<v1::JobError> too_many_names = counters_.Add(step, result);
  std::optional<v1::JobError> too_many_bad = skipped_.Add(result, planned.kind->reads_input());
  return too_many_bad ? std::move(too_many_bad) : std::move(too_many_names);
}

bool ConductorRun::TryAgain(planner::TransferIndex transfer, const v1::JobError& error,
                            planner::Bytes moved) {
  const std::int32_t number = now_->numbers.Of(transfer);
  const int attempt = conductor().progress().transfer_attempt(transfer);
  if (!patience_.TryAgain(number, {error.code(), attempt, moved}, loop_.Now())) return false;
  LogWarning("A transfer failed and is tried again",
             {{"job", fence_.job_id()},
              {"transfer", builder().TransferName(transfer)},
              {"error", error.message()}});
  ConductorOrders orders;
  if (conductor().TransferFailed(transfer, loop_.Now(), orders).ok()) CarryOut(std::move(orders));
  loop_.RunAt(loop_.Now() + limits::kPeerPause,
              callbacks_.Guard([this, number] { Retry(number); }));
  return true;
}

void ConductorRun::Retry(std::int32_t transfer_number) {
  if (editing_) {
    // Nothing may come of the edit.
    loop_.RunAt(loop_.Now() + limits::kPeerPause,
                callbacks_.Guard([this, transfer_number] { Retry(transfer_number); }));
    return;
  }
  // An edit that was taken has it moved anew, or not at all.
  const auto transfer = now_->numbers.IndexOf(transfer_number);
  if (!stopped_ && transfer) CarryOut(conductor().RetryTransfer(*transfer, loop_.Now()));
}

}  // namespace weir::master
