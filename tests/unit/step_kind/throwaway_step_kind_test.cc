// A kind of step that no file of the product knows goes through the whole house: checked,
// predicted, drawn, conducted, ordered and carried out. What a real one needs beside this is a row
// in planner/plan/step_kind.h, a number in plan.proto, a row in runtime/task/step_kinds.cc, its own
// file there (.h and .cc), and a builder that uses it: six files.

#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/explain/explain.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/job_errors.h"
#include "runtime/format/run_reader.h"
#include "runtime/format/run_writer.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "runtime/master/conduct/order_builder.h"
#include "runtime/task/slot_threads.h"
#include "runtime/task/step_runner.h"
#include "tests/unit/format/scratch_file.h"
#include "tests/unit/task/letters_job.h"
#include "tests/unit/task/task_threads.h"

namespace weir {
namespace {

using planner::At;
using planner::StepIndex;
using ::testing::HasSubstr;

// Adds up dense vectors, element by element, and writes the sums as text.
constexpr planner::StepKindTraits kSumTraits{.name = "sum", .number = 1000, .gantt_style = 'c'};
constexpr planner::StepKind kSum{kSumTraits};

absl::StatusOr<StepTotals> SumToPart(const task::StepWork& work, PartSink& sink) {
  std::vector<std::int64_t> sums;
  for (const v1::StepInput& input : work.order.inputs()) {
    auto reader = format::RunReader::Open(input.path(), input.path_offset(), input.bytes());
    if (!reader.ok()) return reader.status();
    const absl::StatusOr<absl::Span<const char>> block = (*reader)->NextBlock();
    if (!block.ok()) return block.status();
    sums.resize(block->size() / sizeof(std::int64_t));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      std::int64_t element = 0;
      std::memcpy(&element, block->data() + i * sizeof element, sizeof element);
      sums[i] += element;
    }
  }
  std::string text;
  for (const std::int64_t sum : sums) absl::StrAppend(&text, sum, "\n");
  const auto records = static_cast<std::int64_t>(sums.size());
  if (absl::Status written = sink.Append(text, records); !written.ok()) return written;
  return StepTotals{records, records};
}

constexpr int kWorkers = 2;
constexpr std::int64_t kElements = 8;  // of each vector; half for each sum step

/// Maps 0 and 1 make a vector each; sums 0 and 1 on the same workers add up half of the places.
planner::Plan SumPlan() {
  planner::Plan plan;
  plan.network.num_workers = kWorkers;
  plan.network.seconds_per_byte = 1e-3;
  plan.steps.resize(2 * kWorkers);
  plan.compute_order.resize(kWorkers);
  for (int w = 0; w < kWorkers; ++w) {
    planner::ComputeStep& map = plan.steps[At(w)];
    map.index_in_layer = w;
    map.worker = w;
    map.input_begin = 10 * w;
    map.input_end = 10 * w + 10;
    map.input_bytes = 10;
    map.output_bytes = kElements * 8;
    map.duration_s = 1;
    planner::ComputeStep& sum = plan.steps[At(kWorkers + w)];
    sum.kind = kSum;
    sum.layer = 1;
    sum.index_in_layer = w;
    sum.worker = w;
    sum.input_bytes = kElements * 8;
    sum.duration_s = 0.5;
    sum.after_steps = {w};
    sum.after_transfers = {1 - w};
    plan.compute_order[At(w)] = {w, kWorkers + w};
    for (int s = 0; s < kWorkers; ++s) {
      plan.sections.push_back(
          {w, kWorkers + s, kElements * 4, planner::IndexRange{4 * s, 4 * s + 4}});
    }
    planner::Transfer transfer;
    transfer.producer = transfer.sender = w;
    transfer.receiver = 1 - w;
    transfer.consumer = kWorkers + transfer.receiver;
    transfer.bytes = kElements * 4;
    plan.transfers.push_back(transfer);
  }
  EXPECT_EQ(planner::OrderByPriority(&plan), absl::OkStatus());
  return plan;
}

TEST(ThrowawayStepKindTest, IsCheckedAndPredicted) {
  const planner::Plan plan = SumPlan();
  EXPECT_EQ(planner::CheckPlan(plan), absl::OkStatus());
  const auto predicted = planner::Predict(plan);
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_DOUBLE_EQ(predicted->makespan_s, 1 + 1e-3 * kElements * 4 + 0.5);
}

TEST(ThrowawayStepKindTest, IsShownByItsName) {
  const planner::Plan plan = SumPlan();
  const planner::Prediction predicted = *planner::Predict(plan);
  EXPECT_THAT(planner::ExplainText(plan, predicted, nullptr, {}), HasSubstr("sum 1"));
  EXPECT_THAT(planner::ExplainJson(plan, predicted, nullptr, {}), HasSubstr("\"kind\": \"sum\""));
  const std::string picture = planner::GanttSvg(plan, predicted, nullptr, {});
  EXPECT_THAT(picture, HasSubstr(">sum</text>")) << "in the legend";
  EXPECT_THAT(picture, HasSubstr("sum 1 on worker 1"));
  EXPECT_THAT(planner::ChromeTraceJson(plan, predicted, nullptr, {}), HasSubstr("\"sum 0\""));
}

TEST(ThrowawayStepKindTest, AVersionThatDoesNotKnowItSaysSo) {
  const v1::Plan message = planner::PlanToProto(SumPlan(), {});
  EXPECT_EQ(message.steps(2).kind(), 1000);
  EXPECT_EQ(message.sections(1).indexes().begin(), 4);
  EXPECT_THAT(std::string(planner::PlanFromProto(message).status().message()),
              HasSubstr("unknown step kind 1000"));
  v1::TaskCommand::Run run;
  run.mutable_order()->set_kind(static_cast<v1::StepKind>(1000));
  EXPECT_THAT(std::string(task::CheckRun(run, task::BuiltInSteps()).message()),
              HasSubstr("step kind 1000 is unknown"));
}

/// Carries out the orders of a plan in one folder, one after the other, as workers would.
class OneFolderCluster {
 public:
  explicit OneFolderCluster(const planner::Plan& plan)
      : plan_(plan),
        prediction_(*planner::Predict(plan)),
        conductor_(plan_, prediction_, std::vector<std::string>(kWorkers)),
        builder_(plan_, input_, workers_, master::OutputPlaces(folder_.File("out"), "j"), 1, {},
                 published_) {
    kinds_.insert({1000, {.name = "sum", .make_run = nullptr, .make_part = SumToPart}});
  }

  void Run() {
    Take(conductor_.Begin(MonoTime()));
    EXPECT_TRUE(conductor_.progress().finished());
  }
  const std::vector<std::string>& parts() const { return parts_; }

 private:
  void Take(const master::ConductorOrders& orders) {
    for (const master::StepStart& start : orders.steps) {
      const v1::StepOrder order = builder_.BuildStep(start);
      v1::RunInfo run;
      if (order.kind() == v1::STEP_KIND_MAP) {
        run = MakeVector(order);
        published_.Add({start.step, start.attempt}, run);
        runs_[start.step] = run;
      } else {
        RunSum(order);
      }
      std::vector<master::RunSection> sections;
      for (const v1::RunSection& section : run.sections()) {
        sections.push_back(
            {section.consumer_step(), section.offset(), section.bytes(), section.bytes()});
      }
      master::ConductorOrders next;
      EXPECT_EQ(conductor_.StepDone(start.step, sections, MonoTime(), next), absl::OkStatus());
      Take(next);
    }
    for (const master::TransferStart& start : orders.transfers) {
      master::ConductorOrders next;
      EXPECT_EQ(conductor_.TransferDone(start.transfer, MonoTime(), next), absl::OkStatus());
      Take(next);
    }
  }

  // Elements 100 * step, 100 * step + 1, ..., cut as the order's consumers ask.
  v1::RunInfo MakeVector(const v1::StepOrder& order) {
    auto writer = *format::RunWriter::Create(folder_.File(absl::StrCat(order.step(), ".1.run")),
                                             v1::CODEC_NONE);
    for (int c = 0; c < order.consumers_size(); ++c) {
      const v1::IndexRange& range = order.consumers(c).indexes();
      std::vector<std::int64_t> elements(static_cast<std::size_t>(range.end() - range.begin()));
      std::iota(elements.begin(), elements.end(), 100 * order.step() + range.begin());
      EXPECT_TRUE(writer->BeginSection(c).ok());
      EXPECT_TRUE(writer
                      ->Append({reinterpret_cast<const char*>(elements.data()),
                                elements.size() * sizeof elements[0]},
                               static_cast<std::int64_t>(elements.size()))
                      .ok());
    }
    v1::RunInfo run = *writer->Finish(absl::StrCat(order.step(), ".1"));
    for (v1::RunSection& section : *run.mutable_sections()) {
      section.set_consumer_step(order.consumers(section.consumer_step()).step());
    }
    return run;
  }

  void RunSum(v1::StepOrder order) {
    EXPECT_EQ(order.label(), absl::StrCat("sum ", order.index_in_layer()));
    for (v1::StepInput& input : *order.mutable_inputs()) {
      input.set_path(runs_.at(input.producer_step()).path());
      input.set_path_offset(input.offset());
    }
    order.set_part_path(folder_.File(absl::StrCat("part-", order.index_in_layer())));
    v1::TaskCommand::Run run;
    *run.mutable_order() = order;
    task::StepActivity activity;
    const v1::StepResult result =
        task::RunStep(kinds_, program_, run, slots_, {.memory_bytes = 1 << 20}, activity,
                      environment_.environment().now);
    EXPECT_FALSE(result.has_error()) << DescribeJobError(result.error());
    parts_.push_back(format::ReadAll(order.part_path()));
  }

  const planner::Plan plan_;
  const planner::Prediction prediction_;
  const master::InputRanges input_{{{{"/in", 20}}, 20}};
  const std::vector<master::RegisteredWorker> workers_ =
      std::vector<master::RegisteredWorker>(kWorkers);
  format::ScratchFolder folder_;
  master::ConductorMachine conductor_;
  master::PublishedRuns published_;
  master::OrderBuilder builder_;
  task::StepImplementations kinds_ = task::BuiltInSteps();
  task::LettersProgram program_;
  task::TestEnvironment environment_;
  task::SlotThreads slots_{1, environment_.environment()};
  std::map<StepIndex, v1::RunInfo> runs_;
  std::vector<std::string> parts_;
};

TEST(ThrowawayStepKindTest, IsConductedOrderedAndCarriedOut) {
  OneFolderCluster cluster(SumPlan());
  cluster.Run();
  EXPECT_THAT(cluster.parts(),
              ::testing::UnorderedElementsAre("100\n102\n104\n106\n", "108\n110\n112\n114\n"));
}

}  // namespace
}  // namespace weir
