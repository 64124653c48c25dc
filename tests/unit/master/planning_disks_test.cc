// What a job's disks take is asked once, before its plan, and is in the plan.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/master/planning/planning.h"
#include "tests/sim/memory_journal.h"
#include "tests/sim/memory_storage.h"
#include "tests/sim/sim_job.h"
#include "tests/sim/virtual_time.h"
#include "tests/unit/master/no_connections.h"
#include "tests/unit/worker/manual_loop.h"

namespace weir::master {
namespace {

class QuickJob final : public sim::DescribedJob {
 public:
  QuickJob() : DescribedJob("quick", "maps a byte in a nanosecond") {
    info_.rates.map_seconds_per_byte = 1e-9;
  }
};

InputList InputOf(std::int64_t bytes) {
  InputList input;
  input.files.push_back({"/in/a", bytes, {}});
  input.total_bytes = bytes;
  return input;
}

class PlanningDisksTest : public testing::Test {
 protected:
  PlanningDisksTest() {
    catalog_["quick"] = std::make_unique<QuickJob>();
    spec_.set_job("quick");
    spec_.set_plan_method("even");
    spec_.set_num_mappers(2);
    for (const char* name : {"a", "b"}) {
      RegisteredWorker& worker = workers_.emplace_back();
      worker.identity.set_name(name);
      worker.identity.set_control_endpoint(std::string(name) + ":1");
      worker.identity.set_data_endpoint(std::string(name) + ":2");
    }
  }

  // A planning whose disks take that long, and which writes down what they are asked.
  std::unique_ptr<Planning> PlanningOf(DiskTimes times) {
    auto planning = std::make_unique<Planning>(seams_, options_, history_, 1, "j-1", spec_);
    planning->MeasureDisksBy([this, times](const DiskQuestion& question) {
      asked_.push_back(question);
      return times;
    });
    return planning;
  }
  PlannedJob PlanBy(Planning& planning, const InputList& input) {
    absl::StatusOr<PlannedJob> planned = absl::InternalError("no plan came");
    planning.Plan(input, workers_, "",
                  [&planned](absl::StatusOr<PlannedJob> one) { planned = std::move(one); });
    loop_.Settle();
    EXPECT_TRUE(planned.ok()) << planned.status();
    return planned.ok() ? *std::move(planned) : PlannedJob();
  }
  // Of the two maps, which are alike.
  double MapSeconds(const PlannedJob& planned) const {
    std::vector<double> seconds;
    for (const planner::ComputeStep& step : planned.plan.steps) {
      if (step.kind == planner::StepKind::kMap) seconds.push_back(step.duration_s);
    }
    EXPECT_EQ(seconds.size(), 2u);
    if (seconds.size() != 2) return 0;
    EXPECT_DOUBLE_EQ(seconds[0], seconds[1]);
    return seconds[0] - options_.map_overhead_s;
  }
  // A run on the same input taught this.
  void Teach(const InputList& input, v1::JobShapeLearned shape) {
    shape.set_job("quick");
    shape.set_input_bytes(input.total_bytes);
    shape.set_num_workers(2);
    shape.set_input_fingerprint(InputRanges(input).Fingerprint());
    history_.Take(shape);
  }

  worker::ManualLoop loop_;
  worker::InlinePool pool_;
  sim::MemoryStorage storage_;
  worker::FixedRandom random_;
  sim::VirtualTime time_;
  sim::SimWallClock wall_clock_{time_};
  NoConnections connector_;
  sim::MemoryJournal journal_;
  JobCatalog catalog_;
  const MasterSeams seams_{loop_,       pool_,      pool_,    storage_, random_,
                           wall_clock_, connector_, journal_, catalog_};
  const MasterOptions options_;
  ShapeHistory history_;
  v1::JobSpec spec_;
  std::vector<RegisteredWorker> workers_;
  std::vector<DiskQuestion> asked_;
};

TEST_F(PlanningDisksTest, MapsTakeWhatTheDiskOfTheInputTakesWhichIsAskedOnce) {
  const auto planning = PlanningOf({.input = 1e-8});
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_NEAR(MapSeconds(PlanBy(*planning, InputOf(400'000'000))), 4, 1e-6)
        << "400 MB at 100 MB/s, where two compute for 0.2 s";
    ASSERT_EQ(asked_.size(), 1u) << "before the first plan only";
  }
  ASSERT_EQ(asked_[0].input.size(), 1u);
  EXPECT_EQ(asked_[0].input[0].path, "/in/a");
  EXPECT_EQ(asked_[0].input[0].offsets.size(), static_cast<std::size_t>(kAskedPlaces));
  EXPECT_FALSE(asked_[0].output) << "how much is written is a guess";
}

TEST_F(PlanningDisksTest, WhatIsInMemoryIsAskedOnceToo) {
  const auto planning = PlanningOf({});
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_NEAR(MapSeconds(PlanBy(*planning, InputOf(400'000'000))), 0.2, 1e-6);
  }
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(PlanningDisksTest, SmallInputsAreNotWorthAQuestion) {
  const auto planning = PlanningOf({.input = 1e-8});
  EXPECT_NEAR(MapSeconds(PlanBy(*planning, InputOf(200'000'000))), 0.1, 1e-6);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(PlanningDisksTest, OfWhatRunsToldAndTheDiskTheLongerCounts) {
  const InputList input = InputOf(400'000'000);
  v1::JobShapeLearned told;
  told.set_map_seconds_per_byte(5e-9);
  Teach(input, told);
  for (const double disk_seconds_per_byte : {1e-8, 1e-9}) {
    const auto planning = PlanningOf({.input = disk_seconds_per_byte});
    planning->Sample(input, workers_, "", [] {});
    ASSERT_NE(planning->history(), nullptr);
    EXPECT_NEAR(MapSeconds(PlanBy(*planning, input)), disk_seconds_per_byte == 1e-8 ? 4 : 1, 1e-6);
  }
  EXPECT_EQ(asked_.size(), 2u) << "though the same input was read before";
}

TEST_F(PlanningDisksTest, BothDisksAreAskedInOneVisit) {
  const InputList input = InputOf(400'000'000);
  v1::JobShapeLearned told;
  told.set_map_output_ratio(1);
  Teach(input, told);
  const auto planning = PlanningOf({.input = 1e-8, .output = 3e-8});
  planning->Sample(input, workers_, "", [] {});
  const PlannedJob planned = PlanBy(*planning, input);
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_FALSE(asked_[0].input.empty());
  EXPECT_TRUE(asked_[0].output) << "400 MB";
  EXPECT_EQ(planned.shape.input_disk_seconds_per_byte, 1e-8);
  EXPECT_EQ(planned.shape.store.disk_seconds_per_byte, 3e-8);
}

}  // namespace
}  // namespace weir::master
