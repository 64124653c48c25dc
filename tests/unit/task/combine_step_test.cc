// Combine steps as a task runs them: with real runs, for the real engine.

#include "runtime/task/combine_step.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "jobs/engine/make_program.h"
#include "runtime/base/job_errors.h"
#include "runtime/task/slot_threads.h"
#include "runtime/task/step_runner.h"
#include "tests/unit/format/scratch_file.h"
#include "tests/unit/task/letters_job.h"
#include "tests/unit/task/task_threads.h"

namespace weir::task {
namespace {

using ::testing::HasSubstr;

// Words and where they stand: joined, so that another order of operands shows.
struct JoinWords {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::string;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    const std::size_t space = line.find(' ');
    emit(line.substr(0, space), std::string(line.substr(space)));
  }
  void Combine(Value& into, const Value& from) const {
    if (from == " throw") throw std::runtime_error("thrown while combining");
    into += from;
  }
  void Format(std::string_view word, const Value& value, std::string& out) const {
    out.append(word).append(value).append("\n");
  }
};

class CombineStepTest : public ::testing::Test {
 protected:
  v1::StepResult Run(JobProgram& program, const v1::TaskCommand::Run& run) {
    return RunStep(BuiltInSteps(), program, run, slots_, {.memory_bytes = 1 << 24}, activity_,
                   environment_.environment().now);
  }

  // A run with one section for each range of places.
  v1::RunInfo Map(int step, const std::string& text, const std::vector<double>& ends) {
    const std::string in = folder_.File(absl::StrCat("in", step));
    format::WriteAll(in, text);
    v1::TaskCommand::Run run = MapRun(step, in, static_cast<std::int64_t>(text.size()),
                                      folder_.File(absl::StrCat(step, ".1.run")));
    run.mutable_order()->clear_consumers();
    AddConsumers(ends, *run.mutable_order());
    v1::StepResult result = Run(*words_, run);
    EXPECT_FALSE(result.has_error()) << DescribeJobError(result.error());
    return result.run();
  }

  static void AddConsumers(const std::vector<double>& ends, v1::StepOrder& order) {
    std::int64_t begin = 0;
    for (const double end : ends) {
      v1::StepConsumer& consumer = *order.add_consumers();
      consumer.set_step(100 + order.consumers_size());
      consumer.mutable_indexes()->set_begin(begin);
      begin = static_cast<std::int64_t>(end * static_cast<double>(kTablePlaces));
      consumer.mutable_indexes()->set_end(begin);
    }
  }

  static void AddInput(const v1::RunInfo& run, int consumer_step, v1::StepOrder& order) {
    v1::StepInput& input = *order.add_inputs();
    for (const v1::RunSection& section : run.sections()) {
      if (section.consumer_step() != consumer_step) continue;
      input.set_path(run.path());
      input.set_path_offset(section.offset());
      input.set_bytes(section.bytes());
    }
  }

  v1::TaskCommand::Run CombineRun(int step) {
    v1::TaskCommand::Run run;
    run.mutable_fence()->set_attempt(1);
    run.set_run_path(folder_.File(absl::StrCat(step, ".1.run")));
    v1::StepOrder* order = run.mutable_order();
    order->set_step(step);
    order->set_kind(v1::STEP_KIND_COMBINE);
    order->set_label(absl::StrCat("combine ", step));
    order->set_layer(1);
    return run;
  }

  std::string Reduce(const std::vector<v1::RunInfo>& runs) {
    v1::TaskCommand::Run run;
    run.mutable_fence()->set_attempt(1);
    run.mutable_order()->set_kind(v1::STEP_KIND_REDUCE);
    run.mutable_order()->set_layer(1);
    const std::string part = folder_.File(absl::StrCat("part", num_parts_++));
    run.mutable_order()->set_part_path(part);
    for (const v1::RunInfo& from : runs) {
      for (const v1::RunSection& section : from.sections()) {
        AddInput(from, section.consumer_step(), *run.mutable_order());
      }
    }
    const v1::StepResult result = Run(*words_, run);
    EXPECT_FALSE(result.has_error()) << DescribeJobError(result.error());
    return format::ReadAll(part);
  }

  TestEnvironment environment_;
  format::ScratchFolder folder_;
  SlotThreads slots_{2, environment_.environment()};
  std::unique_ptr<JobProgram> words_ = MakeJobProgram(JoinWords());
  StepActivity activity_;
  int num_parts_ = 0;
};

TEST_F(CombineStepTest, FoldsOperandsInTheOrderGivenAndCutsByPlaces) {
  const v1::RunInfo left = Map(1, "a 1\nb 1\nc 1\nd 1\n", {1});
  const v1::RunInfo right = Map(2, "a 2\nc 2\ne 2\n", {1});
  v1::TaskCommand::Run run = CombineRun(3);
  AddInput(right, 101, *run.mutable_order());
  AddInput(left, 101, *run.mutable_order());
  AddConsumers({0.3, 0.7, 1}, *run.mutable_order());
  const v1::StepResult result = Run(*words_, run);
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.run().run_id(), "3.1");
  EXPECT_EQ(result.input_records(), 7);
  EXPECT_EQ(result.output_records(), 5);
  EXPECT_EQ(Reduce({result.run()}), "a 2 1\nb 1\nc 2 1\nd 1\ne 2\n");
}

TEST_F(CombineStepTest, JoinsPartsAndPassesASingleOneOnWithoutUserCode) {
  const v1::RunInfo made = Map(1, "a 1\nb 1\nc 1\nd 1\ne 1\n", {0.5, 1});
  v1::TaskCommand::Run keep = CombineRun(3);
  AddInput(made, 101, *keep.mutable_order());
  keep.mutable_order()->add_inputs();  // an operand without bytes
  AddConsumers({1}, *keep.mutable_order());
  // Letters cannot combine: nobody asks it to.
  LettersProgram letters;
  const v1::StepResult kept = Run(letters, keep);
  ASSERT_FALSE(kept.has_error()) << DescribeJobError(kept.error());
  EXPECT_EQ(kept.run().sections(0).bytes(), made.sections(0).bytes());
  EXPECT_EQ(kept.run().sections(0).records(), made.sections(0).records());
  EXPECT_EQ(kept.output_records(), made.sections(0).records());
}

TEST_F(CombineStepTest, ABroadcastLiesInTheRunOnce) {
  const v1::RunInfo made = Map(1, "a 1\nb 1\n", {1});
  v1::TaskCommand::Run run = CombineRun(3);
  AddInput(made, 101, *run.mutable_order());
  for (int step : {7, 8, 9}) {
    AddConsumers({1}, *run.mutable_order());
    run.mutable_order()->mutable_consumers()->rbegin()->set_step(step);
  }
  const v1::StepResult result = Run(*words_, run);
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.run().bytes(), made.bytes());
  ASSERT_EQ(result.run().sections_size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(result.run().sections(i).consumer_step(), 7 + i);
    EXPECT_EQ(result.run().sections(i).offset(), 0);
    EXPECT_EQ(result.run().sections(i).bytes(), made.bytes());
  }
}

TEST_F(CombineStepTest, NothingToCombineGivesAnEmptyRun) {
  v1::TaskCommand::Run run = CombineRun(3);
  run.mutable_order()->add_inputs();
  AddConsumers({1}, *run.mutable_order());
  const v1::StepResult result = Run(*words_, run);
  ASSERT_FALSE(result.has_error()) << DescribeJobError(result.error());
  EXPECT_EQ(result.run().bytes(), 0);
}

TEST_F(CombineStepTest, WhatGoesWrongIsNamedAndLeavesNoRun) {
  const v1::RunInfo left = Map(1, "a 1\n", {1});
  const v1::RunInfo right = Map(2, "a throw\n", {1});
  v1::TaskCommand::Run run = CombineRun(3);
  AddInput(left, 101, *run.mutable_order());
  AddInput(right, 101, *run.mutable_order());
  AddConsumers({1}, *run.mutable_order());
  const v1::StepResult thrown = Run(*words_, run);
  EXPECT_EQ(thrown.error().code(), job_error::kUserError);
  EXPECT_THAT(thrown.error().message(), HasSubstr("thrown while combining"));
  EXPECT_EQ(thrown.error().step(), "combine 3");
  EXPECT_EQ(::access(run.run_path().c_str(), F_OK), -1);

  LettersProgram letters;
  const v1::StepResult refused = Run(letters, run);
  EXPECT_THAT(refused.error().message(), HasSubstr("cannot be combined"));

  run.mutable_order()->clear_consumers();
  run.mutable_order()->set_part_path(folder_.File("part"));
  EXPECT_THAT(std::string(CheckRun(run, BuiltInSteps()).message()),
              HasSubstr("a combine step has no consumers"));

  std::string bytes = format::ReadAll(left.path());
  bytes.back() ^= 1;
  format::WriteAll(left.path(), bytes);
  v1::TaskCommand::Run damaged = CombineRun(4);
  AddInput(left, 101, *damaged.mutable_order());
  AddConsumers({1}, *damaged.mutable_order());
  EXPECT_EQ(Run(*words_, damaged).error().code(), job_error::kDataLoss);
}

}  // namespace
}  // namespace weir::task
