#include "runtime/master/share/port_arbiter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace weir::master {
namespace {

using JobId = PortArbiter::JobId;

MonoTime At(double seconds) {
  return MonoTime::FromNanos(static_cast<std::int64_t>(seconds * 1e9));
}

PortUse Use(WorkerId sender, WorkerId receiver, double seconds) {
  return {sender, receiver, 1, seconds};
}

class PortArbiterTest : public ::testing::Test {
 protected:
  JobId Join(std::vector<PortUse> uses, std::vector<SharedCut> cuts = {}, double at_s = 0) {
    const std::size_t number = woken_.size();
    woken_.push_back(0);
    return arbiter_.Join(1, std::move(cuts), std::move(uses), At(at_s),
                         [this, number] { ++woken_[number]; });
  }
  /// One turn that asks for one transfer; it moves for as long as planned when it may.
  bool Try(JobId job, PortArbiter::MoveId move, double now_s, double takes_s) {
    arbiter_.BeginTurn(job, At(now_s));
    const bool may = arbiter_.MayMove(job, move);
    if (may) arbiter_.Moves(job, move, At(now_s + takes_s));
    arbiter_.EndTurn(job);
    return may;
  }
  PortArbiter arbiter_;
  std::vector<int> woken_;
};

TEST_F(PortArbiterTest, OneJobAloneMovesWhateverItLikes) {
  const SharedCut narrow{{1, 2}, {1, 2}, 1};
  const JobId job = Join({Use(1, 2, 1), Use(1, 2, 1), Use(2, 1, 1)}, {narrow});
  for (int move = 0; move < 3; ++move) EXPECT_TRUE(Try(job, move, 0, 1));
}

TEST_F(PortArbiterTest, TheSmallerJobStandsFirstAndTheLargerOneWaitsForIt) {
  const JobId large = Join({Use(1, 2, 10), Use(1, 3, 10), Use(4, 5, 10)});
  const JobId small = Join({Use(1, 2, 1)});
  EXPECT_EQ(arbiter_.order(), (std::vector<JobId>{small, large}));
  EXPECT_TRUE(Try(small, 0, 0, 1));
  EXPECT_FALSE(Try(large, 0, 0, 10)) << "both ports are taken";
  EXPECT_FALSE(Try(large, 1, 0, 10)) << "the send port is taken";
  EXPECT_TRUE(Try(large, 2, 0, 10)) << "ports that nobody else uses";
  EXPECT_EQ(woken_[0], 0);
  EXPECT_FALSE(Try(large, 1, 0.5, 10));
  arbiter_.Passed(small, 0);
  EXPECT_EQ(woken_[0], 1);
  EXPECT_TRUE(Try(large, 1, 1, 10));
}

TEST_F(PortArbiterTest, ASmallTransferSharesThePortOfALongOneOfALargerJob) {
  const JobId large = Join({Use(1, 2, 100)});
  EXPECT_TRUE(Try(large, 0, 0, 100));
  const JobId small = Join({Use(1, 3, 1)});
  EXPECT_TRUE(Try(small, 0, 10, 1)) << "90 s are left, it takes one";
  const JobId third = Join({Use(1, 4, 0.5)});
  EXPECT_FALSE(Try(third, 0, 10, 0.5)) << "two jobs a port";
}

TEST_F(PortArbiterTest, ATransferWaitsForOneThatIsDoneSoon) {
  const JobId large = Join({Use(1, 2, 100), Use(1, 2, 100)});
  EXPECT_TRUE(Try(large, 0, 0, 100));
  const JobId small = Join({Use(1, 3, 2)});
  EXPECT_FALSE(Try(small, 0, 99, 2)) << "one second is left";
  ASSERT_TRUE(arbiter_.next_look(small));
  EXPECT_GT(*arbiter_.next_look(small), At(102));
  EXPECT_LT(*arbiter_.next_look(small), At(102.001));
  EXPECT_FALSE(Try(small, 0, 101.5, 2)) << "it may be about to end";
  arbiter_.Passed(large, 0);
  EXPECT_FALSE(Try(large, 1, 101.6, 100)) << "the small one waits for the port";
  EXPECT_TRUE(Try(small, 0, 101.6, 2));
  EXPECT_FALSE(Try(large, 1, 101.6, 100));
}

TEST_F(PortArbiterTest, WhatIsLongOverdueIsWaitedForNoMore) {
  const JobId large = Join({Use(1, 2, 100)});
  EXPECT_TRUE(Try(large, 0, 0, 100));
  const JobId small = Join({Use(1, 3, 2)});
  EXPECT_FALSE(Try(small, 0, 101, 2));
  const std::optional<MonoTime> look = arbiter_.next_look(small);
  ASSERT_TRUE(look);
  arbiter_.BeginTurn(small, *look);
  EXPECT_TRUE(arbiter_.MayMove(small, 0));
  arbiter_.EndTurn(small);
}

TEST_F(PortArbiterTest, APortThatAnEarlierJobNeedsLaterIsNotKeptIdle) {
  const JobId first = Join({Use(1, 2, 1)});
  const JobId second = Join({Use(1, 3, 2)});
  const JobId third = Join({Use(4, 3, 3)});
  ASSERT_EQ(arbiter_.order(), (std::vector<JobId>{first, second, third}));
  EXPECT_TRUE(Try(first, 0, 0, 1));
  EXPECT_FALSE(Try(second, 0, 0, 2)) << "its send port is taken";
  EXPECT_TRUE(Try(third, 0, 0, 3)) << "the receive port of 3 is not what the second waits for";
}

TEST_F(PortArbiterTest, CutsCarryNoMoreThanTheirChannelsWhoeverSends) {
  const SharedCut cut{{1, 2, 3}, {4, 5, 6}, 2};
  const JobId a = Join({Use(1, 4, 5), Use(2, 5, 5), Use(3, 6, 5)}, {cut});
  const JobId b = Join({Use(3, 6, 1), Use(4, 1, 1)}, {cut});
  EXPECT_TRUE(Try(a, 0, 0, 5));
  EXPECT_TRUE(Try(a, 1, 0, 5));
  EXPECT_FALSE(Try(b, 0, 0, 1)) << "both channels are taken";
  EXPECT_TRUE(Try(b, 1, 0, 1)) << "the other direction";
  EXPECT_FALSE(Try(b, 0, 0, 1));
  arbiter_.Passed(a, 0);
  EXPECT_EQ(woken_[1], 1);
  EXPECT_FALSE(Try(a, 2, 1, 5)) << "the channel is kept for the job before it";
  EXPECT_TRUE(Try(b, 0, 1, 1));
}

TEST_F(PortArbiterTest, CutsOfOtherJobsHoldForThoseThatDoNotKnowThem) {
  const SharedCut cut{{1, 2}, {3, 4}, 1};
  const JobId knows = Join({Use(1, 3, 5)}, {cut});
  const JobId does_not = Join({Use(2, 4, 5)});
  EXPECT_TRUE(Try(knows, 0, 0, 5));
  EXPECT_FALSE(Try(does_not, 0, 0, 5));
  arbiter_.Leave(knows, At(1));
  EXPECT_EQ(woken_[1], 1);
  EXPECT_TRUE(Try(does_not, 0, 1, 5));
}

TEST_F(PortArbiterTest, AJobThatStoppedWaitsForNothingAndKeepsItsPortsUntilItLeaves) {
  const JobId small = Join({Use(1, 2, 1), Use(3, 4, 1)});
  const JobId large = Join({Use(3, 2, 5), Use(3, 5, 5), Use(3, 6, 50)});
  EXPECT_TRUE(Try(large, 1, 0, 1));
  EXPECT_TRUE(Try(small, 0, 0, 1));
  EXPECT_FALSE(Try(small, 1, 0.5, 1)) << "half a second of the other is left";
  arbiter_.Passed(large, 1);
  EXPECT_FALSE(Try(large, 2, 0.6, 50)) << "the small one waits for the send port";
  arbiter_.Withdraw(small);
  EXPECT_EQ(woken_[1], 1);
  EXPECT_FALSE(Try(large, 0, 0.6, 5)) << "it still moves";
  arbiter_.Leave(small, At(2));
  EXPECT_EQ(woken_[1], 2);
  EXPECT_TRUE(Try(large, 0, 2, 5));
}

TEST_F(PortArbiterTest, AJobThatHasBeenThereForLongStandsBeforeNewSmallOnes) {
  const JobId old = Join({Use(1, 2, 20)});
  const JobId young = Join({Use(1, 2, 10)}, {}, 30);
  EXPECT_EQ(arbiter_.order(), (std::vector<JobId>{young, old}));
  arbiter_.Leave(young, At(40));
  const JobId late = Join({Use(1, 2, 10)}, {}, 120);
  EXPECT_EQ(arbiter_.order(), (std::vector<JobId>{old, late}));
}

// Transfers of one second, all ready: the order that BSSI gives, kept on every port, ends within
// four times the least sum that any schedule could have. That is bounded from below by the best
// permutation where each port serves each job at once (the concurrent open shop).
RC_GTEST_PROP(PortArbiterProperty, CompletionTimesAreWithinFourTimesTheBest, ()) {
  const auto num_jobs = *rc::gen::inRange<std::size_t>(2, 6);
  const auto num_workers = *rc::gen::inRange<WorkerId>(2, 6);
  PortArbiter arbiter;
  struct Job {
    JobId id = 0;
    double weight = 1;
    std::vector<PortUse> uses;
    std::set<PortArbiter::MoveId> left;
    double end_s = 0;
  };
  std::vector<Job> jobs(num_jobs);
  for (Job& job : jobs) {
    job.weight = *rc::gen::inRange(1, 10);
    const auto num_moves = *rc::gen::inRange(1, 15);
    for (int m = 0; m < num_moves; ++m) {
      const auto sender = *rc::gen::inRange<WorkerId>(0, num_workers);
      const auto receiver = (sender + *rc::gen::inRange<WorkerId>(1, num_workers)) % num_workers;
      job.uses.push_back(Use(sender, receiver, 1));
      job.left.insert(m);
    }
    job.id = arbiter.Join(job.weight, {}, job.uses, MonoTime(), [] {});
  }
  double now_s = 0;
  for (bool any = true; any; now_s += 1) {
    any = false;
    std::vector<std::pair<Job*, PortArbiter::MoveId>> moving;
    for (const JobId id : arbiter.order()) {
      Job& job = *std::find_if(jobs.begin(), jobs.end(), [&](const Job& j) { return j.id == id; });
      std::set<WorkerId> sends, receives;  // its own
      arbiter.BeginTurn(id, At(now_s));
      for (auto it = job.left.begin(); it != job.left.end();) {
        const PortUse& use = job.uses[static_cast<std::size_t>(*it)];
        const bool own_free = !sends.contains(use.sender) && !receives.contains(use.receiver);
        if (!own_free || !arbiter.MayMove(id, *it)) {
          ++it;
          continue;
        }
        sends.insert(use.sender);
        receives.insert(use.receiver);
        arbiter.Moves(id, *it, At(now_s + 1));
        moving.emplace_back(&job, *it);
        it = job.left.erase(it);
      }
      arbiter.EndTurn(id);
    }
    std::set<WorkerId> sends, receives;
    for (const auto& [job, move] : moving) {
      any = true;
      const PortUse& use = job->uses[static_cast<std::size_t>(move)];
      RC_ASSERT(sends.insert(use.sender).second);
      RC_ASSERT(receives.insert(use.receiver).second);
      job->end_s = now_s + 1;
    }
    for (const auto& [job, move] : moving) arbiter.Passed(job->id, move);
  }
  double sum = 0;
  for (const Job& job : jobs) {
    RC_ASSERT(job.left.empty());
    sum += job.weight * job.end_s;
  }
  std::vector<std::size_t> order(num_jobs);
  std::iota(order.begin(), order.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    std::map<WorkerId, double> sent, received;
    double completion = 0;
    for (const std::size_t j : order) {
      double end_s = 0;
      for (const PortUse& use : jobs[j].uses) {
        end_s = std::max({end_s, sent[use.sender] += 1, received[use.receiver] += 1});
      }
      completion += jobs[j].weight * end_s;
    }
    least = std::min(least, completion);
  } while (std::next_permutation(order.begin(), order.end()));
  RC_LOG() << "sum " << sum << ", bound " << least << "\n";
  RC_ASSERT(sum <= 4 * least);
}

}  // namespace
}  // namespace weir::master
