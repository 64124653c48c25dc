#include "runtime/task/step_runner.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
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
    return RunStep(BuiltInSteps(), program_, run, slots_, {.memory_bytes = 1 << 20}, activity_,
                   environment_.environment().now);
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

TEST_F(StepRunnerTest, ARunHasNothingForNobody) {
  format::WriteAll(folder_.File("in"), "hello");
  v1::TaskCommand::Run run = MapRun(4, folder_.File("in"), 5, folder_.File("4.1.run"));
  run.mutable_order()->mutable_consumers(0)->set_step(-1);
  const v1::StepResult result = Run(run);
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.input_records(), 5);
  EXPECT_EQ(result.run().sections_size(), 0);
  EXPECT_EQ(activity_.output_bytes(), 0);
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
  ASSERT_EQ(map.run().sections_size(), 1);
  EXPECT_EQ(map.run().sections(0).consumer_step(), 40) << "by step, not by place";
  v1::TaskCommand::Run run = ReduceRun(7, map.run(), "");
  run.set_run_path(folder_.File("7.1.run"));
  v1::StepConsumer* consumer = run.mutable_order()->add_consumers();
  consumer->set_step(9);
  consumer->mutable_keys()->set_end(1);
  const v1::StepResult result = Run(run);
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.run().run_id(), "7.1");
}

v1::TaskCommand::Run StoredReduce(int step, const v1::RunInfo& input, int store_consumer,
                                  const std::string& run_path) {
  v1::TaskCommand::Run run = ReduceRun(step, input, "");
  run.set_run_path(run_path);
  run.mutable_order()->add_consumers()->set_step(store_consumer);
  run.mutable_order()->set_text(true);
  return run;
}

TEST_F(StepRunnerTest, WriteStepJoinsTheTextOfReducersInTheOrderGiven) {
  std::vector<v1::RunInfo> made;
  for (const char* text : {"hello ", "", "world"}) {
    const int i = static_cast<int>(made.size());
    format::WriteAll(folder_.File("in"), text);
    const v1::StepResult map =
        Run(MapRun(i, folder_.File("in"), static_cast<std::int64_t>(std::string(text).size()),
                   folder_.File(absl::StrCat(i, ".1.run"))));
    const v1::StepResult reduce =
        Run(StoredReduce(10 + i, map.run(), 0, folder_.File(absl::StrCat(10 + i, ".1.run"))));
    ASSERT_FALSE(reduce.has_error()) << DescribeJobError(reduce.error());
    EXPECT_FALSE(reduce.has_part());
    made.push_back(reduce.run());
  }
  v1::TaskCommand::Run write;
  write.mutable_fence()->set_attempt(1);
  write.mutable_order()->set_step(20);
  write.mutable_order()->set_kind(v1::STEP_KIND_WRITE);
  write.mutable_order()->set_label("write 0");
  write.mutable_order()->set_part_path(folder_.File("part-00000.1"));
  for (const v1::RunInfo& run : {made[2], made[1], made[0]}) {
    for (const v1::RunSection& section : run.sections()) {
      v1::StepInput* input = write.mutable_order()->add_inputs();
      input->set_path(run.path());
      input->set_path_offset(section.offset());
      input->set_bytes(section.bytes());
    }
  }
  const v1::StepResult result = Run(write);
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.part().records(), 11);
  EXPECT_EQ(result.output_records(), 11);
  EXPECT_EQ(format::ReadAll(folder_.File("part-00000.1")), "worldhello ");

  std::string bytes = format::ReadAll(made[0].path());
  bytes.back() ^= 1;
  format::WriteAll(made[0].path(), bytes);
  write.mutable_order()->set_part_path(folder_.File("part-00000.2"));
  const v1::StepResult damaged = Run(write);
  EXPECT_EQ(damaged.error().code(), job_error::kDataLoss);
  EXPECT_EQ(damaged.error().step(), "write 0");
  EXPECT_EQ(::access(folder_.File("part-00000.2").c_str(), F_OK), -1);
}

TEST_F(StepRunnerTest, TextForAWriteStepGoesIntoItsSection) {
  const v1::StepResult map = Map("hello");
  const v1::StepResult result = Run(StoredReduce(7, map.run(), 3, folder_.File("7.1.run")));
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  ASSERT_EQ(result.run().sections_size(), 1);
  EXPECT_EQ(result.run().sections(0).consumer_step(), 3);
  EXPECT_EQ(result.run().sections(0).records(), 5);
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
      {"names", job_error::kUserError, "counted under more than 9999 names"},
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
  EXPECT_EQ(result.error().fault_of(), v1::FAULT_OF_EXCHANGE) << "or of who sent it";
  EXPECT_EQ(result.error().damaged_run(), map.run().run_id());
}

TEST_F(StepRunnerTest, FilesOfTheWorkDirectoryAreTheWorkersFaultAndThoseOfTheOutputAreNot) {
  const v1::StepResult map = Map("hello");
  const v1::StepResult no_run = Run(MapRun(5, folder_.File("in"), 5, folder_.File("gone/5.1.run")));
  EXPECT_EQ(no_run.error().fault_of(), v1::FAULT_OF_WORKER) << DescribeJobError(no_run.error());
  const v1::StepResult no_part = Run(ReduceRun(7, map.run(), folder_.File("gone/part")));
  EXPECT_EQ(no_part.error().code(), job_error::kOutputUnusable) << "and no input";
  EXPECT_THAT(no_part.error().advice(), HasSubstr("output directory"));
  EXPECT_EQ(no_part.error().fault_of(), v1::FAULT_OF_UNSPECIFIED);
  v1::RunInfo lost = map.run();
  lost.set_path(folder_.File("gone/4.1.run"));
  const v1::StepResult no_section = Run(ReduceRun(8, lost, folder_.File("part")));
  EXPECT_EQ(no_section.error().fault_of(), v1::FAULT_OF_WORKER);
}

TEST_F(StepRunnerTest, ImpossibleOrdersAreRefused) {
  const v1::TaskCommand::Run good = MapRun(1, "/in", 5, "/out");
  EXPECT_TRUE(CheckRun(good, BuiltInSteps()).ok());
  const auto expect_refused = [](const v1::TaskCommand::Run& run, const char* why) {
    const absl::Status status = CheckRun(run, BuiltInSteps());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  };
  v1::TaskCommand::Run run = good;
  run.mutable_order()->set_kind(v1::STEP_KIND_UNSPECIFIED);
  expect_refused(run, "kind");
  run = good;
  run.mutable_order()->clear_consumers();
  expect_refused(run, "no consumers");
  run = good;
  run.clear_run_path();
  expect_refused(run, "no file");
  run = good;
  run.mutable_order()->mutable_ranges(0)->set_begin(6);
  expect_refused(run, "no range");
  run = good;
  run.mutable_order()->mutable_consumers(0)->mutable_keys()->set_end(0.5);
  expect_refused(run, "end at 0.5");
  run = good;
  run.mutable_order()->add_consumers()->mutable_keys()->set_end(0.5);
  expect_refused(run, "must rise");
  run = good;
  run.mutable_order()->add_inputs()->set_bytes(1);
  expect_refused(run, "no place");
  run = good;
  run.mutable_order()->set_text(true);
  run.mutable_order()->add_consumers();
  expect_refused(run, "goes to one consumer, not to 2");
  run = good;
  run.mutable_order()->set_kind(v1::STEP_KIND_WRITE);
  expect_refused(run, "a write step has consumers");
  run.mutable_order()->Clear();
  run.mutable_order()->set_kind(v1::STEP_KIND_WRITE);
  expect_refused(run, "no file");
}

}  // namespace
}  // namespace weir::task
