// Walks the table of docs/planner-trees.md: every algorithm of the planner is reached by an
// instance, its result is the known one, and what has a schedule becomes a picture and a plan.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "planner/instances/instance_pictures.h"
#include "planner/instances/solve_instances.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_tree/schedule_validator.h"

namespace weir::planner::tree {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(std::string(WEIR_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Row {
  std::string headers;
  std::string alg;
  bool has_plan = false;
};

std::vector<Row> TableOfDocument() {
  std::istringstream document(ReadText("docs/planner-trees.md"));
  std::vector<Row> rows;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.rfind("### ", 0) == 0) inside = line == "### Every algorithm and how to reach it";
    if (!inside || line.rfind("| ", 0) != 0 || line.rfind("| source", 0) == 0) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line.substr(2));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
    EXPECT_EQ(cells.size(), 6U) << line;
    if (cells.size() != 6) continue;
    const std::size_t begin = cells[3].find('`') + 1;
    rows.push_back({cells[2], cells[3].substr(begin, cells[3].rfind('`') - begin),
                    cells[5].find("yes") != std::string::npos});
  }
  return rows;
}

nlohmann::json Instances() {
  return nlohmann::json::parse(ReadText("tests/golden/trees/every_algorithm.json"))["instances"];
}

std::string FileOf(const nlohmann::json& instance) {
  return nlohmann::json{{"schema", 1}, {"instances", {instance}}}.dump();
}

// By id. Solved once: some of the searches take seconds before they give up.
const std::map<std::string, nlohmann::json>& Results() {
  static const auto* const results = [] {
    auto* by_id = new std::map<std::string, nlohmann::json>();
    for (const auto& instance : Instances()) {
      const auto text = SolveInstancesJson(FileOf(instance));
      EXPECT_TRUE(text.ok()) << instance["id"] << " " << text.status();
      if (!text.ok()) continue;
      const bool is_new =
          by_id->emplace(instance["id"], nlohmann::json::parse(*text)["results"][0]).second;
      EXPECT_TRUE(is_new) << instance["id"] << " stands twice";
    }
    return by_id;
  }();
  return *results;
}

TEST(EveryAlgorithm, TableInstancesAndSolversNameTheSameOnes) {
  std::set<std::string> documented;
  for (const Row& row : TableOfDocument()) {
    EXPECT_TRUE(documented.insert(row.alg).second) << row.alg << " stands twice";
    const InstanceSolver* solver = FindSolver(row.alg);
    ASSERT_NE(solver, nullptr) << row.alg;
    EXPECT_EQ(solver->plan != nullptr, row.has_plan) << row.alg;
  }
  std::set<std::string> known;
  for (const InstanceSolver& solver : AllSolvers()) known.insert(std::string(solver.alg));
  std::set<std::string> shown;
  for (const auto& instance : Instances()) shown.insert(instance["alg"]);
  EXPECT_EQ(documented, known);
  EXPECT_EQ(documented, shown);
}

// A new algorithm is a new header of planner/tree: it stands in the table, or here as one that is
// no algorithm.
TEST(EveryAlgorithm, EveryHeaderOfTheLibraryIsReached) {
  const std::set<std::string> no_algorithm = {
      "best_count.h",       "lane_clock.h",  "rack_candidates.h", "collective.h",
      "fixed_sequence.h",   "host_times.h",  "input_checks.h",    "message_runs.h",
      "reduction_writer.h", "schedule.h",    "schedule_forms.h",  "schedule_timing.h",
      "spreading_plan.h",   "start_order.h", "timed_tree.h",      "tree_plan.h"};
  std::string in_table;
  for (const Row& row : TableOfDocument()) in_table += row.headers;
  int headers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::string(WEIR_SOURCE_DIR) + "/planner/tree")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".h") continue;
    ++headers;
    EXPECT_NE(in_table.find("`" + name + "`") != std::string::npos, no_algorithm.contains(name))
        << name;
  }
  EXPECT_GT(headers, 30);
}

bool Agrees(const nlohmann::json& expected, const nlohmann::json& got) {
  if (!expected.is_number() || !got.is_number()) return expected == got;
  return std::abs(expected.get<double>() - got.get<double>()) <= 1e-9;
}

TEST(EveryAlgorithm, ResultsAreTheKnownOnes) {
  for (const auto& instance : Instances()) {
    const nlohmann::json& result = Results().at(instance["id"]);
    for (const auto& [field, expected] : instance["expected"].items()) {
      ASSERT_TRUE(result.contains(field)) << instance["id"] << " " << field << " " << result;
      EXPECT_TRUE(Agrees(expected, result[field]))
          << instance["id"] << " " << field << ": expected " << expected << ", got "
          << result[field];
    }
    if (result.contains("exact") && result["exact"] == false) {
      EXPECT_NE(result["note"].get<std::string>().find("given"), std::string::npos) << result;
    }
    if (result.contains("lower_bound") && result.contains("makespan")) {
      EXPECT_LE(result["lower_bound"].get<double>(), result["makespan"].get<double>() + 1e-9)
          << instance["id"];
    }
  }
}

// Length of the schedule that the result states.
double StatedLength(const nlohmann::json& result) {
  for (const char* field : {"makespan", "optimum", "best", "allreduce_snf_plus_fnf"}) {
    if (result.contains(field)) return result[field].get<double>();
  }
  ADD_FAILURE() << "no length in " << result;
  return 0;
}

bool NotesNameWrapping(const Plan& plan) {
  for (const std::string& note : plan.summary.notes) {
    if (note.find("wrap around the last segment") != std::string::npos) return true;
  }
  return false;
}

TEST(EveryAlgorithm, PlansAreFeasibleAndPredictedAsLongAsPlanned) {
  int planned = 0;
  std::set<std::string> wrapping;
  for (const auto& instance : Instances()) {
    const std::string id = instance["id"];
    const std::string file = FileOf(instance);
    if (FindSolver(instance["alg"].get<std::string>())->plan == nullptr) {
      EXPECT_EQ(InstancePlan(file, id).status().code(), absl::StatusCode::kNotFound) << id;
      continue;
    }
    const auto collective = InstanceCollective(file, id);
    ASSERT_TRUE(collective.ok()) << id << " " << collective.status();
    const double length_s = CollectiveMakespan(*collective);
    EXPECT_NEAR(length_s, StatedLength(Results().at(id)), 1e-9 * (1 + length_s)) << id;
    if (!collective->spreads() && collective->ready_s.empty()) {
      EXPECT_EQ(ScheduleFault(collective->reduction, collective->ports), "") << id;
    }
    const auto plan = CollectivePlan(*collective);
    ASSERT_TRUE(plan.ok()) << id << " " << plan.status();
    EXPECT_TRUE(CheckPlan(*plan).ok()) << id << " " << CheckPlan(*plan);
    const auto prediction = Predict(*plan);
    ASSERT_TRUE(prediction.ok()) << id << " " << prediction.status();
    // Exact, but for reduce_scatter.h: a message that wraps around the last segment is two
    // transfers and pays the latency twice.
    const std::int64_t num_wrapping = WrappingMessages(collective->reduction);
    if (num_wrapping > 0) wrapping.insert(instance["alg"]);
    const double later_s = static_cast<double>(num_wrapping) * plan->network.latency_s;
    EXPECT_EQ(NotesNameWrapping(*plan), later_s > 0) << id;
    EXPECT_GE(prediction->makespan_s, length_s - 1e-6 * (1 + length_s)) << id;
    EXPECT_LE(prediction->makespan_s, length_s + later_s + 1e-6 * (1 + length_s)) << id;
    EXPECT_EQ(plan->transfer_order, TransferOrder::kStrict) << id;
    ++planned;
    if (Results().at(id).value("exact", true) == false) continue;  // the search would run again
    EXPECT_NE(InstanceGanttSvg(file, id)->find("</svg>"), std::string::npos) << id;
    EXPECT_NE(InstanceTreeSvg(file, id)->find("</svg>"), std::string::npos) << id;
    EXPECT_EQ(InstancePlan(file, id)->steps.size(), plan->steps.size()) << id;
  }
  EXPECT_GT(planned, 60);
  EXPECT_EQ(wrapping, std::set<std::string>{"reduce_scatter"});
}

// What is planned for machines that can do less than a plan's must be held back: that is said.
TEST(EveryAlgorithm, AHeldPlanSaysSo) {
  const std::map<std::string, bool> held = {{"canon_greedy", false},
                                            {"canon_limited_transfers", false},
                                            {"interleaved", false},
                                            {"rabenseifner 11 overlap", false},
                                            {"release_dates_strict", true},
                                            {"langou_unidirectional_greedy", true},
                                            {"liu_snf", true},
                                            {"rotating_centres", true},
                                            {"snf_fnf_allreduce", true}};
  int met = 0;
  for (const auto& instance : Instances()) {
    const auto expected = held.find(instance["id"].get<std::string>());
    if (expected == held.end()) continue;
    ++met;
    const auto plan = InstancePlan(FileOf(instance), expected->first);
    EXPECT_EQ(!plan->summary.notes.empty(), expected->second) << expected->first;
  }
  EXPECT_EQ(met, 9);
}

TEST(EveryAlgorithm, AChoiceNamesWhatItRefuses) {
  bool refused = false;
  for (const auto& candidate : Results().at("choice that keeps the order")["candidates"]) {
    refused = refused || candidate.value("refusal", "").find("commutative") != std::string::npos;
  }
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace weir::planner::tree
