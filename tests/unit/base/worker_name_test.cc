#include "runtime/base/worker_name.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(WorkerNameTest, TakesWhatPeopleCallTheirMachines) {
  for (const char* name : {"w1", "10.0.0.7:41234", "Rack 3, node-17", "вузол-1", "节点"}) {
    EXPECT_TRUE(CheckWorkerName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckWorkerName(std::string(256, 'x')).ok());
}

TEST(WorkerNameTest, RefusesWhatWouldForgeLinesAndShowsItOnOneLine) {
  for (const std::string& name :
       {std::string(), std::string(257, 'x'), std::string("w\nlost: w2"), std::string("w\r"),
        std::string("w\x1b[2J"), std::string(1, '\0'), std::string("\xff")}) {
    const absl::Status status = CheckWorkerName(name);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_FALSE(absl::StrContains(status.message(), '\n'));
    EXPECT_LT(status.message().size(), 1000u);
  }
}

}  // namespace
}  // namespace weir
