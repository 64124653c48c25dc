// The master is killed at every write of its journal, with the record there and without, while
// three jobs are under way: every job succeeds, with the result that it has when nobody is killed.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/limits.h"
#include "tests/sim/checkers.h"
#include "tests/sim/random_cluster.h"
#include "tests/sim/result_checks.h"
#include "tests/sim/scenario.h"

namespace weir::sim {
namespace {

constexpr std::uint64_t kSeeds = SeedsHere(4, /*under_sanitizers=*/1);
constexpr absl::Duration kTimeLimit = absl::Hours(1);
constexpr absl::Duration kSettle = absl::Seconds(15);
// Master and workers are there.
constexpr absl::Duration kFirstSubmit = absl::Seconds(2);

/// A cluster with three jobs, drawn by the seed: the first has reducers of its own number, the
/// second may replace an old output, the third is written as one file.
class KilledRun {
 public:
  explicit KilledRun(std::uint64_t seed) : draw_(seed * 2 + 1) {
    master::MasterOptions options;
    options.latency_s = 4e-4;
    options.handover_latency_s = 4e-4;
    options.sharing_fraction = 0;
    options.sampling.enabled = draw_.Chance(0.5);
    options.channel_seconds_per_byte = draw_.Real(1 / 1.25e9, 1 / 1.25e7);
    StartRandomCluster(seed, options, draw_, scenario_);
    inputs_ = WriteRandomInputs(300'000'000, draw_, world());
    for (int j = 0; j < 3; ++j) {
      v1::JobSpec spec;
      spec.set_job("simjob");
      spec.set_output(absl::StrCat("/out/", j));
      for (const InputPiece& input : inputs_) spec.add_inputs(input.path);
      if (j == 0) spec.set_num_reducers(static_cast<std::int32_t>(draw_.Between(1, 5)));
      spec.set_overwrite(j == 1);
      if (j == 2) spec.set_write_mode("one");
      world().Submit(kFirstSubmit + absl::Milliseconds(100 * j), std::move(spec));
    }
    scenario_.expectations.all_succeed = true;
  }

  World& world() { return *scenario_.world; }
  SeededRandom& draw() { return draw_; }

  std::vector<std::string> Run() {
    if (!world().Run(kTimeLimit, kSettle)) return {"no progress"};
    std::vector<std::string> findings = CheckRun(scenario_);
    for (const UserJob& job : world().jobs()) {
      // What write steps make of it, nobody knows.
      if (job.spec.write_mode() != "one") CheckMadeOf(inputs_, job, world(), findings);
    }
    return findings;
  }

 private:
  SeededRandom draw_;
  Scenario scenario_;
  std::vector<InputPiece> inputs_;
};

int Starts(World& world) {
  int starts = 0;
  for (const v1::JournalRecord& record : world.journal().records()) {
    starts += record.has_master_started() ? 1 : 0;
  }
  return starts;
}

TEST(MasterKills, EveryJobSucceedsWhereverTheMasterDiesInItsJournal) {
  int killed = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    KilledRun quiet(seed);
    ASSERT_THAT(quiet.Run(), testing::IsEmpty()) << "seed " << seed << ", nobody killed";
    // The first write is the master's start.
    const int writes = quiet.world().journal().num_writes() - 1;
    ASSERT_GT(writes, 15) << "seed " << seed;
    for (int write = 0; write < writes; ++write) {
      for (const bool written : {false, true}) {
        KilledRun run(seed);
        const absl::Duration pause = run.draw().Duration(absl::Milliseconds(1), absl::Seconds(10));
        run.world().After(absl::Seconds(1), [&w = run.world(), write, written, pause] {
          w.CrashMasterInJournal(write, written, pause);
        });
        SCOPED_TRACE(absl::StrCat("seed ", seed, ", killed at write ", write,
                                  written ? ", which is there" : ", which is lost"));
        ASSERT_THAT(run.Run(), testing::IsEmpty());
        killed += Starts(run.world()) == 2 ? 1 : 0;
      }
    }
  }
  // Writes that come together once may not do so another time.
  EXPECT_GE(killed, static_cast<int>(kSeeds) * 30);
}

TEST(MasterKills, SeveralKilledMastersInARowAreSurvived) {
  for (std::uint64_t seed = 0; seed < 10 * kSeeds; ++seed) {
    KilledRun run(seed);
    // One more would be one too many for a job that each of them had in hand.
    absl::Duration when = kFirstSubmit;
    for (int kill = 0; kill + 1 < limits::kMasterEndsPerJobMax; ++kill) {
      when += run.draw().Duration(absl::ZeroDuration(), absl::Seconds(8));
      run.world().After(when, [&w = run.world(), pause = run.draw().Duration(absl::Milliseconds(1),
                                                                             absl::Seconds(3))] {
        w.RestartMaster(pause);
      });
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
  }
}

TEST(MasterKills, AMasterThatIsShutDownAndOneThatFollowsItRunTheSameJobs) {
  for (std::uint64_t seed = 0; seed < 10 * kSeeds; ++seed) {
    KilledRun run(seed);
    for (int stop = 0; stop < 4; ++stop) {
      const absl::Duration when = kFirstSubmit + absl::Seconds(6 * stop) +
                                  run.draw().Duration(absl::ZeroDuration(), absl::Seconds(5));
      run.world().After(when, [&w = run.world()] { w.StopMaster(absl::Seconds(1)); });
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_THAT(run.Run(), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace weir::sim
