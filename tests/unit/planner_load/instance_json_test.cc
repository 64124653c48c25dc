// The text interface: what it accepts, and how it refuses.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "planner/instances/load_instance_json.h"

namespace weir::planner::load {
namespace {

nlohmann::json Reducer() {
  return {{"id", "mine"},
          {"type", "reducer"},
          {"n", 2},
          {"r", 2},
          {"l", 1},
          {"V", 1e6},
          {"C", 1e-6},
          {"g", 0.5},
          {"a_red", 1e-7},
          {"s_red", 0.5},
          {"delta_next", {0.5, 0.5}},
          {"some_other_field", "ignored"}};
}

std::string FileOf(const nlohmann::json& instance) {
  return nlohmann::json{{"schema", 1}, {"instances", {instance}}}.dump();
}

TEST(InstanceJsonTest, ReportsResultsInOrder) {
  double clock = 0;
  const absl::StatusOr<std::string> text = SolveInstancesJson(
      FileOf(Reducer()), {.method = LayerMethod::kFast, .now_micros = [&] { return clock += 5; }});
  ASSERT_TRUE(text.ok()) << text.status();
  const auto results = nlohmann::json::parse(*text);
  EXPECT_EQ(results["schema"], 1);
  ASSERT_EQ(results["results"].size(), 1u);
  const auto& result = results["results"][0];
  EXPECT_EQ(result["id"], "mine");
  EXPECT_EQ(result["micros"], 5);
  EXPECT_EQ(result["share"].size(), 2u);
  EXPECT_GT(result["makespan"].get<double>(), 0);
  EXPECT_LE(result["lower_bound"].get<double>(), result["makespan"].get<double>());
}

TEST(InstanceJsonTest, MethodPaperAlsoSchedulesByTheDocumentAndByOurs) {
  nlohmann::json instance = Reducer();
  instance["n"] = 4;
  instance["r"] = 3;
  instance["l"] = 2;
  instance["delta_next"] = {0.6, 0.3, 0.1};
  double clock = 0;
  const absl::StatusOr<std::string> text = SolveInstancesJson(
      FileOf(instance), {.method = LayerMethod::kPaper, .now_micros = [&] { return clock += 5; }});
  ASSERT_TRUE(text.ok()) << text.status();
  const auto result = nlohmann::json::parse(*text)["results"][0];
  const auto& schedules = result["schedules"];
  ASSERT_EQ(schedules.size(), 2u);
  EXPECT_EQ(schedules[0]["method"], "source decomposition");
  EXPECT_EQ(schedules[1]["method"], "interval program");
  for (const auto& schedule : schedules) {
    // Both realise the makespan that the program promises; each pair has a piece.
    EXPECT_NEAR(schedule["makespan"].get<double>() / result["makespan"].get<double>(), 1, 1e-6);
    EXPECT_GE(schedule["pieces"], 12);
    EXPECT_EQ(schedule["pieces_per_pair"].get<double>(), schedule["pieces"].get<double>() / 12);
    EXPECT_EQ(schedule["micros"], 5);
  }
  const absl::StatusOr<std::string> fast = SolveInstancesJson(FileOf(instance), {});
  ASSERT_TRUE(fast.ok());
  EXPECT_FALSE(nlohmann::json::parse(*fast)["results"][0].contains("schedules"));
  const absl::StatusOr<std::string> table =
      SolveInstancesTable(FileOf(instance), {.method = LayerMethod::kPaper, .now_micros = {}});
  EXPECT_NE(table->find("schedule by source decomposition"), std::string::npos) << *table;
}

TEST(InstanceJsonTest, NamesInstanceFieldValueAndRange) {
  struct Case {
    const char* field;
    nlohmann::json value;
  };
  for (const Case& bad :
       {Case{"n", 0}, Case{"l", 0}, Case{"r", 0}, Case{"V", 0}, Case{"V", 1e18}, Case{"V", -5},
        Case{"C", 0}, Case{"C", -1}, Case{"a_red", 0}, Case{"s_red", -1}, Case{"g", -0.1},
        Case{"n", 1.5}, Case{"n", "two"}, Case{"delta_next", {0.5, 0.4}}, Case{"delta_next", {1.0}},
        Case{"type", "shuffle"}}) {
    nlohmann::json instance = Reducer();
    instance[bad.field] = bad.value;
    const absl::StatusOr<std::string> text = SolveInstancesJson(FileOf(instance), {});
    ASSERT_FALSE(text.ok()) << bad.field;
    const std::string message(text.status().message());
    for (const char* part : {"instance mine", bad.field, "legal"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
    instance.erase(bad.field);
    EXPECT_EQ(SolveInstancesJson(FileOf(instance), {}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(InstanceJsonTest, RefusesWhatIsNoInstanceFile) {
  for (const char* text :
       {"", "{", "[]", "{\"instances\": []}", "{\"schema\": 2, \"instances\": []}",
        "{\"schema\": 1}", "{\"schema\": 1, \"instances\": [7]}",
        "{\"schema\": 1, \"instances\": [{\"V\": 1e999}]}"}) {
    EXPECT_EQ(SolveInstancesJson(text, {}).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(InstanceJsonTest, TableShowsEachInstance) {
  const absl::StatusOr<std::string> table = SolveInstancesTable(FileOf(Reducer()), {});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_NE(table->find("mine"), std::string::npos);
  EXPECT_NE(table->find("shares:"), std::string::npos);
}

TEST(InstanceJsonTest, KnowsItsMethods) {
  EXPECT_EQ(*ParseLayerMethod("exact"), LayerMethod::kExact);
  EXPECT_FALSE(ParseLayerMethod("even").ok());
}

}  // namespace
}  // namespace weir::planner::load
