#include "runtime/worker/job_paths.h"

#include <gtest/gtest.h>

namespace weir::worker {
namespace {

TEST(JobPathsTest, FindsEachInputWhereItIs) {
  const JobPaths paths = MakeJobPaths("/w", "j-1");
  v1::StepOrder order;
  const auto add = [&order](v1::SectionPlace place, std::int64_t bytes) {
    v1::StepInput& input = *order.add_inputs();
    input.set_run_id("3.1");
    input.set_place(place);
    input.set_offset(96);
    input.set_bytes(bytes);
    input.set_path("/etc/passwd");
  };
  add(v1::SECTION_PLACE_OWN_RUN, 10);
  add(v1::SECTION_PLACE_HANDED_OVER, 10);
  add(v1::SECTION_PLACE_RECEIVED, 10);
  add(v1::SECTION_PLACE_RECEIVED, 0);
  ASSERT_TRUE(ResolveInputs(paths, order).ok());
  EXPECT_EQ(order.inputs(0).path(), "/w/jobs/j-1/runs/3.1.run");
  EXPECT_EQ(order.inputs(0).path_offset(), 96);
  EXPECT_EQ(order.inputs(1).path(), "/w/jobs/j-1/received/3.1.run");
  EXPECT_EQ(order.inputs(1).path_offset(), 96);
  EXPECT_EQ(order.inputs(2).path(), "/w/jobs/j-1/received/3.1.96");
  EXPECT_EQ(order.inputs(2).path_offset(), 0);
  EXPECT_EQ(order.inputs(3).path(), "");
}

TEST(JobPathsTest, RefusesInputsThatMakeNoSense) {
  const JobPaths paths = MakeJobPaths("/w", "j");
  v1::StepOrder order;
  v1::StepInput& input = *order.add_inputs();
  input.set_run_id("3.1");
  input.set_bytes(1);
  EXPECT_TRUE(absl::IsInvalidArgument(ResolveInputs(paths, order)));
  input.set_place(v1::SECTION_PLACE_OWN_RUN);
  EXPECT_TRUE(ResolveInputs(paths, order).ok());
  input.set_offset(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(ResolveInputs(paths, order)));
  input.set_offset(0);
  input.set_run_id("../../x");
  EXPECT_TRUE(absl::IsInvalidArgument(ResolveInputs(paths, order)));
}

TEST(JobPathsTest, RunIdsCannotLeaveTheirDirectory) {
  EXPECT_TRUE(CheckRunId("12.1").ok());
  for (const char* id : {"", "1", "1.", ".1", "1.1.1", "1/1", "-1.1", "1.a", "12345678901.1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckRunId(id))) << id;
  }
}

TEST(JobPathsTest, PartsStayInsideTheirStagingDirectory) {
  EXPECT_EQ(*PartPathInside("/out.staging", "part-00000.1"), "/out.staging/part-00000.1");
  EXPECT_EQ(*PartPathInside("/out.staging", "/out.staging/part-00000.1"),
            "/out.staging/part-00000.1");
  for (const char* path :
       {"", "..", "/out.staging/", "/out.staging/../x", "/etc/passwd", "/out.staging2/p", "a/b"}) {
    EXPECT_FALSE(PartPathInside("/out.staging", path).ok()) << path;
  }
}

TEST(JobPathsTest, OnlyRunsAreHandedOver) {
  EXPECT_TRUE(CheckHandoverSource("/w/jobs/j/runs/3.1.run", "3.1").ok());
  for (const char* path : {"/w/jobs/j/runs/3.2.run", "w/jobs/j/runs/3.1.run", "/etc/shadow",
                           "/w/../../root/runs/3.1.run", ""}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckHandoverSource(path, "3.1"))) << path;
  }
}

}  // namespace
}  // namespace weir::worker
