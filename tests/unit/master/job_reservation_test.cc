// Workers that hold a job, and calls to them that are lost: the whole master on virtual time.

#include "runtime/master/workers/job_reservation.h"

#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "tests/sim/call_faults.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class LostReleaseTest : public MasterTest,
                        public testing::WithParamInterface<std::tuple<sim::CallFault, int>> {};

TEST_P(LostReleaseTest, IsAskedForAgainSoThatTheJobKeepsItsLogs) {
  AddWorkers(1);
  const auto [fault, lost] = GetParam();
  v1::JobSpec spec = Spec();
  spec.set_sampling("off");
  const auto id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  // The first ones for certain, and no later one.
  sim::CallFaults& faults = world_->network().call_faults();
  const std::string method = "weir.v1.WorkerService.ReleaseJob";
  faults.Set(method, fault, 1);
  for (int s = 0; s < 600 && faults.called(method) < lost; ++s) RunFor(absl::Milliseconds(100));
  faults.Clear();
  // A late call takes up to 20 s.
  RunFor(absl::Seconds(21));
  EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_GT(faults.struck(method, fault), 0);
  int logs = -1;
  v1::GetLogsRequest request;
  request.set_job_id(*id);
  master().jobs().Send<rpc::GetLogs>(request, [&logs](const auto& response) {
    ASSERT_TRUE(response.ok()) << response.status();
    logs = response->logs_size();
  });
  RunFor(absl::Seconds(1));
  EXPECT_EQ(logs, 1) << "once, however often the worker said it";
}

INSTANTIATE_TEST_SUITE_P(
    Calls, LostReleaseTest,
    testing::Combine(testing::Values(sim::CallFault::kRequestLost, sim::CallFault::kAnswerLost,
                                     sim::CallFault::kErrorOfDone, sim::CallFault::kTwice,
                                     sim::CallFault::kLate),
                     testing::Values(1, 2)));

}  // namespace
}  // namespace weir::master
