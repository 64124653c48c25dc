// What runs of before tell of a job on other data: the whole master on virtual time.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/master/learning/data_seen.h"
#include "runtime/master/master.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class EarlierDataTest : public MasterTest {
 protected:
  EarlierDataTest() {
    AddWorkers(2);
    EXPECT_TRUE(world_->storage().WriteSized("/in/other", 1'000'000'000).ok());
  }

  static v1::JobSpec Of(const std::string& input, const std::string& sampling) {
    v1::JobSpec spec = Spec();
    spec.set_inputs(0, input);
    spec.set_sampling(sampling);
    return spec;
  }

  /// A master that knows this and no more, with two workers and the same inputs.
  void Restart(const std::vector<v1::JournalRecord>& known) {
    MasterOptions options;
    options.latency_s = 4e-4;
    world_.emplace(7, options, JobRates(), /*print=*/false);
    for (const char* input : {"/in/data", "/in/other"}) {
      ASSERT_TRUE(world_->storage().WriteSized(input, 1'000'000'000).ok());
    }
    ASSERT_TRUE(world_->journal().Append(known).ok());
    world_->StartMaster();
    AddWorkers(2);
  }

  void Run(const v1::JobSpec& spec) {
    const absl::StatusOr<std::string> id = Submit(spec);
    ASSERT_TRUE(id.ok()) << id.status();
    RunFor(absl::Minutes(10));
    ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_SUCCEEDED) << StatusOf(*id).DebugString();
  }

  v1::Plan PlanOf(const v1::JobSpec& spec) {
    PlanAnswer plan;
    AskForPlan(spec, plan);
    RunFor(absl::Minutes(1));
    EXPECT_TRUE(plan && plan->ok()) << (plan ? plan->status() : absl::UnknownError("no answer"));
    return plan && plan->ok() ? **plan : v1::Plan();
  }

  /// Writes 12 MB of rows, too few to be sampled, whose keys are those numbers, one after the
  /// other.
  void WriteRows(const std::string& path, int first_key, int end_key) {
    std::string rows;
    for (int key = first_key; rows.size() < 12'000'000; ++key) {
      if (key == end_key) key = first_key;
      rows += "key" + std::to_string(key) + ";" + std::to_string(rows.size() % 97) + "\n";
    }
    ASSERT_TRUE(world_->storage().WriteFile(path, rows).ok());
  }

  static std::string MapTimeOrigin(const v1::Plan& plan) {
    for (const v1::PlanNumber& number : plan.numbers()) {
      if (number.name() == "map time") return number.origin();
    }
    return "no number";
  }

  static bool Says(const v1::Plan& plan, const std::string& words) {
    for (const std::string& note : plan.notes()) {
      if (absl::StrContains(note, words)) return true;
    }
    return false;
  }
};

constexpr char kNothingTells[] = "nothing tells whether their data was like this";

TEST_F(EarlierDataTest, ARunThatWasNotSampledTellsNothingOfDataThatIs) {
  Run(Of("/in/data", "off"));
  const v1::Plan plan = PlanOf(Of("/in/other", "auto"));
  EXPECT_EQ(MapTimeOrigin(plan), "sampled");
  EXPECT_TRUE(Says(plan, kNothingTells)) << plan.DebugString();
}

TEST_F(EarlierDataTest, ARunThatWasNotSampledTellsOfItsOwnDataAndWhereNothingIsSampled) {
  Run(Of("/in/data", "off"));
  const v1::Plan same = PlanOf(Of("/in/data", "auto"));
  EXPECT_EQ(MapTimeOrigin(same), "history");
  EXPECT_FALSE(Says(same, kNothingTells));
  const v1::Plan other = PlanOf(Of("/in/other", "off"));
  EXPECT_EQ(MapTimeOrigin(other), "history");
  EXPECT_FALSE(Says(other, kNothingTells));
}

constexpr char kLooksUnlike[] = "data that looks unlike this";

TEST_F(EarlierDataTest, ASmallInputThatLooksLikeTheLastGoesByTheHistory) {
  WriteRows("/in/few", 10'000, 10'400);
  WriteRows("/in/other-few", 20'000, 20'400);
  Run(Of("/in/few", "auto"));
  const v1::Plan plan = PlanOf(Of("/in/other-few", "auto"));
  EXPECT_EQ(MapTimeOrigin(plan), "history");
  EXPECT_FALSE(Says(plan, kLooksUnlike));
}

TEST_F(EarlierDataTest, ASmallInputThatLooksUnlikeTheLastGoesByTheJobsOwnRates) {
  WriteRows("/in/few", 10'000, 10'400);
  WriteRows("/in/many", 10'000, 90'000);
  Run(Of("/in/few", "auto"));
  const v1::Plan plan = PlanOf(Of("/in/many", "auto"));
  EXPECT_EQ(MapTimeOrigin(plan), "default");
  EXPECT_TRUE(Says(plan, kLooksUnlike)) << plan.DebugString();
  // Whoever does not sample is told the same, of any size.
  EXPECT_EQ(MapTimeOrigin(PlanOf(Of("/in/many", "off"))), "default");
  EXPECT_EQ(MapTimeOrigin(PlanOf(Of("/in/few", "off"))), "history");
}

TEST_F(EarlierDataTest, ASmallInputGoesByTheRunsOnItsKindThoughTheLastWasOnAnother) {
  WriteRows("/in/few", 10'000, 10'400);
  WriteRows("/in/many", 10'000, 90'000);
  WriteRows("/in/other-few", 20'000, 20'400);
  Run(Of("/in/few", "auto"));
  v1::JobSpec of_another_kind = Of("/in/many", "auto");
  of_another_kind.set_output("/out/y");
  Run(of_another_kind);
  for (const char* input : {"/in/few", "/in/many", "/in/other-few"}) {
    const v1::Plan plan = PlanOf(Of(input, "auto"));
    EXPECT_EQ(MapTimeOrigin(plan), "history") << input;
    EXPECT_FALSE(Says(plan, kLooksUnlike)) << input;
  }
}

TEST_F(EarlierDataTest, ASampleTellsWhichOfSeveralRunsWasOnDataLikeThis) {
  Run(Of("/in/data", "auto"));
  std::vector<v1::JournalRecord> taught;
  for (const v1::JournalRecord& record : world_->journal().records()) {
    if (record.has_job_shape_learned()) taught.push_back(record);
  }
  ASSERT_EQ(taught.size(), 1u);
  // The last run was on data of another kind that looks the same, as far as it was looked at.
  taught.push_back(taught.front());
  v1::JobShapeLearned& last = *taught.back().mutable_job_shape_learned();
  last.set_input_fingerprint(last.input_fingerprint() + 1);
  last.mutable_seen()->set_records_per_byte(last.seen().records_per_byte() + 1);
  Restart(taught);
  const v1::Plan plan = PlanOf(Of("/in/other", "auto"));
  EXPECT_EQ(MapTimeOrigin(plan), "history");
  EXPECT_FALSE(Says(plan, "data unlike this")) << plan.DebugString();
}

TEST(DataSeenTest, OutputIsComparedWhereSamplesAreOfOneSize) {
  v1::JobShapeLearned::DataSeen one;
  one.set_records_per_byte(0.1);
  one.set_output_ratio(0.5);
  one.set_at_bytes(1'000'000);
  v1::JobShapeLearned::DataSeen other = one;
  EXPECT_TRUE(IsAlike(one, other));
  other.set_output_ratio(0.3);
  EXPECT_FALSE(IsAlike(one, other));
  other.set_at_bytes(4'000'000);
  EXPECT_TRUE(IsAlike(one, other));
  other.set_records_per_byte(0.05);
  EXPECT_FALSE(IsAlike(one, other));
}

}  // namespace
}  // namespace weir::master
