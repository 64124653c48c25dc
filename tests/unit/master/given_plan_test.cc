// Plans that come with a job: what of a reduction tree must fit the job, beside what every plan
// must.

#include "runtime/master/planning/given_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "planner/plan/check_combined.h"
#include "planner/wire/plan_wire.h"
#include "tests/unit/master/tree_plans.h"

namespace weir::master {
namespace {

using ::testing::HasSubstr;

class OneElement : public JobDefinition {
 public:
  explicit OneElement(ElementInfo element) : element_(element) { info_.name = "fold"; }
  const JobInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return absl::UnimplementedError("not run here");
  }
  ElementInfo Element(const ParameterValues&, int) const override { return element_; }
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
  const ElementInfo element_;
};

ElementInfo Table(bool commutative) {
  ElementInfo element;
  element.kind = ElementKind::kTable;
  element.places = kTablePlaces;
  element.commutative = commutative;
  return element;
}

planner::Plan TreePlan(std::uint64_t seed) {
  TreeJob job;
  job.num_machines = 6;
  job.network.num_workers = 6;
  job.network.seconds_per_byte = 1e-8;
  job.input_bytes = 6'000'000;
  job.map_seconds_per_byte = 1e-8;
  return TreePlanOf(job, seed, /*keeps_order=*/false);
}

v1::JobSpec SpecWith(const planner::Plan& plan) {
  v1::JobSpec spec;
  spec.set_job("fold");
  std::vector<std::string> names;
  for (int w = 0; w < plan.network.num_workers; ++w) names.push_back("w" + std::to_string(w));
  *spec.mutable_plan() = planner::PlanToProto(plan, names);
  return spec;
}

TEST(GivenTreePlan, OperandsOfWhatDoesNotCommuteKeepTheOrderOfTheInput) {
  const OneElement commuting(Table(true));
  const OneElement ordered_only(Table(false));
  int ordered = 0;
  int unordered = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const planner::Plan plan = TreePlan(seed);
    const bool keeps_order = planner::CheckOperandOrder(plan).ok();
    ++(keeps_order ? ordered : unordered);
    EXPECT_EQ(CheckGivenPlan(SpecWith(plan), commuting), absl::OkStatus()) << seed;
    const absl::Status status = CheckGivenPlan(SpecWith(plan), ordered_only);
    EXPECT_EQ(status.ok(), keeps_order) << seed << ": " << status;
    if (!keeps_order) {
      EXPECT_THAT(status.message(), HasSubstr("not in their order")) << seed;
    }
  }
  EXPECT_GT(ordered, 0);
  EXPECT_GT(unordered, 0);
}

TEST(GivenTreePlan, OnlyWhatTheJobCanCombine) {
  const absl::Status status = CheckGivenPlan(SpecWith(TreePlan(1)), OneElement(ElementInfo()));
  EXPECT_THAT(status.message(), HasSubstr("cannot combine"));
}

TEST(GivenTreePlan, TheWayToCombineIsThePlansOwn) {
  v1::JobSpec spec = SpecWith(TreePlan(1));
  spec.set_combine("tree");
  const absl::Status status = CheckGivenPlan(spec, OneElement(Table(true)));
  EXPECT_THAT(status.message(), HasSubstr("leave them out beside a given plan"));
}

}  // namespace
}  // namespace weir::master
