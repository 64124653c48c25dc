// Workers that hold a job, and calls to them that are lost: the whole master on virtual time.

#include "runtime/master/workers/job_reservation.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/rpc/serve.h"
#include "tests/sim/call_faults.h"
#include "tests/sim/virtual_time.h"
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

/// Remembers what it was told to prepare.
struct PreparedWorker {
  void Handle(rpc::Call<rpc::PrepareJob> call) {
    requests.push_back(std::move(call.request));
    call.reply(v1::PrepareJobResponse());
  }
  template <typename Method>
  void Handle(rpc::Call<Method> call) {
    call.reply(absl::UnimplementedError(Method::kName));
  }
  std::vector<v1::PrepareJobRequest> requests;
};

TEST(JobReservationTest, NoWorkerIsToldTheListOfInputs) {
  constexpr int kWorkers = 10;
  constexpr int kInputs = 10'000;
  sim::VirtualTime time;
  const auto loop = std::make_shared<sim::ProcessLoop>(time);
  sim::SeededRandom random(1);
  JobReservation reservation(*loop, random);
  v1::PrepareJobRequest request;
  request.mutable_fence()->set_job_id("j-1");
  request.mutable_spec()->set_job("wordcount");
  request.mutable_spec()->add_parameters()->set_name("words");
  for (int i = 0; i < kInputs; ++i) {
    request.mutable_spec()->add_inputs(absl::StrCat("/data/part-", i));
  }
  PreparedWorker server;
  const auto api = std::make_shared<rpc::WorkerApi>(rpc::ApiOf<rpc::WorkerService>(server));
  std::vector<RegisteredWorker> workers(kWorkers);
  for (int w = 0; w < kWorkers; ++w) {
    workers[static_cast<std::size_t>(w)].id = w + 1;
    workers[static_cast<std::size_t>(w)].epoch = 1;
    workers[static_cast<std::size_t>(w)].api = api;
  }
  bool prepared = false;
  reservation.Prepare(
      workers, request, [&prepared] { prepared = true; }, [](const v1::JobError&) { FAIL(); });
  while (!prepared && time.RunNext()) {
  }
  EXPECT_TRUE(prepared);
  ASSERT_EQ(server.requests.size(), std::size_t{kWorkers});
  for (const v1::PrepareJobRequest& told : server.requests) {
    EXPECT_EQ(told.spec().job(), "wordcount");
    EXPECT_EQ(told.spec().parameters_size(), 1);
    EXPECT_LT(told.ByteSizeLong(), 1000u) << "whatever the number of inputs";
  }
}

}  // namespace
}  // namespace weir::master
