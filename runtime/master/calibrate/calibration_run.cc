#include "runtime/master/calibrate/calibration_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/calibrate/probe_answer.h"

namespace weir::master {
namespace {

absl::Status TooFew(std::size_t alive, const std::vector<std::string>& notes) {
  std::string message = absl::StrCat("calibration measures between workers, and ", alive,
                                     alive == 1 ? " is" : " are", " left; start more workers");
  for (const std::string& note : notes) absl::StrAppend(&message, "; ", note);
  return absl::FailedPreconditionError(message);
}

bool AnyWaitsFor(const ProbeRound& round, std::size_t flow) {
  return std::any_of(round.after.begin(), round.after.end(), [flow](const auto& after) {
    return std::find(after.begin(), after.end(), flow) != after.end();
  });
}

}  // namespace

CalibrationRun::CalibrationRun(Context context, std::string id, absl::Duration at_most,
                               std::vector<RegisteredWorker> workers)
    : context_(std::move(context)),
      id_(std::move(id)),
      at_most_(at_most),
      began_(context_.seams.loop.Now()),
      token_(context_.seams.random.Next()),
      workers_(std::move(workers)),
      last_asked_(began_) {
  std::sort(workers_.begin(), workers_.end(),
            [](const auto& a, const auto& b) { return a.identity.name() < b.identity.name(); });
}

void CalibrationRun::Begin() {
  LogInfo("Calibration begins", {{"calibration", id_}, {"workers", workers_.size()}});
  overdue_ = context_.seams.loop.RunAt(
      began_ + at_most_ + limits::kCalibrationOverdue, callbacks_.Guard([this] {
        overdue_.reset();
        if (over_) return;
        Fail(absl::FailedPreconditionError(absl::StrCat(
            "an answer was still awaited ", absl::FormatDuration(limits::kCalibrationOverdue),
            " after the calibration should have ended (", Doing(), "); start it again")));
      }));
  EndWhenUnasked();
  Serve();
}

// A timer, since jobs wait for the end whether answers come or not.
void CalibrationRun::EndWhenUnasked() {
  unasked_ =
      context_.seams.loop.RunAt(last_asked_ + limits::kCalibrationUnasked, callbacks_.Guard([this] {
        unasked_.reset();
        if (over_) return;
        if (context_.seams.loop.Now() - last_asked_ < limits::kCalibrationUnasked) {
          return EndWhenUnasked();
        }
        Fail(absl::CancelledError("nobody asked for the calibration any more"));
      }));
}

void CalibrationRun::ForgetTimers() {
  for (std::optional<env::EventLoop::TimerId>* timer : {&overdue_, &unasked_}) {
    if (*timer) context_.seams.loop.CancelTimer(**timer);
    timer->reset();
  }
}

v1::ProbeRequest CalibrationRun::Order(const RegisteredWorker& worker) const {
  v1::ProbeRequest request;
  request.mutable_fence()->set_job_id(id_);
  request.mutable_fence()->set_master_epoch(context_.master_epoch);
  request.mutable_fence()->set_worker_epoch(worker.epoch);
  request.set_token(token_);
  return request;
}

void CalibrationRun::Serve() {
  lost_.assign(workers_.size(), false);
  unanswered_ = workers_.size();
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    v1::ProbeRequest request = Order(workers_[w]);
    request.mutable_serve()->set_bytes_max(limits::kProbeBytesMax);
    request.mutable_serve()->set_seconds(absl::ToDoubleSeconds(limits::kProbeServe));
    workers_[w].api->Send<rpc::Probe>(
        std::move(request),
        callbacks_.Guard([this, w](const absl::StatusOr<v1::ProbeResponse>& response) {
          if (!response.ok()) {
            lost_[w] = true;
            notes_.push_back(absl::StrCat("worker ", workers_[w].identity.name(),
                                          " was left out: ", response.status().message()));
          }
          if (--unanswered_ == 0) StartMeasuring();
        }));
  }
}

void CalibrationRun::StartMeasuring() {
  if (over_) return;
  std::vector<RegisteredWorker> left;
  std::vector<std::string> names;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (lost_[w]) continue;
    names.push_back(workers_[w].identity.name());
    left.push_back(std::move(workers_[w]));
  }
  workers_ = std::move(left);
  lost_.assign(workers_.size(), false);
  if (workers_.size() < 2) return Fail(TooFew(workers_.size(), notes_));
  const MonoTime now = context_.seams.loop.Now();
  calibration_ =
      std::make_unique<CalibrationMachine>(std::move(names), at_most_ - (now - began_),
                                           context_.seams.random.Next(), now, context_.sending);
  for (const std::string& note : notes_) calibration_->AddNote(note);
  Step();
}

void CalibrationRun::Step() {
  round_ = calibration_->Next(context_.seams.loop.Now());
  if (!round_) return Finish();
  asked_again_ = false;
  SendRound();
}

void CalibrationRun::SendRound() {
  outcome_ = RoundOutcome();
  outcome_.flows.assign(round_->flows.size(), {});
  if (!round_->counts_segments) return SendFlows();
  CountSegments(&CalibrationRun::SendFlows);
}

// Asks all workers for their totals: what they are more than at the count before is the round's.
void CalibrationRun::CountSegments(void (CalibrationRun::*then)()) {
  outcome_.segments_sent = -std::exchange(segments_sent_, 0);
  outcome_.segments_resent = -std::exchange(segments_resent_, 0);
  outcome_.queue_s = 0;
  unanswered_ = workers_.size();
  for (const RegisteredWorker& worker : workers_) {
    v1::ProbeRequest request = Order(worker);
    request.mutable_count();
    worker.api->Send<rpc::Probe>(
        std::move(request),
        callbacks_.Guard([this, then](const absl::StatusOr<v1::ProbeResponse>& response) {
          if (over_) return;
          // One that cannot tell, as of the version before, counts as nothing sent.
          if (response.ok()) {
            segments_sent_ += response->segments_sent();
            segments_resent_ += response->segments_resent();
            outcome_.queue_s = std::max(outcome_.queue_s, response->queue_s());
          }
          if (--unanswered_ > 0) return;
          outcome_.segments_sent += segments_sent_;
          outcome_.segments_resent += segments_resent_;
          (this->*then)();
        }));
  }
}

void CalibrationRun::SendFlows() {
  ++round_number_;
  round_sent_ = context_.seams.loop.Now();
  unanswered_ = 0;
  if (round_->flows.empty()) {
    // Nobody would ever answer it.
    context_.seams.loop.Post(callbacks_.Guard([this] {
      if (!over_) FlowsAnswered();
    }));
    return;
  }
  waits_for_.assign(round_->flows.size(), 0);
  for (std::size_t flow = 0; flow < round_->after.size(); ++flow) {
    waits_for_[flow] = round_->after[flow].size();
  }
  // Not those that only wait for one that is sent here: it has not passed yet.
  for (std::size_t flow = 0; flow < round_->flows.size(); ++flow) {
    if (!round_->ordered() || round_->after[flow].empty()) SendFlow(flow);
  }
}

void CalibrationRun::SendFollowers(std::size_t passed) {
  for (std::size_t flow = 0; flow < round_->after.size(); ++flow) {
    const std::vector<std::size_t>& after = round_->after[flow];
    if (std::find(after.begin(), after.end(), passed) == after.end()) continue;
    if (--waits_for_[flow] == 0) SendFlow(flow);
  }
}

v1::ProbeRequest CalibrationRun::OrderOf(std::size_t flow) const {
  const RegisteredWorker& sender = Sender(flow);
  v1::ProbeRequest request = Order(Receiver(flow));
  v1::ProbeRequest::Fetch& fetch = *request.mutable_fetch();
  fetch.set_source_endpoint(sender.identity.data_endpoint());
  fetch.set_source_worker(sender.identity.name());
  fetch.set_round(round_number_);
  fetch.set_round_trips(round_->round_trips);
  fetch.set_warm_up_s(round_->warm_up_s);
  fetch.set_window_s(round_->window_s);
  fetch.set_tail_s(round_->tail_s);
  fetch.set_bytes_max(round_->bytes > 0 ? round_->bytes : limits::kProbeBytesMax);
  fetch.set_ordered(round_->ordered());
  fetch.set_pacing_bytes_per_s(round_->pacing_bytes_per_s);
  fetch.set_look_ahead_bytes(round_->look_ahead_bytes);
  // What nobody waits for is answered at its end.
  fetch.set_grant_ahead_bytes(AnyWaitsFor(*round_, flow) ? round_->grant_ahead_bytes : 0);
  return request;
}

void CalibrationRun::SendFlow(std::size_t flow) {
  ++unanswered_;
  const MonoTime sent = context_.seams.loop.Now();
  Receiver(flow).api->Send<rpc::Probe>(
      OrderOf(flow), absl::Seconds(round_->Seconds()) + limits::kProbePatience,
      callbacks_.Guard([this, flow, sent](const absl::StatusOr<v1::ProbeResponse>& response) {
        if (over_) return;
        if (response.ok()) {
          const double whole_s = absl::ToDoubleSeconds(context_.seams.loop.Now() - sent);
          outcome_.flows[flow] = OutcomeOf(*response, whole_s);
        } else {
          FlowFailed(flow, response.status());
        }
        FlowAnswered(flow);
      }));
}

void CalibrationRun::FlowFailed(std::size_t flow, const absl::Status& why) {
  const ProbeFlow& ends = round_->flows[flow];
  const int lost = LostEnd(why) == FlowEnd::kReceiver ? ends.receiver : ends.sender;
  lost_[static_cast<std::size_t>(lost)] = true;
  LogWarning("Probe failed", {{"sender", Sender(flow).identity.name()},
                              {"receiver", Receiver(flow).identity.name()},
                              {"error", std::string(why.message())}});
}

void CalibrationRun::FlowAnswered(std::size_t flow) {
  --unanswered_;
  // Behind one that failed nothing is sent: it may still be on its way, and the round says nothing.
  if (!AnyLost()) SendFollowers(flow);
  if (unanswered_ == 0) FlowsAnswered();
}

void CalibrationRun::FlowsAnswered() {
  outcome_.took_s = absl::ToDoubleSeconds(context_.seams.loop.Now() - round_sent_);
  if (!round_->counts_segments) return RoundAnswered();
  CountSegments(&CalibrationRun::RoundAnswered);
}

bool CalibrationRun::AnyLost() const {
  return std::find(lost_.begin(), lost_.end(), true) != lost_.end();
}

void CalibrationRun::RoundAnswered() {
  if (AnyLost()) return RoundFailed();
  calibration_->Take(outcome_);
  Step();
}

void CalibrationRun::RoundFailed() {
  if (!asked_again_) {
    asked_again_ = true;
    lost_.assign(workers_.size(), false);
    // What was sent and not answered has ended by then.
    return AfterRound([this] { SendRound(); });
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (!lost_[w]) continue;
    notes_.push_back(absl::StrCat("worker ", workers_[w].identity.name(),
                                  " vanished while it was measured, and was left out"));
  }
  AfterRound([this] { StartMeasuring(); });
}

void CalibrationRun::AfterRound(absl::AnyInvocable<void()> next) {
  context_.seams.loop.RunAt(context_.seams.loop.Now() + absl::Seconds(round_->Seconds()),
                            callbacks_.Guard([this, next = std::move(next)]() mutable {
                              if (!over_) next();
                            }));
}

void CalibrationRun::Finish() {
  // What is measured is kept, whoever still asks.
  ForgetTimers();
  CalibrationResult result = calibration_->Result(context_.seams.loop.Now());
  if (result.spec.channel_bytes_per_s <= 0) {
    return Fail(absl::FailedPreconditionError(
        absl::StrCat("time was up before a single transfer was measured; give more than ",
                     absl::FormatDuration(at_most_), " with --seconds")));
  }
  if (!result.reliable) {
    LogWarning("Network calibrated in vain: the measurements contradict each other",
               {{"calibration", id_}});
    result.message.add_notes(
        "not stored, because it is not to be relied on: plans go on with what was known before");
    measured_ = std::move(result.message);
    return EndAll();
  }
  spec_ = std::move(result.spec);
  result.message.set_unix_ms(context_.seams.wall_clock.UnixMillis());
  v1::JournalRecord record;
  *record.mutable_network_measured() = result.message;
  context_.journal.Append(
      std::move(record),
      callbacks_.Guard([this, message = std::move(result.message)](const absl::Status& written) {
        if (over_) return;
        if (!written.ok()) return Fail(written);
        LogInfo("Network calibrated", {{"calibration", id_},
                                       {"channel_bytes_per_s", message.channel_bytes_per_s()},
                                       {"cuts", message.cuts_size()},
                                       {"rounds", message.rounds()}});
        measured_ = message;
        stored_ = true;
        EndAll();
      }));
}

void CalibrationRun::Cancel(absl::Status why) {
  if (!over_) Fail(std::move(why));
}

void CalibrationRun::Fail(absl::Status why) {
  LogWarning("Calibration ended without a result",
             {{"calibration", id_}, {"error", std::string(why.message())}});
  failure_ = std::move(why);
  EndAll();
}

void CalibrationRun::EndAll() {
  over_ = true;
  ForgetTimers();
  for (const RegisteredWorker& worker : workers_) {
    v1::ProbeRequest request = Order(worker);
    request.mutable_stop();
    // One that does not hear it stops when its time to serve is over.
    worker.api->Send<rpc::Probe>(std::move(request),
                                 [](const absl::StatusOr<v1::ProbeResponse>&) {});
  }
  context_.seams.loop.Post(callbacks_.Guard([this] { context_.ended(); }));
}

absl::StatusOr<v1::CalibrateResponse> CalibrationRun::Answer() {
  last_asked_ = context_.seams.loop.Now();
  if (!failure_.ok()) return failure_;
  v1::CalibrateResponse response;
  response.set_elapsed_s(absl::ToDoubleSeconds(last_asked_ - began_));
  if (measured_) {
    response.set_done(true);
    response.set_done_fraction(1);
    *response.mutable_network() = *measured_;
    return response;
  }
  response.set_doing(Doing());
  if (calibration_) response.set_done_fraction(calibration_->done_fraction());
  return response;
}

std::string CalibrationRun::Doing() const {
  return round_ ? round_->doing : "asking the workers to serve probes";
}

}  // namespace weir::master
