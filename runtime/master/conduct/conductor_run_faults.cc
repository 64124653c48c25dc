// What fails of a run, and what its next edit is to do about it.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/run_id.h"
#include "runtime/master/conduct/conductor_run.h"

namespace weir::master {

using planner::At;

void ConductorRun::BeginAnew(planner::StepIndex step, bool elsewhere) {
  if (conductor().step_under_way(step)) {
    conductor().StepFailed(step);
    // What its next attempt has read is heard of anew: else that would look nearly done for long.
    Forget(step);
  }
  if (elsewhere) faults_.elsewhere.push_back(step);
}

void ConductorRun::SectionLost(const RunFault::Damage& damage) {
  faults_.sections_lost.push_back({damage.run.step, damage.reader});
}

void ConductorRun::RunLost(const RunFault::Damage& damage) {
  SectionLost(damage);
  // What others read may have been made again already.
  if (conductor().progress().step_attempt(damage.run.step) != damage.run.attempt) return;
  faults_.runs_lost.push_back(damage.run.step);
}

std::optional<RunFault::Damage> ConductorRun::DamageIn(const v1::JobError& error,
                                                       planner::StepIndex reader) const {
  if (error.code() != job_error::kDataLoss) return std::nullopt;
  const std::optional<RunName> run = runs_.NameOf(error.damaged_run());
  const PlanProgress& progress = conductor().progress();
  const std::vector<planner::StepIndex>& producers = progress.ProducersOf(reader);
  if (!run || std::find(producers.begin(), producers.end(), run->step) == producers.end()) {
    return std::nullopt;
  }
  const bool is_last = progress.step_state(run->step) == PlanProgress::State::kDone &&
                       progress.step_attempt(run->step) == run->attempt;
  const SectionSource source = progress.SourceOf(run->step, reader);
  const v1::WorkerIdentity& maker = WorkerOf(source.maker).identity;
  const v1::WorkerIdentity& at = WorkerOf(plan().steps[At(reader)].worker).identity;
  const bool handed_over =
      !maker.handover_domain().empty() && maker.handover_domain() == at.handover_domain();
  return RunFault::Damage{*run, maker.name(), reader, !source.in_place && !handed_over, !is_last};
}

void ConductorRun::TransferFailed(planner::TransferIndex transfer, v1::JobError error) {
  RunFault fault{.error = std::move(error)};
  if (fault.error.code() == job_error::kDataLoss &&
      fault.error.fault_of() == v1::FAULT_OF_EXCHANGE) {
    // It was made often enough: what is damaged lies at its source.
    const planner::Transfer& moved = plan().transfers[At(transfer)];
    const int attempt = conductor().progress().step_attempt(moved.producer);
    fault.damage = {
        {moved.producer, attempt}, WorkerOf(moved.sender).identity.name(), moved.consumer};
    ConductorOrders orders;
    if (conductor().TransferFailed(transfer, loop_.Now(), orders).ok()) {
      CarryOut(std::move(orders));
    }
  }
  Fail(std::move(fault));
}

void ConductorRun::TakeNonsense(const v1::Fence& fence, WorkerId worker_id,
                                const std::string& why) {
  if (stopped_ || fence.plan_epoch() != fence_.plan_epoch()) return;
  // Also while the plan is edited: it is not told again.
  for (std::size_t w = 0; w < gone_.size(); ++w) {
    const bool from_it =
        workers_[w].id == worker_id && workers_[w].epoch == fence.worker_epoch() && !gone_[w];
    if (from_it) return Fail(Nonsense(static_cast<planner::WorkerIndex>(w), why));
  }
}

v1::JobError ConductorRun::Nonsense(planner::WorkerIndex worker, const std::string& why) const {
  const std::string& name = WorkerOf(worker).identity.name();
  v1::JobError error = MakeJobError(
      job_error::kInternal,
      absl::StrCat("worker ", name, " sent a report that makes no sense: ", why),
      "check that master and workers have the same version, and the memory of that machine");
  error.set_worker(name);
  error.set_fault_of(v1::FAULT_OF_WORKER);
  return error;
}

std::string ConductorRun::NonsenseIn(planner::StepIndex step, int attempt,
                                     const v1::StepResult& result) const {
  const bool part = builder().WritesPart(step);
  if (part != result.has_part()) return part ? "no output part" : "an output part, no run";
  // Taken for an empty one, it would leave out of the output what the step has made.
  if (!part && !result.has_run()) return "no run";
  const std::string run_id = RunIdOf(step, attempt);
  if (!part && result.run().run_id() != run_id) {
    return absl::StrCat("run '", result.run().run_id().substr(0, 100), "' in place of ", run_id);
  }
  if (result.skipped_size() > skipped_.allowed()) {
    return absl::StrCat(result.skipped_size(), " bad records were left out, of which ",
                        skipped_.allowed(), " may be");
  }
  const absl::Status reached = conductor().progress().CheckRun(step, SectionsOf(result.run()));
  return std::string(reached.message());
}

std::string ConductorRun::NonsenseIn(planner::TransferIndex transfer,
                                     const v1::TransferReport& report) const {
  const planner::Bytes granted = conductor().transfer_bytes(transfer);
  const std::string of =
      absl::StrCat(" bytes of ", granted, " in the ", builder().TransferName(transfer));
  if (report.done() && report.bytes() != granted) {
    return absl::StrCat("it has received ", report.bytes(), of);
  }
  if (report.nearly_done() && report.bytes_left() > granted) {
    return absl::StrCat("it has yet to receive ", report.bytes_left(), of);
  }
  return "";
}

void ConductorRun::NameOwner(planner::TransferIndex transfer, v1::JobError& error) const {
  const planner::Transfer& moved = plan().transfers[At(transfer)];
  const std::string& receiver = WorkerOf(moved.receiver).identity.name();
  if (error.worker() != WorkerOf(moved.sender).identity.name()) error.set_worker(receiver);
  if (error.step().empty()) error.set_step(builder().TransferName(transfer));
  // Neither the job's code nor its input or output takes part in a transfer.
  const std::string& code = error.code();
  const bool owned = error.fault_of() != v1::FAULT_OF_UNSPECIFIED ||
                     code == job_error::kWorkerUnreachable || code == job_error::kWorkerLost ||
                     code == job_error::kTransferFailed || code == job_error::kWorkDirectoryLost;
  if (!owned) error.set_fault_of(v1::FAULT_OF_WORKER);
}

}  // namespace weir::master
