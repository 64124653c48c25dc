// Every instance of tests/golden/load/layers.json, whose makespans four linear programming solvers
// agree on.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "planner/instances/load_instance_json.h"

namespace weir::planner::load {
namespace {

std::string GoldenText() {
  std::ifstream file(WEIR_GOLDEN_LOAD);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Compared {
  int instances = 0;
  int inexact = 0;
};

/// Compares all results of one method; a result whose gap is not zero may miss the optimum by that
/// gap.
Compared Compare(LayerMethod method, bool must_be_exact) {
  const std::string text = GoldenText();
  const absl::StatusOr<std::string> results =
      SolveInstancesJson(text, {.method = method, .now_micros = nullptr});
  EXPECT_TRUE(results.ok()) << results.status();
  Compared compared;
  if (!results.ok()) return compared;
  const auto expected = nlohmann::json::parse(text)["instances"];
  const auto actual = nlohmann::json::parse(*results)["results"];
  EXPECT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::string id = expected[i]["id"];
    SCOPED_TRACE(id);
    EXPECT_EQ(actual[i]["id"], id);
    const double makespan = expected[i]["makespan"];
    const double gap = actual[i]["gap"];
    ++compared.instances;
    if (gap > 0) ++compared.inexact;
    if (must_be_exact) {
      EXPECT_EQ(gap, 0);
    }
    EXPECT_LE(gap, 1e-3);
    EXPECT_LE(actual[i]["lower_bound"].get<double>(), makespan * (1 + 1e-7));
    EXPECT_GE(actual[i]["makespan"].get<double>(), makespan * (1 - 1e-7));
    EXPECT_NEAR(actual[i]["makespan"].get<double>() / makespan, 1, std::max(gap, 1e-7));
    if (gap > 0 || !expected[i]["share_unique"].get<bool>()) continue;
    for (std::size_t k = 0; k < expected[i]["share"].size(); ++k) {
      EXPECT_NEAR(actual[i]["share"][k].get<double>(), expected[i]["share"][k].get<double>(), 1e-5)
          << "sender " << k;
    }
  }
  return compared;
}

TEST(OracleTest, FastMethodIsWithinItsCertifiedGap) {
  const Compared compared = Compare(LayerMethod::kFast, false);
  EXPECT_EQ(compared.instances, 30);
  RecordProperty("inexact", compared.inexact);
  EXPECT_LE(compared.inexact, 8);
}

TEST(OracleTest, ExactMethodHasNoGap) {
  EXPECT_EQ(Compare(LayerMethod::kExact, true).instances, 30);
}

TEST(OracleTest, AutomaticMethodHasNoGapEither) {
  EXPECT_EQ(Compare(LayerMethod::kAutomatic, true).instances, 30);
}

TEST(OracleTest, SourceProgramAgrees) {
  EXPECT_EQ(Compare(LayerMethod::kPaper, true).instances, 30);
}

}  // namespace
}  // namespace weir::planner::load
