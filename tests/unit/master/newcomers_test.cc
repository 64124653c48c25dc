// When workers that join a job are asked about, prepared and taken; and what the planner is told of
// them.

#include "runtime/master/newcomers/newcomers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/master/newcomers/added_workers.h"

namespace weir::master {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Stage = Newcomers::Stage;

struct Nobody {
  template <typename Call>
  typename Call::Taken Carry(Call /*call*/) {
    return typename Call::Taken();
  }
};

RegisteredWorker Worker(const std::string& name, double rate = 1, const std::string& domain = "") {
  RegisteredWorker worker;
  worker.id = 1 + name.back() - 'a';
  worker.epoch = 10 + worker.id;
  worker.identity.set_name(name);
  worker.identity.set_handover_domain(domain);
  worker.profile.set_compute_rate(rate);
  worker.api = std::make_shared<rpc::WorkerApi>(std::make_shared<Nobody>());
  return worker;
}

std::vector<std::string> Names(const std::vector<RegisteredWorker>& workers) {
  std::vector<std::string> names;
  for (const RegisteredWorker& worker : workers) names.push_back(worker.identity.name());
  return names;
}

MonoTime At(double seconds) { return MonoTime() + absl::Seconds(seconds); }

TEST(NewcomersTest, AreSeenAsLongAsThePlanMayNameThem) {
  Newcomers newcomers;
  const std::vector<RegisteredWorker> alive = {Worker("c"), Worker("d"), Worker("e")};
  EXPECT_THAT(newcomers.Look(alive, 0, /*room=*/2), IsEmpty());
  EXPECT_THAT(Names(newcomers.TakeQuestion(At(1))), ElementsAre("c", "d"));
  newcomers.Answered(true);
  EXPECT_TRUE(newcomers.Prepared());
  const std::vector<std::string> names = {"c", "d"};
  ASSERT_TRUE(newcomers.Take(names));
  EXPECT_THAT(newcomers.Look({alive[2]}, 1, /*room=*/0), IsEmpty());
  EXPECT_THAT(newcomers.TakeQuestion(At(1000)), IsEmpty()) << "the plan is full";
  EXPECT_THAT(newcomers.Of(Stage::kSeen), IsEmpty());
}

TEST(NewcomersTest, AreAskedAboutPreparedAndTaken) {
  Newcomers newcomers;
  EXPECT_THAT(newcomers.Look({Worker("c")}, 0), IsEmpty());
  EXPECT_THAT(Names(newcomers.TakeQuestion(At(1))), ElementsAre("c"));
  EXPECT_THAT(newcomers.TakeQuestion(At(100)), IsEmpty()) << "an answer is awaited";
  newcomers.Answered(true);
  EXPECT_THAT(Names(newcomers.Of(Stage::kPreparing)), ElementsAre("c"));
  EXPECT_THAT(newcomers.TakeQuestion(At(200)), IsEmpty()) << "one is prepared";
  EXPECT_FALSE(newcomers.Take({{"c"}})) << "not yet";
  EXPECT_TRUE(newcomers.Prepared());
  EXPECT_FALSE(newcomers.Prepared());
  const auto taken = newcomers.Take({{"c"}});
  ASSERT_TRUE(taken);
  EXPECT_THAT(Names(*taken), ElementsAre("c"));
  EXPECT_THAT(newcomers.Of(Stage::kPrepared), IsEmpty());
}

TEST(NewcomersTest, APauseGrowsUntilSomethingIsNew) {
  Newcomers newcomers;
  (void)newcomers.Look({Worker("c")}, 0);
  EXPECT_FALSE(newcomers.TakeQuestion(At(0)).empty());
  newcomers.Answered(false);  // 10 s from now on
  EXPECT_TRUE(newcomers.TakeQuestion(At(9.9)).empty());
  EXPECT_FALSE(newcomers.TakeQuestion(At(10)).empty());
  newcomers.Answered(false);  // 20 s
  EXPECT_TRUE(newcomers.TakeQuestion(At(29.9)).empty());
  (void)newcomers.Look({Worker("c")}, 1);  // the plan was edited: 5 s
  EXPECT_FALSE(newcomers.TakeQuestion(At(15)).empty());
  newcomers.Answered(false);
  EXPECT_TRUE(newcomers.TakeQuestion(At(20)).empty());
  (void)newcomers.Look({Worker("c"), Worker("d")}, 1);  // so it is where another one comes
  EXPECT_THAT(Names(newcomers.TakeQuestion(At(20))), ElementsAre("c", "d"));
  double at_s = 20;
  for (int i = 0; i < 10; ++i) {
    newcomers.Answered(false);
    at_s += absl::ToDoubleSeconds(kNewcomerPauseMax);
    EXPECT_FALSE(newcomers.TakeQuestion(At(at_s)).empty()) << "for ever, at most so much later";
  }
}

TEST(NewcomersTest, WhoLeavesOrIsLostIsForgotten) {
  Newcomers newcomers;
  (void)newcomers.Look({Worker("c"), Worker("d"), Worker("e")}, 0);
  EXPECT_EQ(newcomers.TakeQuestion(At(0)).size(), 3u);
  EXPECT_EQ(newcomers.Lost(Worker("c").id, Worker("c").epoch), Stage::kSeen);
  newcomers.Answered(true);
  EXPECT_EQ(newcomers.Lost(Worker("d").id, Worker("d").epoch), Stage::kPreparing);
  EXPECT_EQ(newcomers.Lost(Worker("d").id, Worker("d").epoch), std::nullopt);
  newcomers.Prepared();
  EXPECT_THAT(Names(newcomers.Look({}, 0)), ElementsAre("e")) << "it is to let go of the job";
  EXPECT_FALSE(newcomers.Take({{"e"}}));
  // Under another registration it is another one.
  RegisteredWorker again = Worker("e");
  ++again.epoch;
  (void)newcomers.Look({again}, 0);
  EXPECT_THAT(Names(newcomers.Of(Stage::kSeen)), ElementsAre("e"));
}

TEST(NewcomersTest, WhoCannotBePreparedIsLeftAlone) {
  Newcomers newcomers;
  (void)newcomers.Look({Worker("c"), Worker("d")}, 0);
  (void)newcomers.TakeQuestion(At(0));
  newcomers.Answered(true);
  ASSERT_TRUE(newcomers.Refuse("c"));
  EXPECT_FALSE(newcomers.Refuse("c")) << "it is not being prepared";
  EXPECT_FALSE(newcomers.Refuse("x"));
  EXPECT_THAT(Names(newcomers.Of(Stage::kPreparing)), ElementsAre("d"));
  newcomers.Prepared();
  newcomers.RefuseAll();
  (void)newcomers.Look({Worker("c"), Worker("d")}, 0);
  EXPECT_THAT(newcomers.TakeQuestion(At(1000)), IsEmpty());
}

class DescribeAddedTest : public ::testing::Test {
 protected:
  DescribeAddedTest() {
    planned_.plan.network.num_workers = 2;
    planned_.plan.network.seconds_per_byte = 2e-8;
    planned_.plan.network.latency_s = 0.001;
    planned_.plan.network.pacing_fraction = 0.97;
  }
  absl::StatusOr<planner::PlanChange::Added> Describe(
      const RegisteredWorker& added,
      const std::vector<RegisteredWorker>& workers = {Worker("a"), Worker("b")}) {
    return DescribeAdded(planned_, workers, {&added, 1}, options_, learned_);
  }
  void AddRack(const std::string& name, std::vector<std::string> workers) {
    const CutSide rack{CutSide::Kind::kNamed, std::move(workers)};
    const CutSide rest{CutSide::Kind::kRest, {}};
    options_.network.cuts.push_back({"rack " + name + " up", rack, rest, 2});
    options_.network.cuts.push_back({"rack " + name + " down", rest, rack, 2});
  }

  PlannedJob planned_;
  MasterOptions options_;
  ShapeHistory learned_;
};

TEST_F(DescribeAddedTest, TellsRatesAndTheNetworkOfThePlan) {
  const auto added = Describe(Worker("c", 4));
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_THAT(added->names, ElementsAre("c"));
  EXPECT_THAT(added->compute_rate, ElementsAre(1, 1, 4));
  EXPECT_EQ(added->network.num_workers, 3);
  EXPECT_EQ(added->network.seconds_per_byte, 2e-8) << "as the plan was made";
  EXPECT_EQ(added->network.latency_s, 0.001);
  EXPECT_EQ(added->network.pacing_fraction, 0.97);
}

TEST_F(DescribeAddedTest, OfOneThatAnEarlierMasterKnewNoRateIsKnown) {
  RegisteredWorker gone;
  gone.identity.set_name("b");
  const auto added = Describe(Worker("c", 4), {Worker("a", 2), gone});
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->compute_rate[1], 0);
  EXPECT_EQ(added->compute_rate[2], 2 * added->compute_rate[0]);
}

TEST_F(DescribeAddedTest, ItsRackMustBeKnown) {
  AddRack("x", {"a", "b"});
  AddRack("y", {"c"});
  const auto in_y = Describe(Worker("c"));
  ASSERT_TRUE(in_y.ok()) << in_y.status();
  ASSERT_EQ(in_y->network.cuts.size(), 4u) << "which no pair of the plan crosses";
  EXPECT_TRUE(in_y->network.cuts[0].Crosses(0, 2));
  EXPECT_FALSE(in_y->network.cuts[0].Crosses(0, 1));
  const auto nowhere = Describe(Worker("d"));
  EXPECT_EQ(nowhere.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(nowhere.status().message(), HasSubstr("does not name d"));
  // Where others of the plan stand outside, so may it.
  EXPECT_TRUE(Describe(Worker("d"), {Worker("a"), Worker("e")}).ok());
}

TEST_F(DescribeAddedTest, ATotalHoldsOfWhoeverComes) {
  options_.bisection_channels = 3;
  const auto added = Describe(Worker("c"));
  ASSERT_TRUE(added.ok()) << added.status();
  ASSERT_EQ(added->network.cuts.size(), 1u);
  EXPECT_TRUE(added->network.cuts[0].Crosses(0, 2));
}

TEST_F(DescribeAddedTest, WhoCannotTakeRunsInPlaceIsRefused) {
  const std::vector<RegisteredWorker> here = {Worker("a", 1, "host"), Worker("b", 1, "host")};
  EXPECT_TRUE(Describe(Worker("c", 1, "host"), here).ok());
  const auto elsewhere = Describe(Worker("c", 1, "other"), here);
  EXPECT_EQ(elsewhere.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(elsewhere.status().message(), HasSubstr("c is on another machine"));
  // Who is alone hands nothing over.
  planned_.plan.network.num_workers = 1;
  const auto beside = Describe(Worker("c", 1, "other"), {Worker("a", 1, "host")});
  ASSERT_TRUE(beside.ok()) << beside.status();
  EXPECT_EQ(beside->network.seconds_per_byte, options_.channel_seconds_per_byte);
}

}  // namespace
}  // namespace weir::master
