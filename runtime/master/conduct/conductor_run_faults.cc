// What fails of a run, and what its next edit is to do about it.

#include <utility>

#include "planner/plan/units.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/conduct/conductor_run.h"

namespace weir::master {

using planner::At;

void ConductorRun::BeginAnew(planner::StepIndex step, bool elsewhere) {
  if (conductor().step_under_way(step)) conductor().StepFailed(step);
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
  if (error.code() != job_error::kDataLoss || error.damaged_run().empty()) return std::nullopt;
  const PlanProgress& progress = conductor().progress();
  for (const planner::StepIndex producer : progress.ProducersOf(reader)) {
    const SectionSource source = progress.SourceOf(producer, reader);
    if (runs_.Of(source.run).run_id != error.damaged_run()) continue;
    const v1::WorkerIdentity& maker = WorkerOf(source.maker).identity;
    const v1::WorkerIdentity& at = WorkerOf(plan().steps[At(reader)].worker).identity;
    const bool handed_over =
        !maker.handover_domain().empty() && maker.handover_domain() == at.handover_domain();
    return RunFault::Damage{source.run, maker.name(), reader, !source.in_place && !handed_over};
  }
  return std::nullopt;
}

void ConductorRun::TransferFailed(planner::TransferIndex transfer, v1::JobError error) {
  RunFault fault{.error = std::move(error)};
  if (fault.error.code() == job_error::kDataLoss &&
      fault.error.fault_of() == v1::FAULT_OF_EXCHANGE) {
    // It was made often enough: what is damaged lies at its source.
    const planner::Transfer& moved = plan().transfers[At(transfer)];
    const int attempt = conductor().progress().step_attempt(moved.producer);
    fault.damage = {{moved.producer, attempt},
                    WorkerOf(moved.sender).identity.name(),
                    moved.consumer,
                    /*received=*/false};
    ConductorOrders orders;
    if (conductor().TransferFailed(transfer, loop_.Now(), orders).ok()) {
      CarryOut(std::move(orders));
    }
  }
  Fail(std::move(fault));
}

}  // namespace weir::master
