#include "jobs/pagerank/pagerank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "jobs/pagerank/edges.h"
#include "jobs/testing/in_process_job.h"
#include "planner/plan/plan.h"
#include "tests/unit/jobs/loop_runner.h"

namespace weir::pagerank {
namespace {

using ::testing::HasSubstr;
using testing::LoopPlanFor;
using testing::LoopResult;
using testing::RunLoop;
using testing::ScratchFile;
using Ranks = std::map<std::int64_t, double>;
using Edges = std::vector<std::pair<std::int64_t, std::int64_t>>;

ParameterValues Values(std::int64_t nodes, int iterations, const std::string& tolerance = "0",
                       const std::string& damping = "0.85") {
  return {{"nodes", absl::StrCat(nodes)},
          {"iterations", absl::StrCat(iterations)},
          {"tolerance", tolerance},
          {"damping", damping},
          {"show", "10"}};
}

absl::StatusOr<LoopResult> RunOn(const ScratchFile& file, const ParameterValues& values,
                                 int num_workers, int num_slots, std::int64_t memory_bytes = 0) {
  const auto definition = MakeDefinition();
  const planner::Plan plan = LoopPlanFor(**definition->Loop(values), file.range().end, num_workers);
  return RunLoop(
      plan, [&] { return *definition->MakeProgram(values); }, file.path(), num_slots, memory_bytes);
}

Ranks RanksOf(const std::string& part) {
  Ranks ranks;
  std::istringstream lines(part);
  std::int64_t id = 0, last = -1;
  std::string rank;
  while (lines >> id >> rank) {
    EXPECT_GT(id, last) << "ids rise";
    last = id;
    ranks[id] = std::stod(rank);
  }
  return ranks;
}

// Iteration by iteration over a map of nodes, dangling ones looked up.
Ranks ByHand(const Edges& edges, int iterations, double damping) {
  std::map<std::int64_t, double> degrees;
  Ranks ranks;
  for (const auto& [from, to] : edges) {
    degrees[from] += 1;
    ranks[from] = ranks[to] = 0;
  }
  const auto n = static_cast<double>(ranks.size());
  for (auto& [id, rank] : ranks) rank = 1 / n;
  for (int i = 0; i < iterations; ++i) {
    Ranks next;
    double dangling = 0;
    for (const auto& [id, rank] : ranks) dangling += degrees.count(id) == 0 ? rank : 0;
    for (const auto& [id, rank] : ranks) next[id] = (1 - damping + damping * dangling) / n;
    for (const auto& [from, to] : edges) next[to] += damping * ranks[from] / degrees[from];
    ranks = next;
  }
  return ranks;
}

std::string TextOf(const Edges& edges) {
  std::string text;
  const char* const kBetween[] = {" ", "\t", ",", " , ", "  \t"};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    absl::StrAppend(&text, edges[i].first, kBetween[i % 5], edges[i].second,
                    i % 7 == 3 ? " # seen\r\n" : "\n", i % 11 == 5 ? "# a comment\n\n" : "");
  }
  return text;
}

struct Graph {
  std::int64_t nodes = 1;
  Edges edges;
};

Graph DrawGraph() {
  Graph graph;
  graph.nodes = *rc::gen::inRange(1, 30);
  const int count = *rc::gen::inRange(1, 80);
  const auto id = rc::gen::inRange<std::int64_t>(0, graph.nodes);
  for (int i = 0; i < count; ++i) graph.edges.emplace_back(*id, *id);
  return graph;
}

RC_GTEST_PROP(PagerankProperty, EqualsPowerIterationByHandOnAnyWorkersAndSlots, ()) {
  const Graph graph = DrawGraph();
  const int iterations = *rc::gen::inRange(1, 8);
  const std::string damping = *rc::gen::element<std::string>("0", "0.5", "0.85", "1");
  const ScratchFile file(TextOf(graph.edges));
  const auto result = RunOn(file, Values(graph.nodes, iterations, "0", damping),
                            *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 4));
  if (!result.ok()) RC_FAIL(std::string(result.status().message()));
  // One whose ranks do not change ends before; its ranks are those of all later iterations.
  const Ranks wanted = ByHand(graph.edges, iterations, std::stod(damping));
  const Ranks found = RanksOf(result->part);
  RC_ASSERT(found.size() == wanted.size());
  double sum = 0;
  for (const auto& [id, rank] : found) {
    RC_ASSERT(wanted.count(id) == 1u);
    RC_ASSERT(std::abs(rank - wanted.at(id)) < 1e-13);
    sum += rank;
  }
  RC_ASSERT(std::abs(sum - 1) < 1e-12);
}

RC_GTEST_PROP(PagerankProperty, TheSamePlanGivesTheSameBits, ()) {
  const Graph graph = DrawGraph();
  const ScratchFile file(TextOf(graph.edges));
  const int workers = *rc::gen::inRange(1, 9), slots = *rc::gen::inRange(1, 4);
  const auto one = RunOn(file, Values(graph.nodes, 5), workers, slots);
  const auto other = RunOn(file, Values(graph.nodes, 5), workers, slots);
  RC_ASSERT(one.ok() && other.ok());
  RC_ASSERT(one->part == other->part);
}

TEST(PagerankTest, ThreePagesByHand) {
  // 0 -> 1, 0 -> 2, 1 -> 2; 2 dangles.
  const ScratchFile file("0 1\n0 2\n1 2\n");
  const auto result = RunOn(file, Values(3, 1), 2, 1);
  ASSERT_EQ(result.status(), absl::OkStatus());
  const Ranks ranks = RanksOf(result->part);
  const double base = 0.05 + 0.85 / 9;
  EXPECT_NEAR(ranks.at(0), base, 1e-15);
  EXPECT_NEAR(ranks.at(1), base + 0.85 / 6, 1e-15);
  EXPECT_NEAR(ranks.at(2), base + 0.85 / 6 + 0.85 / 3, 1e-15);
  // The ranks moved by what 0 and 1 lost and 2 gained.
  EXPECT_EQ(result->reports.back().measure_name, "l1_change");
  double moved = 0;
  for (const auto& [id, rank] : ranks) moved += std::abs(rank - 1.0 / 3);
  EXPECT_NEAR(result->reports.back().measure, moved, 1e-15);
}

TEST(PagerankTest, EndsOnceTheRanksChangeByNoMoreThanTheTolerance) {
  const ScratchFile file("0 1\n1 2\n2 0\n2 1\n3 0\n");
  const auto result = RunOn(file, Values(4, 1000, "1e-10"), 3, 1);
  ASSERT_EQ(result.status(), absl::OkStatus());
  const std::size_t last = result->reports.size() - 1;
  EXPECT_TRUE(result->reports[last].converged);
  EXPECT_LE(result->reports[last].measure, 1e-10);
  EXPECT_GT(result->reports[last - 1].measure, 1e-10);
  EXPECT_LT(last, 200u);
}

TEST(PagerankTest, IdsWithoutEdgesAreNoNodes) {
  const ScratchFile file("5 9\n");
  const auto result = RunOn(file, Values(12, 100, "1e-15"), 4, 2);
  ASSERT_EQ(result.status(), absl::OkStatus());
  const Ranks ranks = RanksOf(result->part);
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_NEAR(ranks.at(5) + ranks.at(9), 1, 1e-14);
  EXPECT_NEAR(ranks.at(9) / ranks.at(5), 1.85, 1e-12);
}

TEST(PagerankTest, OneNodeHasAllTheRank) {
  const ScratchFile file("7 7\n");
  const auto result = RunOn(file, Values(8, 100, "1e-15"), 2, 1);
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_NEAR(RanksOf(result->part).at(7), 1, 1e-15);
}

TEST(PagerankTest, AnEdgeThatStandsTwiceCountsTwice) {
  const ScratchFile file("0 1\n0 2\n0 1\n");
  const auto result = RunOn(file, Values(3, 1), 1, 1);
  ASSERT_EQ(result.status(), absl::OkStatus());
  const Ranks ranks = RanksOf(result->part);
  EXPECT_NEAR(ranks.at(1) - ranks.at(2), 0.85 / 3 / 3, 1e-15);
}

TEST(PagerankTest, NoEdgeIsNamed) {
  for (const char* text : {"", "\n \t\n", "# 1 2\n"}) {
    const ScratchFile file(text);
    EXPECT_THAT(std::string(RunOn(file, Values(3, 5), 2, 1).status().message()),
                HasSubstr("the input has no edge"));
  }
}

TEST(PagerankTest, WhatIsNoEdgeIsABadRecord) {
  for (const auto& [line, reason] :
       {std::pair(std::string("3"), "one node; expected two"),
        std::pair(std::string("3,"), "one node; expected two"),
        std::pair(std::string("1 2 3"), "more than two nodes"),
        std::pair(std::string("1,,2"), "more than two nodes"),
        std::pair(std::string(",1"), "'' is no node"),
        std::pair(std::string("-1 2"), "'-1' is no node: ids are integers from 0 to 9"),
        std::pair(std::string("1 +2"), "'+2' is no node"),
        std::pair(std::string("1 2.5"), "'2.5' is no node"),
        std::pair(std::string("a b"), "'a' is no node"),
        std::pair(std::string("1 10"), "0 to 9; --set nodes=N allows more"),
        std::pair(std::string("99999999999999999999 1"), "is no node"),
        std::pair(std::string("\0\1\xff 2", 5), "'\\000\\001\\377' is no node")}) {
    const ScratchFile file("0 1\n" + line + "\n");
    const auto bad = BadRecordOf(RunOn(file, Values(10, 2), 1, 1).status());
    ASSERT_TRUE(bad.has_value()) << line;
    EXPECT_THAT(bad->reason, HasSubstr(reason)) << line;
    EXPECT_EQ(bad->byte_offset, 4) << line;
  }
}

TEST(PagerankTest, EdgesThatDoNotFitIntoMemoryAreNamed) {
  std::string text;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&text, i % 10, " ", i % 7, "\n");
  const ScratchFile file(text);
  const auto error =
      StepErrorOf(RunOn(file, Values(10, 2), 1, 1, /*memory_bytes=*/20'000).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, "OUT_OF_MEMORY");
}

TEST(PagerankTest, ParametersThatCannotBeAreRefused) {
  const auto definition = MakeDefinition();
  EXPECT_THAT(std::string(definition->CheckValues(Values(3, 1, "-1")).message()),
              HasSubstr("parameter 'tolerance' is '-1'; it must be a number from 0 on"));
  EXPECT_THAT(std::string(definition->CheckValues(Values(3, 1, "0", "1.5")).message()),
              HasSubstr("parameter 'damping' is '1.5'; it must be a number from 0 to 1"));
  EXPECT_EQ(definition->CheckValues(Values(3, 1)), absl::OkStatus());
}

TEST(PagerankTest, GeneratedEdgesFollowAPowerLawAndSomeNodesDangle) {
  const auto definition = MakeDefinition();
  auto generator = *definition->data()->MakeGenerator({.seed = 3, .skew = 0.8});
  std::map<std::uint32_t, int> in_degrees;
  std::set<std::uint32_t> sources;
  constexpr int kEdges = 100'000;
  for (int i = 0; i < kEdges; ++i) {
    std::string line;
    generator->Append(i, line);
    line.pop_back();
    const EdgeLine parsed = ParseEdge(line, EdgeGenerator::kIds);
    ASSERT_TRUE(parsed.has_edge) << line << parsed.wrong;
    ASSERT_NE(parsed.edge.from % 8, 0u);
    ++in_degrees[parsed.edge.to];
    sources.insert(parsed.edge.from);
  }
  std::vector<int> degrees;
  for (const auto& [id, degree] : in_degrees) degrees.push_back(degree);
  std::sort(degrees.rbegin(), degrees.rend());
  // With density r^-0.9 the first 100 of 100 000 nodes have (1e-3)^0.1, half of all edges.
  int first = 0;
  for (int i = 0; i < 100; ++i) first += degrees[static_cast<std::size_t>(i)];
  EXPECT_NEAR(static_cast<double>(first) / kEdges, 0.501, 0.02);
  EXPECT_GT(sources.size(), 50'000u);
  // A record is that of its number.
  std::string late, again;
  generator->Append(77, late);
  (*definition->data()->MakeGenerator({.seed = 3, .skew = 0.8}))->Append(77, again);
  EXPECT_EQ(late, again);
}

}  // namespace
}  // namespace weir::pagerank
