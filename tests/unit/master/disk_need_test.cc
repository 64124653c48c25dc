// What a plan needs on disks, and when it is refused for that.

#include "runtime/master/planning/disk_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/units.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

using ::testing::HasSubstr;

constexpr planner::Bytes kMegabyte = 1'000'000;

planner::ComputeStep Step(std::int32_t layer, planner::WorkerIndex worker, planner::Bytes megabytes,
                          planner::Bytes spilled_megabytes) {
  planner::ComputeStep step;
  step.layer = layer;
  step.worker = worker;
  step.output_bytes = megabytes * kMegabyte;
  step.spilled_bytes = spilled_megabytes * kMegabyte;
  return step;
}

planner::Transfer Section(const planner::Plan& plan, planner::StepIndex producer,
                          planner::StepIndex consumer, planner::Bytes megabytes) {
  planner::Transfer transfer;
  transfer.producer = producer;
  transfer.consumer = consumer;
  transfer.sender = plan.steps[planner::At(producer)].worker;
  transfer.receiver = plan.steps[planner::At(consumer)].worker;
  transfer.bytes = megabytes * kMegabyte;
  return transfer;
}

/// Two workers map 100 and 60 MB; each sends half to the other, and they make 30 and 40 of it.
/// `map_spills`, `reduce_spills`: what the steps of worker 0 put on disk, MB.
planner::Plan TwoWorkers(planner::Bytes map_spills = 0, planner::Bytes reduce_spills = 0) {
  planner::Plan plan;
  plan.network.num_workers = 2;
  plan.steps = {Step(0, 0, 100, map_spills), Step(0, 1, 60, 0), Step(1, 0, 30, reduce_spills),
                Step(1, 1, 40, 0)};
  plan.transfers = {Section(plan, 1, 2, 30), Section(plan, 0, 3, 50)};
  return plan;
}

PlanRequest Request(std::int64_t free_bytes, std::int64_t other_free_bytes) {
  PlanRequest request;
  request.cluster.workers.resize(2);
  request.cluster.workers[0].name = "a";
  request.cluster.workers[0].free_disk_bytes = free_bytes;
  request.cluster.workers[1].name = "b";
  request.cluster.workers[1].free_disk_bytes = other_free_bytes;
  request.handover_domains = {"", ""};
  request.shape.map_output_ratio = {0.1, planner::Origin::kSampled};
  return request;
}

double Most(const planner::Plan& plan, std::size_t worker,
            const std::vector<std::string>& domains = {}) {
  return DiskNeeds(plan, domains)[worker].Most();
}

TEST(DiskNeedsTest, RunsAndSectionsCountAndPartsAreElsewhere) {
  EXPECT_EQ(Most(TwoWorkers(), 0), 100e6 + 30e6);
  EXPECT_EQ(Most(TwoWorkers(), 1), 60e6 + 50e6);
}

TEST(DiskNeedsTest, WhatIsReadInPlaceIsARun) {
  planner::Plan plan = TwoWorkers();
  plan.steps.push_back(Step(2, 0, 10, 0));
  plan.steps.back().after_steps = {2};
  EXPECT_EQ(Most(plan, 0), 130e6 + 30e6);
}

TEST(DiskNeedsTest, RunsThatAllHaveReadAreGone) {
  planner::Plan plan = TwoWorkers();
  plan.steps[2].output_bytes = 90 * kMegabyte;
  plan.steps.push_back(Step(2, 0, 120, 0));
  plan.steps.back().after_steps = {2};
  plan.steps.push_back(Step(3, 0, 1, 0));
  plan.steps.back().after_steps = {4};
  EXPECT_EQ(Most(plan, 0), 100e6 + 30e6 + 90e6)
      << "not 340 MB, though so much is made and received";
  plan.steps[4].output_bytes = 150 * kMegabyte;
  EXPECT_EQ(Most(plan, 0), 90e6 + 150e6);
}

TEST(DiskNeedsTest, WorkersOfOneDiskLinkWhatTheyMade) {
  EXPECT_EQ(Most(TwoWorkers(), 0, {"disk", "disk"}), 100e6);
  EXPECT_EQ(Most(TwoWorkers(), 1, {"disk", "disk"}), 60e6);
}

TEST(DiskNeedsTest, FilesOfAStepLieBesideWhatItMakes) {
  EXPECT_EQ(Most(TwoWorkers(90), 0), 190e6) << "they are gone when sections come";
  EXPECT_EQ(Most(TwoWorkers(20), 0), 130e6);
  EXPECT_EQ(Most(TwoWorkers(0, 20), 0), 150e6);
  EXPECT_EQ(Most(TwoWorkers(90, 20), 1), 110e6) << "another disk";
}

TEST(DiskNeedsTest, FilesThatBecomeOthersAreNotThereAtOnce) {
  EXPECT_EQ(Most(TwoWorkers(400), 0), 200e6);
}

TEST(DiskNeedsTest, OfStepsOfOneDiskAnyMayBeTheLast) {
  planner::Plan plan = TwoWorkers(90);
  plan.steps[1].spilled_bytes = 40 * kMegabyte;
  std::vector<DiskNeed> needs = DiskNeeds(plan, {"disk", "disk"});
  needs[0].Add(needs[1]);
  EXPECT_EQ(needs[0].Most(), 160e6 + 40e6);
  plan.steps.push_back(Step(0, 0, 20, 0));
  EXPECT_EQ(Most(plan, 0, {"disk", "disk"}), 100e6) << "the third puts nothing on disk";
}

TEST(CheckDiskTest, RefusesWithNumbersWhatIsKnownNotToFit) {
  PlanRequest request = Request(120 * kMegabyte, 1000 * kMegabyte);
  const absl::Status full = CheckDisk(request, TwoWorkers());
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  const v1::JobError error = JobErrorFromStatus(full);
  EXPECT_EQ(error.code(), job_error::kDiskFull);
  EXPECT_EQ(error.worker(), "a");
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << "others may have room";
  EXPECT_THAT(error.message(), HasSubstr("would need 130"));
  request.shape.map_output_ratio.origin = planner::Origin::kDefault;
  EXPECT_TRUE(CheckDisk(request, TwoWorkers()).ok()) << "a guess refuses nothing";
}

TEST(CheckDiskTest, WhatIsLeftFreeIsATwentieth) {
  EXPECT_FALSE(CheckDisk(Request(136 * kMegabyte, 0), TwoWorkers()).ok());
  EXPECT_TRUE(CheckDisk(Request(137 * kMegabyte, 0), TwoWorkers()).ok());
}

TEST(CheckDiskTest, FilesOfStepsCount) {
  EXPECT_TRUE(CheckDisk(Request(200 * kMegabyte, 0), TwoWorkers()).ok());
  EXPECT_THAT(CheckDisk(Request(200 * kMegabyte, 0), TwoWorkers(100)).message(),
              HasSubstr("memory does not hold"));
}

TEST(CheckDiskTest, WorkersOfOneDiskNeedItTogether) {
  planner::Plan plan = TwoWorkers(90);
  plan.steps[1].spilled_bytes = 40 * kMegabyte;
  PlanRequest request = Request(211 * kMegabyte, 211 * kMegabyte);
  request.handover_domains = {"disk", "disk"};
  EXPECT_TRUE(CheckDisk(request, plan).ok()) << "200 and a twentieth";
  request.cluster.workers[1].free_disk_bytes = 210 * kMegabyte;
  EXPECT_THAT(CheckDisk(request, plan).message(), HasSubstr("worker b"));
}

}  // namespace
}  // namespace weir::master
