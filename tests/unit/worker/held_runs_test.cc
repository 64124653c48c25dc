// What a registration can tell of runs that are kept. What follows of that is in
// worker_daemon_held_runs_test.cc.

#include "runtime/worker/held_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/worker/worker_options.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Jobs = absl::btree_map<std::string, v1::HeldJob>;

// Each with as many runs, of as many sections each.
Jobs JobsOf(const std::vector<std::string>& ids, int runs, int sections) {
  Jobs jobs;
  for (const std::string& id : ids) {
    v1::HeldJob& job = jobs[id];
    job.set_job_id(id);
    job.set_master_epoch(2);
    job.set_plan_epoch(1);
    for (int step = 0; step < runs; ++step) {
      v1::HeldRun& run = *job.add_runs();
      run.set_attempt(1);
      run.mutable_result()->set_step(step);
      v1::RunInfo& info = *run.mutable_result()->mutable_run();
      info.set_run_id(absl::StrCat(step, ".1"));
      for (int consumer = 0; consumer < sections; ++consumer) {
        v1::RunSection& section = *info.add_sections();
        section.set_consumer_step(consumer);
        section.set_offset(consumer * 1000);
        section.set_bytes(1000);
      }
    }
  }
  return jobs;
}

std::size_t BytesOf(const Jobs& jobs) {
  v1::RegisterRequest request;
  for (const auto& [id, job] : jobs) *request.add_held() = job;
  return request.ByteSizeLong();
}

std::vector<int> StepsOf(const v1::HeldJob& job) {
  std::vector<int> steps;
  for (const v1::HeldRun& run : job.runs()) steps.push_back(run.result().step());
  return steps;
}

TEST(LeaveWhatFits, AllOfWhatFits) {
  Jobs jobs = JobsOf({"j-1", "j-2"}, 3, 10);
  EXPECT_EQ(LeaveWhatFits(jobs, kHeldBytesMax), 0);
  EXPECT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(BytesOf(jobs), BytesOf(JobsOf({"j-1", "j-2"}, 3, 10)));
}

TEST(LeaveWhatFits, NewestJobsFirst) {
  Jobs jobs = JobsOf({"j-1", "j-2", "j-3"}, 3, 10);
  const std::size_t one = BytesOf(JobsOf({"j-1"}, 3, 10));
  EXPECT_EQ(LeaveWhatFits(jobs, one + one * 6 / 10), 5) << "all of j-1, and two of j-2";
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_THAT(StepsOf(jobs.at("j-3")), ElementsAre(0, 1, 2));
  EXPECT_THAT(StepsOf(jobs.at("j-2")), ElementsAre(0));
}

TEST(LeaveWhatFits, OneThatDoesNotFitLeavesRoomForOthers) {
  Jobs jobs = JobsOf({"j-1"}, 3, 10);
  v1::HeldJob& job = jobs.at("j-1");
  job.mutable_runs(1)->mutable_result()->mutable_run()->set_path(std::string(10'000, 'x'));
  EXPECT_EQ(LeaveWhatFits(jobs, 5000), 1);
  EXPECT_THAT(StepsOf(job), ElementsAre(0, 2));
}

TEST(LeaveWhatFits, NeverMoreThanAsked) {
  const std::size_t all = BytesOf(JobsOf({"j-1", "j-2"}, 20, 30));
  for (std::size_t bytes_max = 0; bytes_max < all; bytes_max += 97) {
    Jobs jobs = JobsOf({"j-1", "j-2"}, 20, 30);
    const int left_out = LeaveWhatFits(jobs, bytes_max);
    EXPECT_LE(BytesOf(jobs), bytes_max);
    std::size_t told = 0;
    for (const auto& [id, job] : jobs) told += StepsOf(job).size();
    EXPECT_EQ(told + static_cast<std::size_t>(left_out), 40u);
  }
  Jobs jobs = JobsOf({"j-1"}, 3, 10);
  EXPECT_EQ(LeaveWhatFits(jobs, 0), 3);
  EXPECT_THAT(jobs, IsEmpty());
}

}  // namespace
}  // namespace weir::worker
