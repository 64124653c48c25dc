#include "jobs/logreg/logreg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/logreg/fit_weights.h"
#include "jobs/testing/in_process_job.h"
#include "planner/plan/plan.h"
#include "tests/unit/jobs/generated_rows.h"
#include "tests/unit/jobs/loop_runner.h"

namespace weir::logreg {
namespace {

using ::testing::HasSubstr;
using testing::LoopPlanFor;
using testing::LoopResult;
using testing::RunLoop;
using testing::ScratchFile;

ParameterValues Values(const std::vector<std::pair<std::string, std::string>>& given) {
  absl::StatusOr<ParameterValues> values = CheckParameters(MakeDefinition()->info(), given);
  EXPECT_EQ(values.status(), absl::OkStatus());
  return *std::move(values);
}

absl::StatusOr<LoopResult> RunOn(const ScratchFile& file, const ParameterValues& values,
                                 int num_workers, int num_slots, planner::Plan* used = nullptr) {
  const auto definition = MakeDefinition();
  const absl::StatusOr<std::optional<LoopInfo>> loop = definition->Loop(values);
  if (!loop.ok()) return loop.status();
  const planner::Plan plan = LoopPlanFor(**loop, file.range().end, num_workers);
  if (used != nullptr) *used = plan;
  return RunLoop(
      plan, [&] { return *definition->MakeProgram(values); }, file.path(), num_slots);
}

std::map<std::string, double> Numbers(const std::string& part) {
  std::map<std::string, double> numbers;
  std::istringstream lines(part);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t comma = line.find(',');
    numbers[line.substr(0, comma)] = std::strtod(line.c_str() + comma + 1, nullptr);
  }
  return numbers;
}

struct Row {
  double label = 0;
  std::vector<double> x;
};

// The oracle: gradient descent over all rows in a row, without sparing exponents.
struct ByHand {
  double loss = INFINITY;
  std::vector<double> w;  // intercept first

  ByHand(const std::vector<Row>& rows, int iterations, double rate, double l2)
      : w(rows[0].x.size() + 1, 0) {
    for (int i = 0; i < iterations; ++i) Step(rows, rate, l2);
  }

  void Step(const std::vector<Row>& rows, double rate, double l2) {
    std::vector<double> gradient(w.size(), 0);
    loss = 0;
    for (const Row& row : rows) {
      double z = w[0];
      for (std::size_t i = 0; i < row.x.size(); ++i) z += w[i + 1] * row.x[i];
      const double p = 1 / (1 + std::exp(-z));
      loss -= std::log(row.label == 1 ? p : 1 - p);
      gradient[0] += p - row.label;
      for (std::size_t i = 0; i < row.x.size(); ++i) gradient[i + 1] += (p - row.label) * row.x[i];
    }
    loss /= static_cast<double>(rows.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (i > 0) loss += l2 / 2 * w[i] * w[i];
      gradient[i] = gradient[i] / static_cast<double>(rows.size()) + (i > 0 ? l2 * w[i] : 0);
    }
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * gradient[i];
  }
};

std::string RandomRows(std::uint64_t seed, int count, int features, std::vector<Row>& rows) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> near(0, 1);
  std::ostringstream text;
  text.precision(17);
  for (int i = 0; i < count; ++i) {
    Row& row = rows.emplace_back();
    row.label = static_cast<double>(engine() % 2);
    text << row.label;
    for (int f = 0; f < features; ++f) {
      row.x.push_back(near(engine) + row.label);
      text << ',' << row.x.back();
    }
    text << '\n';
  }
  return text.str();
}

RC_GTEST_PROP(LogregProperty, EqualsGradientDescentByHandOnAnyPlan, ()) {
  const int features = *rc::gen::inRange(1, 12);
  const int iterations = *rc::gen::inRange(1, 6);
  std::vector<Row> rows;
  const ScratchFile file(
      RandomRows(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange(1, 60), features, rows));
  const std::string l2 = *rc::gen::element<std::string>("0", "0.25");
  const ParameterValues values = Values({{"columns", std::to_string(features + 1)},
                                         {"rate", "0.5"},
                                         {"l2", l2},
                                         {"tolerance", "0"},
                                         {"iterations", std::to_string(iterations)}});
  const auto result = RunOn(file, values, *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 4));
  if (!result.ok()) RC_FAIL(std::string(result.status().message()));
  const int ran = static_cast<int>(result->reports.size()) - 1;
  RC_ASSERT(ran == iterations || result->reports.back().converged);
  const ByHand expected(rows, ran, 0.5, std::strtod(l2.c_str(), nullptr));
  const std::map<std::string, double> found = Numbers(result->part);
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); };
  RC_ASSERT(found.size() == static_cast<std::size_t>(features) + 3);
  RC_ASSERT(found.at("rows") == static_cast<double>(rows.size()));
  RC_ASSERT(near(found.at("loss"), expected.loss));
  RC_ASSERT(result->reports.back().measure == found.at("loss"));
  RC_ASSERT(near(found.at("intercept"), expected.w[0]));
  for (int f = 0; f < features; ++f) {
    RC_ASSERT(near(found.at(std::to_string(f)), expected.w[static_cast<std::size_t>(f) + 1]));
  }
}

TEST(LogregTest, ManyWeightsAreUpdatedByRangesAndGiveTheSameBitsAgain) {
  std::vector<Row> rows;
  const ScratchFile file(RandomRows(3, 200, 3, rows));
  const ParameterValues values =
      Values({{"features", "5000"}, {"iterations", "4"}, {"tolerance", "0"}});
  planner::Plan plan;
  const auto one = RunOn(file, values, 5, 2, &plan);
  ASSERT_EQ(one.status(), absl::OkStatus());
  EXPECT_EQ(std::count_if(plan.steps.begin(), plan.steps.end(),
                          [](const planner::ComputeStep& step) {
                            return step.kind == planner::StepKind::kReduce;
                          }),
            5);
  EXPECT_EQ(RunOn(file, values, 5, 2)->part, one->part);
  // Every field is a weight of its own kind: 600 texts, so at most as many weights move.
  const std::map<std::string, double> found = Numbers(one->part);
  EXPECT_EQ(found.size(), 5003u);
  const auto moved = std::count_if(found.begin(), found.end(),
                                   [](const auto& entry) { return entry.second != 0; });
  EXPECT_GT(moved, 500);
  EXPECT_LE(moved, 603);
}

TEST(LogregTest, ALoopEndsWhereTheLossStands) {
  const ScratchFile file("1,1\n0,1\n1,-1\n0,-1\n");  // nothing to learn
  const auto result = RunOn(file, Values({{"columns", "2"}, {"iterations", "50"}}), 3, 1);
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_EQ(result->reports.size(), 3u);
  EXPECT_TRUE(result->reports.back().converged);
  EXPECT_EQ(result->reports.back().measure_name, "loss");
  EXPECT_NEAR(result->reports.back().measure, std::log(2), 1e-15);
}

TEST(LogregTest, LargeMarginsDoNotOverflow) {
  const ScratchFile file("1,1000000\n0,-1000000\n");
  const auto result =
      RunOn(file, Values({{"columns", "2"}, {"rate", "10"}, {"iterations", "3"}}), 1, 1);
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_EQ(result->reports.back().measure, 0);
}

TEST(LogregTest, HeadersAreLeftOutAndNameTheLabel) {
  const ScratchFile file("x,y\n2,1\n3,0\n");
  const auto result =
      RunOn(file, Values({{"header", "x,y"}, {"label", "y"}, {"iterations", "1"}}), 1, 1);
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_EQ(Numbers(result->part).at("rows"), 2);
  EXPECT_DOUBLE_EQ(Numbers(result->part).at("0"), 0.1 * (0.5 * 2 - 0.5 * 3) / 2);
}

TEST(LogregTest, RaggedRowsAndWhatIsNoNumberAreBadRecords) {
  for (const auto& [text, reason] :
       {std::pair("1,2\n1\n", "2"), std::pair("1,2\n1,3,4\n", "2"),
        std::pair("1,2\n1,nan\n", "column 2 is not a finite decimal number"),
        std::pair("1,2\n1,inf\n", "column 2 is not a finite decimal number"),
        std::pair("1,2\n2,4\n", "the label, column 1, is neither 0 nor 1"),
        std::pair("1,2\nnan,4\n", "the label, column 1, is neither 0 nor 1")}) {
    const ScratchFile file(text);
    const auto result = RunOn(file, Values({{"columns", "2"}}), 1, 1);
    const auto bad = BadRecordOf(result.status());
    ASSERT_TRUE(bad.has_value()) << text << result.status();
    EXPECT_THAT(bad->reason, HasSubstr(reason));
    EXPECT_EQ(bad->byte_offset, 4);
  }
}

TEST(LogregTest, WhatCannotBeFittedIsNamed) {
  const ScratchFile empty("");
  for (const int workers : {1, 3}) {
    EXPECT_THAT(
        std::string(RunOn(empty, Values({{"columns", "2"}}), workers, 1).status().message()),
        HasSubstr("the input has no row to learn from"));
  }
  const ScratchFile wild("1,1e300\n0,-1e300\n1,-1e300\n");
  const auto diverged = RunOn(wild, Values({{"columns", "2"}, {"rate", "1e10"}}), 1, 1);
  EXPECT_THAT(std::string(diverged.status().message()), HasSubstr("is no finite number; learn"));
}

TEST(LogregTest, WrongParametersAreNamed) {
  const auto said = [](const std::vector<std::pair<std::string, std::string>>& given) {
    return std::string(MakeDefinition()->CheckValues(Values(given)).message());
  };
  EXPECT_THAT(said({}), HasSubstr("say how many columns a row has"));
  EXPECT_THAT(said({{"columns", "1"}}), HasSubstr("no column beside the label"));
  EXPECT_THAT(said({{"columns", "2"}, {"label", "3"}}), HasSubstr("label"));
  EXPECT_THAT(said({{"columns", "2"}, {"rate", "0"}}), HasSubstr("parameter 'rate' is '0'"));
  EXPECT_THAT(said({{"columns", "2"}, {"l2", "-1"}}), HasSubstr("parameter 'l2' is '-1'"));
  EXPECT_THAT(said({{"columns", "2"}, {"tolerance", "nan"}}), HasSubstr("'tolerance' is 'nan'"));
}

TEST(LogregTest, GeneratedRowsAreThoseOfTheirNumbers) {
  const auto definition = MakeDefinition();
  const std::string rows = testing::ExpectRowsOfTheirNumbers(*definition->data(), 50);
  EXPECT_THAT(rows, HasSubstr("\n1,"));
  EXPECT_THAT(rows, HasSubstr("\n0,"));
}

}  // namespace
}  // namespace weir::logreg
