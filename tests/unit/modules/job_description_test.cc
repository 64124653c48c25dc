#include "runtime/modules/job_description.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jobs/histogram/histogram.h"
#include "jobs/kmeans/kmeans.h"
#include "jobs/terasort/terasort.h"
#include "jobs/weather/weather.h"
#include "jobs/wordcount/wordcount.h"

namespace weir {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::unique_ptr<JobDefinition> job;
  Given given;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back({wordcount::MakeDefinition(), {{"top", "3"}}});
  cases.push_back({terasort::MakeDefinition(), {}});
  cases.push_back({weather::MakeDefinition(), {}});
  cases.push_back({histogram::MakeDefinition(), {{"bins", "7"}, {"min", "0"}, {"max", "1"}}});
  cases.push_back({kmeans::MakeDefinition(), {{"iterations", "5"}}});
  return cases;
}

void ExpectSame(const JobInfo& a, const JobInfo& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.summary, b.summary);
  EXPECT_EQ(a.rates.map_seconds_per_byte, b.rates.map_seconds_per_byte);
  EXPECT_EQ(a.rates.map_output_ratio, b.rates.map_output_ratio);
  EXPECT_EQ(a.rates.output_growth.at_bytes, b.rates.output_growth.at_bytes);
  EXPECT_EQ(a.rates.output_growth.power, b.rates.output_growth.power);
  EXPECT_EQ(a.rates.output_growth.seconds_per_output_byte,
            b.rates.output_growth.seconds_per_output_byte);
  ASSERT_EQ(a.rates.layers.size(), b.rates.layers.size());
  for (std::size_t i = 0; i < a.rates.layers.size(); ++i) {
    EXPECT_EQ(a.rates.layers[i].reduce_seconds_per_byte, b.rates.layers[i].reduce_seconds_per_byte);
    EXPECT_EQ(a.rates.layers[i].output_ratio, b.rates.layers[i].output_ratio);
  }
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    const ParameterInfo& x = a.parameters[i];
    const ParameterInfo& y = b.parameters[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.type, y.type);
    EXPECT_EQ(x.default_value, y.default_value);
    EXPECT_EQ(x.min, y.min);
    EXPECT_EQ(x.max, y.max);
    EXPECT_EQ(x.choices, y.choices);
    EXPECT_EQ(x.help, y.help);
  }
}

TEST(JobDescriptionTest, ADescribedJobAnswersAsTheJobItself) {
  for (const Case& one : Cases()) {
    SCOPED_TRACE(one.job->info().name);
    const auto described = DescribeJob(*one.job, one.given);
    ASSERT_TRUE(described.ok()) << described.status();
    // As it comes off the wire.
    v1::JobDescription received;
    ASSERT_TRUE(received.ParseFromString(described->SerializeAsString()));
    const auto job = MakeDescribedJob(received);
    ExpectSame(job->info(), one.job->info());
    const auto values = CheckParameters(job->info(), one.given);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_TRUE(job->CheckValues(*values).ok());
    const auto num_layers = static_cast<int>(job->info().rates.layers.size());
    for (int layer = 1; layer <= num_layers; ++layer) {
      const ElementInfo a = one.job->Element(*values, layer);
      const ElementInfo b = job->Element(*values, layer);
      EXPECT_EQ(a.kind, b.kind);
      EXPECT_EQ(a.places, b.places);
      EXPECT_EQ(a.place_bytes, b.place_bytes);
      EXPECT_EQ(a.commutative, b.commutative);
      EXPECT_EQ(a.splits, b.splits);
      EXPECT_EQ(a.combine_seconds_per_byte, b.combine_seconds_per_byte);
    }
    const auto a = one.job->Loop(*values);
    const auto b = job->Loop(*values);
    ASSERT_TRUE(a.ok() && b.ok());
    ASSERT_EQ(a->has_value(), b->has_value());
    if (!a->has_value()) continue;
    EXPECT_EQ((*a)->iterations, (*b)->iterations);
    EXPECT_EQ((*a)->element_places, (*b)->element_places);
    EXPECT_EQ((*a)->state_places, (*b)->state_places);
    EXPECT_EQ((*a)->place_bytes, (*b)->place_bytes);
    EXPECT_EQ((*a)->splits, (*b)->splits);
    EXPECT_EQ((*a)->first_splits, (*b)->first_splits);
    EXPECT_EQ((*a)->commutative, (*b)->commutative);
    EXPECT_EQ((*a)->iterate_seconds_per_byte, (*b)->iterate_seconds_per_byte);
    EXPECT_EQ((*a)->combine_seconds_per_byte, (*b)->combine_seconds_per_byte);
    EXPECT_EQ((*a)->update_seconds_per_byte, (*b)->update_seconds_per_byte);
  }
}

TEST(JobDescriptionTest, WhatTheJobRefusesIsNotDescribed) {
  const auto job = wordcount::MakeDefinition();
  EXPECT_TRUE(absl::IsInvalidArgument(DescribeJob(*job, Given{{"top", "x"}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(DescribeJob(*job, Given{{"tpo", "1"}}).status()));
  const auto bins = histogram::MakeDefinition();
  const Given crossed = {{"bins", "7"}, {"min", "5"}, {"max", "1"}};
  EXPECT_FALSE(DescribeJob(*bins, crossed).ok()) << "CheckValues has its say";
}

TEST(JobDescriptionTest, ADescribedJobHasNoCode) {
  const auto job = MakeDescribedJob(*DescribeJob(*wordcount::MakeDefinition(), Given{}));
  std::ostringstream out;
  EXPECT_TRUE(absl::IsFailedPrecondition(job->MakeProgram({}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(job->Present({}, {}, out)));
  EXPECT_EQ(job->Element({}, 0).kind, ElementKind::kNone);
  EXPECT_EQ(job->Element({}, 2).kind, ElementKind::kNone) << "it has one layer";
}

TEST(JobDescriptionTest, AModuleGoesBeforeTheCatalog) {
  JobCatalog catalog;
  catalog["wordcount"] = wordcount::MakeDefinition();
  v1::JobSpec spec;
  spec.set_job("wordcount");
  EXPECT_EQ(FindJob(catalog, spec).get(), catalog["wordcount"].get());
  spec.set_job("mine");
  EXPECT_EQ(FindJob(catalog, spec), nullptr);
  spec.set_job("wordcount");
  spec.mutable_module()->mutable_description()->set_name("wordcount");
  spec.mutable_module()->mutable_description()->set_summary("another one");
  EXPECT_EQ(FindJob(catalog, spec)->info().summary, "another one");
}

}  // namespace
}  // namespace weir
