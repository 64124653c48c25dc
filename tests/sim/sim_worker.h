#pragma once

// A worker daemon as the master sees it: keeps the protocol, charges compute and transfers in
// virtual time, and can be made to fail. Upstream: World. Downstream: Network.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/rpc/api.h"
#include "tests/sim/virtual_time.h"

namespace weir::sim {

class World;

/// What a worker is and how long its work takes.
struct WorkerModel {
  std::string name;
  std::int32_t slots = 1;
  std::string handover_domain;
  double map_seconds_per_byte = 4e-9;
  double map_output_ratio = 0.05;
  double reduce_seconds_per_byte = 1e-8;
  double output_ratio = 1;
  double channel_seconds_per_byte = 1 / 1.25e8;
  double store_seconds_per_byte = 1 / 1.25e8;
  /// How much slower than the model it computes and sends.
  double slowness = 1;
};

/// Faults that are switched on and off while it runs.
struct WorkerFaults {
  bool disk_full = false;
  bool task_crashes = false;
};

class SimWorker final : public rpc::WorkerApi {
 public:
  SimWorker(World& world, WorkerModel model, std::string incarnation);
  /// Drops what a hung loop still holds: its tasks hold the loop.
  ~SimWorker() override { loop_->Kill(); }
  SimWorker(const SimWorker&) = delete;
  SimWorker& operator=(const SimWorker&) = delete;

  void Start() { Register(); }
  void Kill() { loop_->Kill(); }
  WorkerFaults& faults() { return faults_; }
  const WorkerModel& model() const { return model_; }
  const std::string& incarnation() const { return incarnation_; }
  const std::shared_ptr<ProcessLoop>& loop() const { return loop_; }
  std::string control_endpoint() const { return model_.name + ":7001"; }
  std::string data_endpoint() const { return model_.name + ":7002"; }
  std::vector<std::string> HeldJobs() const;
  bool HoldsRun(const std::string& job_id, const std::string& run_id, std::int64_t end) const;
  /// The worker that these transfers come from is gone, or silent.
  void SenderLost(const std::string& sender, absl::Duration noticed_after);

  void PrepareJob(v1::PrepareJobRequest request, absl::Duration timeout,
                  rpc::Reply<v1::PrepareJobResponse> reply) override;
  void StartStep(v1::StartStepRequest request, absl::Duration timeout,
                 rpc::Reply<v1::StartStepResponse> reply) override;
  void GrantTransfer(v1::GrantTransferRequest request, absl::Duration timeout,
                     rpc::Reply<v1::GrantTransferResponse> reply) override;
  void ReleaseJob(v1::ReleaseJobRequest request, absl::Duration timeout,
                  rpc::Reply<v1::ReleaseJobResponse> reply) override;
  void Probe(v1::ProbeRequest request, absl::Duration timeout,
             rpc::Reply<v1::ProbeResponse> reply) override;

 private:
  struct Piece {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };
  struct Fetch {
    v1::TransferGrant grant;
    v1::Fence fence;
    MonoTime began;
    std::optional<MonoTime> reported;  // nearly done: the master may grant the next
    std::optional<MonoTime> released;  // ports free for the next
    bool over = false;
  };
  struct Job {
    v1::Fence fence;
    v1::JobSpec spec;
    bool released = false;
    bool step_running = false;
    std::map<std::int32_t, bool> steps;  // started; true = done
    std::map<std::int32_t, std::shared_ptr<Fetch>> fetches;
    std::deque<std::shared_ptr<Fetch>> fetch_queue;
    bool fetching = false;
    bool granted_ahead = false;  // what is fetched was reported as nearly done
    std::map<std::string, v1::RunInfo> runs;
    std::map<std::string, v1::RunInfo> handed_over;
    std::map<std::pair<std::string, std::int64_t>, std::vector<Piece>> received;
  };
  using JobPtr = std::shared_ptr<Job>;

  void Register();
  void RegisterLater();
  void Beat();
  void ReleaseAll();
  void ReleaseHeld(const std::string& job_id);
  absl::Status CheckFence(const v1::Fence& fence) const;
  JobPtr FindJob(const v1::Fence& fence) const;
  absl::Status CheckInputs(const Job& job, const v1::StepOrder& order) const;
  // Drops what the order says that nobody reads any more; who reads it all the same finds nothing.
  static void DropReadRuns(Job& job, const v1::StepOrder& order);
  double StepSeconds(const v1::StepOrder& order, std::int64_t input_bytes) const;
  void FinishStep(const JobPtr& job, const v1::Fence& fence, const v1::StepOrder& order,
                  std::int64_t input_bytes);
  void NextFetch(const JobPtr& job);
  void TakeTurn(const JobPtr& job, const std::shared_ptr<Fetch>& fetch);
  void BeginFetch(const JobPtr& job, const std::shared_ptr<Fetch>& fetch);
  void ReportNearlyDone(const JobPtr& job, const std::shared_ptr<Fetch>& fetch);
  void ReleasePorts(const JobPtr& job, const std::shared_ptr<Fetch>& fetch);
  void EndFetch(const JobPtr& job, const std::shared_ptr<Fetch>& fetch);
  void FailFetch(const JobPtr& job, const std::shared_ptr<Fetch>& fetch, const std::string& why);
  template <typename Request, typename Response>
  void Report(JobPtr job, Request request,
              void (rpc::ClusterApi::*method)(Request, absl::Duration, rpc::Reply<Response>));

  World& world_;
  const WorkerModel model_;
  const std::string incarnation_;
  std::shared_ptr<ProcessLoop> loop_;
  std::unique_ptr<rpc::ClusterApi> master_;
  WorkerFaults faults_;
  bool registered_ = false;
  std::int64_t worker_id_ = 0;
  std::int64_t worker_epoch_ = 0;
  std::int64_t master_epoch_ = 0;
  std::int64_t registration_ = 0;  // counts, so that old heartbeat timers end
  MonoTime heard_;
  MonoTime sends_until_;  // the next ordered send begins then at the earliest
  std::map<std::string, JobPtr> jobs_;
  std::uint64_t served_probe_ = 0;  // token; 0 = none
};

}  // namespace weir::sim
