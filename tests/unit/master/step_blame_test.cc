#include "runtime/master/job/step_blame.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/unit/base/moment.h"

namespace weir::master {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Most rules are not of time.
class BlameOfOneMoment : public StepBlame {
 public:
  using StepBlame::StepBlame;
  BlameVerdict Failed(v1::JobError error, const StepInput& input, absl::Span<const DiskRoom> alive,
                      StepMoves moves = StepMoves::kNever) {
    return StepBlame::Failed(std::move(error), input, alive, Moment(0), moves);
  }
};

v1::JobError Error(std::string_view code, const std::string& worker,
                   v1::FaultOf fault = v1::FAULT_OF_UNSPECIFIED) {
  v1::JobError error = MakeJobError(code, "it failed", "mend it");
  error.set_worker(worker);
  error.set_fault_of(fault);
  return error;
}

v1::JobError FullDisk(const std::string& worker) {
  return Error(job_error::kDiskFull, worker, v1::FAULT_OF_WORKER);
}

std::vector<DiskRoom> Workers(int n) {
  std::vector<DiskRoom> workers;
  for (int w = 0; w < n; ++w) {
    workers.push_back({std::string(1, static_cast<char>('a' + w)), 10 + w, "", 1'000'000, 500});
  }
  return workers;
}

const StepInput kFirstHalf{"map", 0, 50};
const StepInput kSecondHalf{"map", 50, 100};
const StepInput kReduce{"reduce"};

TEST(StepBlameTest, WhatTheJobItselfDidEndsItAsItIs) {
  BlameOfOneMoment blame(false);
  for (const std::string_view code :
       {job_error::kUserError, job_error::kBadRecord, job_error::kTaskHung,
        job_error::kInputUnreadable, job_error::kOutputUnusable, job_error::kOutputNotShared,
        job_error::kDataLoss, job_error::kWorkerUnreachable, job_error::kInternal,
        // Of the output; of a limit that the operator gave.
        job_error::kDiskFull, job_error::kOutOfMemory}) {
    const v1::JobError error = Error(code, "a");
    const BlameVerdict verdict = blame.Failed(error, kFirstHalf, Workers(3));
    EXPECT_FALSE(verdict.plan_again) << code;
    EXPECT_EQ(verdict.error.SerializeAsString(), error.SerializeAsString());
  }
  EXPECT_THAT(blame.LeftOut(Workers(3)), IsEmpty());
}

TEST(StepBlameTest, AWorkerWithAFaultIsLeftOut) {
  const v1::JobError faults[] = {FullDisk("b"), Error(job_error::kWorkDirectoryLost, "b"),
                                 Error(job_error::kInternal, "b", v1::FAULT_OF_WORKER),
                                 Error(job_error::kDataLoss, "b", v1::FAULT_OF_WORKER)};
  for (const v1::JobError& error : faults) {
    BlameOfOneMoment blame(false);
    EXPECT_TRUE(blame.Failed(error, kFirstHalf, Workers(3)).plan_again) << error.code();
    EXPECT_THAT(blame.LeftOut(Workers(3)), ElementsAre("b")) << error.code();
    std::vector<DiskRoom> restarted = Workers(3);
    restarted[1].epoch = 99;
    EXPECT_THAT(blame.LeftOut(restarted), IsEmpty()) << "another registration is another worker";
  }
}

TEST(StepBlameTest, WhatHappensBetweenTwoWorkersIsLaidAtNeither) {
  const v1::JobError faults[] = {Error(job_error::kTransferFailed, "b"),
                                 Error(job_error::kWorkerLost, "b"),
                                 Error(job_error::kDataLoss, "b", v1::FAULT_OF_EXCHANGE)};
  for (const v1::JobError& error : faults) {
    BlameOfOneMoment blame(false);
    for (int time = 0; time < limits::kWorkerFaultsMax; ++time) {
      EXPECT_TRUE(blame.Failed(error, {}, Workers(2)).plan_again) << error.code();
      EXPECT_THAT(blame.LeftOut(Workers(2)), IsEmpty());
    }
    EXPECT_FALSE(blame.Failed(error, {}, Workers(2)).plan_again) << "not for ever";
  }
}

TEST(StepBlameTest, TheOnlyWorkerIsTriedAgainOnlyWhereItsFaultPasses) {
  BlameOfOneMoment blame(false);
  const auto alone = Workers(1);
  EXPECT_FALSE(blame.Failed(Error(job_error::kInternal, "a", v1::FAULT_OF_WORKER), kReduce, alone)
                   .plan_again);
  EXPECT_TRUE(blame.Failed(Error(job_error::kWorkDirectoryLost, "a"), kReduce, alone).plan_again);
  EXPECT_THAT(blame.LeftOut(alone), IsEmpty());
}

TEST(StepBlameTest, OneLeftOutIsTakenBackWhereNobodyElseIsLeft) {
  BlameOfOneMoment blame(false);
  ASSERT_TRUE(blame.Failed(Error(job_error::kWorkDirectoryLost, "a"), {}, Workers(2)).plan_again);
  EXPECT_THAT(blame.LeftOut(Workers(2)), ElementsAre("a"));
  EXPECT_THAT(blame.LeftOut(Workers(1)), IsEmpty()) << "the other one is lost";
}

TEST(StepBlameTest, FullDisksAreLeftOutUntilNoneHasRoomWhichIsSaidWithNumbers) {
  BlameOfOneMoment blame(false);
  std::vector<DiskRoom> workers = Workers(3);
  for (std::size_t w = 0; w < workers.size(); ++w) {
    workers[w].free_bytes = static_cast<std::int64_t>(100 + w);
  }
  for (const char* worker : {"a", "b"}) {
    const BlameVerdict verdict = blame.Failed(FullDisk(worker), kFirstHalf, workers);
    EXPECT_TRUE(verdict.plan_again);
    EXPECT_THAT(verdict.without_room, ElementsAre(worker));
  }
  EXPECT_THAT(blame.LeftOut(workers), ElementsAre("a", "b"));
  const BlameVerdict verdict = blame.Failed(FullDisk("c"), kFirstHalf, workers);
  EXPECT_FALSE(verdict.plan_again);
  EXPECT_EQ(verdict.error.code(), job_error::kDiskFull);
  EXPECT_THAT(verdict.error.message(),
              AllOf(HasSubstr("it failed"),
                    HasSubstr("worker a has 100 bytes free and needs about 500 by the plan"),
                    HasSubstr("worker b has 101 bytes free"), HasSubstr("worker c has 102")));
  EXPECT_THAT(blame.LeftOut(workers), ElementsAre("a", "b", "c"));
  // As one that could have done it is lost.
  EXPECT_THAT(blame.NoRoom({}).message(), HasSubstr("worker b has 101 bytes free"));
  EXPECT_EQ(blame.NoRoom({}).code(), job_error::kDiskFull);
}

TEST(StepBlameTest, FullDisksDoNotUseUpAttempts) {
  BlameOfOneMoment blame(false);
  const auto workers = Workers(20);
  for (int w = 0; w < 19; ++w) {
    EXPECT_TRUE(blame.Failed(FullDisk(workers[static_cast<std::size_t>(w)].worker), {}, workers)
                    .plan_again);
  }
  EXPECT_THAT(blame.LeftOut(workers), testing::SizeIs(19));
}

TEST(StepBlameTest, ADiskIsFullForAllThatStandOnItAndForThoseThatHaveLessThanTheyNeed) {
  BlameOfOneMoment blame(false);
  std::vector<DiskRoom> workers = Workers(6);
  workers[0].disk = workers[3].disk = "node1";
  workers[0].free_bytes = 400;
  workers[1].free_bytes = 300;  // and needs 500
  workers[2].free_bytes = 0;    // not known
  workers[4].free_bytes = 300;
  workers[4].needed_bytes = 200;
  const BlameVerdict verdict = blame.Failed(FullDisk("a"), kFirstHalf, workers);
  EXPECT_TRUE(verdict.plan_again);
  EXPECT_THAT(verdict.without_room, ElementsAre("a", "b", "d"));
  EXPECT_THAT(blame.LeftOut(workers), ElementsAre("a", "b", "d"));
}

TEST(StepBlameTest, AsMuchRoomAsTheFullDiskHadIsTooLittleForWhoNeedsMore) {
  BlameOfOneMoment blame(false);
  std::vector<DiskRoom> workers = Workers(4);
  for (DiskRoom& room : workers) room.free_bytes = 400;  // and needs 500
  workers[2].needed_bytes = 400;
  workers[3].free_bytes = 401;
  EXPECT_THAT(blame.Failed(FullDisk("a"), kFirstHalf, workers).without_room, ElementsAre("a", "b"));
}

TEST(StepBlameTest, AFullDiskOfOneThatIsGoneLeavesTheJobToOthers) {
  BlameOfOneMoment blame(false);
  EXPECT_TRUE(blame.Failed(FullDisk("z"), kFirstHalf, Workers(1)).plan_again);
  EXPECT_TRUE(blame.Failed(FullDisk("z"), kFirstHalf, {}).plan_again) << "or waits for them";
}

TEST(StepBlameTest, ACrashIsTriedOnceMoreOnAnotherWorker) {
  for (const v1::JobError& crash : {Error(job_error::kTaskCrashed, "a"),
                                    Error(job_error::kOutOfMemory, "a", v1::FAULT_OF_WORKER)}) {
    BlameOfOneMoment blame(false);
    EXPECT_TRUE(blame.Failed(crash, kFirstHalf, Workers(3)).plan_again);
    EXPECT_THAT(blame.LeftOut(Workers(3)), ElementsAre("a"));
    v1::JobError again = crash;
    again.set_worker("c");
    const BlameVerdict verdict = blame.Failed(again, {"map", 30, 100}, Workers(3));
    EXPECT_FALSE(verdict.plan_again) << "what it shares with the first is the job's";
    EXPECT_EQ(verdict.error.worker(), "c");
    EXPECT_EQ(verdict.error.code(), crash.code());
    EXPECT_THAT(verdict.error.message(), AllOf(HasSubstr("it failed"), HasSubstr("worker a")));
  }
}

TEST(StepBlameTest, WhereAStepCanMoveAloneItsWorkerStaysUntilItCrashesAgain) {
  BlameOfOneMoment blame(false);
  const v1::JobError crash = Error(job_error::kTaskCrashed, "a");
  const BlameVerdict first = blame.Failed(crash, kFirstHalf, Workers(3), StepMoves::kAlone);
  EXPECT_TRUE(first.plan_again);
  EXPECT_TRUE(first.elsewhere);
  EXPECT_THAT(blame.LeftOut(Workers(3)), IsEmpty());
  const BlameVerdict second = blame.Failed(crash, kSecondHalf, Workers(3), StepMoves::kAlone);
  EXPECT_TRUE(second.plan_again);
  EXPECT_FALSE(second.elsewhere);
  EXPECT_THAT(blame.LeftOut(Workers(3)), ElementsAre("a"));
  EXPECT_FALSE(
      blame.Failed(Error(job_error::kTaskCrashed, "b"), kFirstHalf, Workers(3), StepMoves::kAlone)
          .plan_again)
      << "the same input on two";
  BlameOfOneMoment alone(false);
  EXPECT_TRUE(alone.Failed(crash, kFirstHalf, Workers(1), StepMoves::kAlone).once_more);
}

v1::JobError Word(const std::string& worker, std::string_view code = job_error::kUserError) {
  v1::JobError error = Error(code, worker);
  error.set_step("map 0");
  return error;
}

TEST(StepBlameTest, WhatTheCodeSaysIsTheJobsOnceAnotherWorkerSaysItOfTheSameInput) {
  for (const std::string_view code : {job_error::kUserError, job_error::kBadRecord}) {
    BlameOfOneMoment blame(false);
    const BlameVerdict first =
        blame.Failed(Word("a", code), kFirstHalf, Workers(3), StepMoves::kAlone);
    EXPECT_TRUE(first.plan_again) << code;
    EXPECT_TRUE(first.elsewhere) << code;
    EXPECT_THAT(blame.LeftOut(Workers(3)), IsEmpty());
    const BlameVerdict second =
        blame.Failed(Word("c", code), kFirstHalf, Workers(3), StepMoves::kAlone);
    EXPECT_FALSE(second.plan_again) << code;
    EXPECT_EQ(second.error.SerializeAsString(), Word("c", code).SerializeAsString())
        << "as it would have ended it at once";
  }
}

TEST(StepBlameTest, WhatTheCodeSaysEndsTheJobWhereNoOtherMachineCanTellMore) {
  std::vector<DiskRoom> one_machine = Workers(3);
  for (DiskRoom& room : one_machine) room.disk = "node";
  EXPECT_FALSE(BlameOfOneMoment(false)
                   .Failed(Word("a"), kFirstHalf, one_machine, StepMoves::kAlone)
                   .plan_again);
  EXPECT_FALSE(BlameOfOneMoment(false)
                   .Failed(Word("a"), kFirstHalf, Workers(1), StepMoves::kAlone)
                   .plan_again);
  EXPECT_FALSE(BlameOfOneMoment(true)
                   .Failed(Word("a"), kFirstHalf, Workers(3), StepMoves::kAlone)
                   .plan_again)
      << "a given plan";
  EXPECT_FALSE(BlameOfOneMoment(false).Failed(Word("a"), kFirstHalf, Workers(3)).plan_again)
      << "a loop would begin from its first iteration";
}

TEST(StepBlameTest, APlanOfOneWorkerIsMadeAgainForAnotherMachine) {
  for (const v1::JobError& error : {Word("a"), Error(job_error::kTaskCrashed, "a")}) {
    BlameOfOneMoment blame(false);
    const BlameVerdict first = blame.Failed(error, kFirstHalf, Workers(2), StepMoves::kWithPlan);
    EXPECT_TRUE(first.plan_again) << error.code();
    EXPECT_FALSE(first.elsewhere) << "an edit has nobody to give the step to";
    EXPECT_THAT(blame.LeftOut(Workers(2)), ElementsAre("a"));
    v1::JobError again = error;
    again.set_worker("b");
    EXPECT_FALSE(blame.Failed(again, kFirstHalf, Workers(2), StepMoves::kWithPlan).plan_again);
  }
}

TEST(StepBlameTest, OneWhoseCodeFailsAgainIsLeftOut) {
  BlameOfOneMoment blame(false);
  ASSERT_TRUE(blame.Failed(Word("a"), kFirstHalf, Workers(3), StepMoves::kAlone).elsewhere);
  const BlameVerdict second = blame.Failed(Word("a"), kSecondHalf, Workers(3), StepMoves::kAlone);
  EXPECT_TRUE(second.plan_again);
  EXPECT_FALSE(second.elsewhere);
  EXPECT_THAT(blame.LeftOut(Workers(3)), ElementsAre("a"));
}

TEST(StepBlameTest, TwoOfOneMachineDoNotConfirmEachOther) {
  BlameOfOneMoment blame(false);
  std::vector<DiskRoom> workers = Workers(3);
  workers[0].disk = workers[1].disk = "node";
  EXPECT_TRUE(blame.Failed(Word("a"), kFirstHalf, workers, StepMoves::kAlone).elsewhere);
  EXPECT_TRUE(blame.Failed(Word("b"), kFirstHalf, workers, StepMoves::kAlone).elsewhere);
  EXPECT_FALSE(blame.Failed(Word("c"), kFirstHalf, workers, StepMoves::kAlone).plan_again);
}

TEST(StepBlameTest, WhoseWordAnotherWorkerRefutesIsToBlame) {
  BlameOfOneMoment blame(false);
  ASSERT_TRUE(blame.Failed(Word("a"), kFirstHalf, Workers(4), StepMoves::kAlone).elsewhere);
  EXPECT_THAT(blame.Refuted("map 0", kSecondHalf, "b"), IsEmpty()) << "of another plan";
  EXPECT_THAT(blame.Refuted("map 1", kFirstHalf, "b"), IsEmpty());
  EXPECT_THAT(blame.Refuted("map 0", kFirstHalf, "a"), IsEmpty()) << "it did it itself";
  EXPECT_THAT(blame.Refuted("map 0", kFirstHalf, "b"), ElementsAre("a"));
  EXPECT_THAT(blame.Refuted("map 0", kFirstHalf, "b"), IsEmpty()) << "once";
  EXPECT_TRUE(blame.Failed(Word("c"), kFirstHalf, Workers(4), StepMoves::kAlone).elsewhere)
      << "the first word of it counts for nothing";
  v1::JobError crash = Error(job_error::kTaskCrashed, "d");
  crash.set_step("map 1");
  BlameOfOneMoment crashed(false);
  ASSERT_TRUE(crashed.Failed(crash, kFirstHalf, Workers(4), StepMoves::kAlone).elsewhere);
  EXPECT_THAT(crashed.Refuted("map 1", kFirstHalf, "b"), IsEmpty()) << "a task may just die";
}

// Whatever fails, and in whatever order: a job is not begun anew for ever, and one whose input
// ended tasks of two workers ends.
TEST(StepBlameTest, AnyFaultsEndAfterAWhile) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](int n) {
      return static_cast<int>(random() % static_cast<std::uint32_t>(n));
    };
    BlameOfOneMoment blame(false);
    const int num_workers = 1 + draw(6);
    std::vector<std::string> crashed_first_half;
    int again = 0;
    for (int fault = 0; fault < 40; ++fault) {
      const std::string worker(1, static_cast<char>('a' + draw(num_workers)));
      const StepInput& input = draw(2) == 0 ? kFirstHalf : kSecondHalf;
      const v1::JobError errors[] = {FullDisk(worker), Error(job_error::kTaskCrashed, worker),
                                     Error(job_error::kInternal, worker, v1::FAULT_OF_WORKER),
                                     Error(job_error::kTransferFailed, worker),
                                     Error(job_error::kUserError, worker)};
      const v1::JobError& error = errors[draw(5)];
      const bool crash = error.code() == job_error::kTaskCrashed;
      const bool shared = crash && &input == &kFirstHalf &&
                          std::any_of(crashed_first_half.begin(), crashed_first_half.end(),
                                      [&worker](const auto& w) { return w != worker; });
      const BlameVerdict verdict =
          blame.Failed(error, input, Workers(num_workers), static_cast<StepMoves>(draw(3)));
      if (!verdict.plan_again) break;
      EXPECT_FALSE(shared) << "seed " << seed;
      const bool word = error.code() == job_error::kUserError;
      EXPECT_FALSE(verdict.elsewhere && !crash && !word) << "seed " << seed;
      if (crash && &input == &kFirstHalf) crashed_first_half.push_back(worker);
      // What is found full again is counted by who is left.
      again += error.code() == job_error::kDiskFull ? 0 : 1;
      ASSERT_LE(again, limits::kWorkerFaultsMax) << "seed " << seed;
    }
  }
}

TEST(StepBlameTest, CrashesOfOtherInputsAreCounted) {
  BlameOfOneMoment blame(false);
  const auto workers = Workers(9);
  EXPECT_TRUE(blame.Failed(Error(job_error::kTaskCrashed, "a"), kFirstHalf, workers).plan_again);
  EXPECT_TRUE(blame.Failed(Error(job_error::kTaskCrashed, "b"), kSecondHalf, workers).plan_again);
  EXPECT_TRUE(blame.Failed(Error(job_error::kTaskCrashed, "c"), kReduce, workers).plan_again);
  EXPECT_THAT(blame.LeftOut(workers), ElementsAre("a", "b", "c"));
  EXPECT_FALSE(blame.Failed(Error(job_error::kTaskCrashed, "d"), {}, workers).plan_again);
}

TEST(StepBlameTest, WhereNobodyElseIsATaskThatDiedIsTriedOnceMoreThere) {
  const v1::JobError crash = Error(job_error::kTaskCrashed, "a");
  for (const StepMoves moves : {StepMoves::kNever, StepMoves::kWithPlan}) {
    BlameOfOneMoment blame(false);
    BlameVerdict verdict = blame.Failed(crash, kFirstHalf, Workers(1), moves);
    EXPECT_TRUE(verdict.plan_again);
    EXPECT_FALSE(verdict.elsewhere);
    EXPECT_EQ(verdict.once_more, moves == StepMoves::kWithPlan) << "a loop begins anew";
    EXPECT_THAT(blame.LeftOut(Workers(1)), IsEmpty());
    EXPECT_TRUE(blame.Failed(crash, kSecondHalf, Workers(1), moves).plan_again) << "other input";
    verdict = blame.Failed(crash, kFirstHalf, Workers(1), moves);
    EXPECT_FALSE(verdict.plan_again);
    EXPECT_THAT(verdict.error.message(), HasSubstr("so did another one before, of the same input"));
  }
  BlameOfOneMoment of_two(false);
  ASSERT_TRUE(of_two.Failed(FullDisk("b"), kReduce, Workers(2)).plan_again);
  EXPECT_TRUE(of_two.Failed(crash, kReduce, Workers(2)).plan_again) << "the other one has no room";
  EXPECT_FALSE(of_two.Failed(crash, kReduce, Workers(2)).plan_again);
  BlameOfOneMoment of_none(false);
  EXPECT_FALSE(of_none.Failed(crash, kReduce, Workers(0)).plan_again) << "it is gone as well";
  BlameOfOneMoment given(true);
  EXPECT_FALSE(given.Failed(crash, kReduce, Workers(1)).plan_again);
}

TEST(StepBlameTest, StepsWithoutFilesAreTheSameByTheirKind) {
  BlameOfOneMoment blame(false);
  EXPECT_TRUE(blame.Failed(Error(job_error::kTaskCrashed, "a"), kReduce, Workers(3)).plan_again);
  EXPECT_FALSE(blame.Failed(Error(job_error::kTaskCrashed, "b"), kReduce, Workers(3)).plan_again);
  BlameOfOneMoment at_the_start(false);
  EXPECT_TRUE(at_the_start.Failed(Error(job_error::kTaskCrashed, "a"), {}, Workers(3)).plan_again);
  EXPECT_FALSE(at_the_start.Failed(Error(job_error::kTaskCrashed, "b"), {}, Workers(3)).plan_again)
      << "before any step";
}

TEST(StepBlameTest, AGivenPlanLeavesNobodyOut) {
  for (const v1::JobError& error : {FullDisk("a"), Error(job_error::kTaskCrashed, "a"),
                                    Error(job_error::kInternal, "a", v1::FAULT_OF_WORKER)}) {
    BlameOfOneMoment blame(true);
    EXPECT_FALSE(blame.Failed(error, kFirstHalf, Workers(3)).plan_again) << error.code();
  }
  BlameOfOneMoment blame(true);
  EXPECT_TRUE(
      blame.Failed(Error(job_error::kWorkDirectoryLost, "a"), kFirstHalf, Workers(3)).plan_again);
  EXPECT_THAT(blame.LeftOut(Workers(3)), IsEmpty());
}

TEST(StepBlameTest, FaultsOfLongAgoAreForgottenByAJobThatGetsSomewhere) {
  StepBlame blame(false);
  const v1::JobError fault = Error(job_error::kTransferFailed, "b");
  MonoTime now = Moment(0);
  for (int week = 0; week < 20; ++week) {
    for (int time = 0; time < limits::kWorkerFaultsMax; ++time) {
      EXPECT_TRUE(blame.Failed(fault, {}, Workers(2), now).plan_again) << "week " << week;
      now = now + absl::Minutes(1);
    }
    blame.StepCommitted(now);
    now = now + absl::Hours(24 * 7);
  }
}

TEST(StepBlameTest, AJobThatGetsNowhereEndsHoweverSlowlyItFails) {
  StepBlame blame(false);
  const v1::JobError fault = Error(job_error::kWorkDirectoryLost, "a");
  MonoTime now = Moment(0);
  blame.StepCommitted(now);
  for (int day = 0; day < limits::kWorkerFaultsMax; ++day) {
    now = now + absl::Hours(24);
    EXPECT_TRUE(blame.Failed(fault, {}, Workers(1), now).plan_again) << "day " << day;
  }
  EXPECT_FALSE(blame.Failed(fault, {}, Workers(1), now + absl::Hours(24)).plan_again);
}

TEST(StepBlameTest, FaultsOfOneHourEndAJobWhateverItDoesBetweenThem) {
  StepBlame blame(false);
  const v1::JobError fault = Error(job_error::kTransferFailed, "b");
  MonoTime now = Moment(0);
  for (int time = 0; time < limits::kWorkerFaultsMax; ++time) {
    EXPECT_TRUE(blame.Failed(fault, {}, Workers(2), now).plan_again);
    now = now + absl::Minutes(10);
    blame.StepCommitted(now);
  }
  EXPECT_FALSE(blame.Failed(fault, {}, Workers(2), now).plan_again);
  // The first two of the four are an hour old by then; one too many was counted, too.
  now = Moment(0) + kFaultForgotten + absl::Minutes(10);
  EXPECT_TRUE(blame.Failed(fault, {}, Workers(2), now).plan_again);
}

TEST(StepBlameTest, WhatCrashedIsRememberedHoweverSlowItIs) {
  StepBlame blame(false);
  EXPECT_TRUE(blame.Failed(Error(job_error::kTaskCrashed, "a"), kFirstHalf, Workers(3), Moment(0))
                  .plan_again);
  const MonoTime later = Moment(0) + absl::Hours(48);
  blame.StepCommitted(later);
  EXPECT_FALSE(
      blame.Failed(Error(job_error::kTaskCrashed, "b"), kFirstHalf, Workers(3), later).plan_again);
}

}  // namespace
}  // namespace weir::master
