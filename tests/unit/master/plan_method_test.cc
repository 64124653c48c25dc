#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/master/plan_request.h"

namespace weir::master {
namespace {

TEST(PlanMethod, NamesWhatThePlannerOffers) {
  EXPECT_EQ(*ParsePlanMethod(""), planner::PlanOptions().method);
  EXPECT_EQ(*ParsePlanMethod("load"), planner::PlanMethod::kLoad);
  EXPECT_EQ(*ParsePlanMethod("even"), planner::PlanMethod::kEven);
  const auto unknown = ParsePlanMethod("magic");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.status().message()), testing::HasSubstr("load, even"));
}

}  // namespace
}  // namespace weir::master
