// `weir planner tree` with its files: results, a Gantt, a drawing and a plan of one instance.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/wire/plan_wire.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/plan_file.h"
#include "tests/unit/client/command_host_test_base.h"

namespace weir::client {
namespace {

constexpr char kInstances[] = R"({"schema":1,"instances":[
  {"id":"bound","alg":"canon_bounds","input":{"n":6,"K":3,"d":1,"c":1}},
  {"id":"tree","alg":"canon_greedy","input":{"n":4,"d":1,"c":1}},
  {"id":"half","alg":"langou_unidirectional_greedy",
   "input":{"p":15,"segments":[1,1,1,1,1],"alpha":0,"beta":2,"gamma":1}}]})";

class PlannerCommandTest : public CommandHostTest {
 protected:
  PlannerCommandTest() {
    options_.kind = PlannerOptions::Kind::kTree;
    options_.instance_file = "trees.json";
    options_.json = true;
    Put("trees.json", kInstances);
  }

  std::string Written(const std::string& name) {
    const auto text = storage_.ReadFile(dir_ + "/" + name, 1 << 24);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
  }

  // Makespan that the written plan is predicted to take.
  double PredictedOf(const std::string& id) {
    options_.picture_id = id;
    options_.plan_file = "plan.json";
    EXPECT_EQ(Planner(options_, host_), kExitOk) << err_.str();
    const auto message = ParsePlanFile(Written("plan.json"));
    EXPECT_TRUE(message.ok()) << message.status();
    if (!message.ok()) return 0;
    const auto plan = planner::PlanFromProto(*message);
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return 0;
    EXPECT_TRUE(planner::CheckPlan(*plan).ok()) << planner::CheckPlan(*plan);
    return planner::Predict(*plan)->makespan_s;
  }

  PlannerOptions options_;
};

TEST_F(PlannerCommandTest, AWrittenPlanIsReadCheckedAndPredictedAsPlanned) {
  EXPECT_NEAR(PredictedOf("tree"), 4, 1e-9);
  EXPECT_NEAR(PredictedOf("half"), 39, 1e-9);
  // Without --id: the first that has a schedule.
  EXPECT_NEAR(PredictedOf(""), 4, 1e-9);
}

std::string Nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonDepth, IsBoundedWhateverStandsInTexts) {
  EXPECT_TRUE(CheckJsonDepth(Nested(64)).ok());
  EXPECT_FALSE(CheckJsonDepth(Nested(65)).ok());
  std::string flat = "[";
  for (int i = 0; i < 100; ++i) flat += "{},[],";
  EXPECT_TRUE(CheckJsonDepth(flat + "0]").ok());
  const std::string brackets(100, '[');
  EXPECT_TRUE(CheckJsonDepth("[\"" + brackets + "\\\"" + brackets + "\"]").ok()) << "a text";
  EXPECT_FALSE(CheckJsonDepth("[\"\\\\\"," + brackets).ok()) << "behind a text";
  EXPECT_TRUE(CheckJsonDepth("").ok());
  EXPECT_TRUE(CheckJsonDepth("\"\\").ok());
}

TEST_F(PlannerCommandTest, AFileNestedWithoutEndIsRefused) {
  // As deep as ends a program that goes down a stack frame a level.
  const std::string deep = Nested(400'000);
  const auto plan = ParsePlanFile(R"({"plan":)" + deep + "}");
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << plan.status();
  EXPECT_NE(plan.status().message().find("nested more than 64 deep"), std::string::npos);
  Put("trees.json", R"({"schema":1,"instances":[{"id":)" + deep + "}]}");
  for (const auto kind : {PlannerOptions::Kind::kTree, PlannerOptions::Kind::kLoad}) {
    options_.kind = kind;
    EXPECT_EQ(Planner(options_, host_), kExitUsage);
  }
  EXPECT_NE(err_.str().find("instance file: its lists and objects are nested more than 64 deep"),
            std::string::npos)
      << err_.str();
}

TEST_F(PlannerCommandTest, PicturesAndResultsComeTogether) {
  options_.picture_id = "half";
  options_.gantt_file = "gantt.svg";
  options_.drawing_file = "tree.svg";
  ASSERT_EQ(Planner(options_, host_), kExitOk) << err_.str();
  EXPECT_NE(Written("gantt.svg").find("machine 14"), std::string::npos);
  EXPECT_NE(Written("tree.svg").find("</svg>"), std::string::npos);
  const auto results = nlohmann::json::parse(out_.str())["results"];
  EXPECT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0]["limited_upper_bound"], 6);
}

TEST_F(PlannerCommandTest, LinksAndDevicesStayWhatTheyAre) {
  options_.picture_id = "half";
  options_.gantt_file = "link.svg";
  options_.drawing_file = "null";
  std::filesystem::create_symlink("behind.svg", dir_ + "/link.svg");
  std::filesystem::create_symlink("/dev/null", dir_ + "/null");
  Put("behind.svg", "old");
  ASSERT_EQ(Planner(options_, host_), kExitOk) << err_.str();
  EXPECT_NE(Written("behind.svg").find("machine 14"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_symlink(dir_ + "/link.svg"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir_ + "/null"));
}

TEST_F(PlannerCommandTest, NoFileReplacesTheInstancesOrAnother) {
  std::filesystem::create_symlink("trees.json", dir_ + "/link.json");
  options_.picture_id = "half";
  for (std::string PlannerOptions::*written :
       {&PlannerOptions::gantt_file, &PlannerOptions::drawing_file, &PlannerOptions::plan_file}) {
    for (const char* name : {"trees.json", "./trees.json", "link.json"}) {
      PlannerOptions over = options_;
      over.*written = name;
      EXPECT_EQ(Planner(over, host_), kExitUsage) << name;
    }
  }
  EXPECT_NE(err_.str().find("--plan " + dir_ + "/link.json: it is the file of --instance"),
            std::string::npos)
      << err_.str();
  options_.gantt_file = options_.drawing_file = "one.svg";
  EXPECT_EQ(Planner(options_, host_), kExitUsage);
  EXPECT_NE(err_.str().find("--gantt and --drawing name the same file"), std::string::npos);
  EXPECT_EQ(Written("trees.json"), kInstances);
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/one.svg"));
}

TEST_F(PlannerCommandTest, WhatHasNoScheduleIsSaid) {
  options_.picture_id = "bound";
  options_.plan_file = "plan.json";
  EXPECT_NE(Planner(options_, host_), kExitOk);
  EXPECT_NE(err_.str().find("no instance bound whose algorithm has a schedule"), std::string::npos)
      << err_.str();
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/plan.json"));
}

TEST_F(PlannerCommandTest, AnIdThatNothingAsksForIsRefused) {
  options_.picture_id = "half";
  EXPECT_EQ(Planner(options_, host_), kExitUsage);
  EXPECT_NE(err_.str().find("--id names the instance to draw or plan"), std::string::npos)
      << err_.str();
}

TEST_F(PlannerCommandTest, AFileThatCannotBeReadEndsWithFourAndNamesTheFlag) {
  options_.instance_file = "none.json";
  EXPECT_EQ(Planner(options_, host_), kExitRefused);
  EXPECT_NE(err_.str().find("INPUT_NOT_FOUND: --instance: open " + dir_ + "/none.json"),
            std::string::npos)
      << err_.str();
  options_.instance_file = ".";
  EXPECT_EQ(Planner(options_, host_), kExitRefused);
  v1::JobSpec spec;
  JobOptions job;
  job.plan_file = "none.json";
  const absl::Status planned = AddPlanFile(job, host_, spec);
  EXPECT_EQ(ExitCodeOfCall(planned), kExitRefused);
  EXPECT_NE(planned.message().find("--plan-file: open "), absl::string_view::npos) << planned;
  job.plan_file = ".";
  EXPECT_EQ(ExitCodeOfCall(AddPlanFile(job, host_, spec)), kExitRefused);
}

TEST_F(PlannerCommandTest, BadInputEndsWithTwoAndNamesInstanceAndField) {
  ASSERT_TRUE(storage_
                  .WriteFileAtomically(
                      dir_ + "/trees.json",
                      R"({"schema":1,"instances":[{"id":"x7","alg":"pipeline","input":{"p":0}}]})")
                  .ok());
  EXPECT_EQ(Planner(options_, host_), kExitUsage);
  EXPECT_NE(err_.str().find("x7"), std::string::npos) << err_.str();
  EXPECT_NE(err_.str().find("p is 0"), std::string::npos) << err_.str();
}

}  // namespace
}  // namespace weir::client
