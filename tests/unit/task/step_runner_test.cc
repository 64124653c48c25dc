#include "runtime/task/step_runner.h"

#include <gtest/gtest.h>

#include "gmock/gmock.h"
#include "runtime/base/job_errors.h"
#include "runtime/task/slot_threads.h"
#include "tests/unit/format/scratch_file.h"
#include "tests/unit/task/letters_job.h"
#include "tests/unit/task/task_threads.h"

namespace weir::task {
namespace {

using testing::HasSubstr;

class StepRunnerTest : public testing::Test {
 protected:
  v1::StepResult Run(const v1::TaskCommand::Run& run) {
    return RunStep(program_, run, slots_, 1 << 20, activity_, environment_.environment().now);
  }
  v1::StepResult Map(const std::string& text) {
    format::WriteAll(folder_.File("in"), text);
    return Run(MapRun(4, folder_.File("in"), static_cast<std::int64_t>(text.size()),
                      folder_.File("4.1.run")));
  }

  TestEnvironment environment_;
  format::ScratchFolder folder_;
  SlotThreads slots_{2, environment_.environment()};
  LettersProgram program_;
  StepActivity activity_;
};

TEST_F(StepRunnerTest, AMapStepWritesARunAndSumsUp) {
  const v1::StepResult result = Map("hello");
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.step(), 4);
  EXPECT_EQ(result.run().run_id(), "4.1");
  EXPECT_EQ(result.run().path(), folder_.File("4.1.run"));
  EXPECT_EQ(result.run().sections(0).records(), 5);
  EXPECT_EQ(result.input_bytes(), 5);
  EXPECT_EQ(result.input_records(), 5);
  EXPECT_EQ(result.output_records(), 5);
  ASSERT_EQ(result.counters_size(), 1);
  EXPECT_EQ(result.counters(0).name(), "letters");
  EXPECT_EQ(result.counters(0).value(), 5);
  EXPECT_GT(result.peak_memory_bytes(), 0);
  EXPECT_GE(result.run_s(), 0);
  EXPECT_EQ(activity_.input_bytes(), 5);
  EXPECT_EQ(activity_.output_bytes(), 5);
}

TEST_F(StepRunnerTest, AReduceStepOfTheLastLayerWritesAPart) {
  const v1::StepResult map = Map("hello");
  const v1::StepResult result = Run(ReduceRun(7, map.run(), folder_.File("part-00000.1")));
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.part().file(), "part-00000.1");
  EXPECT_EQ(result.part().bytes(), 5);
  EXPECT_EQ(result.part().records(), 5);
  EXPECT_EQ(result.input_bytes(), map.run().bytes());
  EXPECT_EQ(format::ReadAll(folder_.File("part-00000.1")), "hello");
}

TEST_F(StepRunnerTest, AReduceStepOfAMiddleLayerWritesARun) {
  const v1::StepResult map = Map("hello");
  v1::TaskCommand::Run run = ReduceRun(7, map.run(), "");
  run.set_run_path(folder_.File("7.1.run"));
  run.mutable_order()->add_consumer_key_end(1);
  const v1::StepResult result = Run(run);
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.run().run_id(), "7.1");
}

TEST_F(StepRunnerTest, AnEmptyInputGivesAnEmptyRun) {
  const v1::StepResult result = Map("");
  ASSERT_FALSE(result.has_error());
  EXPECT_EQ(result.run().bytes(), 0);
}

struct Misbehaviour {
  const char* text;
  std::string_view code;
  const char* message;
};

TEST_F(StepRunnerTest, WhatUserCodeDoesWrongIsNamedAndLeavesNoRun) {
  const Misbehaviour all[] = {
      {"throw", job_error::kUserError, "no such letter"},
      {"throw 7", job_error::kUserError, "no exception"},
      {"memory", job_error::kOutOfMemory, "out of memory"},
      {"bad record", job_error::kBadRecord, "not a letter: 'x;y'"},
  };
  for (const Misbehaviour& one : all) {
    const v1::StepResult result = Map(one.text);
    EXPECT_EQ(result.error().code(), one.code) << one.text;
    EXPECT_THAT(result.error().message(), HasSubstr(one.message));
    EXPECT_EQ(result.error().step(), "map 3");
    EXPECT_FALSE(result.has_run());
    EXPECT_EQ(::access(folder_.File("4.1.run").c_str(), F_OK), -1) << one.text;
  }
}

TEST_F(StepRunnerTest, ABadRecordKeepsItsPlace) {
  const v1::StepResult result = Map("bad record");
  EXPECT_EQ(result.error().file(), "/in/a.txt");
  EXPECT_EQ(result.error().byte_offset(), 42);
}

TEST_F(StepRunnerTest, ADamagedRunIsDataLossWithFileAndOffset) {
  const v1::StepResult map = Map("hello");
  std::string bytes = format::ReadAll(map.run().path());
  bytes.back() ^= 1;
  format::WriteAll(map.run().path(), bytes);
  const v1::StepResult result = Run(ReduceRun(7, map.run(), folder_.File("part")));
  EXPECT_EQ(result.error().code(), job_error::kDataLoss);
  EXPECT_THAT(result.error().message(), HasSubstr(map.run().path() + " is damaged at byte 0"));
  EXPECT_EQ(result.error().step(), "reduce 0");
}

TEST_F(StepRunnerTest, ImpossibleOrdersAreRefused) {
  const v1::TaskCommand::Run good = MapRun(1, "/in", 5, "/out");
  EXPECT_TRUE(CheckRun(good).ok());
  const auto expect_refused = [](const v1::TaskCommand::Run& run, const char* why) {
    const absl::Status status = CheckRun(run);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  };
  v1::TaskCommand::Run run = good;
  run.mutable_order()->set_kind(v1::STEP_ORDER_KIND_UNSPECIFIED);
  expect_refused(run, "kind");
  run = good;
  run.mutable_order()->clear_consumer_key_end();
  expect_refused(run, "no consumers");
  run = good;
  run.clear_run_path();
  expect_refused(run, "no file");
  run = good;
  run.mutable_order()->mutable_ranges(0)->set_begin(6);
  expect_refused(run, "no range");
  run = good;
  run.mutable_order()->set_consumer_key_end(0, 0.5);
  expect_refused(run, "ends at 0.5");
  run = good;
  run.mutable_order()->add_consumer_key_end(0.5);
  expect_refused(run, "must rise");
  run = good;
  run.mutable_order()->add_inputs()->set_bytes(1);
  expect_refused(run, "no place");
}

}  // namespace
}  // namespace weir::task
