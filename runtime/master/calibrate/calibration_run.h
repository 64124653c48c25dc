#pragma once

// Carries a calibration out: orders to the workers, their answers, the journal. Upstream: Master
// (JobService.Calibrate). Downstream: CalibrationMachine (decides), rpc::WorkerApi (Probe),
// JournalWriter.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/event_loop.h"
#include "runtime/master/calibrate/calibration_machine.h"
#include "runtime/master/journal/journal_writer.h"
#include "runtime/master/options/master_seams.h"
#include "runtime/master/workers/worker_table.h"

namespace weir::master {

/// Measures the network between the workers that are alive when it begins.
///
/// Failure semantics: a worker that does not answer twice is left out and named, and measuring
///   begins again with the others for the time that is left; with fewer than two it fails. Ends by
///   itself when nobody asks for kCalibrationUnasked. Workers serve probe bytes only while it runs.
/// Thread-safety: on the loop only.
/// Bounds: `at_most`, the last round, and what its answers take; kCalibrationOverdue more at most.
/// Checked by: tests/unit/master/calibration_run_test.cc, master_calibrate_test.cc.
class CalibrationRun {
 public:
  struct Context {
    const MasterSeams& seams;
    JournalWriter& journal;
    Epoch master_epoch = 0;
    OrderedSending sending;
    /// Called once, in a turn of its own, when nothing is measured any more.
    std::function<void()> ended;
  };

  CalibrationRun(Context context, std::string id, absl::Duration at_most,
                 std::vector<RegisteredWorker> workers);

  void Begin();
  void Cancel(absl::Status why);
  const std::string& id() const { return id_; }
  bool over() const { return over_; }
  MonoTime began() const { return began_; }
  /// Set once it has succeeded and is in the journal, where one that is not to be relied on never
  /// comes.
  const v1::MeasuredNetwork* stored() const { return stored_ ? &*measured_ : nullptr; }
  const NetworkSpec& spec() const { return spec_; }
  /// How far it is, and keeps it going. Errors: why it failed.
  absl::StatusOr<v1::CalibrateResponse> Answer();

 private:
  void EndWhenUnasked();
  void ForgetTimers();
  v1::ProbeRequest Order(const RegisteredWorker& worker) const;
  void Serve();
  void StartMeasuring();
  void Step();
  void SendRound();
  const RegisteredWorker& Sender(std::size_t flow) const {
    return workers_[static_cast<std::size_t>(round_->flows[flow].sender)];
  }
  const RegisteredWorker& Receiver(std::size_t flow) const {
    return workers_[static_cast<std::size_t>(round_->flows[flow].receiver)];
  }
  /// Has the flow's receiver fetch from its sender, as the round says.
  v1::ProbeRequest OrderOf(std::size_t flow) const;
  void SendFlow(std::size_t flow);
  void FlowFailed(std::size_t flow, const absl::Status& why);
  void FlowAnswered(std::size_t flow);
  void FlowsAnswered();
  void SendFollowers(std::size_t passed);
  void CountSegments(void (CalibrationRun::*then)());
  void SendFlows();
  void RoundAnswered();
  bool AnyLost() const;
  void RoundFailed();
  /// Goes on when all that the round sent has ended, though nobody said so.
  void AfterRound(absl::AnyInvocable<void()> next);
  void Finish();
  void Fail(absl::Status why);
  void EndAll();
  std::string Doing() const;  // in words

  const Context context_;
  const std::string id_;
  const absl::Duration at_most_;
  const MonoTime began_;
  std::uint64_t token_ = 0;
  std::vector<RegisteredWorker> workers_;  // by index of the calibration, in order of names
  std::vector<bool> lost_;                 // by index
  std::vector<std::string> notes_;
  std::unique_ptr<CalibrationMachine> calibration_;
  std::optional<ProbeRound> round_;
  std::int32_t round_number_ = 0;  // one more each time that probes are sent
  bool asked_again_ = false;       // this round failed once
  RoundOutcome outcome_;
  MonoTime round_sent_;
  std::vector<std::size_t> waits_for_;  // ordered rounds: by flow, for how many
  // Of all workers, at the count before.
  std::int64_t segments_sent_ = 0;
  std::int64_t segments_resent_ = 0;
  std::size_t unanswered_ = 0;
  MonoTime last_asked_;
  // End it though no answer comes, until all is measured.
  std::optional<env::EventLoop::TimerId> overdue_;
  std::optional<env::EventLoop::TimerId> unasked_;
  bool over_ = false;
  absl::Status failure_;
  std::optional<v1::MeasuredNetwork> measured_;
  bool stored_ = false;
  NetworkSpec spec_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
