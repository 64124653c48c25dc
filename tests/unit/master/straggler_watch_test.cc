// Who is named a straggler, when, and at what rate: by hand, and in runs that are not as planned.

#include "runtime/master/stragglers/straggler_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/edit/check_edit.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "tests/unit/master/watched_run.h"

namespace weir::master {
namespace {

using planner::At;
using planner::Plan;
using planner::PlanState;
using planner::Reality;
using planner::Seconds;
using planner::WorkState;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<double> SlowOne(std::size_t num_workers, std::size_t worker, double rate) {
  std::vector<double> rates(num_workers, 1);
  rates[worker] = rate;
  return rates;
}

// One map step a worker, all under way since 0 s.
class ByHand {
 public:
  explicit ByHand(std::int32_t num_workers, Seconds map_s = 20, double output_ratio = 0.01)
      : plan_(WordCountLike(num_workers, 1, map_s, output_ratio)),
        state_(planner::NothingDone(plan_)),
        bytes_(plan_.steps.size(), 0),
        watch_(plan_) {
    for (std::size_t s = 0; s < At(num_workers); ++s) {
      state_.steps[s] = WorkState::kUnderWay;
      state_.step_began_s[s] = 0;
    }
  }

  // Map steps have read these shares at this moment.
  std::optional<StragglerDecision> Look(Seconds now_s, const std::vector<double>& shares) {
    state_.now_s = now_s;
    for (std::size_t s = 0; s < shares.size(); ++s) {
      bytes_[s] =
          static_cast<planner::Bytes>(shares[s] * static_cast<double>(plan_.steps[s].input_bytes));
    }
    watch_.Observe({.state = state_, .step_bytes_done = bytes_});
    return watch_.Decide();
  }

  const Plan& plan() const { return plan_; }
  PlanState& state() { return state_; }
  StragglerWatch& watch() { return watch_; }

 private:
  const Plan plan_;
  PlanState state_;
  std::vector<planner::Bytes> bytes_;
  StragglerWatch watch_;
};

TEST(StragglerWatchTest, AsPlannedNobodyIsNamed) {
  for (const Heard heard : {Heard::kBytes, Heard::kNothing}) {
    const Plan plan = WordCountLike(8, 4, 20, 0.5);
    EXPECT_THAT(RunWatched(plan, {}, heard, Edits::kNone).named, IsEmpty());
  }
}

TEST(StragglerWatchTest, AStepThatReadsTooSlowlyIsNamedWithinAFewHeartbeats) {
  const Plan plan = WordCountLike(8, 1, 60, 0.01);
  const WatchedRun run =
      RunWatched(plan, {.rate = SlowOne(8, 3, 0.1)}, Heard::kBytes, Edits::kNone);
  ASSERT_FALSE(run.named.empty());
  EXPECT_LE(run.named[0].at_s, 5);
  EXPECT_THAT(run.named[0].decision.workers, ElementsAre(3));
  EXPECT_NEAR(run.named[0].decision.change.rate_factor[3], 0.1, 0.05);
  EXPECT_EQ(run.named[0].decision.change.rate_factor[2], 1);
  EXPECT_EQ(run.named[0].decision.change.pace, 1);
  EXPECT_THAT(run.named[0].decision.why, HasSubstr("worker 3 computes at 0."));
}

TEST(StragglerWatchTest, AStepThatSaysNothingIsNamedHalfAsLongAfterItsTime) {
  const Plan plan = WordCountLike(8, 1, 20, 0.01);
  const WatchedRun run =
      RunWatched(plan, {.rate = SlowOne(8, 3, 0.1)}, Heard::kNothing, Edits::kNone);
  ASSERT_FALSE(run.named.empty());
  EXPECT_GT(run.named[0].at_s, 1.5 * 20);
  EXPECT_LE(run.named[0].at_s, 1.5 * 20 + 1.5);
  EXPECT_THAT(run.named[0].decision.workers, ElementsAre(3));
  EXPECT_NEAR(run.named[0].decision.change.rate_factor[3], 0.33, 0.02);
}

// Steps of 1 s, and of 50 ms: no quantile has to be waited for.
TEST(StragglerWatchTest, SmallJobsHaveStragglersToo) {
  for (const std::int32_t maps_each : {1, 20}) {
    const Plan plan = WordCountLike(8, maps_each, 1, 0.01);
    const WatchedRun run =
        RunWatched(plan, {.rate = SlowOne(8, 3, 0.1)}, Heard::kBytes, Edits::kNone);
    ASSERT_FALSE(run.named.empty()) << maps_each;
    EXPECT_LE(run.named[0].at_s, 2.5) << maps_each;
    EXPECT_THAT(run.named[0].decision.workers, ElementsAre(3)) << maps_each;
  }
}

TEST(StragglerWatchTest, AWrongPredictionNamesNobody) {
  for (const std::int32_t num_workers : {1, 2, 3, 8}) {
    for (const Heard heard : {Heard::kBytes, Heard::kNothing}) {
      const Plan plan = WordCountLike(num_workers, 2, 20, 0.5);
      const Reality reality{.rate = std::vector<double>(At(num_workers), 0.2),
                            .port_rate = std::vector<double>(At(num_workers), 0.2)};
      EXPECT_THAT(RunWatched(plan, reality, heard, Edits::kNone).named, IsEmpty()) << num_workers;
    }
  }
}

TEST(StragglerWatchTest, WhoIsSlowerThanAWrongPredictionIsNamedBesideTheOthers) {
  const Plan plan = WordCountLike(8, 1, 60, 0.01);
  Reality reality{.rate = std::vector<double>(8, 0.5)};
  reality.rate[3] = 0.05;
  const WatchedRun run = RunWatched(plan, reality, Heard::kBytes, Edits::kNone);
  ASSERT_FALSE(run.named.empty());
  const planner::PlanChange& last = run.named.back().decision.change;
  EXPECT_THAT(run.named.back().decision.workers, ElementsAre(3));
  EXPECT_NEAR(last.pace, 0.5, 0.1);
  EXPECT_NEAR(last.rate_factor[3], 0.1, 0.05);
}

TEST(StragglerWatchTest, OfTwoWorkersTheSlowOneIsNamed) {
  const Plan plan = WordCountLike(2, 1, 30, 0.01);
  const WatchedRun run =
      RunWatched(plan, {.rate = SlowOne(2, 1, 0.1)}, Heard::kBytes, Edits::kNone);
  ASSERT_FALSE(run.named.empty());
  EXPECT_THAT(run.named[0].decision.workers, ElementsAre(1));
  EXPECT_LE(run.named[0].at_s, 5);
}

// All read at the planned rate for 10 s of 20; then worker 1 goes on at a tenth. At 18 s it has
// read 0.54 and needs another 92 s.
TEST(StragglerWatchTest, AWorkerThatSlowsDownIsNamedWithWhatItStillNeeds) {
  ByHand run(4);
  std::optional<StragglerDecision> decision;
  Seconds now_s = 0.5;
  for (; !decision && now_s < 40; now_s += 0.5) {
    const double others = std::min(1.0, now_s / 20);
    const double slow = now_s < 10 ? now_s / 20 : 0.5 + (now_s - 10) / 200;
    for (const std::size_t s : {0u, 2u, 3u}) {
      if (now_s < 20) continue;
      run.state().steps[s] = WorkState::kDone;
      run.state().step_ended_s[s] = 20;
    }
    decision = run.Look(now_s, {others, slow, others, others});
  }
  ASSERT_TRUE(decision);
  EXPECT_LE(now_s, 1.5 * 20);
  EXPECT_THAT(decision->workers, ElementsAre(1));
  const double share = 0.5 + (run.state().now_s - 10) / 200;
  const Seconds ends_s = 20 / decision->change.rate_factor[1];
  EXPECT_NEAR(ends_s, run.state().now_s + (1 - share) * 200, 15);
}

// A sort after all is read, as long as reading was: nobody is named for it.
TEST(StragglerWatchTest, WhoHasReadAllIsLateOnlyOnceItsTimeIsOver) {
  ByHand run(4);
  for (Seconds now_s = 0.5; now_s < 20; now_s += 0.5) {
    const double share = std::min(1.0, now_s / 20);
    EXPECT_FALSE(run.Look(now_s, {share, std::min(1.0, 2 * share), share, share}));
  }
}

// Blocks of a quarter of the input: between two of them a step seems to stand still.
TEST(StragglerWatchTest, LargeBlocksAreNoPauses) {
  ByHand run(4, 40);
  for (Seconds now_s = 0.5; now_s < 40; now_s += 0.5) {
    const double share = now_s / 40;
    const double blocks = std::floor(share * 4) / 4;
    EXPECT_FALSE(run.Look(now_s, {share, blocks, share, share})) << now_s;
  }
}

// Of edits that are not taken each next one is asked for later, up to the pause.
TEST(StragglerWatchTest, NobodyIsNamedTwiceWithinThePause) {
  ByHand run(4, 40);
  std::vector<Seconds> pauses;
  Seconds last_s = -1;
  for (Seconds now_s = 0.5; now_s < 18; now_s += 0.5) {
    const double share = now_s / 40;
    if (!run.Look(now_s, {share, share / 10, share, share})) continue;
    if (last_s >= 0) pauses.push_back(now_s - last_s);
    last_s = now_s;
  }
  EXPECT_THAT(pauses, ElementsAre(kAskAgainS, 2 * kAskAgainS, 4 * kAskAgainS, kEditPauseS));
}

// The worker is slower still than the edit says.
TEST(StragglerWatchTest, NobodyIsNamedWithinThePauseAfterAnEdit) {
  ByHand run(4, 60);
  Plan edited = run.plan();
  std::vector<Seconds> named_s;
  for (Seconds now_s = 0.5; now_s < 12; now_s += 0.5) {
    const std::optional<StragglerDecision> decision =
        run.Look(now_s, {now_s / 60, std::min(now_s, 3.0) / 600, now_s / 60, now_s / 60});
    if (!decision) continue;
    named_s.push_back(now_s);
    if (named_s.size() > 1) break;
    for (planner::ComputeStep& step : edited.steps) {
      if (step.worker == 1) step.duration_s /= decision->change.rate_factor[1];
    }
    run.watch().TakeEdit(edited, run.state(), {}, decision->change);
  }
  ASSERT_THAT(named_s, SizeIs(2));
  EXPECT_GE(named_s[1] - named_s[0], kEditPauseS);
}

// The edit says that worker 1 computes at a tenth; as long as it does nobody is named. Then it is
// as fast as ever.
TEST(StragglerWatchTest, AWorkerThatRecoversGetsItsRateBack) {
  ByHand run(4, 60);
  std::optional<StragglerDecision> slow;
  Seconds now_s = 0;
  while (!slow && now_s < 10) {
    now_s += 0.5;
    slow = run.Look(now_s, {now_s / 60, now_s / 600, now_s / 60, now_s / 60});
  }
  ASSERT_TRUE(slow);
  EXPECT_NEAR(run.watch().Rates().compute[1], 0.1, 0.05);
  Plan edited = run.plan();
  for (planner::ComputeStep& step : edited.steps) {
    if (step.worker == 1) step.duration_s /= slow->change.rate_factor[1];
  }
  run.watch().TakeEdit(edited, run.state(), {}, slow->change);
  for (; now_s < 12; now_s += 0.5) {
    EXPECT_FALSE(run.Look(now_s, {now_s / 60, now_s / 600, now_s / 60, now_s / 60})) << now_s;
  }
  std::optional<StragglerDecision> recovered;
  for (; !recovered && now_s < 30; now_s += 0.5) {
    recovered =
        run.Look(now_s, {now_s / 60, 12.0 / 600 + (now_s - 12) / 60, now_s / 60, now_s / 60});
  }
  ASSERT_TRUE(recovered);
  EXPECT_LE(now_s, 12 + kRateWindowS + 3);
  EXPECT_THAT(recovered->workers, ElementsAre(1));
  EXPECT_GT(recovered->change.rate_factor[1], 2);
  for (; now_s < 36; now_s += 0.5) {
    run.Look(now_s, {now_s / 60, 12.0 / 600 + (now_s - 12) / 60, now_s / 60, now_s / 60});
  }
  EXPECT_GT(run.watch().Rates().compute[1], 0.5);
}

TEST(StragglerWatchTest, WhoHasNothingLeftIsNotNamed) {
  ByHand run(4);
  for (std::size_t s = 0; s < run.plan().steps.size(); ++s) {
    const bool last = run.plan().steps[s].worker == 1 && run.plan().steps[s].layer == 0;
    run.state().steps[s] = last ? WorkState::kUnderWay : WorkState::kDone;
    run.state().step_began_s[s] = 0;
    run.state().step_ended_s[s] = last ? -1 : 20;
  }
  run.state().steps[1] = WorkState::kDone;
  run.state().step_ended_s[1] = 200;
  for (Seconds now_s = 200; now_s < 210; now_s += 0.5) EXPECT_FALSE(run.Look(now_s, {}));
}

// Sections of 0.1 s, 1 s or 10 s each move through a port at a tenth, both ways.
TEST(StragglerWatchTest, ASlowPortIsNamed) {
  for (const Seconds section_s : {0.03, 0.1, 0.3, 1.0, 3.0, 10.0}) {
    const Plan plan = WordCountLike(8, 1, 8 * section_s * 12.5, 1);
    const WatchedRun run =
        RunWatched(plan, {.port_rate = SlowOne(8, 3, 0.1)}, Heard::kBytes, Edits::kNone);
    ASSERT_FALSE(run.named.empty()) << section_s;
    Seconds shuffle_begins_s = 1e9;
    const planner::Prediction prediction = *planner::Predict(plan);
    for (const planner::Interval& transfer : prediction.transfers) {
      shuffle_begins_s = std::min(shuffle_begins_s, transfer.start_s);
    }
    const WatchedRun::Named& first = run.named[0];
    EXPECT_LE(first.at_s, shuffle_begins_s + std::max(1.5 * section_s + 1.5, 3.0)) << section_s;
    EXPECT_THAT(first.decision.workers, ElementsAre(3)) << section_s;
    EXPECT_LT(first.decision.change.port_factor[3], 0.5) << section_s;
    EXPECT_THAT(first.decision.change.rate_factor, Each(1)) << section_s;
    EXPECT_THAT(run.named.back().decision.workers, ElementsAre(3)) << section_s;
  }
}

// One worker's first transfer, to another one, stands still, while that one and all others carry
// what they should: only the first is named, and at the second look that finds it.
TEST(StragglerWatchTest, WhoCarriesMeanwhileIsNotWhatHoldsATransferUp) {
  for (const bool sends : {true, false}) {
    const Plan plan = WordCountLike(8, 1, 10, 1);
    PlanState state = planner::NothingDone(plan);
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      if (plan.steps[s].layer > 0) continue;
      state.steps[s] = WorkState::kDone;
      state.step_began_s[s] = 0;
      state.step_ended_s[s] = 10;
    }
    std::optional<std::size_t> held_up;
    std::vector<std::size_t> others;
    for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
      const planner::Transfer& transfer = plan.transfers[t];
      const planner::WorkerIndex slow = sends ? transfer.sender : transfer.receiver;
      const planner::WorkerIndex peer = sends ? transfer.receiver : transfer.sender;
      if (slow == 3 && peer == 5 && !held_up) held_up = t;
      if (slow != 3 && peer != 3) others.push_back(t);
    }
    ASSERT_TRUE(held_up);
    state.transfers[*held_up] = WorkState::kUnderWay;
    state.transfer_began_s[*held_up] = 10;
    StragglerWatch watch(plan);
    std::vector<Seconds> named_at_s;
    // Each look a little sooner after the one before than the pause between them.
    for (std::size_t look = 1; look <= 8; ++look) {
      state.now_s = 10 + 0.49 * static_cast<double>(look);
      for (std::size_t t = (look - 1) * 4; t < std::min(look * 4, others.size()); ++t) {
        state.transfers[others[t]] = WorkState::kDone;
        state.transfer_ended_s[others[t]] = state.now_s;
        state.transfer_began_s[others[t]] = state.now_s - plan.transfers[others[t]].duration_s;
      }
      watch.Observe({.state = state});
      const std::optional<StragglerDecision> decision = watch.Decide();
      if (!decision) continue;
      named_at_s.push_back(state.now_s);
      EXPECT_THAT(decision->workers, ElementsAre(3)) << decision->why;
    }
    // A transfer of 0.1 s is late by half a second at the second look.
    ASSERT_FALSE(named_at_s.empty());
    EXPECT_EQ(named_at_s[0], 10 + 0.49 * 3) << (sends ? "sends" : "receives");
  }
}

// A worker that gets a tenth of its processor serves its port as slowly: that is seen first, and
// moves nothing while its map is under way. That it computes slowly is told as soon as it is known.
TEST(StragglerWatchTest, WhoIsSlowInTheOtherWayTooIsNamedWithinThePause) {
  ByHand run(4, 10, 1);
  const Plan& plan = run.plan();
  std::vector<std::size_t> to_slow, others;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    if (plan.transfers[t].sender != 1) {
      (plan.transfers[t].receiver == 1 ? to_slow : others).push_back(t);
    }
  }
  ASSERT_GE(to_slow.size(), 3u);
  const auto arrives = [&](std::size_t t, Seconds began_s, Seconds ended_s) {
    run.state().transfers[t] = WorkState::kDone;
    run.state().transfer_began_s[t] = began_s;
    run.state().transfer_ended_s[t] = ended_s;
  };
  std::vector<Seconds> ports_s, compute_s;
  for (Seconds now_s = 1; now_s < 16; now_s += 0.5) {
    // Worker 1 has read six tenths after 6 s, and no more.
    std::vector<double> shares(4, std::min(1.0, now_s / 10));
    shares[1] = std::min(0.6, now_s / 10);
    for (std::size_t s = 0; s < 4 && now_s >= 10; ++s) {
      if (s == 1) continue;
      run.state().steps[s] = WorkState::kDone;
      run.state().step_ended_s[s] = 10;
    }
    if (now_s == 11) {
      for (const std::size_t t : others) arrives(t, 10, 10.5);
    }
    if (now_s == 12) {
      for (std::size_t i = 0; i < 2; ++i) arrives(to_slow[i], 10, 12);
    }
    const std::optional<StragglerDecision> decision = run.Look(now_s, shares);
    if (!decision) continue;
    EXPECT_THAT(decision->workers, ElementsAre(1)) << decision->why;
    (decision->change.rate_factor[1] < 1 ? compute_s : ports_s).push_back(now_s);
  }
  ASSERT_FALSE(ports_s.empty());
  ASSERT_FALSE(compute_s.empty());
  EXPECT_LT(compute_s[0] - ports_s[0], kEditPauseS);
}

// What it is worth: one of eight workers computes at a tenth, so that the run would take eight
// times as long. Several map steps a worker move before they begin; the one that a worker has where
// the planner chooses is given up and made anew by all.
TEST(StragglerWatchTest, EditsEndARunWithAStragglerSoon) {
  for (const std::int32_t maps_each : {1, 8}) {
    const Plan plan = WordCountLike(8, maps_each, 30, 0.01);
    const Seconds planned_s = planner::Predict(plan)->makespan_s;
    const Reality reality{.rate = SlowOne(8, 3, 0.1)};
    EXPECT_GT(RunWatched(plan, reality, Heard::kBytes, Edits::kNone).makespan_s, 8 * planned_s);
    const WatchedRun run =
        RunWatched(plan, reality, Heard::kBytes, Edits::kTaken,
                   [](const Plan& before, const PlanState& state, const planner::PlanChange& change,
                      const planner::PlanEdit& edit) {
                     EXPECT_EQ(planner::CheckEdit(before, state, change, edit), absl::OkStatus());
                   });
    EXPECT_LE(run.makespan_s, 1.35 * planned_s) << maps_each << " map steps a worker";
    ASSERT_FALSE(run.named.empty());
    EXPECT_EQ(run.named[0].edit.redone.size(), 1u) << run.named[0].edit.why;
  }
}

}  // namespace
}  // namespace weir::master
