// Random plans whose workers are lost at random moments, and some are back later with nothing, or
// are taken to be slow, or whose master is restarted: each time the plan is edited, and another
// conductor goes on. A ledger of its own keeps what lies on which worker and what it was made from:
// whatever is read lies there
// whole, is of one run, and stands for every byte of input once.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/edit/check_edit.h"
#include "planner/edit/edit_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "runtime/master/resume/resumed_run.h"
#include "tests/unit/master/random_plan.h"
#include "tests/unit/master/watched_check.h"

namespace weir::master {
namespace {

using planner::At;
using planner::Bytes;
using planner::StepIndex;
using planner::TransferIndex;
using planner::WorkerIndex;

/// Sizes that sections really have.
enum class Sizes { kAsPlanned, kAnyButNothing, kAny };

class EditedRun {
 public:
  EditedRun(std::uint64_t seed, planner::Plan plan, Sizes sizes)
      : random_(seed), sizes_(sizes), files_(At(plan.network.num_workers)) {
    auto first = std::make_unique<Conducted>();
    first->plan = std::move(plan);
    first->prediction = *planner::Predict(first->plan);
    first->conductor.emplace(first->plan, first->prediction, Domains(first->plan));
    first->watched.emplace(first->plan);
    for (const planner::ComputeStep& step : first->plan.steps) {
      input_end_ = std::max(input_end_, step.input_end);
    }
    gone_.assign(At(first->plan.network.num_workers), false);
    predicted_s_ = first->prediction.makespan_s;
    now_ = std::move(first);
  }

  /// Loses `kills` workers on the way, takes the processor or port of `slow` to be slow, and
  /// restarts `restarts` masters. False: a promise was broken, `wrong` says which.
  bool Run(int kills, int slow, int restarts = 0) {
    for (int r = 0; r < restarts; ++r) {
      After(Real(0, 1.3) * predicted_s_, [this] { RestartMaster(); });
    }
    for (int k = 0; k < kills; ++k) {
      After(Real(0, 1.3) * predicted_s_, [this] { LoseSome(); });
    }
    for (int k = 0; k < slow; ++k) {
      After(Real(0, 1.3) * predicted_s_, [this] { SlowSome(); });
    }
    Take(conductor().Begin(time_));
    while (!finished_ && wrong_.empty()) {
      const auto wakeup = conductor().NextWakeup();
      const bool wakes = wakeup && (events_.empty() || *wakeup <= NextEvent());
      if (!wakes && events_.empty()) return Wrong("stuck");
      if (wakes) {
        time_ = std::max(time_, *wakeup);
        Take(conductor().Wake(time_));
        continue;
      }
      auto node = events_.extract(events_.begin());
      time_ = MonoTime::FromNanos(node.key().first);
      node.mapped()();
      if (Real(0, 1) < 0.1) Look();
    }
    return wrong_.empty();
  }
  const std::string& wrong() const { return wrong_; }
  int num_edits() const { return num_edits_; }
  int num_resumed() const { return num_resumed_; }

 private:
  struct Conducted {
    planner::Plan plan;
    planner::Prediction prediction;
    std::optional<ConductorMachine> conductor;
    std::optional<WatchedState> watched;
  };
  using InputPart = std::pair<Bytes, Bytes>;
  /// Which parts of the input a step read itself, or those whose runs it reads.
  using Content = std::vector<InputPart>;
  struct Run_ {
    Content content;
    std::vector<RunSection> sections;
    int plan_edit = 0;
  };
  /// A step under way.
  struct Under {
    RunName run;
    Content content;
    int plan_edit = 0;
  };
  struct Received {
    std::vector<std::pair<Bytes, Bytes>> pieces;  // of the section
    Content content;
  };
  /// What lies on one worker.
  struct Files {
    std::map<RunName, Run_> runs;
    std::map<std::pair<RunName, StepIndex>, Received> received;  // by consumer
    std::set<TransferIndex> sends, receives;                     // by number
    int steps = 0;
    std::optional<Under> under_way;
    int life = 0;  // one more each time it is back
  };

  const planner::Plan& plan() const { return now_->plan; }
  ConductorMachine& conductor() { return *now_->conductor; }
  double Real(double min, double max) {
    return std::uniform_real_distribution<double>(min, max)(random_);
  }
  static std::vector<std::string> Domains(const planner::Plan& plan) {
    return std::vector<std::string>(At(plan.network.num_workers));
  }
  bool Wrong(const std::string& what) {
    if (wrong_.empty()) {
      wrong_ = absl::StrCat("at ", static_cast<double>(time_.nanos()) * 1e-9, " s: ", what);
    }
    return false;
  }
  MonoTime NextEvent() const { return MonoTime::FromNanos(events_.begin()->first.first); }
  void After(double seconds, std::function<void()> event) {
    const auto nanos = std::max<std::int64_t>(0, static_cast<std::int64_t>(seconds * 1e9));
    const MonoTime when = time_ + absl::Nanoseconds(nanos);
    events_.emplace(std::pair(when.nanos(), sequence_++), std::move(event));
  }

  void Look() {
    const double now_s = static_cast<double>(time_.nanos()) * 1e-9;
    if (!SeesHowFarItIs(conductor(), now_s, &*now_->watched)) Wrong("a watch sees something else");
  }

  void Take(const ConductorOrders& orders) {
    for (const StepStart& start : orders.steps) StartStep(start);
    for (const TransferStart& start : orders.transfers) Grant(start);
    if (orders.finished) finished_ = true;
  }

  void StartStep(const StepStart& start) {
    const planner::ComputeStep& step = plan().steps[At(start.step)];
    Files& files = files_[At(step.worker)];
    if (gone_[At(step.worker)]) Wrong("a step begins on a lost worker");
    if (++files.steps > 1) Wrong("two steps at once on a worker");
    Content content;
    for (const StepStart::Input& input : start.inputs) Read(start.step, input, content);
    if (sizes_ != Sizes::kAny) CheckAllIsRead(start, content);
    if (step.kind->reads_input()) content = {{step.input_begin, step.input_end}};
    for (const RunName& run : start.unread) {
      files.runs.erase(run);
      std::erase_if(files.received, [&run](const auto& file) { return file.first.first == run; });
    }
    const RunName run{start.step, start.attempt};
    const double seconds = step.duration_s * Real(0.3, 3);
    files.under_way = Under{run, content, plan_edit_};
    After(seconds, [this, worker = step.worker, life = files.life] {
      if (files_[At(worker)].life == life) EndStep(worker);
    });
  }

  void Read(StepIndex reader, const StepStart::Input& input, Content& content) {
    const WorkerIndex worker = plan().steps[At(reader)].worker;
    const RunName run{input.producer, input.run_attempt};
    const std::string what = absl::StrCat("step ", reader, " reads the run of step ", run.step,
                                          ", attempt ", run.attempt, ", which ");
    const Content* read = nullptr;
    if (input.place == SectionPlace::kOwnRun) {
      const auto own = files_[At(worker)].runs.find(run);
      if (own == files_[At(worker)].runs.end()) return void(Wrong(what + "is not there"));
      read = &own->second.content;
    } else {
      const auto received = files_[At(worker)].received.find({run, reader});
      if (received == files_[At(worker)].received.end()) {
        return void(Wrong(what + "did not arrive"));
      }
      auto pieces = received->second.pieces;
      std::sort(pieces.begin(), pieces.end());
      Bytes covered = 0;
      for (const auto& [begin, end] : pieces) {
        if (begin <= covered) covered = std::max(covered, end);
      }
      if (covered != input.bytes) {
        return void(Wrong(absl::StrCat(what, "arrived up to byte ", covered, " of ", input.bytes)));
      }
      read = &received->second.content;
    }
    content.insert(content.end(), read->begin(), read->end());
  }

  // Where no section is empty: each once, and those of input stand for all of it.
  void CheckAllIsRead(const StepStart& start, Content parts) {
    const auto expected = std::count_if(
        plan().sections.begin(), plan().sections.end(),
        [&start](const planner::Section& section) { return section.consumer == start.step; });
    if (static_cast<std::size_t>(expected) != start.inputs.size()) {
      Wrong(absl::StrCat("step ", start.step, " reads ", start.inputs.size(), " runs, not ",
                         expected));
    }
    if (parts.empty()) return;
    std::sort(parts.begin(), parts.end());
    Bytes covered = 0;
    for (const auto& [begin, end] : parts) {
      if (begin != covered) {
        Wrong(absl::StrCat("step ", start.step, " reads input ", begin, " behind ", covered));
      }
      covered = end;
    }
    if (covered != input_end_)
      Wrong(absl::StrCat("step ", start.step, " reads input to ", covered));
  }

  Bytes SizeOf(Bytes planned) {
    switch (sizes_) {
      case Sizes::kAsPlanned:
        return planned;
      case Sizes::kAnyButNothing:
        return std::max<Bytes>(1, static_cast<Bytes>(static_cast<double>(planned) * Real(0.2, 2)));
      case Sizes::kAny:
        break;
    }
    return Real(0, 3) < 1 ? 0 : static_cast<Bytes>(static_cast<double>(planned) * Real(0, 2));
  }

  /// Leaves the run of the step under way on its worker.
  std::vector<RunSection> MakeRun(WorkerIndex worker) {
    Files& files = files_[At(worker)];
    Under step = *std::exchange(files.under_way, std::nullopt);
    --files.steps;
    Run_ made;
    made.plan_edit = step.plan_edit;
    // Those who read it there need not be told what was checked here.
    if (plan().steps[At(step.run.step)].kind->reads_input()) made.content = std::move(step.content);
    Bytes offset = 0;
    for (const planner::Section& section : plan().sections) {
      if (section.producer != step.run.step) continue;
      const Bytes bytes = SizeOf(section.bytes);
      made.sections.push_back({section.consumer, offset, bytes, bytes});
      offset += bytes;
    }
    const std::vector<RunSection> sections = made.sections;
    files.runs[step.run] = std::move(made);
    return sections;
  }

  void EndStep(WorkerIndex worker) {
    if (gone_[At(worker)]) return;
    const RunName run = files_[At(worker)].under_way->run;
    if (conductor().given_up(worker, run)) {
      files_[At(worker)].under_way.reset();
      --files_[At(worker)].steps;
      return Take(conductor().GivenUpEnded(worker, run, time_));
    }
    const std::vector<RunSection> sections = MakeRun(worker);
    journal_.committed[run.step] = Committed(run);
    ConductorOrders orders;
    const absl::Status taken = conductor().StepDone(run.step, sections, time_, orders);
    if (!taken.ok()) Wrong(taken.ToString());
    Take(orders);
  }

  void Grant(const TransferStart& start) {
    const planner::Transfer& transfer = plan().transfers[At(start.transfer)];
    if (gone_[At(transfer.sender)] || gone_[At(transfer.receiver)]) {
      Wrong("a transfer of a lost worker");
    }
    const RunName run{transfer.producer, start.run_attempt};
    const auto& runs = files_[At(transfer.sender)].runs;
    if (!runs.contains(run)) {
      Wrong(absl::StrCat("transfer of step ", run.step, " to ", transfer.consumer,
                         ", whose run is not there"));
      return;
    }
    const std::int32_t number = next_number_++;
    moving_[number] = start.transfer;
    auto& sends = files_[At(transfer.sender)].sends;
    auto& receives = files_[At(transfer.receiver)].receives;
    sends.insert(number);
    receives.insert(number);
    const bool ordered = plan().transfer_order != planner::TransferOrder::kFetchAll;
    if (ordered && (sends.size() > 1 || receives.size() > 1)) Wrong("two transfers at one port");
    const Bytes begin = start.offset - start.section_offset;
    const double seconds =
        plan().network.TransferSeconds(transfer.sender, transfer.receiver, start.bytes);
    After(seconds * Real(0.3, 3),
          [this, number, run, moved = transfer, begin, end = begin + start.bytes] {
            EndTransfer(number, run, moved, begin, end);
          });
  }

  void EndTransfer(std::int32_t number, const RunName& run, const planner::Transfer& moved,
                   Bytes begin, Bytes end) {
    files_[At(moved.sender)].sends.erase(number);
    files_[At(moved.receiver)].receives.erase(number);
    const auto wanted = moving_.find(number);
    if (wanted == moving_.end() || gone_[At(moved.receiver)] || gone_[At(moved.sender)]) return;
    const auto made = files_[At(moved.sender)].runs.find(run);
    if (made == files_[At(moved.sender)].runs.end()) {
      Wrong("a run was removed while it moved");
      return;
    }
    Received& received = files_[At(moved.receiver)].received[{run, moved.consumer}];
    received.pieces.push_back({begin, end});
    received.content = made->second.content;
    const TransferIndex transfer = wanted->second;
    moving_.erase(wanted);
    ConductorOrders orders;
    const absl::Status taken = conductor().TransferDone(transfer, time_, orders);
    if (!taken.ok()) Wrong(taken.ToString());
    Take(orders);
  }

  void LoseSome() {
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

  // None where only one is there.
  std::optional<WorkerIndex> OneOfSeveral() {
    std::vector<WorkerIndex> alive;
    for (std::size_t w = 0; w < gone_.size(); ++w) {
      if (!gone_[w]) alive.push_back(static_cast<WorkerIndex>(w));
    }
    if (alive.size() < 2) return std::nullopt;
    return alive[static_cast<std::size_t>(Real(0, 1) * static_cast<double>(alive.size()))];
  }

  // What the edit drops between workers that are there has been broken off by then.
  void SlowSome() {
    const std::optional<WorkerIndex> some = OneOfSeveral();
    if (!some) return;
    planner::PlanChange change;
    std::vector<double>& factor = Real(0, 1) < 0.5 ? change.rate_factor : change.port_factor;
    factor.assign(gone_.size(), 1);
    factor[At(*some)] = Real(0.05, 0.5);
    Edit(StateNow(), change);
  }

  void BringBack(WorkerIndex worker) {
    const planner::PlanState state = StateNow();
    gone_[At(worker)] = false;
    Edit(state, {.joined = {{worker, {}}}});
  }

  planner::PlanState StateNow() {
    planner::PlanState state =
        conductor().progress().StateAt(static_cast<double>(time_.nanos()) * 1e-9);
    state.gone = gone_;
    return state;
  }

  void Edit(const planner::PlanState& state, const planner::PlanChange& change) {
    if (finished_ || !wrong_.empty()) return;
    const absl::StatusOr<planner::PlanEdit> edit = planner::EditPlan(plan(), state, change);
    if (!edit.ok()) return void(Wrong(edit.status().ToString()));
    const absl::Status checked = planner::CheckEdit(plan(), state, change, *edit);
    if (!checked.ok()) return void(Wrong(checked.ToString()));
    GoOn(*edit);
  }

  void GoOn(const planner::PlanEdit& edit) {
    auto next = std::make_unique<Conducted>();
    next->plan = edit.plan;
    next->prediction = edit.prediction;
    next->conductor.emplace(next->plan, next->prediction, edit.state, edit.transfer_was,
                            conductor());
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

  v1::JournalRecord::StepCommitted Committed(const RunName& run) const {
    v1::JournalRecord::StepCommitted committed;
    committed.set_step(run.step);
    committed.set_attempt(run.attempt);
    committed.set_ended_s(static_cast<double>(time_.nanos()) * 1e-9);
    const bool read = std::any_of(
        plan().sections.begin(), plan().sections.end(),
        [&run](const planner::Section& section) { return section.producer == run.step; });
    if (read) committed.mutable_result()->mutable_run();
    return committed;
  }

  static v1::HeldJob Held(const Files& files) {
    v1::HeldJob held;
    for (const auto& [name, run] : files.runs) {
      v1::HeldRun& kept = *held.add_runs();
      kept.set_attempt(name.attempt);
      kept.set_plan_edit(run.plan_edit);
      kept.mutable_result()->set_step(name.step);
      kept.mutable_result()->mutable_run()->set_run_id(absl::StrCat(name.step, ".", name.attempt));
      for (const RunSection& section : run.sections) {
        v1::RunSection& told = *kept.mutable_result()->mutable_run()->add_sections();
        told.set_consumer_step(section.consumer);
        told.set_offset(section.offset);
        told.set_bytes(section.bytes);
      }
    }
    return held;
  }

  /// What runs ends, some of it after its master has gone; what has moved goes.
  void LetGoOfAll() {
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

  void RestartMaster() {
    if (finished_ || !wrong_.empty()) return;
    LetGoOfAll();
    const auto alive = std::count(gone_.begin(), gone_.end(), false);
    const auto stays_away =
        static_cast<std::size_t>(Real(0, 2) * static_cast<double>(gone_.size()));
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

  void Resume(const planner::PlanEdit& edit, const ResumedRun& resumed) {
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

  std::mt19937_64 random_;
  const Sizes sizes_;
  std::unique_ptr<Conducted> now_;
  std::vector<bool> gone_;
  std::vector<Files> files_;  // by worker
  std::map<std::int32_t, TransferIndex> moving_;
  std::int32_t next_number_ = 0;
  Bytes input_end_ = 0;
  double predicted_s_ = 0;
  MonoTime time_;
  std::int64_t sequence_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::function<void()>> events_;
  bool finished_ = false;
  int num_edits_ = 0;
  int num_resumed_ = 0;
  int plan_edit_ = 0;      // since the master began
  JournalledRun journal_;  // as far as it is read
  std::string wrong_;
};

RC_GTEST_PROP(ConductorEditsProperty, WhatIsReadIsThereWholeWhoeverIsLost, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto order =
      *rc::gen::element(planner::TransferOrder::kStrict, planner::TransferOrder::kOvertake,
                        planner::TransferOrder::kFetchAll);
  const auto sizes = *rc::gen::element(Sizes::kAsPlanned, Sizes::kAnyButNothing, Sizes::kAny);
  const int kills = *rc::gen::element(0, 1, 2, 3);
  const int slow = *rc::gen::element(0, 1, 2);
  EditedRun run(seed, RandomPlan(seed, order), sizes);
  const bool right = run.Run(kills, slow);
  RC_LOG() << "seed " << seed << ", order " << static_cast<int>(order) << ", sizes "
           << static_cast<int>(sizes) << ", " << kills << " kills, " << slow
           << " slow: " << run.wrong() << "\n";
  RC_TAG(run.num_edits());
  RC_ASSERT(right);
}

RC_GTEST_PROP(ConductorEditsProperty, AndWhateverMasterIsRestarted, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto order =
      *rc::gen::element(planner::TransferOrder::kStrict, planner::TransferOrder::kOvertake,
                        planner::TransferOrder::kFetchAll);
  const auto sizes = *rc::gen::element(Sizes::kAsPlanned, Sizes::kAnyButNothing, Sizes::kAny);
  const int kills = *rc::gen::element(0, 0, 1, 2);
  const int slow = *rc::gen::element(0, 0, 1, 2);
  const int restarts = *rc::gen::element(1, 2, 3);
  EditedRun run(seed, RandomPlan(seed, order), sizes);
  const bool right = run.Run(kills, slow, restarts);
  RC_LOG() << "seed " << seed << ", order " << static_cast<int>(order) << ", sizes "
           << static_cast<int>(sizes) << ", " << kills << " kills, " << slow << " slow, "
           << restarts << " restarts: " << run.wrong() << "\n";
  RC_TAG(run.num_edits(), run.num_resumed());
  RC_ASSERT(right);
}

}  // namespace
}  // namespace weir::master
