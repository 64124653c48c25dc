#include "runtime/master/sample/sample_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/master/workers/call_retry.h"

namespace weir::master {
namespace {

constexpr char kSuffix[] = "-sample";
constexpr int kFirstAttempt = 1;
constexpr absl::Duration kReleaseBudget = absl::Milliseconds(2800);
constexpr CallBudget kOrderBudget = CallBudget::Of<rpc::StartStep>(limits::kCallTimeout);

absl::Status StatusOf(const v1::JobError& error) {
  return StatusFromJobError(absl::StatusCode::kInternal, error);
}

}  // namespace

std::string SampleId(const std::string& job_id) { return job_id + kSuffix; }

std::string JobOfSample(const std::string& sample_id) {
  absl::string_view job = sample_id;
  return absl::ConsumeSuffix(&job, kSuffix) ? std::string(job) : std::string();
}

SampleRun::SampleRun(env::EventLoop& loop, env::Random& random, v1::Fence fence,
                     std::vector<RegisteredWorker> workers)
    : loop_(loop),
      random_(random),
      fence_(std::move(fence)),
      workers_(std::move(workers)),
      hold_(loop, random) {}

double SampleRun::Elapsed() const { return absl::ToDoubleSeconds(loop_.Now() - began_); }

void SampleRun::Start(const v1::JobSpec& spec, SampleMachine machine, absl::Duration budget,
                      Done done) {
  machine_ = std::make_unique<SampleMachine>(std::move(machine));
  done_ = std::move(done);
  began_ = loop_.Now();
  loop_.RunAt(loop_.Now() + budget, callbacks_.Guard([this, budget] {
    if (ended_) return;
    if (const std::optional<v1::JobShapeLearned> so_far = machine_->ShapeSoFar()) {
      return End(*so_far);
    }
    End(absl::DeadlineExceededError(
        absl::StrCat("the sample took longer than ", absl::FormatDuration(budget))));
  }));
  v1::PrepareJobRequest request;
  *request.mutable_fence() = fence_;
  *request.mutable_spec() = spec;
  request.set_job_token(random_.Next());
  request.set_input_bytes(static_cast<std::int64_t>(machine_->job_input_bytes()));
  hold_.Prepare(
      workers_, std::move(request),
      [this] {
        if (!ended_) Send(machine_->Begin(Elapsed()));
      },
      [this](const v1::JobError& error) {
        if (!ended_) End(StatusOf(error));
      });
}

void SampleRun::Send(std::vector<SampleOrder> orders) {
  for (const SampleOrder& order : orders) SendOne(order);
}

void SampleRun::SendOne(const SampleOrder& order) {
  const RegisteredWorker& worker = workers_[order.worker];
  auto request = std::make_shared<v1::StartStepRequest>();
  *request->mutable_fence() = fence_;
  request->mutable_fence()->set_worker_epoch(worker.epoch);
  request->mutable_fence()->set_attempt(kFirstAttempt);
  *request->mutable_order() = order.order;
  const int step = order.order.step();
  CallWithRetry(
      loop_, random_, kOrderBudget,
      callbacks_.Guard(
          [this, request, step, api = worker.api](
              absl::Duration timeout, absl::AnyInvocable<void(absl::Status)> answered) mutable {
            if (ended_ || !machine_->under_way(step)) return;
            api->Send<rpc::StartStep>(
                *request, timeout, [answered = std::move(answered)](const auto& response) mutable {
                  answered(response.status());
                });
          }),
      callbacks_.Guard([this, step](const absl::Status& status) {
        // A report may overtake the answer to its order.
        if (!status.ok() && !ended_ && machine_->under_way(step)) End(status);
      }));
}

absl::Status SampleRun::TakeReport(const v1::ReportStepRequest& report) {
  const auto from =
      std::find_if(workers_.begin(), workers_.end(), [&report](const RegisteredWorker& worker) {
        return worker.id == report.worker_id() && worker.epoch == report.fence().worker_epoch();
      });
  if (ended_ || from == workers_.end() || report.fence().attempt() != kFirstAttempt) {
    return absl::AbortedError("the sample is over; drop its work");
  }
  if (static_cast<std::size_t>(report.result().step()) % workers_.size() !=
      static_cast<std::size_t>(from - workers_.begin())) {
    return absl::AbortedError(
        absl::StrCat("step ", report.result().step(), " is another worker's"));
  }
  if (report.result().has_error()) {
    if (machine_->under_way(report.result().step())) End(StatusOf(report.result().error()));
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<SampleOrder>> orders = machine_->StepDone(report.result(), Elapsed());
  if (absl::IsInternal(orders.status())) {
    End(orders.status());
    return absl::OkStatus();
  }
  if (!orders.ok()) return orders.status();
  if (machine_->finished()) {
    End(machine_->Shape());
  } else {
    Send(*std::move(orders));
  }
  return absl::OkStatus();
}

void SampleRun::WorkerLost(WorkerId worker, Epoch epoch, const std::string& why) {
  const auto lost = std::find_if(
      workers_.begin(), workers_.end(),
      [&](const RegisteredWorker& one) { return one.id == worker && one.epoch == epoch; });
  if (lost == workers_.end()) return;
  hold_.WorkerLost(worker);
  if (!ended_) {
    End(absl::UnavailableError(absl::StrCat("worker ", lost->identity.name(), " ", why)));
  }
}

void SampleRun::Stop() {
  done_ = nullptr;
  if (!ended_) End(absl::CancelledError("the job ended"));
}

void SampleRun::End(absl::StatusOr<v1::JobShapeLearned> outcome) {
  ended_ = true;
  hold_.Release(kReleaseBudget, [this] {
    released_ = true;
    for (auto& on_released : std::exchange(on_released_, {})) on_released();
  });
  // In a turn of its own: it may end the life of what called us.
  loop_.Post(callbacks_.Guard([this, outcome = std::move(outcome)]() mutable {
    if (done_) std::exchange(done_, nullptr)(std::move(outcome));
  }));
}

void SampleRun::WhenReleased(absl::AnyInvocable<void()> released) {
  if (released_) return released();
  on_released_.push_back(std::move(released));
}

}  // namespace weir::master
