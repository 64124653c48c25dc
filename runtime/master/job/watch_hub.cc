#include "runtime/master/job/watch_hub.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/master/job/job_machine.h"

namespace weir::master {

struct WatchHub::Watcher {
  absl::AnyInvocable<void(v1::JobStatus)> on_status;
  absl::AnyInvocable<void(absl::Status)> on_end;
  std::deque<v1::JobStatus> queue;
  std::optional<absl::Status> end;
  bool delivery_posted = false;
  bool gone = false;
};

class WatchHub::Handle final : public rpc::Subscription {
 public:
  explicit Handle(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}
  ~Handle() override { watcher_->gone = true; }

 private:
  std::shared_ptr<Watcher> watcher_;
};

std::unique_ptr<rpc::Subscription> WatchHub::Watch(
    const v1::JobStatus& now, absl::AnyInvocable<void(v1::JobStatus)> on_status,
    absl::AnyInvocable<void(absl::Status)> on_end) {
  if (num_watchers_ >= kWatchersMax) ForgetGone();
  if (num_watchers_ >= kWatchersMax) {
    return Refuse(absl::ResourceExhaustedError(
                      absl::StrCat("the master serves ", kWatchersMax,
                                   " watchers already, its maximum; ask for the status instead")),
                  std::move(on_end));
  }
  auto watcher = std::make_shared<Watcher>();
  watcher->on_status = std::move(on_status);
  watcher->on_end = std::move(on_end);
  if (!IsTerminal(now.state())) {
    watchers_[now.job_id()].push_back(watcher);
    ++num_watchers_;
  }
  Queue(watcher, now);
  return std::make_unique<Handle>(std::move(watcher));
}

std::unique_ptr<rpc::Subscription> WatchHub::Refuse(absl::Status why,
                                                    absl::AnyInvocable<void(absl::Status)> on_end) {
  auto watcher = std::make_shared<Watcher>();
  watcher->on_end = std::move(on_end);
  watcher->end = std::move(why);
  Deliver(watcher);
  return std::make_unique<Handle>(std::move(watcher));
}

void WatchHub::Publish(const v1::JobStatus& status) {
  const auto it = watchers_.find(status.job_id());
  if (it == watchers_.end()) return;
  std::vector<std::shared_ptr<Watcher>>& watchers = it->second;
  std::erase_if(watchers, [this](const auto& watcher) {
    if (watcher->gone) --num_watchers_;
    return watcher->gone;
  });
  const bool last = IsTerminal(status.state());
  if (last) {
    for (const auto& watcher : watchers) Queue(watcher, status);
  } else if (!watchers.empty()) {
    v1::JobStatus told = status;
    if (told.has_spec()) told.mutable_spec()->clear_inputs();
    for (const auto& watcher : watchers) Queue(watcher, told);
    return;
  }
  num_watchers_ -= static_cast<int>(watchers.size());
  watchers_.erase(it);
}

void WatchHub::EndAll(const absl::Status& why) {
  for (const auto& [job_id, watchers] : watchers_) {
    for (const auto& watcher : watchers) {
      watcher->end = why;
      Deliver(watcher);
    }
  }
  watchers_.clear();
  num_watchers_ = 0;
}

void WatchHub::ForgetGone() {
  for (auto& [job_id, watchers] : watchers_) {
    num_watchers_ -= static_cast<int>(
        std::erase_if(watchers, [](const auto& watcher) { return watcher->gone; }));
  }
}

void WatchHub::Queue(const std::shared_ptr<Watcher>& watcher, const v1::JobStatus& status) {
  if (watcher->queue.size() >= kQueuedMax) watcher->queue.pop_back();
  watcher->queue.push_back(status);
  if (IsTerminal(status.state())) watcher->end = absl::OkStatus();
  Deliver(watcher);
}

void WatchHub::Deliver(const std::shared_ptr<Watcher>& watcher) {
  if (std::exchange(watcher->delivery_posted, true)) return;
  loop_.Post([watcher] {
    watcher->delivery_posted = false;
    while (!watcher->gone && !watcher->queue.empty()) {
      v1::JobStatus next = std::move(watcher->queue.front());
      watcher->queue.pop_front();
      watcher->on_status(std::move(next));
    }
    if (watcher->gone || !watcher->end) return;
    watcher->gone = true;
    watcher->on_end(*watcher->end);
  });
}

}  // namespace weir::master
