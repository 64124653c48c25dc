// What happens to a run: workers are lost, come back, are slow or new, masters are restarted.

#include <algorithm>
#include <utility>

#include "planner/edit/check_edit.h"
#include "planner/plan/units.h"
#include "runtime/base/run_id.h"
#include "runtime/master/resume/restarted_worker.h"
#include "tests/unit/master/edited_run.h"
#include "tests/unit/planner_edit/any_added.h"

namespace weir::master {

using planner::At;
using planner::StepIndex;
using planner::TransferIndex;
using planner::WorkerIndex;

void EditedRun::LoseSome() {
  const std::optional<WorkerIndex> some = OneOfSeveral();
  if (!some) return;
  const WorkerIndex lost = *some;
  const planner::PlanState state = StateNow();
  gone_[At(lost)] = true;
  const int lives = files_[At(lost)].life + 1;
  files_[At(lost)] = {};
  files_[At(lost)].life = lives;
  std::erase_if(moving_, [this, lost](const auto& moving) {
    const planner::Transfer& moved = plan().transfers[At(moving.second)];
    return moved.sender == lost || moved.receiver == lost;
  });
  Edit(state, {.lost = {lost}});
  if (Real(0, 1) < 0.5) After(Real(0, 0.5) * predicted_s_, [this, lost] { BringBack(lost); });
}

std::optional<WorkerIndex> EditedRun::OneOfSeveral() {
  std::vector<WorkerIndex> alive;
  for (std::size_t w = 0; w < gone_.size(); ++w) {
    if (!gone_[w]) alive.push_back(static_cast<WorkerIndex>(w));
  }
  if (alive.size() < 2) return std::nullopt;
  return alive[static_cast<std::size_t>(Real(0, 1) * static_cast<double>(alive.size()))];
}

void EditedRun::SlowSome() {
  const std::optional<WorkerIndex> some = OneOfSeveral();
  if (!some) return;
  planner::PlanChange change;
  std::vector<double>& factor = Real(0, 1) < 0.5 ? change.rate_factor : change.port_factor;
  factor.assign(gone_.size(), 1);
  factor[At(*some)] = Real(0.05, 0.5);
  Edit(StateNow(), change);
}

void EditedRun::BringBack(WorkerIndex worker) {
  const planner::PlanState state = StateNow();
  gone_[At(worker)] = false;
  Edit(state, {.joined = {{worker, {}}}});
}

void EditedRun::AddSome() {
  planner::PlanChange change;
  change.added = planner::AnyAdded(plan(), random_());
  Edit(StateNow(), change);
}

void EditedRun::RestartSome() {
  if (finished_ || !wrong_.empty()) return;
  const auto restarted = static_cast<WorkerIndex>(Real(0, 1) * static_cast<double>(gone_.size()));
  if (gone_[At(restarted)]) return;
  Files& files = files_[At(restarted)];
  // Its end may never have been reported.
  if (files.under_way && Real(0, 1) < 0.3) MakeRun(restarted);
  const Files before = std::exchange(files, {});
  files.life = before.life + 1;
  for (const auto& [name, run] : before.runs) {
    if (Real(0, 1) < 0.7) files.runs[name] = run;
  }
  std::erase_if(moving_, [this, restarted](const auto& moving) {
    const planner::Transfer& moved = plan().transfers[At(moving.second)];
    return moved.sender == restarted || moved.receiver == restarted;
  });
  const std::vector<StepIndex> over = conductor().WorkerRestarted(restarted);
  std::vector<int> attempts;
  for (std::size_t s = 0; s < plan().steps.size(); ++s) {
    attempts.push_back(conductor().progress().step_attempt(static_cast<StepIndex>(s)));
  }
  const planner::PlanState state = StateNow();
  const v1::HeldJob held = Held(files);
  const RestartLoss loss = LossOfRestart(plan(), state, attempts, restarted, &held);
  num_runs_kept_ += static_cast<int>(loss.runs_kept.size());
  Edit(state, {.runs_lost = loss.runs_lost, .sections_lost = loss.sections_lost});
  for (const StepIndex step : over) journal_.redone_by_edit[step] = plan_edit_;
}

planner::PlanState EditedRun::StateNow() {
  planner::PlanState state =
      conductor().progress().StateAt(static_cast<double>(time_.nanos()) * 1e-9);
  state.gone = gone_;
  return state;
}

void EditedRun::Edit(const planner::PlanState& state, const planner::PlanChange& change) {
  if (finished_ || !wrong_.empty()) return;
  const absl::StatusOr<planner::PlanEdit> edit = planner::EditPlan(plan(), state, change);
  if (!edit.ok()) return void(Wrong(edit.status().ToString()));
  const absl::Status checked = planner::CheckEdit(plan(), state, change, *edit);
  if (!checked.ok()) return void(Wrong(checked.ToString()));
  GoOn(*edit);
}

void EditedRun::GoOn(const planner::PlanEdit& edit) {
  auto next = std::make_unique<Conducted>();
  next->plan = edit.plan;
  next->prediction = edit.prediction;
  files_.resize(At(next->plan.network.num_workers));
  gone_.resize(files_.size(), false);
  next->conductor.emplace(next->plan, next->prediction, edit.state, edit.transfer_was,
                          Domains(next->plan), conductor());
  next->watched.emplace(next->plan);
  ++plan_edit_;
  for (const StepIndex step : edit.redone) {
    journal_.committed.erase(step);
    journal_.redone_by_edit[step] = plan_edit_;
  }
  std::map<TransferIndex, std::int32_t> number_of;
  for (const auto& [number, transfer] : moving_) number_of[transfer] = number;
  moving_.clear();
  for (std::size_t t = 0; t < edit.transfer_was.size(); ++t) {
    const auto number = number_of.find(edit.transfer_was[t]);
    if (number != number_of.end()) moving_[number->second] = static_cast<TransferIndex>(t);
  }
  // What is wanted no more ends at once, as workers are told that nobody reads it.
  for (Files& files : files_) {
    const auto dropped = [this](std::int32_t number) { return !moving_.contains(number); };
    std::erase_if(files.sends, dropped);
    std::erase_if(files.receives, dropped);
  }
  now_ = std::move(next);
  ++num_edits_;
  Take(conductor().Wake(time_));
}

v1::JournalRecord::StepCommitted EditedRun::Committed(const RunName& run) const {
  v1::JournalRecord::StepCommitted committed;
  committed.set_step(run.step);
  committed.set_attempt(run.attempt);
  committed.set_ended_s(static_cast<double>(time_.nanos()) * 1e-9);
  const bool read =
      std::any_of(plan().sections.begin(), plan().sections.end(),
                  [&run](const planner::Section& section) { return section.producer == run.step; });
  if (read) committed.mutable_result()->mutable_run();
  return committed;
}

v1::HeldJob EditedRun::Held(const Files& files) {
  v1::HeldJob held;
  for (const auto& [name, run] : files.runs) {
    v1::HeldRun& kept = *held.add_runs();
    kept.set_attempt(name.attempt);
    kept.set_plan_edit(run.plan_edit);
    kept.mutable_result()->set_step(name.step);
    kept.mutable_result()->mutable_run()->set_run_id(RunIdOf(name.step, name.attempt));
    for (const RunSection& section : run.sections) {
      v1::RunSection& told = *kept.mutable_result()->mutable_run()->add_sections();
      told.set_consumer_step(section.consumer);
      told.set_offset(section.offset);
      told.set_bytes(section.bytes);
    }
  }
  return held;
}

void EditedRun::LetGoOfAll() {
  moving_.clear();
  for (std::size_t w = 0; w < files_.size(); ++w) {
    Files& files = files_[w];
    if (files.under_way && Real(0, 1) < 0.3) MakeRun(static_cast<WorkerIndex>(w));
    files.under_way.reset();
    files.steps = 0;
    files.sends.clear();
    files.receives.clear();
    files.received.clear();
    ++files.life;
  }
}

void EditedRun::RestartMaster() {
  if (finished_ || !wrong_.empty()) return;
  LetGoOfAll();
  const auto alive = std::count(gone_.begin(), gone_.end(), false);
  const auto stays_away = static_cast<std::size_t>(Real(0, 2) * static_cast<double>(gone_.size()));
  if (alive > 1 && stays_away < gone_.size() && !gone_[stays_away]) {
    gone_[stays_away] = true;
    files_[stays_away].runs.clear();
  }
  std::vector<v1::HeldJob> told;
  planner::PlanChange change;
  for (std::size_t w = 0; w < files_.size(); ++w) {
    told.push_back(Held(files_[w]));
    if (gone_[w]) change.lost.push_back(static_cast<WorkerIndex>(w));
  }
  std::vector<const v1::HeldJob*> held;
  for (std::size_t w = 0; w < files_.size(); ++w) held.push_back(gone_[w] ? nullptr : &told[w]);
  const ResumedRun resumed =
      ResumeRun(plan(), journal_, held, static_cast<double>(time_.nanos()) * 1e-9);
  const absl::StatusOr<planner::PlanEdit> edit = planner::EditPlan(plan(), resumed.state, change);
  if (!edit.ok()) return void(Wrong(edit.status().ToString()));
  const absl::Status checked = planner::CheckEdit(plan(), resumed.state, change, *edit);
  if (!checked.ok()) return void(Wrong(checked.ToString()));
  Resume(*edit, resumed);
}

void EditedRun::Resume(const planner::PlanEdit& edit, const ResumedRun& resumed) {
  auto next = std::make_unique<Conducted>();
  next->plan = edit.plan;
  next->prediction = edit.prediction;
  std::vector<EarlierStep> earlier;
  for (const ResumedStep& step : resumed.steps) {
    std::vector<RunSection> sections;
    for (const v1::RunSection& section : step.result.run().sections()) {
      sections.push_back(
          {section.consumer_step(), section.offset(), section.bytes(), section.bytes()});
    }
    earlier.push_back({step.attempt, 0, std::move(sections)});
  }
  next->conductor.emplace(next->plan, next->prediction, Domains(next->plan),
                          PlanProgress(next->plan, edit.state, std::move(earlier)),
                          edit.state.now_s, time_);
  next->watched.emplace(next->plan);
  plan_edit_ = 0;
  journal_.redone_by_edit.clear();
  journal_.stale_attempts.clear();
  const std::vector<int> stale = StaleAttempts(resumed.steps, edit.state);
  for (std::size_t s = 0; s < stale.size(); ++s) {
    if (stale[s] > 0) journal_.stale_attempts[static_cast<StepIndex>(s)] = stale[s];
  }
  erase_if(journal_.committed, [&edit](const auto& committed) {
    return edit.state.steps[At(committed.first)] != planner::WorkState::kDone;
  });
  for (Files& files : files_) {
    for (auto& [name, run] : files.runs) run.plan_edit = 0;
  }
  now_ = std::move(next);
  ++num_resumed_;
  Take(conductor().Wake(time_));
}

}  // namespace weir::master
