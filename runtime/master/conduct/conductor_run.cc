#include "runtime/master/conduct/conductor_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/task_memory.h"
#include "runtime/master/conduct/progress.h"
#include "runtime/master/workers/call_error.h"
#include "runtime/master/workers/call_retry.h"

namespace weir::master {

using planner::At;

namespace {

// All tries of one order together.
constexpr absl::Duration kOrderPatience = limits::kCallTimeout;

std::vector<WorkerId> IdsOf(const std::vector<RegisteredWorker>& workers) {
  std::vector<WorkerId> ids;
  for (const RegisteredWorker& worker : workers) ids.push_back(worker.id);
  return ids;
}

}  // namespace

std::vector<std::string> ConductorRun::DomainsOf(const std::vector<RegisteredWorker>& workers) {
  std::vector<std::string> domains;
  for (const RegisteredWorker& worker : workers) {
    domains.push_back(worker.identity.handover_domain());
  }
  return domains;
}

ConductorRun::Conducted::Conducted(const ConductorRun& run,
                                   std::shared_ptr<const PlannedJob> plan_of_job,
                                   TransferNumbers transfer_numbers)
    : planned(std::move(plan_of_job)),
      numbers(std::move(transfer_numbers)),
      orders(planned->plan, run.input_, run.workers_, run.places_, run.fence_.plan_epoch(),
             run.grant_options_, run.runs_),
      ports(run.shared_ports_.arbiter, planned->plan, planned->prediction, IdsOf(run.workers_),
            DomainsOf(run.workers_), [&loop = run.loop_] { return loop.Now(); }),
      watched(planned->plan) {}

ConductorRun::ConductorRun(env::EventLoop& loop, env::Random& random,
                           std::shared_ptr<const PlannedJob> planned, const InputRanges& input,
                           const std::vector<RegisteredWorker>& workers, const OutputPlaces& places,
                           const GrantOptions& grant_options, const SharedPorts& ports,
                           v1::Fence fence, std::int64_t skip_bad, ConductorRunListener listener)
    : loop_(loop),
      random_(random),
      input_(input),
      workers_(workers),
      places_(places),
      grant_options_(grant_options),
      shared_ports_(ports),
      fence_(std::move(fence)),
      listener_(std::move(listener)),
      now_(std::make_unique<Conducted>(*this, planned,
                                       TransferNumbers(planned->plan.transfers.size()))),
      gone_(workers.size(), false),
      gone_before_edit_(workers.size(), false),
      back_(workers.size(), false),
      grant_delay_(workers.size()),
      step_bytes_done_(planned->plan.steps.size(), 0),
      step_status_(planned->plan.steps.size()),
      skipped_(skip_bad) {
  now_->conductor.emplace(planned->plan, planned->prediction, DomainsOf(workers), &now_->ports);
  stragglers_.emplace(planned->plan);
}

void ConductorRun::JoinPorts(Conducted& conducted) {
  conducted.ports.Begin(shared_ports_.weight, began_, [this] { TakeTurnSoon(); });
}

void ConductorRun::Begin() {
  began_ = loop_.Now();
  JoinPorts(*now_);
  CarryOut(conductor().Begin(began_));
}

void ConductorRun::Stop() {
  stopped_ = true;
  now_->ports.Stop();
  if (std::exchange(wakeup_set_, false)) loop_.CancelTimer(wakeup_);
}

void ConductorRun::Fail(RunFault fault) {
  if (stopped_) return;
  Hold();
  listener_.failed(std::move(fault));
}

void ConductorRun::Hold() {
  if (!editing_) not_let_go_.clear();
  editing_ = true;
  if (std::exchange(wakeup_set_, false)) loop_.CancelTimer(wakeup_);
}

const RegisteredWorker& ConductorRun::WorkerOf(planner::WorkerIndex index) const {
  return workers_[At(index)];
}

v1::Fence ConductorRun::FenceFor(const RegisteredWorker& worker, int attempt) const {
  v1::Fence fence = fence_;
  fence.set_worker_epoch(worker.epoch);
  fence.set_attempt(attempt);
  fence.set_plan_edit(num_edits_);
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
  if (!stopped_) SendRates(orders.rates);
  ScheduleWakeup();
}

void ConductorRun::ScheduleWakeup() {
  if (std::exchange(wakeup_set_, false)) loop_.CancelTimer(wakeup_);
  if (held() || !conductor().NextWakeup()) return;
  wakeup_set_ = true;
  wakeup_ = loop_.RunAt(*conductor().NextWakeup(), callbacks_.Guard([this] {
    wakeup_set_ = false;
    if (!held()) CarryOut(conductor().Wake(loop_.Now()));
  }));
}

void ConductorRun::TakeTurnSoon() {
  if (stopped_ || std::exchange(turn_posted_, true)) return;
  loop_.Post(callbacks_.Guard([this] {
    turn_posted_ = false;
    if (!held()) CarryOut(conductor().Wake(loop_.Now()));
  }));
}

template <typename Method>
void ConductorRun::Send(std::shared_ptr<Order<Method>> order) {
  const auto budget = CallBudget::Of<Method>(kOrderPatience);
  // A worker that has registered anew since knows nothing of it: an edit says what follows.
  const auto awaited = [this, order] {
    return !stopped_ && order->request.fence().worker_epoch() == WorkerOf(order->worker).epoch &&
           order->awaited();
  };
  CallWithRetry(
      loop_, random_, budget,
      callbacks_.Guard(
          [this, order, awaited](absl::Duration timeout,
                                 absl::AnyInvocable<void(absl::Status)> answered) mutable {
            if (!awaited()) return;
            WorkerOf(order->worker)
                .api->template Send<Method>(
                    order->request, timeout,
                    [answered = std::move(answered)](const auto& response) mutable {
                      answered(response.status());
                    });
          }),
      callbacks_.Guard(
          [this, order, awaited, budget, asked = loop_.Now()](const absl::Status& status) {
            if (status.ok()) return order->taken(absl::ToDoubleSeconds(loop_.Now() - asked));
            // A report may overtake the answer to the order that it belongs to.
            if (!awaited()) return;
            if (order->may_refuse && order->may_refuse(status)) return;
            order->since = order->since + StoodStillInCall(asked, budget, loop_.Now());
            if (!LeaseMayTell(status) || loop_.Now() - order->since >= limits::kPeerPatience) {
              return OrderFailed(order->worker, order->what, order->step, status);
            }
            loop_.RunAt(loop_.Now() + limits::kPeerPause, callbacks_.Guard([this, order, awaited] {
              if (awaited()) Send<Method>(order);
            }));
          }));
}

void ConductorRun::SendStep(const StepStart& start) {
  const planner::WorkerIndex home = plan().steps[At(start.step)].worker;
  Order<rpc::StartStep> order{.worker = home,
                              .what = builder().StepName(start.step),
                              .step = start.step,
                              .since = loop_.Now(),
                              .taken = [](double) {}};
  *order.request.mutable_fence() = FenceFor(WorkerOf(home), start.attempt);
  *order.request.mutable_order() = builder().BuildStep(start);
  if (std::optional<v1::JobError> too_long = OrderBuilder::TooLong(order.request.order())) {
    // In a turn of its own, as answers come: who begins the run does not expect its end.
    return loop_.Post(callbacks_.Guard(
        [this, fault = RunFault{.error = *std::move(too_long), .step = start.step}] {
          Fail(fault);
        }));
  }
  // One that is given up must come and go too: else nobody knows when its worker is free.
  order.awaited = [this, home, step = start.step, attempt = start.attempt] {
    const bool current =
        conductor().step_under_way(step) && conductor().progress().step_attempt(step) == attempt;
    return current || conductor().given_up(home, {step, attempt});
  };
  Send(std::make_shared<Order<rpc::StartStep>>(std::move(order)));
}

void ConductorRun::SendGrant(const TransferStart& start) {
  const planner::TransferIndex transfer = start.transfer;
  const planner::WorkerIndex receiver = plan().transfers[At(transfer)].receiver;
  Order<rpc::GrantTransfer> order{
      .worker = receiver, .what = builder().TransferName(transfer), .since = loop_.Now()};
  *order.request.mutable_fence() = FenceFor(WorkerOf(receiver), start.attempt);
  *order.request.mutable_order() =
      builder().BuildGrant(start, grant_delay_[At(receiver)].seconds());
  const std::int32_t number = now_->numbers.Of(transfer);
  order.request.mutable_order()->set_transfer(number);
  order.awaited = [this, number, attempt = start.attempt] {
    const auto index = now_->numbers.IndexOf(number);
    return index && conductor().transfer_under_way(*index) &&
           conductor().progress().transfer_attempt(*index) == attempt;
  };
  order.taken = [this, receiver](double took_s) { grant_delay_[At(receiver)].Observe(took_s); };
  Send(std::make_shared<Order<rpc::GrantTransfer>>(std::move(order)));
}

void ConductorRun::SendRates(const std::vector<planner::RateOrder>& rates) {
  absl::btree_map<planner::WorkerIndex, std::vector<planner::RateOrder>> by_sender;
  for (const planner::RateOrder& rate : rates) {
    by_sender[plan().transfers[At(rate.transfer)].sender].push_back(rate);
  }
  for (const auto& [sender, its] : by_sender) SendRates(sender, its);
}

void ConductorRun::SendRates(planner::WorkerIndex sender,
                             const std::vector<planner::RateOrder>& rates) {
  Order<rpc::SetRates> order{.worker = sender, .what = "rates of transfers", .since = loop_.Now()};
  *order.request.mutable_fence() = FenceFor(WorkerOf(sender), 1);
  for (const planner::RateOrder& rate : rates) {
    v1::TransferRate& added = *order.request.add_rates();
    added.set_transfer(now_->numbers.Of(rate.transfer));
    added.set_attempt(conductor().progress().transfer_attempt(rate.transfer));
    added.set_number(rate.number);
    added.set_bytes_per_s(OrderBuilder::WholeRate(rate.bytes_per_s));
  }
  // Numbers outlast an edit, indices do not.
  const auto for_each_awaited = [this, told = order.request.rates()](auto visit) {
    for (const v1::TransferRate& rate : told) {
      const auto transfer = now_->numbers.IndexOf(rate.transfer());
      if (!transfer || !conductor().transfer_under_way(*transfer)) continue;
      if (conductor().progress().transfer_attempt(*transfer) != rate.attempt()) continue;
      visit(*transfer, rate.number());
    }
  };
  order.awaited = [for_each_awaited] {
    bool awaited = false;
    for_each_awaited([&awaited](planner::TransferIndex, std::int32_t) { awaited = true; });
    return awaited;
  };
  // Also while the plan is edited: the edited one goes on with what senders have.
  order.taken = [this, for_each_awaited](double) {
    for_each_awaited([this](planner::TransferIndex transfer, std::int32_t number) {
      conductor().ConfirmRate(transfer, number, loop_.Now());
    });
    if (!held()) CarryOut(conductor().Wake(loop_.Now()));
  };
  // A worker from before there were such calls: its sends keep their rates.
  order.may_refuse = [this, for_each_awaited](const absl::Status& status) {
    if (status.code() != absl::StatusCode::kUnimplemented) return false;
    for_each_awaited(
        [this](planner::TransferIndex transfer, std::int32_t) { conductor().FixRate(transfer); });
    if (!held()) CarryOut(conductor().Wake(loop_.Now()));
    return true;
  };
  Send(std::make_shared<Order<rpc::SetRates>>(std::move(order)));
}

void ConductorRun::OrderFailed(planner::WorkerIndex worker, const std::string& what,
                               planner::StepIndex step, const absl::Status& status) {
  v1::JobError error = ErrorOfCall(WorkerOf(worker), what, status);
  if (error.step().empty()) error.set_step(what);
  Fail({.error = std::move(error), .step = step});
}

v1::JobProgress ConductorRun::Progress() const {
  v1::JobProgress progress =
      MeasureProgress(plan(), now_->planned->prediction, conductor().progress(), step_bytes_done_,
                      absl::ToDoubleSeconds(loop_.Now() - began_));
  progress.set_iteration(loop_report_.iteration());
  progress.set_measure(loop_report_.measure());
  progress.set_measure_name(loop_report_.measure_name());
  if (!step_status_.empty() && !step_status_[At(said_last_)].empty() &&
      conductor().step_under_way(said_last_)) {
    progress.set_status(
        absl::StrCat(builder().StepName(said_last_), ": ", step_status_[At(said_last_)]));
  }
  return progress;
}

planner::ActualRun ConductorRun::Actual() const {
  planner::ActualRun actual = conductor().progress().actual();
  actual.step_spilled_bytes.assign(actual.steps.size(), 0);
  for (const auto& [step, counters] : counters_.of_steps()) {
    for (const StepCounters::Counted& counter : counters) {
      if (counters_.NameOf(counter) != kSpilledBytes) continue;
      actual.step_spilled_bytes[At(step)] += counter.value;
    }
  }
  return actual;
}

planner::ActualRun ConductorRun::ActualWithParts() const {
  planner::ActualRun actual = Actual();
  for (const auto& [step, bytes] : part_bytes_) {
    actual.step_output_bytes[At(step)] = bytes;
    actual.step_unpacked_output_bytes[At(step)] = bytes;
  }
  return actual;
}

std::string ConductorRun::StepOn(WorkerId worker) const {
  for (std::size_t s = 0; s < plan().steps.size(); ++s) {
    const auto step = static_cast<planner::StepIndex>(s);
    if (WorkerOf(plan().steps[s].worker).id == worker && conductor().step_under_way(step)) {
      return builder().StepName(step);
    }
  }
  return "";
}

}  // namespace weir::master
