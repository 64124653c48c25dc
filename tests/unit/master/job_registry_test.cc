#include "runtime/master/job/job_registry.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/limits.h"
#include "tests/sim/virtual_time.h"

namespace weir::master {
namespace {

class JobStoreTest : public ::testing::Test {
 protected:
  static v1::JobStatus Job(int number, v1::JobState state) {
    v1::JobStatus status;
    status.set_job_id("j-" + std::to_string(number));
    status.mutable_spec()->set_idempotency_key("key-" + std::to_string(number));
    status.set_state(state);
    return status;
  }
  sim::VirtualTime time_;
  std::shared_ptr<sim::ProcessLoop> loop_ = std::make_shared<sim::ProcessLoop>(time_);
  WatchHub hub_{*loop_};
  JobRegistry store_{hub_, limits::kJobsRememberedMax, absl::Hours(1)};
};

TEST_F(JobStoreTest, ListsNewestFirstAndFindsByIdAndKey) {
  store_.Add(Job(1, v1::JOB_STATE_SUCCEEDED), 0);
  store_.Add(Job(2, v1::JOB_STATE_QUEUED), 0);
  EXPECT_EQ(store_.List(0).jobs(0).job_id(), "j-2");
  EXPECT_EQ(store_.List(1).jobs_size(), 1);
  EXPECT_EQ((*store_.Find("j-1"))->state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(store_.FindByKey("key-2")->job_id(), "j-2");
  EXPECT_EQ(store_.FindByKey(""), nullptr);
  EXPECT_TRUE(absl::IsNotFound(store_.Find("j-3").status()));
}

TEST_F(JobStoreTest, AKeyStaysItsNewestJobsWhenAnOlderOneIsForgotten) {
  JobRegistry store{hub_, 2, absl::Hours(1)};
  store.Add(Job(1, v1::JOB_STATE_SUCCEEDED), 0);
  v1::JobStatus again = Job(2, v1::JOB_STATE_RUNNING);
  again.mutable_spec()->set_idempotency_key("key-1");
  store.Add(std::move(again), 0);
  EXPECT_EQ(store.Add(Job(3, v1::JOB_STATE_QUEUED), 0), std::vector<std::string>{"j-1"});
  ASSERT_NE(store.FindByKey("key-1"), nullptr) << "who asks again would begin a third one";
  EXPECT_EQ(store.FindByKey("key-1")->job_id(), "j-2");
}

TEST_F(JobStoreTest, ListsTheNewestThatFitOneAnswer) {
  for (int i = 0; i < 10; ++i) {
    v1::JobStatus job = Job(i, v1::JOB_STATE_SUCCEEDED);
    job.mutable_spec()->set_output(std::string(900, 'x'));
    job.set_plan_text(std::string(100'000, 'p'));  // is not listed
    store_.Add(std::move(job), 0);
  }
  const v1::ListJobsResponse list = store_.List(0, 4000);
  ASSERT_EQ(list.jobs_size(), 4);
  EXPECT_EQ(list.jobs(0).job_id(), "j-9");
  EXPECT_EQ(list.jobs(3).job_id(), "j-6");
  EXPECT_EQ(list.left_out(), 6);
  EXPECT_EQ(store_.List(7, 4000).left_out(), 3) << "of those that were asked for";
  EXPECT_EQ(store_.List(4, 4000).left_out(), 0);

  v1::JobStatus large = Job(10, v1::JOB_STATE_SUCCEEDED);
  large.mutable_spec()->set_output(std::string(5000, 'x'));
  store_.Add(std::move(large), 0);
  const v1::ListJobsResponse others = store_.List(0, 4000);
  ASSERT_EQ(others.jobs_size(), 4) << "one that is too large hides no other";
  EXPECT_EQ(others.jobs(0).job_id(), "j-9");
  EXPECT_EQ(others.left_out(), 7);
}

TEST_F(JobStoreTest, AListIsNeverTooLongForAMessage) {
  for (int i = 0; i < 5; ++i) {
    v1::JobStatus job = Job(i, v1::JOB_STATE_SUCCEEDED);
    job.mutable_spec()->add_inputs(std::string(15 << 20, 'x'));
    store_.Add(std::move(job), 0);
  }
  const v1::ListJobsResponse list = store_.List(0);
  EXPECT_LT(list.ByteSizeLong(), static_cast<std::size_t>(limits::kMessageBytesMax));
  EXPECT_EQ(list.jobs_size(), 2);
  EXPECT_EQ(list.left_out(), 3);
}

TEST_F(JobStoreTest, NumbersEveryChange) {
  store_.Add(Job(1, v1::JOB_STATE_QUEUED), 0);
  EXPECT_EQ(store_.Update(Job(1, v1::JOB_STATE_PLANNING)), 1);
  EXPECT_EQ(store_.Update(Job(1, v1::JOB_STATE_RUNNING)), 2);
  EXPECT_EQ(store_.Update(Job(9, v1::JOB_STATE_RUNNING)), 0);
}

TEST_F(JobStoreTest, ForgetsTheOldestEndedJobs) {
  store_.Add(Job(0, v1::JOB_STATE_QUEUED), 0);
  for (int i = 1; i < limits::kJobsRememberedMax; ++i) {
    EXPECT_TRUE(store_.Add(Job(i, v1::JOB_STATE_SUCCEEDED), 0).empty());
  }
  EXPECT_EQ(store_.Add(Job(5000, v1::JOB_STATE_QUEUED), 0), std::vector<std::string>{"j-1"});
  EXPECT_TRUE(store_.Knows("j-0")) << "an unfinished job stays";
  EXPECT_EQ(store_.FindByKey("key-1"), nullptr);
}

TEST_F(JobStoreTest, AJobThatEndsLaterIsForgottenInTheOrderOfSubmission) {
  JobRegistry three(hub_, 3, absl::Hours(1));
  three.Add(Job(1, v1::JOB_STATE_QUEUED), 0);
  three.Add(Job(2, v1::JOB_STATE_RUNNING), 0);
  three.Add(Job(3, v1::JOB_STATE_SUCCEEDED), 0);
  three.Update(Job(2, v1::JOB_STATE_FAILED));
  three.Update(Job(2, v1::JOB_STATE_FAILED));
  EXPECT_EQ(three.Add(Job(4, v1::JOB_STATE_QUEUED), 0), std::vector<std::string>{"j-2"});
  EXPECT_EQ(three.Add(Job(5, v1::JOB_STATE_QUEUED), 0), std::vector<std::string>{"j-3"});
  EXPECT_EQ(three.Add(Job(6, v1::JOB_STATE_QUEUED), 0), std::vector<std::string>{});
  EXPECT_EQ(three.List(0).jobs_size(), 4) << "those that have not ended";
}

// By a walk over all of them for each this takes a quarter of an hour.
TEST_F(JobStoreTest, TakesAHundredThousandJobsAtAStart) {
  constexpr int kJobs = 100'000;
  JobRegistry many(hub_, kJobs, absl::Hours(1));
  for (int i = 0; i < kJobs; ++i) {
    const v1::JobState state = i % 1000 == 0 ? v1::JOB_STATE_RUNNING : v1::JOB_STATE_SUCCEEDED;
    ASSERT_TRUE(many.Add(Job(i, state), 0).empty());
  }
  for (int i = 1; i < 10; ++i) {
    EXPECT_EQ(many.Add(Job(kJobs + i, v1::JOB_STATE_QUEUED), 0),
              std::vector<std::string>{"j-" + std::to_string(i)});
  }
  EXPECT_TRUE(many.Knows("j-0")) << "an unfinished job stays";
  EXPECT_EQ(many.FindByKey("key-9"), nullptr);
  EXPECT_EQ(many.FindByKey("key-10")->job_id(), "j-10");
  EXPECT_EQ(many.List(1).jobs(0).job_id(), "j-100009");
}

TEST_F(JobStoreTest, ForgetsEndedJobsOfAnotherDay) {
  constexpr std::int64_t kHour = 3'600'000;
  store_.Add(Job(0, v1::JOB_STATE_RUNNING), 0);
  for (int i = 1; i <= 3; ++i) {
    v1::JobStatus job = Job(i, v1::JOB_STATE_SUCCEEDED);
    job.set_ended_unix_ms(i * kHour / 2);
    EXPECT_TRUE(store_.Add(job, job.ended_unix_ms()).empty());
  }
  EXPECT_EQ(store_.Add(Job(9, v1::JOB_STATE_QUEUED), 2 * kHour + 1),
            (std::vector<std::string>{"j-1", "j-2"}));
  EXPECT_TRUE(store_.Knows("j-0")) << "an unfinished job stays, however old";
  EXPECT_TRUE(store_.Knows("j-3"));
}

}  // namespace
}  // namespace weir::master
