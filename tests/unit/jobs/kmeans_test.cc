#include "jobs/kmeans/kmeans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "jobs/kmeans/find_centroids.h"
#include "jobs/testing/in_process_job.h"
#include "planner/plan/plan.h"
#include "tests/unit/jobs/generated_rows.h"
#include "tests/unit/jobs/loop_runner.h"

namespace weir::kmeans {
namespace {

using ::testing::HasSubstr;
using testing::LoopPlanFor;
using testing::LoopResult;
using testing::RunLoop;
using testing::ScratchFile;

ParameterValues Values(int k, int dimensions, int iterations, const std::string& tolerance = "0",
                       int seed = 1) {
  return {{"k", std::to_string(k)},
          {"dimensions", std::to_string(dimensions)},
          {"iterations", std::to_string(iterations)},
          {"tolerance", tolerance},
          {"seed", std::to_string(seed)}};
}

absl::StatusOr<LoopResult> RunOn(const ScratchFile& file, const ParameterValues& values,
                                 int num_workers, int num_slots, planner::Plan* used = nullptr) {
  const auto definition = MakeDefinition();
  const LoopInfo loop = **definition->Loop(values);
  const planner::Plan plan = LoopPlanFor(loop, file.range().end, num_workers);
  if (used != nullptr) *used = plan;
  return RunLoop(
      plan, [&] { return *definition->MakeProgram(values); }, file.path(), num_slots);
}

struct Rows {
  std::string text;
  std::vector<std::vector<double>> points;  // of each line
};

Rows RandomRows(std::uint64_t seed, int count, int dimensions) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> near(0, 1);
  std::ostringstream text;
  text.precision(17);
  Rows rows;
  for (int i = 0; i < count; ++i) {
    const double centre = static_cast<double>(engine() % 4) * 5;
    std::vector<double>& point = rows.points.emplace_back();
    for (int d = 0; d < dimensions; ++d) {
      point.push_back(centre + near(engine));
      text << (d == 0 ? "" : ",") << point.back();
    }
    text << '\n';
  }
  rows.text = text.str();
  return rows;
}

std::vector<double> Numbers(const std::string& part) {
  std::vector<double> numbers;
  std::string text = part;
  for (char& c : text) {
    if (c == ',' || c == '\n') c = ' ';
  }
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word != "inertia") numbers.push_back(std::strtod(word.c_str(), nullptr));
  }
  return numbers;
}

// The oracle: Lloyd's algorithm from the rows of a text, whose sums are folded as a plan says.
class ByHand {
 public:
  ByHand(const Rows& rows, int k, std::uint64_t seed) : rows_(rows), k_(k), seed_(seed) {}

  // Rows whose first byte lies in [begin, end).
  std::vector<std::vector<double>> RowsOf(std::int64_t begin, std::int64_t end) const {
    std::vector<std::vector<double>> points;
    std::size_t at = 0;
    for (const std::vector<double>& point : rows_.points) {
      if (static_cast<std::int64_t>(at) >= begin && static_cast<std::int64_t>(at) < end) {
        points.push_back(point);
      }
      at = rows_.text.find('\n', at) + 1;
    }
    return points;
  }

  std::vector<std::vector<double>> Seeds() const {
    std::vector<std::pair<double, std::vector<double>>> order;
    for (const std::vector<double>& point : rows_.points) {
      order.emplace_back(SeedOrder(point, seed_), point);
    }
    std::sort(order.begin(), order.end());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    std::vector<std::vector<double>> seeds;
    for (int c = 0; c < k_; ++c) seeds.push_back(order[static_cast<std::size_t>(c)].second);
    return seeds;
  }

  // Count, inertia, then count and sums a cluster.
  std::vector<double> Sums(const std::vector<std::vector<double>>& points,
                           const std::vector<std::vector<double>>& centroids) const {
    const std::size_t d = centroids[0].size();
    std::vector<double> sums(2 + centroids.size() * (1 + d), 0);
    for (const std::vector<double>& point : points) {
      std::vector<double> apart;
      for (const std::vector<double>& centroid : centroids) {
        double sum = 0;
        for (std::size_t i = 0; i < d; ++i) {
          sum += (point[i] - centroid[i]) * (point[i] - centroid[i]);
        }
        apart.push_back(sum);
      }
      const auto nearest =
          static_cast<std::size_t>(std::min_element(apart.begin(), apart.end()) - apart.begin());
      sums[0] += 1;
      sums[1] += apart[nearest];
      sums[2 + nearest * (1 + d)] += 1;
      for (std::size_t i = 0; i < d; ++i) sums[2 + nearest * (1 + d) + 1 + i] += point[i];
    }
    return sums;
  }

  // Runs `iterations`, mapper j on the rows that step j of the plan maps, one slot each.
  std::vector<double> Run(const planner::Plan& plan, int iterations) const {
    std::vector<std::vector<double>> centroids = Seeds();
    double inertia = 0;
    std::vector<double> counts(centroids.size(), 0);
    for (int iteration = 1; iteration <= iterations; ++iteration) {
      const std::vector<double> sums = Folded(plan, iteration, centroids);
      inertia = sums[1];
      for (std::size_t c = 0; c < centroids.size(); ++c) {
        const std::size_t row = 2 + c * (1 + centroids[c].size());
        counts[c] = sums[row];
        for (std::size_t i = 0; i < centroids[c].size() && sums[row] > 0; ++i) {
          centroids[c][i] = sums[row + 1 + i] / sums[row];
        }
      }
    }
    std::vector<double> numbers;
    for (std::size_t c = 0; c < centroids.size(); ++c) {
      numbers.push_back(static_cast<double>(c));
      numbers.push_back(counts[c]);
      numbers.insert(numbers.end(), centroids[c].begin(), centroids[c].end());
    }
    numbers.push_back(inertia);
    return numbers;
  }

 private:
  // Follows the sections of one iteration from its mappers to its update step.
  std::vector<double> Folded(const planner::Plan& plan, int iteration,
                             const std::vector<std::vector<double>>& centroids) const {
    std::vector<std::vector<double>> held(plan.steps.size());
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const planner::ComputeStep& step = plan.steps[s];
      if (step.kind == planner::StepKind::kIterate && step.layer == iteration) {
        for (const planner::ComputeStep& map : plan.steps) {
          if (map.kind != planner::StepKind::kMap || map.index_in_layer != step.index_in_layer) {
            continue;
          }
          held[s] = Sums(RowsOf(map.input_begin, map.input_end), centroids);
        }
        continue;
      }
      const bool update = step.kind == planner::StepKind::kUpdate && step.layer == iteration;
      const bool fold = step.kind == planner::StepKind::kCombine && step.layer == iteration + 1;
      if (!update && !fold) continue;
      std::vector<bool> filled;
      for (const planner::Section& section : plan.sections) {
        if (section.consumer != static_cast<planner::StepIndex>(s)) continue;
        const std::vector<double>& from = held[static_cast<std::size_t>(section.producer)];
        if (from.empty()) continue;  // a state
        held[s].resize(from.size(), 0);
        filled.resize(from.size(), false);
        for (std::int64_t p = section.indexes->begin; p < section.indexes->end; ++p) {
          const auto at = static_cast<std::size_t>(p);
          held[s][at] = filled[at] ? held[s][at] + from[at] : from[at];
          filled[at] = true;
        }
      }
      if (update) return held[s];
    }
    return {};
  }

  const Rows& rows_;
  const int k_;
  const std::uint64_t seed_;
};

TEST(KmeansTest, FourPointsTwoClustersByHand) {
  const ScratchFile file("0,0\n0,2\n10,0\n10,2\n");
  const auto result = RunOn(file, Values(2, 2, 20), 2, 1);
  ASSERT_EQ(result.status(), absl::OkStatus());
  const std::vector<double> numbers = Numbers(result->part);
  ASSERT_EQ(numbers.size(), 2u * 4 + 1);
  EXPECT_TRUE(result->reports.back().converged);
  EXPECT_LT(result->reports.size(), 21u);
  EXPECT_EQ(result->reports.back().measure_name, "inertia");
  EXPECT_EQ(numbers.back(), result->reports.back().measure);
  EXPECT_EQ(numbers[1] + numbers[5], 4);
}

TEST(KmeansTest, AsManyClustersAsRowsLeavesNoDistance) {
  const ScratchFile file("1\n5\n9\n14\n");
  const auto result = RunOn(file, Values(4, 1, 20), 3, 2);
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_EQ(Numbers(result->part).back(), 0);
}

RC_GTEST_PROP(KmeansProperty, EqualsLloydByHandToTheLastBitUnderAPlan, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const int dimensions = *rc::gen::inRange(1, 5);
  const int k = *rc::gen::inRange(1, 7);
  const int iterations = *rc::gen::inRange(1, 5);
  const int workers = *rc::gen::inRange(1, 9);
  const Rows rows = RandomRows(seed, *rc::gen::inRange(k, 60), dimensions);
  const ScratchFile file(rows.text);
  planner::Plan plan;
  // Not ended before: a tolerance of 0 ends a loop only where nothing moves.
  const auto result = RunOn(file, Values(k, dimensions, iterations), workers, 1, &plan);
  if (!result.ok()) RC_FAIL(std::string(result.status().message()));
  RC_ASSERT(Numbers(result->part) ==
            ByHand(rows, k, 1).Run(plan, static_cast<int>(result->reports.size()) - 1));
}

RC_GTEST_PROP(KmeansProperty, IsTheSameForAnyNumberOfWorkersAndSlots, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Rows rows = RandomRows(seed, 80, 3);
  const ScratchFile file(rows.text);
  const auto one = RunOn(file, Values(4, 3, 6), 1, 1);
  const auto other = RunOn(file, Values(4, 3, 6), *rc::gen::inRange(2, 9), *rc::gen::inRange(1, 4));
  RC_ASSERT(one.ok() && other.ok());
  const std::vector<double> a = Numbers(one->part), b = Numbers(other->part);
  RC_ASSERT(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    RC_ASSERT(std::abs(a[i] - b[i]) <= 1e-9 * (1 + std::abs(a[i])));
  }
}

TEST(KmeansTest, RaggedRowsAndWhatIsNoNumberAreBadRecords) {
  for (const auto& [text, reason] :
       {std::pair("1,2\n3\n", "row of 1 field; expected 2 numbers"),
        std::pair("1,2\n3,4,5\n", "row of 3 fields; expected 2 numbers"),
        std::pair("1,2\nnan,4\n", "field 1 is not a finite number"),
        std::pair("1,2\n1,inf\n", "field 2 is not a finite number"),
        std::pair("1,2\nx,1\n", "field 1 is not a finite number")}) {
    const ScratchFile file(text);
    const auto result = RunOn(file, Values(1, 2, 2), 1, 1);
    const auto bad = BadRecordOf(result.status());
    ASSERT_TRUE(bad.has_value()) << text;
    EXPECT_THAT(bad->reason, HasSubstr(reason));
    EXPECT_EQ(bad->byte_offset, 4);
  }
}

TEST(KmeansTest, NumbersAreThoseOfOtherJobs) {
  CsvRows reader;
  ASSERT_TRUE(reader.Split("+1.5, 1e-400,-0,2e3"));
  std::vector<double> values;
  EXPECT_EQ(ParseRow(reader.row(), 4, values), "");
  EXPECT_EQ(values, (std::vector<double>{1.5, 0, 0, 2000}));
  EXPECT_FALSE(std::signbit(values[2])) << "equal points have equal bits";
}

TEST(KmeansTest, TooFewRowsAreNamed) {
  const ScratchFile same("1,2\n1,2\n3,4\n");
  EXPECT_THAT(std::string(RunOn(same, Values(3, 2, 2), 2, 1).status().message()),
              HasSubstr("k is 3, but the input has only 2 distinct rows of 3"));
  const ScratchFile empty("");
  EXPECT_THAT(std::string(RunOn(empty, Values(3, 2, 2), 2, 1).status().message()),
              HasSubstr("the input has no row to cluster"));
}

TEST(KmeansTest, NumbersWhoseSquaresOrSumsAreNotFiniteAreRefused) {
  const ScratchFile far("1e160,0\n-1e160,0\n3e160,0\n-3e160,0\n");
  const auto squares = RunOn(far, Values(2, 2, 20), 2, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(squares.status())) << squares.status();
  EXPECT_THAT(std::string(squares.status().message()),
              HasSubstr("the inertia of iteration 1 is no finite number; scale the columns"));
  const ScratchFile same("1e308\n1e308\n");
  const auto sums = RunOn(same, Values(1, 1, 20), 1, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(sums.status())) << sums.status();
  EXPECT_THAT(std::string(sums.status().message()),
              HasSubstr("a centroid of iteration 1 is no finite number; scale the columns"));
}

TEST(KmeansTest, WhatStaysOfTheInputIsBoundedByMemory) {
  const Rows rows = RandomRows(7, 4000, 2);
  const ScratchFile file(rows.text);
  const auto definition = MakeDefinition();
  const ParameterValues values = Values(2, 2, 2);
  const planner::Plan plan = LoopPlanFor(**definition->Loop(values), file.range().end, 1);
  const auto result = RunLoop(
      plan, [&] { return *definition->MakeProgram(values); }, file.path(), 1,
      /*memory_bytes=*/20'000);
  const auto error = StepErrorOf(result.status());
  ASSERT_TRUE(error.has_value()) << result.status();
  EXPECT_EQ(error->code, "OUT_OF_MEMORY");
  EXPECT_THAT(error->advice, HasSubstr("more workers"));
}

TEST(KmeansTest, AToleranceThatIsNoNumberIsRefused) {
  EXPECT_THAT(std::string(MakeDefinition()->Loop(Values(2, 2, 2, "-1")).status().message()),
              HasSubstr("parameter 'tolerance' is '-1'; it must be a number from 0 on"));
  EXPECT_THAT(std::string(MakeDefinition()->MakeProgram(Values(2, 2, 2, "x")).status().message()),
              HasSubstr("parameter 'tolerance' is 'x'; it must be a number from 0 on"));
}

TEST(KmeansTest, GeneratedRowsAreThoseOfTheirNumbers) {
  const auto definition = MakeDefinition();
  testing::ExpectRowsOfTheirNumbers(*definition->data(), 5);
}

}  // namespace
}  // namespace weir::kmeans
