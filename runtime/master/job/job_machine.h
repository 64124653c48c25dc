#pragma once

// The life of one job. Pure. Upstream: JobRun feeds what happened. Downstream: JobRun carries out
// the actions, in order.

#include <vector>

#include "weir/v1/job.pb.h"

namespace weir::master {

/// What is to be done next. Actions are carried out one after another; kJournal is complete only
/// when the record is durable, so that everything behind it acts on a journalled state.
enum class JobAction {
  kJournal,      // write down the state as it now is
  kList,         // list the input
  kSample,       // run a small part of the job, where that pays
  kPlan,         // build, check and predict the plan
  kJournalPlan,  // write down the plan
  kStage,        // make the staging directory
  kPrepare,      // tell every worker of the plan
  kConduct,      // run the plan
  kCommit,       // publish the output
  kStopPlan,     // run the plan no further; another one comes
  kStop,         // give no more orders
  kRelease,      // have every prepared worker end its task and clean up
  kDiscard,      // remove the staging directory
  kFinish,       // write down the end, then tell everybody
};

/// State machine of one job: QUEUED -> PLANNING -> RUNNING -> COMMITTING -> SUCCEEDED, and from any
/// state before COMMITTING over ENDING to FAILED or CANCELLED. A lost worker that is needed brings
/// a job back to PLANNING, as often as one is lost, and so does a part that is not what its worker
/// has told of it, which only the commit finds.
///
/// Each event returns the actions that it asks for. An event that comes too late (a plan for a job
/// that is being ended) asks for nothing. The first reason to end wins. From COMMITTING on only the
/// commit itself decides: the output appears or it does not.
/// Thread-safety: none. Time: none; deadlines are events.
/// Checked by: tests/unit/master/job_machine_test.cc (every event in every state).
class JobMachine {
 public:
  v1::JobState state() const { return state_; }
  /// Why the job ends; set from ENDING on unless it succeeds.
  const v1::JobError& error() const { return error_; }
  bool terminal() const { return phase_ == Phase::kTerminal; }
  /// The plan in hand is the one to prepare; false again once a lost worker asks for another.
  bool preparing() const { return phase_ == Phase::kPreparing; }
  /// False from COMMITTING on: cancel and deadline come too late.
  bool can_end() const { return phase_ < Phase::kCommitting; }
  /// The staging directory is there; plans to come need no other.
  bool staged() const { return staged_; }

  std::vector<JobAction> Begin();
  std::vector<JobAction> Listed();
  /// Or not sampled, for whatever reason.
  std::vector<JobAction> Sampled();
  std::vector<JobAction> Planned();
  std::vector<JobAction> Staged();
  std::vector<JobAction> Prepared();
  std::vector<JobAction> Ran();
  std::vector<JobAction> Committed();
  std::vector<JobAction> CommitFailed(v1::JobError error);
  /// Nothing was published, as a part is not what its worker has told of it: another plan is made.
  /// Asks for nothing but in COMMITTING.
  std::vector<JobAction> PartRefused();
  std::vector<JobAction> Fail(v1::JobError error);
  std::vector<JobAction> Cancel(v1::JobError error);
  /// A worker is lost that the plan, if there is one, still needs: another plan is made. What was
  /// staged stays. From COMMITTING on it asks for nothing.
  std::vector<JobAction> WorkerLost();
  /// All workers have cleaned up, or time for it is over.
  std::vector<JobAction> Released();
  /// The staging directory is gone, or time for it is over.
  std::vector<JobAction> Discarded();

 private:
  enum class Phase {
    kQueued,
    kListing,
    kSampling,
    kPlanning,
    kStaging,
    kPreparing,
    kRunning,
    kCommitting,
    kReleasing,  // after a commit
    kEnding,
    kDiscarding,
    kTerminal
  };
  std::vector<JobAction> End(v1::JobState outcome, v1::JobError error);

  Phase phase_ = Phase::kQueued;
  bool staged_ = false;
  bool plan_again_ = false;  // once staged
  v1::JobState state_ = v1::JOB_STATE_QUEUED;
  v1::JobState outcome_ = v1::JOB_STATE_UNSPECIFIED;
  v1::JobError error_;
};

/// "RUNNING" and so on, for the log.
const char* JobStateWord(v1::JobState state);
bool IsTerminal(v1::JobState state);

}  // namespace weir::master
