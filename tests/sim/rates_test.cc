// Jobs by rates on the simulated cluster: everything moves at once, or some transfers of a port at
// a time; what is paced together fits ports and cuts, runs take what was predicted, and whoever is
// lost, slow or restarted, the result is made of the whole input.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/checkers.h"
#include "tests/sim/outcomes.h"
#include "tests/sim/random_cluster.h"
#include "tests/sim/result_checks.h"
#include "tests/sim/scenario.h"

namespace weir::sim {
namespace {

constexpr std::uint64_t kSeeds = SeedsHere(60, /*under_sanitizers=*/12);
constexpr absl::Duration kTimeLimit = absl::Hours(1);
constexpr absl::Duration kSettle = absl::Seconds(15);
constexpr absl::Duration kSubmit = absl::Seconds(2);

/// Everything at once, at rates that stay or that change, two times of three; else 2 to 4 transfers
/// of a port, or as many as are best.
std::string MethodOf(std::uint64_t seed) {
  if (seed % 3 == 0) return "rates";
  if (seed % 3 == 1) return "rates-over-time";
  const std::uint64_t lanes = 1 + seed / 2 % 4;
  return lanes > 1 ? absl::StrCat("lanes-", lanes) : "lanes";
}

/// One to three jobs by rates on a cluster whose network is known, drawn by the seed.
class RatesRun {
 public:
  explicit RatesRun(std::uint64_t seed, int jobs_max = 1) : draw_(seed * 2 + 1) {
    master::MasterOptions options;
    options.latency_s = 4e-4;
    options.handover_latency_s = 4e-4;
    options.network_origin = planner::Origin::kFlag;
    options.sampling.enabled = draw_.Chance(0.5);
    options.channel_seconds_per_byte = draw_.Real(1 / 1.25e9, 1 / 1.25e7);
    options.bisection_channels = static_cast<std::int32_t>(draw_.Between(0, 3));
    num_workers_ = StartRandomCluster(seed, options, draw_, scenario_,
                                      /*one_host_chance=*/0);  // nothing is sent there
    inputs_ = WriteRandomInputs(500'000'000, draw_, world());
    const std::int64_t num_jobs = draw_.Between(1, jobs_max);
    for (std::int64_t j = 0; j < num_jobs; ++j) {
      v1::JobSpec spec;
      spec.set_job("simjob");
      spec.set_output(absl::StrCat("/out/", j));
      spec.set_plan_method(MethodOf(seed));
      for (const InputPiece& input : inputs_) spec.add_inputs(input.path);
      if (draw_.Chance(0.5)) spec.set_num_reducers(static_cast<std::int32_t>(draw_.Between(1, 9)));
      world().Submit(kSubmit + absl::Milliseconds(100 * j), std::move(spec));
    }
    scenario_.expectations.all_succeed = true;
  }

  World& world() { return *scenario_.world; }
  SeededRandom& draw() { return draw_; }
  Expectations& expectations() { return scenario_.expectations; }
  std::string AnyWorker() { return WorkerName(draw_.Between(0, num_workers_ - 1)); }
  absl::Duration DuringTheRun() {
    return kSubmit + draw_.Duration(absl::Milliseconds(1), absl::Seconds(8));
  }

  std::vector<std::string> Run() {
    if (!world().Run(kTimeLimit, kSettle)) return {"no progress"};
    std::vector<std::string> findings = CheckRun(scenario_);
    for (const UserJob& job : world().jobs()) {
      if (job.status.state() != v1::JOB_STATE_SUCCEEDED) continue;
      CheckMadeOf(inputs_, job, world(), findings);
    }
    return findings;
  }

  /// Most transfers that one worker sent at once.
  int MostSendsAtOnce() {
    int most = 0;
    for (const MovedBytes& move : world().trace().moves) {
      const auto& moves = world().trace().moves;
      most = std::max(
          most,
          static_cast<int>(std::count_if(moves.begin(), moves.end(), [&](const MovedBytes& other) {
            return other.pacing_bytes_per_s > 0 && other.sender == move.sender &&
                   other.job_id == move.job_id && other.began <= move.began &&
                   move.began < other.reported;
          })));
    }
    return most;
  }

 private:
  SeededRandom draw_;
  Scenario scenario_;
  int num_workers_ = 0;
  std::vector<InputPiece> inputs_;
};

TEST(RatesOnASimulatedCluster, EverythingMovesAtOnceAndAsPredicted) {
  int several = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RatesRun run(seed);
    run.expectations().as_predicted = true;
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    several += run.MostSendsAtOnce() > 1 ? 1 : 0;
  }
  // All but those with few workers.
  EXPECT_GE(several, static_cast<int>(kSeeds / 2));
}

TEST(RatesOnASimulatedCluster, SeveralJobsShareThePorts) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RatesRun run(1000 + seed, 3);
    SCOPED_TRACE(absl::StrCat("seed ", 1000 + seed));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
  }
}

TEST(RatesOnASimulatedCluster, AWorkerThatIsLostIsMadeUpFor) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RatesRun run(2000 + seed, 2);
    run.expectations().all_succeed = false;
    run.expectations().legal_codes = CodesOfLosses();
    const std::string victim = run.AnyWorker();
    const absl::Duration when = run.DuringTheRun();
    run.world().After(when, [&w = run.world(), victim] { w.KillWorker(victim); });
    if (run.draw().Chance(0.5)) {
      const WorkerModel model = run.world().FindWorker(victim)->model();
      run.world().After(when + run.draw().Duration(absl::Milliseconds(1), absl::Seconds(3)),
                        [&w = run.world(), model] { w.StartWorker(model); });
    }
    SCOPED_TRACE(absl::StrCat("seed ", 2000 + seed));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
  }
}

// A worker of a version before cannot change a rate: its sends keep what they have, and others
// wait.
TEST(RatesOnASimulatedCluster, WorkersThatCannotChangeARateKeepIt) {
  const std::string method = "weir.v1.WorkerService.SetRates";
  std::int64_t refused = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; seed += 3) {
    RatesRun run(4000 + seed, 2);
    run.world().network().call_faults().Set(method, CallFault::kUnknown, 0.7);
    SCOPED_TRACE(absl::StrCat("seed ", 4000 + seed));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    refused += run.world().network().call_faults().struck(method, CallFault::kUnknown);
  }
  EXPECT_GT(refused, 0);
}

TEST(RatesOnASimulatedCluster, PausesAndAMasterThatRestartsAreSurvived) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RatesRun run(3000 + seed, 2);
    const absl::Duration when = run.DuringTheRun();
    if (run.draw().Chance(0.5)) {
      run.world().After(when, [&w = run.world(), victim = run.AnyWorker()] {
        w.HangWorker(victim, absl::Seconds(3));
      });
    } else {
      run.world().After(when, [&w = run.world(), pause = run.draw().Duration(absl::Milliseconds(10),
                                                                             absl::Seconds(3))] {
        w.RestartMaster(pause);
      });
    }
    SCOPED_TRACE(absl::StrCat("seed ", 3000 + seed));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace weir::sim
