// What fails of a run, and what its next edit is to do about it.

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/plan/units.h"
#include "runtime/base/job_errors.h"
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

}  // namespace weir::master
