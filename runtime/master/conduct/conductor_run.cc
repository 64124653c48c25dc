#include "runtime/master/conduct/conductor_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/conduct/progress.h"
#include "runtime/master/workers/call_error.h"
#include "runtime/master/workers/call_retry.h"

namespace weir::master {

using planner::At;

namespace {

// All tries of one order together.
constexpr absl::Duration kOrderPatience = limits::kCallTimeout;

std::vector<std::string> DomainsOf(const std::vector<RegisteredWorker>& workers) {
  std::vector<std::string> domains;
  for (const RegisteredWorker& worker : workers) {
    domains.push_back(worker.identity.handover_domain());
  }
  return domains;
}

std::vector<WorkerId> IdsOf(const std::vector<RegisteredWorker>& workers) {
  std::vector<WorkerId> ids;
  for (const RegisteredWorker& worker : workers) ids.push_back(worker.id);
  return ids;
}

}  // namespace

ConductorRun::ConductorRun(env::EventLoop& loop, env::Random& random, const PlannedJob& planned,
                           const InputRanges& input, const std::vector<RegisteredWorker>& workers,
                           const OutputPlaces& places, const GrantOptions& grant_options,
                           const SharedPorts& ports, v1::Fence fence, std::int64_t skip_bad,
                           ConductorRunListener listener)
    : loop_(loop),
      random_(random),
      planned_(planned),
      workers_(workers),
      fence_(std::move(fence)),
      listener_(std::move(listener)),
      orders_(planned.plan, input, workers, places, fence_.plan_epoch(), grant_options),
      port_weight_(ports.weight),
      ports_(ports.arbiter, planned.plan, planned.prediction, IdsOf(workers), DomainsOf(workers),
             [&loop] { return loop.Now(); }),
      conductor_(planned.plan, planned.prediction, DomainsOf(workers), &ports_),
      grant_delay_(workers.size()),
      step_bytes_done_(planned.plan.steps.size(), 0),
      step_status_(planned.plan.steps.size()),
      skipped_(skip_bad) {}

void ConductorRun::Begin() {
  began_ = loop_.Now();
  ports_.Begin(port_weight_, [this] { TakeTurnSoon(); });
  CarryOut(conductor_.Begin(began_));
}

void ConductorRun::Stop() {
  stopped_ = true;
  ports_.Stop();
  if (std::exchange(wakeup_set_, false)) loop_.CancelTimer(wakeup_);
}

void ConductorRun::Fail(v1::JobError error) {
  if (stopped_) return;
  Stop();
  listener_.failed(std::move(error));
}

void ConductorRun::FailStep(planner::StepIndex step, const std::string& message) {
  v1::JobError error =
      MakeJobError(job_error::kInternal, message,
                   "this is a defect of weir or of versions that do not match; please report it");
  error.set_worker(WorkerOf(planned_.plan.steps[At(step)].worker).identity.name());
  error.set_step(orders_.StepName(step));
  Fail(std::move(error));
}

const RegisteredWorker& ConductorRun::WorkerOf(planner::WorkerIndex index) const {
  return workers_[At(index)];
}

v1::Fence ConductorRun::FenceFor(const RegisteredWorker& worker, int attempt) const {
  v1::Fence fence = fence_;
  fence.set_worker_epoch(worker.epoch);
  fence.set_attempt(attempt);
  return fence;
}

void ConductorRun::CarryOut(ConductorOrders orders) {
  // Finished first: a listener may stop the run, and a finished run has no orders left.
  if (orders.finished) {
    if (std::optional<v1::JobError> nothing = skipped_.NothingTaken()) {
      return Fail(*std::move(nothing));
    }
    Stop();
    listener_.finished();
    return;
  }
  for (const StepStart& start : orders.steps) {
    if (!stopped_) SendStep(start);
  }
  for (const TransferStart& start : orders.transfers) {
    if (!stopped_) SendGrant(start);
  }
  ScheduleWakeup();
}

void ConductorRun::ScheduleWakeup() {
  if (std::exchange(wakeup_set_, false)) loop_.CancelTimer(wakeup_);
  if (stopped_ || !conductor_.NextWakeup()) return;
  wakeup_set_ = true;
  wakeup_ = loop_.RunAt(*conductor_.NextWakeup(), callbacks_.Guard([this] {
    wakeup_set_ = false;
    if (!stopped_) CarryOut(conductor_.Wake(loop_.Now()));
  }));
}

void ConductorRun::TakeTurnSoon() {
  if (stopped_ || std::exchange(turn_posted_, true)) return;
  loop_.Post(callbacks_.Guard([this] {
    turn_posted_ = false;
    if (!stopped_) CarryOut(conductor_.Wake(loop_.Now()));
  }));
}

template <typename Method>
void ConductorRun::Send(std::shared_ptr<const Order<Method>> order) {
  CallWithRetry(
      loop_, random_, CallBudget::Of<Method>(kOrderPatience),
      callbacks_.Guard([this, order](absl::Duration timeout,
                                     absl::AnyInvocable<void(absl::Status)> answered) mutable {
        if (stopped_ || !order->awaited()) return;
        order->worker.api->template Send<Method>(
            order->request, timeout,
            [answered = std::move(answered)](const auto& response) mutable {
              answered(response.status());
            });
      }),
      callbacks_.Guard([this, order, asked = loop_.Now()](const absl::Status& status) {
        if (status.ok()) return order->taken(absl::ToDoubleSeconds(loop_.Now() - asked));
        // A report may overtake the answer to the order that it belongs to.
        if (stopped_ || !order->awaited()) return;
        if (!LeaseMayTell(status) || loop_.Now() - order->since >= limits::kPeerPatience) {
          return OrderFailed(order->worker, order->what, status);
        }
        loop_.RunAt(loop_.Now() + limits::kPeerPause, callbacks_.Guard([this, order] {
          if (!stopped_ && order->awaited()) Send<Method>(order);
        }));
      }));
}

void ConductorRun::SendStep(const StepStart& start) {
  const RegisteredWorker& worker = WorkerOf(planned_.plan.steps[At(start.step)].worker);
  Order<rpc::StartStep> order{worker,       orders_.StepName(start.step), {}, loop_.Now(), {},
                              [](double) {}};
  *order.request.mutable_fence() = FenceFor(worker, start.attempt);
  *order.request.mutable_order() = orders_.BuildStep(start);
  order.awaited = [this, step = start.step, attempt = start.attempt] {
    return conductor_.step_under_way(step) && conductor_.progress().step_attempt(step) == attempt;
  };
  Send(std::make_shared<const Order<rpc::StartStep>>(std::move(order)));
}

void ConductorRun::SendGrant(const TransferStart& start) {
  const planner::TransferIndex transfer = start.transfer;
  const planner::WorkerIndex receiver = planned_.plan.transfers[At(transfer)].receiver;
  const RegisteredWorker& worker = WorkerOf(receiver);
  Order<rpc::GrantTransfer> order{worker, orders_.TransferName(transfer), {}, loop_.Now(), {}, {}};
  *order.request.mutable_fence() = FenceFor(worker, start.attempt);
  *order.request.mutable_order() = orders_.BuildGrant(start, grant_delay_[At(receiver)].seconds());
  order.awaited = [this, transfer, attempt = start.attempt] {
    return conductor_.transfer_under_way(transfer) &&
           conductor_.progress().transfer_attempt(transfer) == attempt;
  };
  order.taken = [this, receiver](double took_s) { grant_delay_[At(receiver)].Observe(took_s); };
  Send(std::make_shared<const Order<rpc::GrantTransfer>>(std::move(order)));
}

bool ConductorRun::TryAgain(planner::TransferIndex transfer, const v1::JobError& error) {
  if (error.code() != job_error::kWorkerUnreachable && error.code() != job_error::kTransferFailed) {
    return false;
  }
  const MonoTime since = failing_since_.try_emplace(transfer, loop_.Now()).first->second;
  const bool silent = error.code() == job_error::kWorkerUnreachable;
  const absl::Duration patience = silent ? limits::kPeerPatience : limits::kRefusedPatience;
  if (loop_.Now() - since >= patience) return false;
  LogWarning("A transfer failed and is tried again", {{"job", fence_.job_id()},
                                                      {"transfer", orders_.TransferName(transfer)},
                                                      {"error", error.message()}});
  ConductorOrders orders;
  if (conductor_.TransferFailed(transfer, loop_.Now(), orders).ok()) CarryOut(std::move(orders));
  loop_.RunAt(loop_.Now() + limits::kPeerPause, callbacks_.Guard([this, transfer] {
    if (!stopped_) CarryOut(conductor_.RetryTransfer(transfer, loop_.Now()));
  }));
  return true;
}

void ConductorRun::OrderFailed(const RegisteredWorker& worker, const std::string& what,
                               const absl::Status& status) {
  v1::JobError error = ErrorOfCall(worker, what, status);
  if (error.step().empty()) error.set_step(what);
  Fail(std::move(error));
}

absl::Status ConductorRun::CheckFence(const v1::Fence& fence, WorkerId worker_id,
                                      planner::WorkerIndex expected, int attempt) const {
  const RegisteredWorker& worker = WorkerOf(expected);
  if (stopped_) return absl::AbortedError("the job is ending; drop its work");
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
  if (At(step) >= planned_.plan.steps.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has no step ", step));
  }
  const planner::WorkerIndex index = planned_.plan.steps[At(step)].worker;
  const int attempt = conductor_.progress().step_attempt(step);
  absl::Status fenced = CheckFence(report.fence(), report.worker_id(), index, attempt);
  if (!fenced.ok()) return fenced;
  const std::string& worker = WorkerOf(index).identity.name();
  if (result.has_error()) {
    v1::JobError error = result.error();
    if (error.worker().empty()) error.set_worker(worker);
    if (error.step().empty()) error.set_step(orders_.StepName(step));
    Fail(std::move(error));
    return absl::OkStatus();
  }
  const bool first_report = conductor_.step_under_way(step);
  if (first_report && orders_.WritesPart(step) != result.has_part()) {
    FailStep(step, absl::StrCat("worker ", worker, " reported ",
                                result.has_part() ? "an output part, no run" : "no output part"));
    return absl::OkStatus();
  }
  if (first_report) orders_.RunPublished(step, result.run());
  std::vector<RunSection> sections;
  for (const v1::RunSection& section : result.run().sections()) {
    const std::int64_t unpacked = section.unpacked_bytes();
    sections.push_back(RunSection{section.consumer_step(), section.offset(), section.bytes(),
                                  unpacked > 0 ? unpacked : section.bytes()});
  }
  ConductorOrders orders;
  const LoopGoes loop = result.loop().converged() ? LoopGoes::kNoFurther : LoopGoes::kOn;
  absl::Status taken = conductor_.StepDone(step, std::move(sections), loop_.Now(), orders, loop);
  if (absl::IsInternal(taken)) {
    FailStep(step, std::string(taken.message()));
    return absl::OkStatus();
  }
  if (!taken.ok() || !first_report) return taken;
  const planner::ComputeStep& planned = planned_.plan.steps[At(step)];
  const std::int32_t made = planned.kind->layer_made(planned.layer);
  codec_trials_.Add(made,
                    planner::CodecToProto(planner::CodecOfLayer(planned_.plan.run_codec, made)),
                    result.run());
  for (const v1::Counter& counter : result.counters()) counters_[counter.name()] += counter.value();
  if (std::optional<v1::JobError> too_many = skipped_.Add(result, planned.kind->reads_input())) {
    too_many->set_worker(worker);
    too_many->set_step(orders_.StepName(step));
    Fail(*std::move(too_many));
    return absl::OkStatus();
  }
  if (result.has_loop()) loop_report_ = result.loop();
  if (result.has_part()) {
    part_bytes_[step] = result.part().bytes();
    parts_.push_back(CommittedPart{planned_.plan.steps[At(step)].index_in_layer,
                                   fence_.plan_epoch(), attempt, result.part()});
  }
  listener_.step_committed(orders_.StepName(step), step, attempt, worker);
  CarryOut(std::move(orders));
  return absl::OkStatus();
}

absl::Status ConductorRun::TakeReport(const v1::ReportTransferRequest& request) {
  const v1::TransferReport& report = request.report();
  const planner::TransferIndex transfer = report.transfer();
  if (At(transfer) >= planned_.plan.transfers.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has no transfer ", transfer));
  }
  const planner::WorkerIndex index = planned_.plan.transfers[At(transfer)].receiver;
  const int attempt = conductor_.progress().transfer_attempt(transfer);
  absl::Status fenced = CheckFence(request.fence(), request.worker_id(), index, attempt);
  if (!fenced.ok()) return fenced;
  if (report.has_error()) {
    // Told twice.
    if (!conductor_.transfer_under_way(transfer)) return absl::OkStatus();
    v1::JobError error = report.error();
    if (error.worker().empty()) error.set_worker(WorkerOf(index).identity.name());
    if (error.step().empty()) error.set_step(orders_.TransferName(transfer));
    if (!TryAgain(transfer, error)) Fail(std::move(error));
    return absl::OkStatus();
  }
  const planner::Bytes granted = conductor_.transfer_bytes(transfer);
  if (report.done() && conductor_.transfer_under_way(transfer) && report.bytes() != granted) {
    v1::JobError error = MakeJobError(
        job_error::kDataLoss,
        absl::StrCat("worker ", WorkerOf(index).identity.name(), " received ", report.bytes(),
                     " bytes of ", granted, " in the ", orders_.TransferName(transfer)),
        "run the job again; if it repeats, check the network and the versions of the workers");
    error.set_worker(WorkerOf(index).identity.name());
    error.set_step(orders_.TransferName(transfer));
    Fail(std::move(error));
    return absl::OkStatus();
  }
  if (!report.done() && !report.nearly_done()) return absl::OkStatus();
  ConductorOrders orders;
  absl::Status taken = report.done() ? conductor_.TransferDone(transfer, loop_.Now(), orders)
                                     : conductor_.TransferNearlyDone(transfer, report.bytes_left(),
                                                                     loop_.Now(), orders);
  if (taken.ok() && report.done()) failing_since_.erase(transfer);
  if (taken.ok()) CarryOut(std::move(orders));
  return taken;
}

void ConductorRun::TakeProgress(WorkerId worker, const v1::StepProgress& progress) {
  const planner::StepIndex step = progress.step();
  if (At(step) >= planned_.plan.steps.size() ||
      WorkerOf(planned_.plan.steps[At(step)].worker).id != worker) {
    return;
  }
  std::int64_t& done = step_bytes_done_[At(step)];
  done = std::max(done, progress.input_bytes_done());
  if (progress.status().empty() || progress.status() == step_status_[At(step)]) return;
  step_status_[At(step)] = progress.status();
  said_last_ = step;
}

v1::JobProgress ConductorRun::Progress() const {
  v1::JobProgress progress =
      MeasureProgress(planned_.plan, planned_.prediction, conductor_.progress(), step_bytes_done_,
                      absl::ToDoubleSeconds(loop_.Now() - began_));
  progress.set_iteration(loop_report_.iteration());
  progress.set_measure(loop_report_.measure());
  progress.set_measure_name(loop_report_.measure_name());
  if (!step_status_.empty() && !step_status_[At(said_last_)].empty() &&
      conductor_.step_under_way(said_last_)) {
    progress.set_status(
        absl::StrCat(orders_.StepName(said_last_), ": ", step_status_[At(said_last_)]));
  }
  return progress;
}

planner::ActualRun ConductorRun::Actual() const { return conductor_.progress().actual(); }

planner::ActualRun ConductorRun::ActualWithParts() const {
  planner::ActualRun actual = Actual();
  for (const auto& [step, bytes] : part_bytes_) {
    actual.step_output_bytes[At(step)] = bytes;
    actual.step_unpacked_output_bytes[At(step)] = bytes;
  }
  return actual;
}

std::string ConductorRun::StepOn(WorkerId worker) const {
  for (std::size_t s = 0; s < planned_.plan.steps.size(); ++s) {
    const auto step = static_cast<planner::StepIndex>(s);
    if (WorkerOf(planned_.plan.steps[s].worker).id == worker && conductor_.step_under_way(step)) {
      return orders_.StepName(step);
    }
  }
  return "";
}

}  // namespace weir::master
