// The Gantt picture: well formed, complete, small, and honest about broken limits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "planner/explain/explain.h"
#include "planner/explain/gantt_lanes.h"
#include "planner/explain/interval_rows.h"
#include "planner/explain/time_axis.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_plan/two_by_two.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Says what is not well formed in an XML text without comments and declarations; empty when all is.
std::string XmlFault(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < xml.size()) {
    if (xml[at] == '&') {
      const std::string entity = xml.substr(at, xml.find(';', at) - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;") return "entity " + entity;
      at += entity.size();
      continue;
    }
    if (static_cast<unsigned char>(xml[at]) < 0x20 && xml[at] != '\n') return "control character";
    if (xml[at] != '<') {
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return "unclosed tag";
    const std::string tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.empty() || tag.find('<') != std::string::npos) return "bad tag " + tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (name[0] == '/') {
      if (open.empty() || "/" + open.back() != name) return "unexpected " + name;
      open.pop_back();
      continue;
    }
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "unbalanced quotes in " + tag;
    if (tag.back() != '/') open.push_back(name);
  }
  return open.empty() ? "" : "unclosed " + open.back();
}

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

ActualRun SlowerRun() {
  ActualRun actual;
  actual.steps = {{0, 2.5}, {0, 3}, {6.5, 7.75}, {4.5, 5.5}};
  actual.transfers = {{2.5, 4.5}, {4.5, 6.5}};
  actual.makespan_s = 7.75;
  return actual;
}

TEST(GanttSvgTest, ShowsLanesChannelsAndBothRuns) {
  const Plan plan = TwoByTwo(1);
  const ActualRun actual = SlowerRun();
  ExplainOptions options;
  options.title = "wordcount";
  options.worker_names = {"alpha", "beta"};
  const std::string svg = GanttSvg(plan, *Predict(plan), &actual, options);
  EXPECT_EQ(XmlFault(svg), "");
  for (const char* part :
       {">alpha<", ">beta<", ">compute<", ">send<", ">receive<", ">channel 1<", ">total<",
        ">predicted 7.00 s<", ">actual 7.75 s<", ">5 s<", "map 0 on alpha, 10 B in, 4 B out",
        "alpha to beta, map 0 to reduce 1, 2 B, actual 2.50 s to 4.50 s"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_THAT(svg, Not(HasSubstr("over limit")));
  // Per run: four steps, and two transfers each on a send, a receive and a channel lane.
  EXPECT_EQ(CountOf(svg, "</title></rect>"), 2u * (4 + 3 * 2));
}

TEST(GanttSvgTest, BrokenLimitGetsARowOfItsOwn) {
  const Plan plan = TwoByTwo(1);
  ActualRun actual = SlowerRun();
  actual.transfers = {{2.5, 4.5}, {3, 5}};
  EXPECT_THAT(GanttSvg(plan, *Predict(plan), &actual, {}), HasSubstr(">over limit<"));
}

TEST(GanttLanesTest, ATransferStandsOnTheLanesThatItTakes) {
  // Workers 0 and 1 send 2 B to worker 2; worker 1 at half the rate takes one of two lanes.
  NetworkModel network = LimitedTotal(3, 1, 1);
  network.port_slowdown = {1, 2, 1};
  PlanAssembly assembly(network);
  LayerDraft layer;
  layer.reducers = {{2, 1}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 1.0; };
  ASSERT_EQ(assembly.AddMappers({{0, 2, 2, 0, 1}, {1, 2, 2, 0, 1}}), absl::OkStatus());
  ASSERT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  Plan plan = assembly.TakePlan();
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  const Prediction predicted = *Predict(plan);
  ActualRun actual;
  actual.steps = predicted.steps;
  actual.transfers = predicted.transfers;
  const GanttGroup cut = LayOutGantt(plan, predicted, &actual, {}, 1e-6).back();
  EXPECT_EQ(cut.detail, "1 channel of 2 lanes");
  ASSERT_EQ(cut.lanes.size(), 2u);
  EXPECT_EQ(cut.lanes[0].name, "lane 1");
  EXPECT_EQ(cut.lanes[0].predicted.size(), 2u);
  EXPECT_EQ(cut.lanes[1].predicted.size(), 1u);
  EXPECT_EQ(cut.lanes[0].actual.size(), 2u);
  EXPECT_EQ(cut.lanes[1].actual.size(), 1u);
  // Both at once are three lanes of two.
  actual.transfers[1] = actual.transfers[0];
  const GanttGroup broken = LayOutGantt(plan, predicted, &actual, {}, 1e-6).back();
  ASSERT_EQ(broken.lanes.size(), 3u);
  EXPECT_TRUE(broken.lanes[2].over_limit);
}

TEST(GanttSvgTest, OddNamesAndMissingTimesDoNoHarm) {
  const Plan plan = TwoByTwo(1);
  ActualRun nothing_ran;
  ExplainOptions options;
  options.title = "<b>&\x01\xff ok \xc3\xa9";
  options.worker_names = {"a<", "&&"};
  const std::string svg = GanttSvg(plan, Prediction{}, &nothing_ran, options);
  EXPECT_EQ(XmlFault(svg), "");
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt;&amp;?? ok \xc3\xa9"));
}

TEST(GanttSvgTest, FetchAllHasNoChannelLanes) {
  Plan plan = TwoByTwo(1);
  ASSERT_EQ(OrderFetchAll(&plan), absl::OkStatus());
  const std::string svg = GanttSvg(plan, *Predict(plan), nullptr, {});
  EXPECT_EQ(XmlFault(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("channel 1")));
}

TEST(GanttSvgTest, LargePlanStaysBelowTwoMegabytes) {
  const std::int32_t n = 200;
  PlanAssembly assembly(LimitedTotal(n, 1e-3, 50));
  std::vector<MapperDraft> mappers;
  LayerDraft layer;
  for (std::int32_t i = 0; i < n; ++i) {
    mappers.push_back({i, 1000, 100'000 + 997 * (i % 13), 0.5 * i, 20.0 + i % 7});
    layer.reducers.push_back({i, 1.0 / n});
  }
  layer.reduce_seconds = [](WorkerIndex, Bytes bytes) { return 1e-4 * static_cast<double>(bytes); };
  ASSERT_TRUE(assembly.AddMappers(mappers).ok());
  ASSERT_TRUE(assembly.AddReducers(layer, {}).ok());
  Plan plan = assembly.TakePlan();
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  const Prediction prediction = *Predict(plan);
  ActualRun actual;
  actual.steps = prediction.steps;
  actual.transfers = prediction.transfers;
  actual.makespan_s = prediction.makespan_s;
  const std::string svg = GanttSvg(plan, prediction, &actual, {});
  EXPECT_LT(svg.size(), 2'000'000u);
  EXPECT_EQ(XmlFault(svg), "");
  EXPECT_THAT(svg, HasSubstr(" transfers, "));
}

TEST(MergeBarsTest, OnlySmallNeighboursOfAKindMerge) {
  std::vector<GanttGroup> groups(1);
  groups[0].lanes.resize(1);
  std::vector<GanttBar>& bars = groups[0].lanes[0].predicted;
  const auto bar = [](BarKind kind, double start_s, double finish_s) {
    return GanttBar{kind, start_s, finish_s, 0, 1, 10, false};
  };
  bars = {bar(kSendBar, 0, 0.1), bar(kSendBar, 0.2, 0.3),
          bar(BarKind::OfStep(StepKind::kMap), 0.3, 0.4), bar(kSendBar, 0.4, 5),
          bar(kSendBar, 5, 5.1)};
  EXPECT_EQ(MergeBars(1, false, &groups), 4u);
  EXPECT_EQ(bars[0].count, 2);
  EXPECT_EQ(bars[0].bytes, 20);
  EXPECT_EQ(bars[0].finish_s, 0.3);
}

TEST(AssignRowsTest, UsesAsManyRowsAsOverlap) {
  const IntervalRows rows = AssignRows({{0, 2}, {1, 3}, {2, 4}, {2.95, 5}}, 0.1);
  EXPECT_EQ(rows.num_rows, 2u);
  EXPECT_THAT(rows.row_of, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(AssignRows({{0, 2}, {1, 3}, {2, 4}, {2.95, 5}}, 0).num_rows, 3u);
}

TEST(TimeTicksTest, RoundStepsWithUnits) {
  const std::vector<TimeTick> ticks = TimeTicks(7.3, 8);
  ASSERT_EQ(ticks.size(), 4u);
  EXPECT_EQ(ticks[1].label, "2 s");
  EXPECT_EQ(TimeTicks(0.0123, 8)[1].label, "2 ms");
  EXPECT_EQ(TimeTicks(1e-6, 8)[1].label, "0.2 us");
  EXPECT_EQ(TimeTicks(3600, 8)[1].label, "10 min");
  EXPECT_EQ(TimeTicks(1e6, 8)[1].label, "50 h");
  EXPECT_LE(TimeTicks(1e90, 8).size(), 8u);
}

}  // namespace
}  // namespace weir::planner
