// Text, JSON and trace of plans. Golden files lie in golden/; when a change of them is wanted, copy
// the new text that a failing test prints.

#include "planner/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "planner/order/transfer_orders.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_plan/two_by_two.h"

namespace weir::planner {
namespace {

using ::testing::HasSubstr;

std::string Golden(const std::string& name) {
  std::ifstream file(std::string(WEIR_GOLDEN_DIR) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Example {
  Plan plan;
  Prediction prediction;
  ActualRun actual;
  ExplainOptions options;
};

// The one-channel plan, run a little slower than predicted; the last reducer never ran.
Example MakeExample() {
  Example example;
  example.plan = TwoByTwo(1);
  example.plan.summary.method = "even";
  example.plan.summary.lower_bound_s = 7;
  example.plan.summary.notes = {
      "A note that is long enough to be wrapped, because a terminal has eighty to a hundred "
      "columns "
      "and sentences for people do not end in the middle of a word.",
      "A short one."};
  example.plan.summary.numbers = {{"map time", 2.5e-9, "s/byte", "sampled"},
                                  {"map step overhead", 0.002, "s", "default"},
                                  {"map output growth", 0.75, "", "history"}};
  example.prediction = *Predict(example.plan);
  example.actual.steps = {{0, 2.5}, {0, 3}, {6.5, 7.75}, {0, -1}};
  example.actual.transfers = {{2.5, 4.5}, {4.5, 6.5}};
  example.actual.transfer_bytes = {2, 3};
  example.actual.step_input_bytes = {10, 10, 4, 0};
  example.actual.step_output_bytes = {4, 5, 0, 0};
  example.actual.makespan_s = 7.75;
  example.options.title = "wordcount";
  example.options.worker_names = {"alpha", "beta"};
  return example;
}

std::size_t LongestLine(const std::string& text) {
  std::size_t longest = 0;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(ExplainTextTest, PredictedIsGolden) {
  const Example e = MakeExample();
  EXPECT_EQ(ExplainText(e.plan, e.prediction, nullptr, e.options), Golden("predicted.txt"));
}

TEST(ExplainTextTest, ActualIsGolden) {
  const Example e = MakeExample();
  EXPECT_EQ(ExplainText(e.plan, e.prediction, &e.actual, e.options), Golden("actual.txt"));
}

TEST(ExplainTextTest, ARunThatIsNotAtItsEndIsNotHeldAgainstItsPrediction) {
  Example e = MakeExample();
  e.options.ended = false;
  e.actual.makespan_s = 3;  // less than the bound
  std::string text = ExplainText(e.plan, e.prediction, &e.actual, e.options);
  EXPECT_THAT(text, HasSubstr("  actual     not to its end: the last step done at 3.00 s\n"));
  EXPECT_THAT(text, HasSubstr("actual end"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("too low")));
  const auto json = nlohmann::json::parse(ExplainJson(e.plan, e.prediction, &e.actual, e.options));
  EXPECT_EQ(json["actual_s"], 3.0);  // as ever: programs take it for a number
  const std::string svg = GanttSvg(e.plan, e.prediction, &e.actual, e.options);
  EXPECT_THAT(svg, HasSubstr("not to its end"));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("too low")));
  e.actual.makespan_s = 0;
  text = ExplainText(e.plan, e.prediction, &e.actual, e.options);
  EXPECT_THAT(text, HasSubstr("  actual     not to its end: no step done\n"));
}

TEST(ExplainTextTest, NeverWiderThanAHundredColumns) {
  Example e = MakeExample();
  e.options.title = std::string(300, 't');
  e.options.worker_names = {std::string(150, 'w'), "b"};
  e.plan.summary.notes.push_back(std::string(350, 'n'));
  for (ComputeStep& step : e.plan.steps) step.input_bytes = step.output_bytes = 999'499'000'000;
  EXPECT_LE(LongestLine(ExplainText(e.plan, e.prediction, &e.actual, e.options)), 100u);
}

TEST(ExplainTextTest, EmptyPlanHasAText) {
  Plan plan;
  plan.network.num_workers = 1;
  plan.compute_order.resize(1);
  plan.send_order.resize(1);
  plan.receive_order.resize(1);
  const std::string text = ExplainText(plan, *Predict(plan), nullptr, {});
  EXPECT_THAT(text, HasSubstr("1 worker, 0 steps, 0 transfers"));
}

TEST(ExplainTextTest, SaysWhatStepsPutOnDisk) {
  Example e = MakeExample();
  e.plan.steps[0].spilled_bytes = 1'500'000'000;
  e.plan.steps[1].spilled_bytes = 500'000'000;
  e.plan.steps[1].spill_s = 0.5;
  EXPECT_THAT(ExplainText(e.plan, e.prediction, nullptr, e.options),
              HasSubstr("  on disk    2.00 GB of steps whose memory is full\n"));
  e.actual.step_spilled_bytes = {1'600'000'000, 600'000'000, 0, 0};
  EXPECT_THAT(ExplainText(e.plan, e.prediction, &e.actual, e.options),
              HasSubstr("of steps whose memory is full, actual 2.20 GB (+10.0 %)\n"));
  const auto json = nlohmann::json::parse(ExplainJson(e.plan, e.prediction, &e.actual, e.options));
  EXPECT_EQ(json["spilled_bytes"], 2'000'000'000);
  EXPECT_EQ(json["actual_spilled_bytes"], 2'200'000'000);
  EXPECT_EQ(json["layers"][0]["spilled_bytes"], 2'000'000'000);
  EXPECT_EQ(json["layers"][0]["step_spill_s_max"], 0.5);
  EXPECT_EQ(json["layers"][0]["actual_spilled_bytes"], 2'200'000'000);
  EXPECT_EQ(json["steps"][1]["spill_s"], 0.5);
  EXPECT_EQ(json["steps"][1]["actual_spilled_bytes"], 600'000'000);
  EXPECT_FALSE(json["steps"][2].contains("spilled_bytes"));
  // What was not foreseen is said, too.
  for (ComputeStep& step : e.plan.steps) step.spilled_bytes = 0;
  EXPECT_THAT(ExplainText(e.plan, e.prediction, &e.actual, e.options),
              HasSubstr("  on disk    0 B of steps whose memory is full, actual 2.20 GB\n"));
}

TEST(ExplainJsonTest, PredictedIsGolden) {
  const Example e = MakeExample();
  EXPECT_EQ(ExplainJson(e.plan, e.prediction, nullptr, e.options), Golden("predicted.json"));
}

TEST(ExplainJsonTest, ActualIsGolden) {
  const Example e = MakeExample();
  EXPECT_EQ(ExplainJson(e.plan, e.prediction, &e.actual, e.options), Golden("actual.json"));
}

TEST(ExplainJsonTest, InputLiesWhereItIsReadHoweverThePlanCounts) {
  Example e = MakeExample();
  e.plan.input_part_ends = {15, 20};  // the first half costs three times the second
  e.actual.step_input_bytes = {10, 10, 4, 4};
  const auto json = nlohmann::json::parse(ExplainJson(e.plan, e.prediction, &e.actual, e.options));
  EXPECT_EQ(json["steps"][0]["input_bytes"], 6);
  EXPECT_EQ(json["steps"][1]["input_begin"], 6);
  EXPECT_EQ(json["steps"][1]["input_bytes"], 14);
  EXPECT_EQ(json["steps"][1]["actual_input_bytes"], 14);
  EXPECT_EQ(json["steps"][2]["actual_input_bytes"], 4);
  EXPECT_EQ(json["input_part_ends"], nlohmann::json({15, 20}));
}

TEST(ExplainJsonTest, NamesOfAnyBytesStayJson) {
  Example e = MakeExample();
  e.options.title = "\xff\x01\"\\<";
  e.options.worker_names[0] = "\xc3";
  const std::string text = ExplainJson(e.plan, e.prediction, &e.actual, e.options);
  EXPECT_TRUE(nlohmann::json::accept(text));
  EXPECT_TRUE(nlohmann::json::accept(ChromeTraceJson(e.plan, e.prediction, &e.actual, e.options)));
}

using Lane = std::pair<std::int64_t, std::int64_t>;

struct Trace {
  std::map<Lane, std::vector<std::pair<double, double>>> slices;
  std::map<std::string, std::set<std::string>> flows;  // id -> phases
  std::set<std::string> names;
};

Trace ReadTrace(const std::string& text) {
  Trace trace;
  const nlohmann::json json = nlohmann::json::parse(text);
  for (const nlohmann::json& event : json.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "X") {
      trace.slices[{event.at("pid"), event.at("tid")}].push_back({event.at("ts"), event.at("dur")});
    } else if (phase == "M") {
      if (event.at("args").contains("name")) trace.names.insert(event.at("args").at("name"));
    } else {
      EXPECT_TRUE(phase == "s" || phase == "f") << phase;
      EXPECT_TRUE(trace.flows[event.at("id")].insert(phase).second);
    }
  }
  return trace;
}

// Slices of one lane must not overlap, or the viewer nests them.
void ExpectLanesAreFlat(Trace* trace) {
  for (auto& [lane, slices] : trace->slices) {
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i) {
      EXPECT_GE(slices[i].first + 0.002, slices[i - 1].first + slices[i - 1].second)
          << lane.first << "/" << lane.second;
    }
  }
}

TEST(ChromeTraceTest, StepsTransfersAndFlowsOfBothRuns) {
  const Example e = MakeExample();
  Trace trace = ReadTrace(ChromeTraceJson(e.plan, e.prediction, &e.actual, e.options));
  ExpectLanesAreFlat(&trace);
  std::size_t num_slices = 0;
  for (const auto& [lane, slices] : trace.slices) num_slices += slices.size();
  EXPECT_EQ(num_slices, (4 + 2 * 2) + (3 + 2 * 2));  // one step never ran
  EXPECT_EQ(trace.flows.size(), 4u);
  for (const auto& [id, phases] : trace.flows) EXPECT_EQ(phases.size(), 2u) << id;
  for (const char* name : {"alpha (actual)", "beta (predicted)", "compute", "send", "receive"}) {
    EXPECT_TRUE(trace.names.count(name)) << name;
  }
  EXPECT_EQ(trace.slices.begin()->second[0], std::make_pair(0.0, 2.5e6));
}

TEST(ChromeTraceTest, ActualSlicesCarryActualBytes) {
  Example e = MakeExample();
  e.actual.step_input_bytes = {11, 12, 13, 0};
  e.actual.step_output_bytes = {21, 22, 23, 0};
  e.actual.transfer_bytes = {31, 32};
  const auto json =
      nlohmann::json::parse(ChromeTraceJson(e.plan, e.prediction, &e.actual, e.options));
  std::map<std::int64_t, std::vector<std::int64_t>> actual, predicted;  // by step
  std::set<std::int64_t> moved;
  for (const nlohmann::json& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const nlohmann::json& args = event.at("args");
    const bool is_actual = event.at("pid").get<std::int64_t>() < 1'000'000;
    if (args.contains("step")) {
      (is_actual ? actual : predicted)[args.at("step")] = {args.at("input_bytes"),
                                                           args.at("output_bytes")};
    } else if (is_actual) {
      moved.insert(args.at("bytes").get<std::int64_t>());
    }
  }
  const std::map<std::int64_t, std::vector<std::int64_t>> ran = {
      {0, {11, 21}}, {1, {12, 22}}, {2, {13, 23}}};
  EXPECT_EQ(actual, ran);
  EXPECT_EQ(moved, (std::set<std::int64_t>{31, 32}));
  for (const auto& [step, bytes] : predicted) {
    const ComputeStep& planned = e.plan.steps[static_cast<std::size_t>(step)];
    EXPECT_EQ(bytes, (std::vector<std::int64_t>{planned.input_bytes, planned.output_bytes}));
  }
  EXPECT_THAT(GanttSvg(e.plan, e.prediction, &e.actual, e.options),
              HasSubstr("11 B in, 21 B out, actual"));
}

TEST(ChromeTraceTest, OverlappingTransfersGetRowsOfTheirOwn) {
  // Worker 0 fetches from three others at once.
  Plan plan;
  plan.network.num_workers = 4;
  plan.network.seconds_per_byte = 1;
  for (std::int32_t worker = 0; worker < 4; ++worker) {
    ComputeStep step;
    step.kind = StepKind::kCombine;
    step.worker = worker;
    plan.steps.push_back(step);
    plan.compute_order.push_back({worker});
    if (worker == 0) continue;
    plan.transfers.push_back({worker, 0, worker, 0, 0, 5, 0, 0});
    plan.steps[0].after_transfers.push_back(worker - 1);
    plan.sections.push_back({worker, 0, 5});
  }
  ASSERT_EQ(OrderFetchAll(&plan), absl::OkStatus());
  Trace trace = ReadTrace(ChromeTraceJson(plan, *Predict(plan), nullptr, {}));
  ExpectLanesAreFlat(&trace);
  EXPECT_TRUE(trace.names.count("receive 2"));
}

}  // namespace
}  // namespace weir::planner
