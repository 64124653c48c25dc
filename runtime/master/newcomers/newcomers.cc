#include "runtime/master/newcomers/newcomers.h"

#include <algorithm>
#include <utility>

namespace weir::master {
namespace {

bool Same(const RegisteredWorker& a, const RegisteredWorker& b) {
  return a.id == b.id && a.epoch == b.epoch;
}

}  // namespace

std::vector<RegisteredWorker> Newcomers::Look(absl::Span<const RegisteredWorker> alive,
                                              int plan_edit, std::size_t room) {
  std::vector<RegisteredWorker> leave;
  std::erase_if(newcomers_, [&](const Newcomer& newcomer) {
    const bool there = std::any_of(alive.begin(), alive.end(), [&](const RegisteredWorker& worker) {
      return Same(worker, newcomer.worker);
    });
    if (!there) leave.push_back(newcomer.worker);
    return !there;
  });
  if (plan_edit != plan_edit_) pause_ = kNewcomerPause;
  plan_edit_ = plan_edit;
  for (const RegisteredWorker& worker : alive) {
    const bool known =
        std::any_of(newcomers_.begin(), newcomers_.end(),
                    [&](const Newcomer& newcomer) { return Same(worker, newcomer.worker); });
    if (known || newcomers_.size() >= room) continue;
    newcomers_.push_back({.worker = worker});
    pause_ = kNewcomerPause;
  }
  return leave;
}

std::vector<RegisteredWorker> Newcomers::TakeQuestion(MonoTime now) {
  const bool too_early = asked_at_ && now < *asked_at_ + pause_;
  if (asking_ || too_early || Of(Stage::kSeen).empty() || !Of(Stage::kPreparing).empty()) return {};
  std::vector<RegisteredWorker> asked;
  for (Newcomer& newcomer : newcomers_) {
    if (newcomer.stage == Stage::kRefused) continue;
    newcomer.asked = true;
    asked.push_back(newcomer.worker);
  }
  asking_ = true;
  asked_at_ = now;
  return asked;
}

void Newcomers::Answered(bool worth_it) {
  asking_ = false;
  for (Newcomer& newcomer : newcomers_) {
    const bool asked = std::exchange(newcomer.asked, false);
    if (worth_it && asked && newcomer.stage == Stage::kSeen) newcomer.stage = Stage::kPreparing;
  }
  if (!worth_it) pause_ = std::min(2 * pause_, kNewcomerPauseMax);
}

bool Newcomers::Prepared() {
  bool any = false;
  for (Newcomer& newcomer : newcomers_) {
    if (newcomer.stage != Stage::kPreparing) continue;
    newcomer.stage = Stage::kPrepared;
    any = true;
  }
  return any;
}

bool Newcomers::Refuse(const std::string& name) {
  for (Newcomer& newcomer : newcomers_) {
    if (newcomer.worker.identity.name() != name) continue;
    return std::exchange(newcomer.stage, Stage::kRefused) == Stage::kPreparing;
  }
  return false;
}

void Newcomers::RefuseAll() {
  for (Newcomer& newcomer : newcomers_) newcomer.stage = Stage::kRefused;
}

std::optional<Newcomers::Stage> Newcomers::Lost(WorkerId worker, Epoch epoch) {
  const auto it = std::find_if(newcomers_.begin(), newcomers_.end(), [&](const Newcomer& newcomer) {
    return newcomer.worker.id == worker && newcomer.worker.epoch == epoch;
  });
  if (it == newcomers_.end()) return std::nullopt;
  const Stage stage = it->stage;
  newcomers_.erase(it);
  return stage;
}

std::vector<RegisteredWorker> Newcomers::Of(Stage stage) const {
  std::vector<RegisteredWorker> workers;
  for (const Newcomer& newcomer : newcomers_) {
    if (newcomer.stage == stage) workers.push_back(newcomer.worker);
  }
  return workers;
}

std::optional<std::vector<RegisteredWorker>> Newcomers::Take(absl::Span<const std::string> names) {
  std::vector<RegisteredWorker> taken;
  for (const std::string& name : names) {
    const auto it =
        std::find_if(newcomers_.begin(), newcomers_.end(), [&](const Newcomer& newcomer) {
          return newcomer.worker.identity.name() == name && newcomer.stage == Stage::kPrepared;
        });
    if (it == newcomers_.end()) return std::nullopt;
    taken.push_back(it->worker);
  }
  std::erase_if(newcomers_, [&](const Newcomer& newcomer) {
    return std::find(names.begin(), names.end(), newcomer.worker.identity.name()) != names.end();
  });
  return taken;
}

}  // namespace weir::master
