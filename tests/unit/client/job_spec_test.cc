#include "runtime/client/job_spec.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/client/flags/options.h"

namespace weir::client {
namespace {

JobOptions Scripts(const std::string& properties, std::vector<int> reducers = {}) {
  JobOptions job;
  job.job = "stream";
  job.parameters = {{"mapper", "cat"}, {"properties", properties}};
  job.reducers = std::move(reducers);
  return job;
}

TEST(ReducersOf, APropertyOfScriptsSaysHowMany) {
  using Asked = std::vector<int>;
  EXPECT_EQ(*ReducersOf(Scripts("")), Asked());
  EXPECT_EQ(*ReducersOf(Scripts("", {4})), Asked{4});
  EXPECT_EQ(*ReducersOf(Scripts("mapreduce.job.reduces=1")), Asked{1});
  EXPECT_EQ(*ReducersOf(Scripts("a=b\nmapred.reduce.tasks=3\nc=d\n")), Asked{3});
  EXPECT_EQ(*ReducersOf(Scripts("mapred.reduce.tasks=3\nmapreduce.job.reduces=2\n")), Asked{2});
  EXPECT_EQ(*ReducersOf(Scripts("mapreduce.job.reduces=2", {2})), Asked{2});
}

TEST(ReducersOf, NoneAndNonsenseAreLeftToTheJob) {
  using Asked = std::vector<int>;
  EXPECT_EQ(*ReducersOf(Scripts("mapreduce.job.reduces=0")), Asked());
  EXPECT_EQ(*ReducersOf(Scripts("mapreduce.job.reduces=x")), Asked());
  JobOptions none = Scripts("mapreduce.job.reduces=5", {2});
  none.parameters.emplace_back("reducer", "NONE");
  EXPECT_EQ(*ReducersOf(none), Asked{2});
  JobOptions other = Scripts("mapreduce.job.reduces=5");
  other.job = "wordcount";
  EXPECT_EQ(*ReducersOf(other), Asked());
}

TEST(ReducersOf, TwoNumbersAreRefused) {
  const auto reducers = ReducersOf(Scripts("mapreduce.job.reduces=5", {2}));
  ASSERT_FALSE(reducers.ok());
  const auto error = JobErrorFromStatus(reducers.status());
  EXPECT_EQ(error.code(), job_error::kInvalidJob);
  EXPECT_EQ(error.message(), "--reducers is 2, but the property mapreduce.job.reduces is 5");
}

}  // namespace
}  // namespace weir::client
