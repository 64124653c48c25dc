#include "runtime/master/job/job_machine.h"

#include <utility>

namespace weir::master {

std::vector<JobAction> JobMachine::Begin() {
  if (phase_ != Phase::kQueued) return {};
  phase_ = Phase::kListing;
  state_ = v1::JOB_STATE_PLANNING;
  return {JobAction::kJournal, JobAction::kList};
}

std::vector<JobAction> JobMachine::Listed() {
  if (phase_ != Phase::kListing) return {};
  phase_ = Phase::kSampling;
  return {JobAction::kSample};
}

std::vector<JobAction> JobMachine::Sampled() {
  if (phase_ != Phase::kSampling) return {};
  phase_ = Phase::kPlanning;
  return {JobAction::kPlan};
}

std::vector<JobAction> JobMachine::Planned() {
  if (phase_ != Phase::kPlanning) return {};
  phase_ = staged_ ? Phase::kPreparing : Phase::kStaging;
  return {JobAction::kJournalPlan, staged_ ? JobAction::kPrepare : JobAction::kStage};
}

std::vector<JobAction> JobMachine::Staged() {
  if (phase_ != Phase::kStaging) return {};
  staged_ = true;
  phase_ = plan_again_ ? Phase::kPlanning : Phase::kPreparing;
  return {std::exchange(plan_again_, false) ? JobAction::kPlan : JobAction::kPrepare};
}

std::vector<JobAction> JobMachine::WorkerLost() {
  switch (phase_) {
    case Phase::kStaging:
      plan_again_ = true;
      return {};
    case Phase::kPlanning:
    case Phase::kPreparing:
      phase_ = Phase::kPlanning;
      return {JobAction::kPlan};
    case Phase::kRunning:
      phase_ = Phase::kPlanning;
      state_ = v1::JOB_STATE_PLANNING;
      return {JobAction::kStopPlan, JobAction::kJournal, JobAction::kPlan};
    default:
      return {};
  }
}

std::vector<JobAction> JobMachine::Prepared() {
  if (phase_ != Phase::kPreparing) return {};
  phase_ = Phase::kRunning;
  state_ = v1::JOB_STATE_RUNNING;
  return {JobAction::kJournal, JobAction::kConduct};
}

std::vector<JobAction> JobMachine::Ran() {
  if (phase_ != Phase::kRunning) return {};
  phase_ = Phase::kCommitting;
  state_ = v1::JOB_STATE_COMMITTING;
  return {JobAction::kJournal, JobAction::kCommit};
}

std::vector<JobAction> JobMachine::Committed() {
  if (phase_ != Phase::kCommitting) return {};
  phase_ = Phase::kReleasing;
  return {JobAction::kRelease};
}

std::vector<JobAction> JobMachine::CommitFailed(v1::JobError error) {
  if (phase_ != Phase::kCommitting) return {};
  return End(v1::JOB_STATE_FAILED, std::move(error));
}

std::vector<JobAction> JobMachine::PartRefused() {
  if (phase_ != Phase::kCommitting) return {};
  phase_ = Phase::kPlanning;
  state_ = v1::JOB_STATE_PLANNING;
  return {JobAction::kStopPlan, JobAction::kJournal, JobAction::kPlan};
}

std::vector<JobAction> JobMachine::Fail(v1::JobError error) {
  if (!can_end()) return {};
  return End(v1::JOB_STATE_FAILED, std::move(error));
}

std::vector<JobAction> JobMachine::Cancel(v1::JobError error) {
  if (!can_end()) return {};
  return End(v1::JOB_STATE_CANCELLED, std::move(error));
}

std::vector<JobAction> JobMachine::End(v1::JobState outcome, v1::JobError error) {
  error_ = std::move(error);
  if (phase_ == Phase::kQueued) {
    phase_ = Phase::kTerminal;
    state_ = outcome;
    return {JobAction::kFinish};
  }
  outcome_ = outcome;
  phase_ = Phase::kEnding;
  state_ = v1::JOB_STATE_ENDING;
  return {JobAction::kStop, JobAction::kJournal, JobAction::kRelease};
}

std::vector<JobAction> JobMachine::Released() {
  if (phase_ == Phase::kReleasing) {
    phase_ = Phase::kTerminal;
    state_ = v1::JOB_STATE_SUCCEEDED;
    return {JobAction::kFinish};
  }
  if (phase_ != Phase::kEnding) return {};
  phase_ = Phase::kDiscarding;
  return {JobAction::kDiscard};
}

std::vector<JobAction> JobMachine::Discarded() {
  if (phase_ != Phase::kDiscarding) return {};
  phase_ = Phase::kTerminal;
  state_ = outcome_;
  return {JobAction::kFinish};
}

const char* JobStateWord(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_QUEUED:
      return "QUEUED";
    case v1::JOB_STATE_PLANNING:
      return "PLANNING";
    case v1::JOB_STATE_RUNNING:
      return "RUNNING";
    case v1::JOB_STATE_COMMITTING:
      return "COMMITTING";
    case v1::JOB_STATE_ENDING:
      return "ENDING";
    case v1::JOB_STATE_SUCCEEDED:
      return "SUCCEEDED";
    case v1::JOB_STATE_FAILED:
      return "FAILED";
    case v1::JOB_STATE_CANCELLED:
      return "CANCELLED";
    default:
      return "UNKNOWN";
  }
}

bool IsTerminal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

}  // namespace weir::master
