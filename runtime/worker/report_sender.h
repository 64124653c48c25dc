#pragma once

// Delivers reports to the master, however often that takes. Upstream: WorkerJob. Downstream:
// rpc::ClusterApi.

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/env/event_loop.h"

namespace weir::worker {

/// Repeats each report until the master takes or refuses it, with growing, jittered pauses.
///
/// A refusal ends a report with a log line: the master has moved on. kUnavailable,
/// kDeadlineExceeded and kResourceExhausted are none, nor what says that the call was garbled on
/// its way (kUnimplemented, kInternal, kUnknown): whoever waits for what the report tells would do
/// so for ever. Reports are idempotent, so one whose answer was lost does no harm. Thread-safety:
/// on the loop only. No retry comes after destruction. Checked by:
/// tests/unit/worker/report_sender_test.cc.
class ReportSender {
 public:
  using Answer = absl::AnyInvocable<void(absl::Status)>;
  /// Makes one try; must answer once, on the loop.
  using Try = absl::AnyInvocable<void(Answer answer)>;

  ReportSender(env::EventLoop& loop, env::Random& random);
  ~ReportSender();

  /// `what` names the report in logs.
  void Deliver(std::string what, Try make_try);
  /// Forgets all reports.
  void Stop();
  /// Returns how many reports are not yet taken.
  std::size_t pending() const;

 private:
  struct State;
  struct Report;
  static void Send(const std::shared_ptr<State>& state, const std::shared_ptr<Report>& report);
  static void OnAnswer(const std::shared_ptr<State>& state, const std::shared_ptr<Report>& report,
                       const absl::Status& answer);

  // Shared with answers that may come late; those hold it weakly.
  std::shared_ptr<State> state_;
};

}  // namespace weir::worker
