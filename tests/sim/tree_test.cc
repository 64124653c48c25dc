// Jobs with plans of reduction trees on the simulated cluster: every place of the result is made of
// the whole input, in its order, as that of the shuffle is, also where a worker is lost and comes
// back; one that does not come back ends them in time, for their plans name it.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jobs/api/element.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/job_errors.h"
#include "tests/sim/checkers.h"
#include "tests/sim/random_cluster.h"
#include "tests/sim/scenario.h"
#include "tests/unit/master/tree_plans.h"

namespace weir::sim {
namespace {

constexpr std::uint64_t kSeeds = 100;
constexpr absl::Duration kVirtualTimeLimit = absl::Hours(1);
constexpr absl::Duration kSettle = absl::Seconds(15);

/// Text that shows what a result was made of.
std::string Describe(const Content& content) {
  return absl::StrJoin(content, "\n", [](std::string* out, const ContentPiece& piece) {
    absl::StrAppend(out, "[", piece.begin, ", ", piece.end, "):");
    for (const InputPiece& input : piece.input) {
      absl::StrAppend(out, " ", input.path, " ", input.begin, "-", input.end);
    }
  });
}

/// Neighbours that were made of the same are one.
Content Merged(const Content& content) {
  Content merged;
  for (const ContentPiece& piece : content) {
    if (!merged.empty() && merged.back().end == piece.begin && merged.back().input == piece.input) {
      merged.back().end = piece.end;
    } else {
      merged.push_back(piece);
    }
  }
  return merged;
}

/// One tree job, drawn by the seed, and the same job as a shuffle.
class TreeRun {
 public:
  explicit TreeRun(std::uint64_t seed) : draw_(seed * 2 + 1), seed_(seed) {
    master::MasterOptions options;
    options.latency_s = 4e-4;
    options.handover_latency_s = 4e-4;
    options.sampling.enabled = false;
    options.sharing_fraction = 0;
    options.channel_seconds_per_byte = draw_.Real(1 / 1.25e9, 1 / 1.25e7);
    num_workers_ = StartRandomCluster(seed, options, draw_, scenario_);
    whole_ = WriteRandomInputs(1'000'000'000, draw_, world());
    for (const InputPiece& input : whole_) input_bytes_ += input.end;
    SubmitTree(options);
    v1::JobSpec shuffle = Spec("shuffle");
    shuffle.set_num_reducers(3);
    world().Submit(absl::Seconds(3), std::move(shuffle));
  }

  World& world() { return *scenario_.world; }
  Scenario& scenario() { return scenario_; }
  SeededRandom& draw() { return draw_; }
  const UserJob& tree() { return world().jobs()[0]; }
  const UserJob& shuffle() { return world().jobs()[1]; }
  const std::string& family() const { return family_; }
  std::string AnyWorker() { return WorkerName(draw_.Between(0, num_workers_ - 1)); }
  /// A moment at which the workers combine: their maps are over, the last reduce step is not.
  absl::Duration WhileCombining() {
    return absl::Seconds(2) + absl::Seconds(maps_s_ + draw_.Real(0, planned_s_ - maps_s_));
  }

  /// Calls strike(worker) once the first combine step is committed, with the root, which is needed
  /// to the end, or any worker.
  template <typename Strike>
  void OnceItCombines(Strike strike) {
    world().After(absl::Milliseconds(1), [this, strike] {
      const auto& records = world().journal().records();
      const bool combined =
          std::any_of(records.begin(), records.end(), [this](const v1::JournalRecord& record) {
            return record.has_step_committed() && record.job_id() == tree().id &&
                   record.step_committed().step() >= num_workers_ &&
                   record.step_committed().step() != root_step_;
          });
      if (combined) {
        strike(draw_.Chance(0.5) ? root_ : AnyWorker());
      } else if (world().jobs()[0].ended == MonoTime()) {
        OnceItCombines(strike);
      }
    });
  }

  std::vector<std::string> Run() {
    if (!world().Run(kVirtualTimeLimit, kSettle)) return {"no progress"};
    return CheckRun(scenario_);
  }

  /// The whole input, in its order, in all places.
  Content Whole() const { return {{0, 1, whole_}}; }

 private:
  v1::JobSpec Spec(const std::string& output) {
    v1::JobSpec spec;
    spec.set_job("simjob");
    for (const InputPiece& input : whole_) spec.add_inputs(input.path);
    spec.set_output(absl::StrCat("/out/", output));
    return spec;
  }

  void SubmitTree(const master::MasterOptions& options) {
    const WorkerModel model;
    master::TreeJob job;
    job.num_machines = num_workers_;
    job.network.num_workers = num_workers_;
    job.network.seconds_per_byte = options.channel_seconds_per_byte;
    job.network.latency_s = options.latency_s;
    job.input_bytes = input_bytes_;
    job.map_seconds_per_byte = model.map_seconds_per_byte;
    // Planned too small or too large: sections have other sizes than planned.
    job.element_bytes = std::max<std::int64_t>(
        1000, static_cast<std::int64_t>(static_cast<double>(input_bytes_ / num_workers_) *
                                        model.map_output_ratio * draw_.Real(0.3, 3)));
    job.places = kTablePlaces;
    const planner::Plan plan = master::TreePlanOf(job, seed_, /*keeps_order=*/true);
    family_ = plan.summary.method;
    planned_s_ = plan.summary.makespan_s;
    root_step_ = static_cast<int>(plan.steps.size()) - 1;
    root_ = WorkerName(plan.steps.back().worker);
    std::vector<std::string> names;
    for (int w = 0; w < num_workers_; ++w) {
      names.push_back(WorkerName(w));
      maps_s_ = std::max(maps_s_, plan.steps[static_cast<std::size_t>(w)].duration_s);
    }
    v1::JobSpec spec = Spec("tree");
    *spec.mutable_plan() = planner::PlanToProto(plan, names);
    world().Submit(absl::Seconds(2), std::move(spec));
  }

  SeededRandom draw_;
  const std::uint64_t seed_;
  Scenario scenario_;
  int num_workers_ = 0;
  std::int64_t input_bytes_ = 0;
  std::vector<InputPiece> whole_;
  std::string family_;
  int root_step_ = 0;
  std::string root_;
  double maps_s_ = 0;
  double planned_s_ = 0;
};

TEST(SimulatedTrees, ResultsAreThoseOfTheShuffle) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    TreeRun run(seed);
    run.scenario().expectations.all_succeed = true;
    if (seed % 3 == 1) {
      // A pause is not a death.
      run.world().After(run.WhileCombining(), [&w = run.world(), name = run.AnyWorker()] {
        w.HangWorker(name, absl::Seconds(3));
      });
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", run.family()));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    ASSERT_TRUE(run.tree().refused.ok()) << run.tree().refused;
    const Content tree = Merged(run.world().contents().ResultOf(run.tree().id));
    ASSERT_EQ(Describe(tree), Describe(run.Whole()));
    const Content shuffle = Merged(run.world().contents().ResultOf(run.shuffle().id));
    ASSERT_EQ(Describe(shuffle), Describe(tree));
  }
}

TEST(SimulatedTrees, AWorkerLostDuringTheReductionComesBackOrEndsTheJobInTime) {
  int lost = 0;
  int went_on = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    TreeRun run(seed);
    Expectations& expected = run.scenario().expectations;
    const bool hangs = seed % 2 == 1;
    const bool returns = seed / 2 % 2 == 1;
    run.OnceItCombines([&w = run.world(), &expected, hangs, returns](const std::string& name) {
      const absl::Duration away = absl::Seconds(12);
      if (!returns) expected.fatal_moments.push_back(w.time().now());
      if (hangs) return w.HangWorker(name, returns ? away : absl::InfiniteDuration());
      w.KillWorker(name);
      if (!returns) return;
      w.After(away, [&w, model = w.FindWorker(name)->model()] { w.StartWorker(model); });
    });
    if (returns) {
      expected.all_succeed = true;
    } else {
      expected.legal_codes.emplace_back(job_error::kWorkerLost);
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", run.family()));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    ASSERT_TRUE(run.tree().refused.ok()) << run.tree().refused;
    ASSERT_EQ(run.shuffle().status.state(), v1::JOB_STATE_SUCCEEDED) << "its plan names nobody";
    if (run.tree().status.state() == v1::JOB_STATE_FAILED) {
      ++lost;
      continue;
    }
    // Where nothing was lost, the worker had done its part before.
    went_on += run.tree().status.losses_size() > 0 ? 1 : 0;
    ASSERT_EQ(Describe(Merged(run.world().contents().ResultOf(run.tree().id))),
              Describe(run.Whole()));
  }
  EXPECT_GE(lost, static_cast<int>(kSeeds) / 4) << "the root is needed to the end";
  EXPECT_GE(went_on, static_cast<int>(kSeeds) / 4);
}

// Trees that the master plans, of jobs that it samples.
TEST(SimulatedTrees, TakeWhatWasPredicted) {
  Predictions predictions;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SeededRandom draw(seed * 2 + 1);
    master::MasterOptions options;
    options.latency_s = 4e-4;
    options.handover_latency_s = 4e-4;
    options.map_overhead_s = 5e-4;
    options.reduce_startup_s = 5e-4;
    options.sharing_fraction = 0;
    options.sampling.enabled = true;
    options.channel_seconds_per_byte = draw.Real(1 / 1.25e9, 1 / 1.25e7);
    Scenario scenario;
    StartRandomCluster(seed, options, draw, scenario);
    v1::JobSpec spec;
    spec.set_job("simjob");
    spec.set_output("/out/tree");
    spec.set_combine("tree");
    for (const InputPiece& input : WriteRandomInputs(3'000'000'000, draw, *scenario.world)) {
      spec.add_inputs(input.path);
    }
    scenario.world->Submit(absl::Seconds(2), std::move(spec));
    scenario.expectations.all_succeed = true;
    scenario.expectations.as_predicted = true;
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_TRUE(scenario.world->Run(kVirtualTimeLimit, kSettle));
    ASSERT_THAT(CheckRun(scenario), testing::IsEmpty());
    const Predictions counted = CountPredictions(scenario);
    predictions.jobs += counted.jobs;
    predictions.far += counted.far;
  }
  EXPECT_LE(predictions.far * kJobsOfOneFar, predictions.jobs);
}

TEST(SimulatedTrees, CrashesOfTasksAndFullDisksEndThemByName) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    TreeRun run(seed);
    const bool crash = seed % 2 == 0;
    run.world().After(run.WhileCombining(), [&w = run.world(), name = run.AnyWorker(), crash] {
      if (crash) {
        w.FindWorker(name)->faults().task_crashes = true;
      } else {
        w.FillDisk(name);
      }
    });
    run.scenario().expectations.legal_codes.emplace_back(crash ? job_error::kTaskCrashed
                                                               : job_error::kDiskFull);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", run.family()));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    ASSERT_TRUE(run.tree().refused.ok()) << run.tree().refused;
  }
}

}  // namespace
}  // namespace weir::sim
