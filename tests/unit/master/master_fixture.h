#pragma once

// The whole master on virtual time, with workers, for tests that go through its two interfaces.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/master.h"
#include "tests/sim/world.h"

namespace weir::master {

class MasterTest : public ::testing::Test {
 protected:
  explicit MasterTest(std::int32_t running_jobs_max = 1) {
    MasterOptions options;
    options.latency_s = 4e-4;
    options.running_jobs_max = running_jobs_max;
    world_.emplace(7, options, JobRates(), /*print=*/false);
    EXPECT_TRUE(world_->storage().WriteSized("/in/data", 1'000'000'000).ok());
    world_->StartMaster();
  }
  void AddWorkers(int n) {
    for (int w = 0; w < n; ++w) {
      sim::WorkerModel model;
      model.name = "worker-" + std::to_string(w);
      world_->StartWorker(model);
    }
    RunFor(absl::Seconds(1));
  }
  void RunFor(absl::Duration duration) {
    const MonoTime end = world_->time().now() + duration;
    while (world_->time().now() < end && world_->time().RunNext()) {
    }
  }
  static v1::JobSpec Spec() {
    v1::JobSpec spec;
    spec.set_job("simjob");
    spec.add_inputs("/in/data");
    spec.set_output("/out/x");
    return spec;
  }
  /// Steps of one size, and so many of them, planned without a sample.
  static v1::JobSpec EvenSpec(int mappers, int reducers) {
    v1::JobSpec spec = Spec();
    spec.set_sampling("off");
    spec.set_plan_method("even");
    spec.set_num_mappers(mappers);
    spec.set_num_reducers(reducers);
    return spec;
  }
  Master& master() { return world_->master(); }

  /// The id, if the answer comes within `wait`.
  absl::StatusOr<std::string> Submit(const v1::JobSpec& spec,
                                     absl::Duration wait = absl::Milliseconds(100)) {
    absl::StatusOr<std::string> id = absl::UnknownError("no answer");
    v1::SubmitRequest request;
    *request.mutable_spec() = spec;
    master().jobs().Send<rpc::Submit>(request, [&id](const auto& response) {
      if (response.ok()) {
        id = response->job_id();
      } else {
        id = response.status();
      }
    });
    RunFor(wait);
    return id;
  }
  std::string RefusalCode(const v1::JobSpec& spec) {
    const absl::StatusOr<std::string> id = Submit(spec);
    return id.ok() ? "accepted" : JobErrorFromStatus(id.status()).code();
  }
  using PlanAnswer = std::optional<absl::StatusOr<v1::Plan>>;
  /// Begins a dry run, and sets `answer` when it comes; `answer` must live until then.
  void AskForPlan(const v1::JobSpec& spec, PlanAnswer& answer) {
    v1::DryRunRequest request;
    *request.mutable_spec() = spec;
    master().jobs().Send<rpc::DryRun>(request, [&answer](const auto& response) {
      if (response.ok()) {
        answer = response->plan();
      } else {
        answer = response.status();
      }
    });
  }
  v1::JobStatus StatusOf(const std::string& id) {
    v1::JobStatus found;
    v1::GetStatusRequest request;
    request.set_job_id(id);
    master().jobs().Send<rpc::GetStatus>(request, [&found](const auto& response) {
      ASSERT_TRUE(response.ok()) << response.status();
      found = *response;
    });
    return found;
  }

  /// By step that was committed, in the order of commits: its worker. Of plans of all epochs.
  std::vector<std::pair<int, std::string>> Commits() {
    std::vector<std::pair<int, std::string>> commits;
    for (const v1::JournalRecord& record : world_->journal().records()) {
      if (!record.has_step_committed()) continue;
      commits.emplace_back(record.step_committed().step(), record.step_committed().worker());
    }
    return commits;
  }
  /// Of any job. Requires: one was planned.
  const v1::JournalRecord::JobPlanned& LastPlan() {
    const auto& records = world_->journal().records();
    const auto it = std::find_if(records.rbegin(), records.rend(),
                                 [](const auto& record) { return record.has_job_planned(); });
    return it->job_planned();
  }

  std::optional<sim::World> world_;
};

}  // namespace weir::master
