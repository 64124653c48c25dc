// The checked instances of tests/golden/trees through the entry that the command line uses.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "planner/instances/instance_pictures.h"
#include "planner/instances/solve_instances.h"

namespace weir::planner::tree {
namespace {

constexpr double kTolerance = 1e-9;

nlohmann::json GoldenFile() {
  std::ifstream file(std::string(WEIR_SOURCE_DIR) + "/tests/golden/trees/trees.json");
  std::stringstream text;
  text << file.rdbuf();
  return nlohmann::json::parse(text.str());
}

// Numbers agree to 1e-9, everything else exactly.
bool AgreesWithin(const nlohmann::json& expected, const nlohmann::json& got) {
  if (expected.is_number() && got.is_number()) {
    return std::abs(expected.get<double>() - got.get<double>()) <= kTolerance;
  }
  if (expected.is_array() && got.is_array() && expected.size() == got.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (!AgreesWithin(expected[i], got[i])) return false;
    }
    return true;
  }
  return expected == got;
}

TEST(GoldenTrees, EveryInstanceHasTheCheckedResult) {
  const nlohmann::json file = GoldenFile();
  const auto text = SolveInstancesJson(file.dump());
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json results = nlohmann::json::parse(*text)["results"];
  ASSERT_EQ(results.size(), file["instances"].size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    const nlohmann::json& instance = file["instances"][k];
    EXPECT_EQ(results[k]["id"], instance["id"]);
    for (const auto& [field, expected] : instance["expected"].items()) {
      if (instance["alg"] == "implicit_parent_start" && field == "parent") continue;
      ASSERT_TRUE(results[k].contains(field)) << instance["id"] << " " << field;
      if (field == "greedy_at_most") {
        EXPECT_LE(results[k][field].get<double>(), expected.get<double>() + kTolerance)
            << instance["id"];
      } else {
        EXPECT_TRUE(AgreesWithin(expected, results[k][field]))
            << instance["id"] << " " << instance["alg"] << " " << field << ": expected " << expected
            << ", got " << results[k][field];
      }
    }
  }
}

TEST(GoldenTrees, SameTextGivesTheSameBytes) {
  const std::string text = GoldenFile().dump();
  EXPECT_EQ(*SolveInstancesJson(text), *SolveInstancesJson(text));
}

// The drawn schedule is the one whose makespan the result states.
TEST(GoldenTrees, PicturesShowTheSolvedSchedules) {
  const nlohmann::json file = GoldenFile();
  const nlohmann::json results = nlohmann::json::parse(*SolveInstancesJson(file.dump()))["results"];
  int drawn = 0;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const std::string id = results[k]["id"];
    const auto collective = InstanceCollective(file.dump(), id);
    if (!collective.ok()) continue;
    const char* field =
        results[k].contains("optimum") && !results[k].contains("makespan") ? "optimum" : "makespan";
    if (file["instances"][k]["alg"] == "fnf_broadcast_allreduce") {
      field = "allreduce_snf_plus_fnf";
    } else if (file["instances"][k]["alg"] == "langou_nonuniform") {
      field = "best";
    }
    // A matrix with a cycle has no schedule, and no makespan.
    EXPECT_NEAR(CollectiveMakespan(*collective), results[k][field].get<double>(), 1e-9) << id;
    if (collective->reduction.num_machines > kPictureMachinesMax) continue;
    EXPECT_NE(InstanceGanttSvg(file.dump(), id)->find("</svg>"), std::string::npos);
    EXPECT_NE(InstanceTreeSvg(file.dump(), id)->find("</svg>"), std::string::npos);
    ++drawn;
  }
  EXPECT_GT(drawn, 40);
  EXPECT_EQ(InstanceCollective(file.dump(), "no such id").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(InstanceCollective(file.dump(), "").ok());
}

std::string ErrorOf(const std::string& alg, const std::string& input) {
  const std::string text =
      R"({"schema":1,"instances":[{"id":"x7","alg":")" + alg + R"(","input":)" + input + "}]}";
  const auto result = SolveInstancesJson(text);
  return result.ok() ? "solved: " + *result : std::string(result.status().message());
}

TEST(GoldenTrees, ErrorsNameInstanceAndField) {
  struct Case {
    const char* alg;
    const char* input;
    const char* field;
  };
  for (const Case& bad : {
           Case{"nonsense", "{}", "\"alg\""},
           {"canon_greedy", R"({"n":0,"d":1,"c":1})", "n is 0"},
           {"canon_greedy", R"({"n":2.5,"d":1,"c":1})", "\"n\""},
           {"canon_greedy", R"({"n":3,"d":-1,"c":1})", "d is -1"},
           {"canon_greedy", R"({"n":3,"d":1})", "\"c\""},
           {"canon_limited_transfers", R"({"n":3,"K":4,"d":1,"c":1})", "K is 4"},
           {"canon_limited_reducers", R"({"n":3,"K":0,"d":1,"c":1})", "K is 0"},
           {"tree_makespan_prop3", R"({"n":3,"d":1,"c":1,"child":[1]})", "\"child\""},
           {"tree_makespan_prop3", R"({"n":3,"d":1,"c":1,"child":[3,2]})", "child"},
           {"binomial_length", R"({"order":-1,"d":1,"c":1})", "order is -1"},
           {"implicit_parent_start", R"({"n":5,"d":1,"c":1,"machine":6})", "machine is 6"},
           {"segmented_evaluate",
            R"({"n":2,"m":1,"alpha":0,"beta":1,"gamma":1,"solution_rows":[[1]]})",
            "\"solution_rows\""},
           {"segmented_evaluate",
            R"({"n":1,"m":1,"alpha":0,"beta":1,"gamma":1,"solution_rows":[[1]],"backfill":1})",
            "\"backfill\""},
           {"segmented_find_min", R"({"n":9,"m":0,"alpha":0,"beta":1,"gamma":1})", "m is 0"},
           {"segmented_exact_fifo", R"({"n":0,"m":5,"alpha":0,"beta":1,"gamma":1})", "n is 0"},
           {"segmented_exact_fifo", R"({"n":100000,"m":5,"alpha":0,"beta":1,"gamma":1})",
            "n * n * m"},
           {"langou_unidirectional_greedy", R"({"p":4,"segments":[],"alpha":0,"beta":1,"gamma":1})",
            "segments"},
           {"langou_nonuniform", R"({"p":4,"m":0,"alpha":0,"beta":1,"gamma":1})", "\"m\""},
           {"langou_best_uniform", R"({"p":0,"m":4,"alpha":0,"beta":1,"gamma":1})", "p is 0"},
           {"langou_best_uniform", R"({"p":4,"m":1e300,"alpha":0,"beta":1,"gamma":1})", "\"m\""},
           {"langou_nonuniform", R"({"p":4,"m":1e300,"alpha":0,"beta":1,"gamma":1})", "\"m\""},
           {"langou_bidirectional_greedy",
            R"({"p":4,"segments":[1,-1],"alpha":0,"beta":1,"gamma":1})", "segments"},
           {"binomial_tree", R"({"order":99,"d":1,"c":1})", "order is 99"},
           {"canon_bounds", R"({"n":6,"d":1,"c":1,"K":4})", "K is 4"},
           {"ordered_tree", R"({"n":4,"d":1,"c":1,"root_rank":9})", "root_rank is 9"},
           {"ordered_pipeline", R"({"p":4,"q":2,"alpha":0,"beta":1,"gamma":1,"root":2})",
            "\"root\""},
           {"pipeline", R"({"p":4,"q":2,"alpha":0,"beta":1,"gamma":1,"ports":"both"})",
            "\"ports\""},
           {"rabenseifner", R"({"p":4,"units":-1,"alpha":0,"beta":1,"gamma":1})", "-1"},
           {"best_uniform_formula",
            R"({"p":4,"m":9,"alpha":1,"beta":1,"gamma":1,"method":"binary"})", "\"method\""},
           {"pair_costs", R"({"send":[1,2],"receive":[1]})", "receive has 1"},
           {"liu_local_search", R"({"senders":[1,2],"iterations":-1})", "iterations is -1"},
           {"fnf_broadcast", R"({"source":1,"others":[-2]})", "others"},
           {"release_dates_strict", R"({"n":2,"d":1,"c":1,"release":[0,0],"K":0})", "K is 0"},
           {"choose_reduction", R"({"p":4,"alpha":0,"beta":1,"gamma":1,"commutative":1})",
            "\"commutative\""},
           {"choose_reduction", R"({"p":4,"alpha":0,"beta":1,"gamma":1,"slowdown":[1]})",
            "slowdown has 1"},
           {"bidirectional_round_optimal", R"({"p":0,"q":1,"t_comm":1,"t_comp":1})", "p is 0"},
           {"bidirectional_round_optimal", R"({"p":4,"q":0,"t_comm":1,"t_comp":1})", "\"q\""},
           {"liu_ep", R"({"sequence":[1,-2]})", "senders[1] is -2"},
           {"liu_dp_two_classes", R"({"fast":-1,"slow":2,"t_fast":1,"t_slow":2})", "fast is -1"},
           {"liu_dp_k_classes", R"({"times":[1,2],"counts":[1]})", "counts"},
           {"liu_limited_transfers", R"({"senders":[1,2],"K":0})", "K is 0"},
           {"fnf_broadcast_allreduce", R"({"source":-1,"others":[1]})", "source is -1"},
           {"release_dates_strict", R"({"n":2,"d":1,"c":1,"release":[0]})", "\"release\""},
           {"order_preserving_preorder", R"({"n":2,"child":[1],"start":[]})", "\"start\""},
           {"overlap_segmented_bidirectional", R"({"p":3,"q":0,"d":1,"c":1})", "\"q\""},
       }) {
    const std::string message = ErrorOf(bad.alg, bad.input);
    EXPECT_NE(message.find("\"x7\""), std::string::npos) << bad.alg << ": " << message;
    EXPECT_NE(message.find(bad.field), std::string::npos) << bad.alg << ": " << message;
  }
  EXPECT_FALSE(SolveInstancesJson("{").ok());
  EXPECT_FALSE(SolveInstancesJson(R"({"schema":2,"instances":[]})").ok());
  EXPECT_FALSE(SolveInstancesJson(R"({"schema":1})").ok());
}

}  // namespace
}  // namespace weir::planner::tree
