// Orders whose bytes are garbled on their way to a worker, which gRPC then calls unimplemented: the
// whole master on virtual time.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/sim/call_faults.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

using testing::HasSubstr;

class GarbledOrdersTest : public MasterTest {
 protected:
  GarbledOrdersTest() { AddWorkers(3); }
  sim::CallFaults& faults() { return world_->network().call_faults(); }
  std::string Begin() {
    const absl::StatusOr<std::string> id = Submit(EvenSpec(3, 3));
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  void ExpectSentAgain(const std::string& name) {
    const std::string method = "weir.v1.WorkerService." + name;
    // The first call alone.
    faults().Set(method, sim::CallFault::kUnknown, 0);
    const std::string id = Begin();
    RunFor(absl::Seconds(60));
    const v1::JobStatus status = StatusOf(id);
    EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    EXPECT_EQ(status.losses_size(), 0);
    EXPECT_EQ(faults().struck(method, sim::CallFault::kUnknown), 1);
  }
};

TEST_F(GarbledOrdersTest, APreparationIsSentAgain) { ExpectSentAgain("PrepareJob"); }
TEST_F(GarbledOrdersTest, AStepIsSentAgain) { ExpectSentAgain("StartStep"); }
TEST_F(GarbledOrdersTest, AGrantIsSentAgain) { ExpectSentAgain("GrantTransfer"); }

TEST_F(GarbledOrdersTest, StepsThatOneNeverReadsGoToOthers) {
  faults().Set("weir.v1.WorkerService.StartStep", sim::CallFault::kUnknown, 1);
  const std::string id = Begin();
  for (int ms = 0; ms < 10'000 && StatusOf(id).losses_size() == 0; ++ms) {
    RunFor(absl::Milliseconds(1));
  }
  faults().Clear();
  RunFor(absl::Seconds(120));
  const v1::JobStatus status = StatusOf(id);
  ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  ASSERT_GE(status.losses_size(), 1);
  const v1::WorkerLoss& loss = status.losses(0);
  EXPECT_THAT(loss.why(), HasSubstr("worker " + loss.worker() + " refused map "));
  EXPECT_THAT(loss.why(), HasSubstr("no such call (simulated)"));
  for (const auto& [step, worker] : Commits()) EXPECT_NE(worker, loss.worker()) << step;
}

}  // namespace
}  // namespace weir::master
