#include "runtime/worker/report_sender.h"

#include <optional>
#include <set>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/worker/retry_pause.h"

namespace weir::worker {
namespace {

// What gRPC says where bytes of a call, or memory for it, were amiss on its way, which no master
// answers: it says kUnimplemented of a request that cannot be read.
bool WasGarbled(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsInternal(status) || absl::IsUnknown(status);
}

bool WorthRepeating(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status) || WasGarbled(status);
}

}  // namespace

struct ReportSender::Report {
  std::string what;
  Try make_try;
  absl::Duration pause;
  std::optional<env::EventLoop::TimerId> timer;
};

struct ReportSender::State {
  env::EventLoop& loop;
  env::Random& random;
  std::set<std::shared_ptr<Report>> reports;
};

ReportSender::ReportSender(env::EventLoop& loop, env::Random& random)
    : state_(std::make_shared<State>(State{loop, random, {}})) {}

ReportSender::~ReportSender() { Stop(); }

void ReportSender::Deliver(std::string what, Try make_try) {
  auto report = std::make_shared<Report>();
  report->what = std::move(what);
  report->make_try = std::move(make_try);
  state_->reports.insert(report);
  Send(state_, report);
}

void ReportSender::Stop() {
  for (const auto& report : state_->reports) {
    if (report->timer) state_->loop.CancelTimer(*report->timer);
  }
  state_->reports.clear();
}

std::size_t ReportSender::pending() const { return state_->reports.size(); }

void ReportSender::Send(const std::shared_ptr<State>& state,
                        const std::shared_ptr<Report>& report) {
  report->timer.reset();
  std::weak_ptr<State> weak = state;
  report->make_try([weak, report](const absl::Status& answer) {
    if (auto alive = weak.lock()) OnAnswer(alive, report, answer);
  });
}

void ReportSender::OnAnswer(const std::shared_ptr<State>& state,
                            const std::shared_ptr<Report>& report, const absl::Status& answer) {
  // Stopped meanwhile.
  if (!state->reports.contains(report)) return;
  if (WorthRepeating(answer)) {
    report->pause = NextRetryPause(report->pause);
    std::weak_ptr<State> weak = state;
    report->timer = state->loop.RunAt(state->loop.Now() + Jittered(report->pause, state->random),
                                      [weak, report] {
                                        if (auto alive = weak.lock()) Send(alive, report);
                                      });
    return;
  }
  if (!answer.ok()) {
    LogWarning("Report refused by the master",
               {{"report", report->what}, {"error", answer.message()}});
  }
  state->reports.erase(report);
}

}  // namespace weir::worker
