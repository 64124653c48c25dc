#pragma once

// A random plan whose workers are lost, and some are back later with nothing, or at once with some
// of their runs, or are taken to be slow, or to which others come, or whose master is restarted:
// each time the plan is edited, and another conductor goes on. Upstream:
// conductor_edits_property_test.cc. Downstream: ConductorMachine, EditPlan, ResumeRun,
// LossOfRestart.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/edit/edit_plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "runtime/master/resume/resumed_run.h"
#include "runtime/master/stragglers/watched_state.h"

namespace weir::master {

/// Sizes that sections really have.
enum class Sizes { kAsPlanned, kAnyButNothing, kAny };

/// Keeps a ledger of its own of what lies on which worker and what it was made from: whatever is
/// read lies there whole, is of one run, and stands for every byte of input once; where partial
/// results are combined, at every place of theirs, and in the order of the input where the plan
/// keeps it.
class EditedRun {
 public:
  EditedRun(std::uint64_t seed, planner::Plan plan, Sizes sizes);

  /// Loses `kills` workers on the way, takes the processor or port of `slow` to be slow, restarts
  /// `restarts` masters and `back` workers; `joins` times one or two new workers come. False: a
  /// promise was broken, `wrong` says which.
  bool Run(int kills, int slow, int restarts = 0, int joins = 0, int back = 0);
  const std::string& wrong() const { return wrong_; }
  int num_edits() const { return num_edits_; }
  int num_resumed() const { return num_resumed_; }
  /// Steps that began on workers which the first plan did not know.
  int num_steps_of_new_ones() const { return num_steps_of_new_ones_; }
  int num_runs_kept() const { return num_runs_kept_; }

 private:
  struct Conducted {
    planner::Plan plan;
    planner::Prediction prediction;
    std::optional<ConductorMachine> conductor;
    std::optional<WatchedState> watched;
  };
  using InputPart = std::pair<planner::Bytes, planner::Bytes>;
  /// Which parts of the input a step read itself, or those whose runs it reads, and which places of
  /// their results; in the order in which they were read.
  struct Part {
    InputPart input;
    planner::IndexRange places;
  };
  using Content = std::vector<Part>;
  struct MadeRun {
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
    std::vector<std::pair<planner::Bytes, planner::Bytes>> pieces;  // of the section
    Content content;
  };
  /// What lies on one worker.
  struct Files {
    std::map<RunName, MadeRun> runs;
    std::map<std::pair<RunName, planner::StepIndex>, Received> received;  // by consumer
    std::set<planner::TransferIndex> sends, receives;                     // by number
    int steps = 0;
    std::optional<Under> under_way;
    int life = 0;  // one more each time it is back
  };

  const planner::Plan& plan() const { return now_->plan; }
  ConductorMachine& conductor() { return *now_->conductor; }
  double Real(double min, double max);
  static std::vector<std::string> Domains(const planner::Plan& plan);
  bool Wrong(const std::string& what);
  MonoTime NextEvent() const { return MonoTime::FromNanos(events_.begin()->first.first); }
  void After(double seconds, std::function<void()> event);
  void Look();
  void Take(const ConductorOrders& orders);
  void StartStep(const StepStart& start);
  void Read(planner::StepIndex reader, const StepStart::Input& input, Content& content);
  // Where no section is empty: each once, and those of input stand for all of it.
  void CheckAllIsRead(const StepStart& start, const Content& parts);
  // `inputs`: in the order in which they were read.
  void CheckPlaces(planner::StepIndex step, const planner::IndexRange& places,
                   std::vector<InputPart> inputs);
  planner::Bytes SizeOf(planner::Bytes planned);
  /// Leaves the run of the step under way on its worker.
  std::vector<RunSection> MakeRun(planner::WorkerIndex worker);
  void EndStep(planner::WorkerIndex worker);
  void Grant(const TransferStart& start);
  void EndTransfer(std::int32_t number, const RunName& run, const planner::Transfer& moved,
                   planner::Bytes begin, planner::Bytes end);
  void LoseSome();
  // None where only one is there.
  std::optional<planner::WorkerIndex> OneOfSeveral();
  // What the edit drops between workers that are there has been broken off by then.
  void SlowSome();
  void BringBack(planner::WorkerIndex worker);
  void AddSome();
  /// One is killed and back at once, with some of its runs.
  void RestartSome();
  planner::PlanState StateNow();
  void Edit(const planner::PlanState& state, const planner::PlanChange& change);
  void GoOn(const planner::PlanEdit& edit);
  v1::JournalRecord::StepCommitted Committed(const RunName& run) const;
  static v1::HeldJob Held(const Files& files);
  /// What runs ends, some of it after its master has gone; what has moved goes.
  void LetGoOfAll();
  void RestartMaster();
  void Resume(const planner::PlanEdit& edit, const ResumedRun& resumed);

  std::mt19937_64 random_;
  const Sizes sizes_;
  std::unique_ptr<Conducted> now_;
  std::vector<bool> gone_;
  std::vector<Files> files_;  // by worker
  std::map<std::int32_t, planner::TransferIndex> moving_;
  std::int32_t next_number_ = 0;
  planner::Bytes input_end_ = 0;
  std::int64_t num_places_ = 1;
  bool ordered_ = false;  // it combines neighbours only
  double predicted_s_ = 0;
  MonoTime time_;
  std::int64_t sequence_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::function<void()>> events_;
  bool finished_ = false;
  int num_edits_ = 0;
  int num_resumed_ = 0;
  std::size_t num_first_ = 0;  // workers
  int num_steps_of_new_ones_ = 0;
  int num_runs_kept_ = 0;  // by workers that were back at once
  int plan_edit_ = 0;      // since the master began
  JournalledRun journal_;  // as far as it is read
  std::string wrong_;
};

}  // namespace weir::master
