// Every RPC of every service, listed from its descriptor, with every fault that a call may have: a
// new RPC that the workload does not call fails, and so does a fault that met nothing.

#include "tests/sim/every_call.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/call_faults.h"
#include "tests/sim/random_cluster.h"

namespace weir::sim {
namespace {

constexpr double kShare = 0.25;
constexpr std::uint64_t kSeedsOfCase = SeedsHere(3, /*under_sanitizers=*/1);
// Some calls are made in most runs only.
constexpr std::uint64_t kSeedsMax = kSeedsOfCase + 6;

/// All methods that are called, as the descriptors of the services tell.
std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  const google::protobuf::FileDescriptor& file = *v1::SubmitRequest::descriptor()->file();
  for (int s = 0; s < file.service_count(); ++s) {
    for (int m = 0; m < file.service(s)->method_count(); ++m) {
      methods.push_back(file.service(s)->method(m)->full_name());
    }
  }
  return methods;
}

TEST(EveryCallTest, TheWorkloadCallsEveryMethodOfEveryService) {
  EveryCall run(0);
  ASSERT_THAT(run.Run(), testing::IsEmpty());
  EXPECT_EQ(run.job().status.state(), v1::JOB_STATE_SUCCEEDED) << run.job().status.DebugString();
  const std::vector<std::string> methods = AllMethods();
  ASSERT_GE(methods.size(), 22u);
  for (const std::string& method : methods) {
    EXPECT_GT(run.faults().called(method), 0) << "nothing calls " << method << ": every_call.h";
  }
}

class EveryCallFaultTest : public testing::TestWithParam<CallFault> {};

TEST_P(EveryCallFaultTest, OfAnyMethodDoesNoHarm) {
  const CallFault fault = GetParam();
  int succeeded = 0;
  int runs = 0;
  for (const std::string& method : AllMethods()) {
    std::uint64_t met = 0;
    for (std::uint64_t seed = 0; met < kSeedsOfCase; ++seed) {
      SCOPED_TRACE(absl::StrCat(method, ": ", NameOf(fault), ", seed ", seed));
      ASSERT_LT(seed, kSeedsMax) << "too little was struck";
      EveryCall run(seed);
      run.faults().Set(method, fault, kShare);
      ASSERT_THAT(run.Run(), testing::IsEmpty());
      met += run.faults().struck(method, fault) > 0 ? 1 : 0;
      succeeded += run.job().status.state() == v1::JOB_STATE_SUCCEEDED ? 1 : 0;
      ++runs;
      if (HasFailure()) return;
    }
  }
  // A job whose orders nobody answers may end by name; most faults it must survive.
  EXPECT_GE(succeeded, runs * 9 / 10);
}

std::string NameOfCase(const testing::TestParamInfo<CallFault>& info) {
  static constexpr const char* kNames[] = {"None",        "RequestLost", "AnswerLost",
                                           "ErrorOfDone", "Twice",       "Late"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Faults, EveryCallFaultTest, testing::ValuesIn(kCallFaults), NameOfCase);

TEST(EveryCallTest, SameSeedSameHistory) {
  const auto hash = [] {
    EveryCall run(5);
    for (const CallFault fault : kCallFaults) run.faults().SetForAll(fault, 0.03);
    run.Run();
    return std::make_pair(run.world().trace().hash(), run.world().random().Next());
  };
  EXPECT_EQ(hash(), hash());
}

TEST(EveryCallTest, AllFaultsTogether) {
  for (std::uint64_t seed = 0; seed < 10 * kSeedsOfCase; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    EveryCall run(seed);
    for (const CallFault fault : kCallFaults) run.faults().SetForAll(fault, 0.04);
    ASSERT_THAT(run.Run(), testing::IsEmpty());
    EXPECT_GT(run.faults().struck(), 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir::sim
