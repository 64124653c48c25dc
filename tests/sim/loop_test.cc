// Loops on the simulated cluster: every state is made of the whole input and of the state before,
// as by one mapper alone, whoever is lost in any phase of an iteration; and what ends the job ends
// it by name.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/sim/checkers.h"
#include "tests/sim/random_cluster.h"
#include "tests/sim/scenario.h"
#include "tests/sim/sim_loop.h"

namespace weir::sim {
namespace {

constexpr std::uint64_t kLoopSeeds = SeedsHere(100, /*under_sanitizers=*/25);
constexpr absl::Duration kLoopTimeLimit = absl::Hours(1);
constexpr absl::Duration kLoopSettle = absl::Seconds(15);

/// What an iteration does, one after the other.
enum class Phase { kMap, kCombine, kUpdate, kBroadcast };
constexpr Phase kPhases[] = {Phase::kMap, Phase::kCombine, Phase::kUpdate, Phase::kBroadcast};

/// One loop, drawn by the seed.
class LoopRun {
 public:
  explicit LoopRun(std::uint64_t seed) : draw_(seed * 2 + 1) {
    master::MasterOptions options;
    options.latency_s = 4e-4;
    options.handover_latency_s = 4e-4;
    options.channel_seconds_per_byte = draw_.Real(1 / 1.25e9, 1 / 1.25e6);
    num_workers_ = StartRandomCluster(seed, options, draw_, scenario_);
    v1::JobSpec spec;
    spec.set_job(kLoopJob);
    spec.set_output("/out/loop");
    whole_ = WriteRandomInputs(500'000'000, draw_, world());
    for (const InputPiece& input : whole_) spec.add_inputs(input.path);
    iterations_ = static_cast<int>(draw_.Between(1, 6));
    Set(spec, "iterations", iterations_);
    // Ends by itself, or goes to its limit.
    if (draw_.Chance(0.5)) {
      last_ = static_cast<int>(draw_.Between(0, iterations_));
      Set(spec, "converges", last_);
    } else {
      last_ = iterations_;
    }
    world().Submit(absl::Seconds(2), std::move(spec));
  }

  World& world() { return *scenario_.world; }
  Expectations& expected() { return scenario_.expectations; }
  SeededRandom& draw() { return draw_; }
  const UserJob& job() { return world().jobs()[0]; }
  std::string AnyWorker() { return WorkerName(draw_.Between(0, num_workers_ - 1)); }
  std::string about() const {
    return absl::StrCat(num_workers_, " workers, ", iterations_, " iterations, ends after ", last_);
  }

  /// Calls strike() once, a moment after the phase of an iteration has begun.
  template <typename Strike>
  void Once(Phase phase, Strike strike) {
    const auto iteration = static_cast<std::int32_t>(draw_.Between(0, last_));
    const absl::Duration delay = draw_.Duration(absl::ZeroDuration(), absl::Milliseconds(40));
    world().WatchSteps([this, phase, iteration, delay, strike, struck = false, updates = false](
                           const std::string&, const v1::StepOrder& order) mutable {
      const bool now = Begins(order, phase, iteration, updates);
      if (order.kind() == v1::STEP_KIND_UPDATE) updates = order.layer() == iteration;
      if (!now || std::exchange(struck, true)) return;
      world().After(delay, strike);
    });
  }

  std::vector<std::string> Run() {
    if (!world().Run(kLoopTimeLimit, kLoopSettle)) return {"no progress"};
    std::vector<std::string> findings = CheckRun(scenario_);
    if (!job().refused.ok()) findings.push_back(job().refused.ToString());
    return findings;
  }

  /// Whether the result is that of one mapper alone.
  void ExpectRight() {
    const Content result = world().contents().ResultOf(job().id);
    ASSERT_EQ(result.size(), 1u);
    EXPECT_EQ(result[0].begin, 0);
    EXPECT_EQ(result[0].end, 1);
    EXPECT_EQ(result[0].input, SequentialState(whole_, last_));
    EXPECT_EQ(job().status.progress().iteration(), last_);
  }

 private:
  static void Set(v1::JobSpec& spec, const char* name, int value) {
    v1::JobParameter& parameter = *spec.add_parameters();
    parameter.set_name(name);
    parameter.set_value(absl::StrCat(value));
  }

  // Combine steps before an update fold elements, those behind it tell the state.
  static bool Begins(const v1::StepOrder& order, Phase phase, std::int32_t iteration,
                     bool updates) {
    const bool combines = order.kind() == v1::STEP_KIND_COMBINE && order.layer() == iteration + 1;
    switch (phase) {
      case Phase::kMap:
        return (order.kind() == v1::STEP_KIND_MAP && iteration == 0) ||
               (order.kind() == v1::STEP_KIND_ITERATE && order.layer() == iteration);
      case Phase::kCombine:
        return combines && !updates;
      case Phase::kUpdate:
        return order.kind() == v1::STEP_KIND_UPDATE && order.layer() == iteration;
      case Phase::kBroadcast:
        return combines && updates;
    }
    return false;
  }

  SeededRandom draw_;
  Scenario scenario_;
  int num_workers_ = 0;
  LoopPlace whole_;
  int iterations_ = 0;
  int last_ = 0;  // the iteration that ends it
};

TEST(SimulatedLoops, ResultsAreThoseOfOneMapperAlone) {
  for (std::uint64_t seed = 0; seed < kLoopSeeds; ++seed) {
    LoopRun run(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", run.about()));
    run.expected().all_succeed = true;
    if (seed % 3 == 1) {
      // A pause is not a death.
      run.Once(kPhases[seed / 3 % 4], [&w = run.world(), name = run.AnyWorker()] {
        w.HangWorker(name, absl::Seconds(3));
      });
    }
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    run.ExpectRight();
    if (HasFailure()) return;
  }
}

TEST(SimulatedLoops, AWorkerLostInAnyPhaseChangesNoResult) {
  std::map<Phase, int> lost;
  for (std::uint64_t seed = 0; seed < 4 * kLoopSeeds; ++seed) {
    LoopRun run(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", run.about()));
    const Phase phase = kPhases[seed % 4];
    run.Once(phase, [&w = run.world(), name = run.AnyWorker(), hangs = seed / 4 % 2 == 1] {
      if (hangs) {
        w.HangWorker(name, absl::InfiniteDuration());
      } else {
        w.KillWorker(name);
      }
    });
    run.expected().all_succeed = true;
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    run.ExpectRight();
    // Else the worker had done its part before, or the phase did not come.
    if (run.job().status.losses_size() > 0) ++lost[phase];
    if (HasFailure()) return;
  }
  for (const Phase phase : kPhases) {
    EXPECT_GE(lost[phase], static_cast<int>(kLoopSeeds) / 4) << "phase " << static_cast<int>(phase);
  }
}

TEST(SimulatedLoops, LostAndLateMessagesDoNoHarm) {
  for (std::uint64_t seed = 0; seed < kLoopSeeds; ++seed) {
    LoopRun run(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", run.about()));
    NetworkFaults faults;
    faults.drop = seed % 2 == 0 ? run.draw().Real(0, 0.2) : 0;
    faults.duplicate = run.draw().Real(0, 0.3);
    faults.delay_max = run.draw().Duration(absl::Milliseconds(1), absl::Milliseconds(300));
    run.world().network().SetFaults(faults);
    run.expected().all_succeed = true;
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    run.ExpectRight();
    if (HasFailure()) return;
  }
}

TEST(SimulatedLoops, GoOnWithoutWorkersThatCrashOrAreFullAndAreCancelled) {
  for (std::uint64_t seed = 0; seed < kLoopSeeds; ++seed) {
    LoopRun run(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", run.about()));
    const std::uint64_t kind = seed % 3;
    run.Once(kPhases[seed / 3 % 4], [&w = run.world(), name = run.AnyWorker(), kind] {
      if (kind == 0) w.FindWorker(name)->faults().task_crashes = true;
      if (kind == 1) w.FillDisk(name);
      if (kind == 2) w.Cancel(0);
    });
    const std::string_view codes[] = {job_error::kTaskCrashed, job_error::kDiskFull,
                                      job_error::kCancelled};
    Expectations& expected = run.expected();
    (kind == 2 ? expected.legal_codes : expected.legal_where_none_is_sound)
        .emplace_back(codes[kind]);
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    if (run.job().status.state() == v1::JOB_STATE_SUCCEEDED) run.ExpectRight();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir::sim
