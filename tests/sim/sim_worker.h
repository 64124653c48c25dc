#pragma once

// One simulated worker process: the real daemon on files in memory, tasks in virtual time and a
// simulated data plane; it can be made to fail. Upstream: World. Downstream: WorkerDaemon.

#include <memory>
#include <string>
#include <vector>

#include "runtime/rpc/api.h"
#include "runtime/transfer/run_catalog.h"
#include "runtime/worker/worker_daemon.h"
#include "tests/sim/data_ends.h"
#include "tests/sim/data_plane.h"
#include "tests/sim/order_watch.h"
#include "tests/sim/sim_process.h"
#include "tests/sim/sim_task.h"
#include "tests/sim/virtual_time.h"

namespace weir::sim {

/// Runs a worker daemon and watches what passes between it and the master.
class SimWorker {
 public:
  SimWorker(World& world, WorkerModel model);
  /// Drops what a hung loop still holds: its tasks hold the loop.
  ~SimWorker() { process_.loop->Kill(); }
  SimWorker(const SimWorker&) = delete;
  SimWorker& operator=(const SimWorker&) = delete;

  void Start();
  /// Ends the process as SIGKILL does: its files stay, its locks and connections go.
  void Kill();
  /// What the process left on its disk is gone. Requires: it was killed.
  void LoseFiles();
  /// What it wrote and did not sync may be gone, cut short, or not what was written. Requires: it
  /// was killed.
  void LosePower();
  /// As SIGTERM does: it drains for at most so long, then stops and calls `stopped`.
  void Drain(absl::Duration at_most, env::Task stopped = nullptr);
  void Hang();
  void GoOn();

  WorkerFaults& faults() { return process_.faults; }
  const WorkerModel& model() const { return process_.model; }
  const std::shared_ptr<ProcessLoop>& loop() const { return process_.loop; }
  std::string control_endpoint() const { return process_.control_endpoint(); }
  /// As it told the master; empty before that.
  const std::string& incarnation() const { return incarnation_; }
  /// What the master calls.
  const rpc::WorkerApi& api() const { return api_; }

  /// Jobs of which anything is here: a file, a task, a transfer. Sorted.
  std::vector<std::string> HeldJobs();
  /// Those of which a task or a transfer is here.
  std::vector<std::string> BusyJobs();
  /// Directories that stand under its work directory and are not its own. Empty unless it left
  /// something behind, or did not clear up after another life.
  std::vector<std::string> StrayDirectories();

 private:
  // Carriers that pass calls on and look at them.
  struct ToDaemon {
    SimWorker* self;
    template <typename Method>
    void Carry(rpc::Call<Method> call);
  };
  struct ToMaster {
    SimWorker* self;
    template <typename Method>
    void Carry(rpc::Call<Method> call);
  };
  template <typename Request>
  void OnCall(const Request& request) {
    watch_.OnReport(request);
  }
  void OnCall(const v1::RegisterRequest& request) {
    incarnation_ = request.identity().incarnation();
  }
  template <typename Request>
  void OnOrder(const Request&) {}
  void OnOrder(const v1::PrepareJobRequest& request);
  template <typename Response>
  void OnAnswer(const Response&) {}
  void OnAnswer(const v1::RegisterResponse& response);

  // Those of all lives of its name, named or about to be.
  std::vector<std::string> Directories();

  SimProcess process_;
  OrderWatch watch_;
  std::string incarnation_;
  SimWorkPool disk_pool_;
  SimTasks tasks_;
  transfer::PublishedRuns runs_;
  DataPlane::Port& port_;
  SimDataServer server_;
  SimFetcher fetcher_;
  std::unique_ptr<rpc::ClusterApi> master_;
  const rpc::ClusterApi cluster_{std::make_shared<ToMaster>(ToMaster{this})};
  worker::WorkerDaemon daemon_;
  const rpc::WorkerApi api_{std::make_shared<ToDaemon>(ToDaemon{this})};
};

}  // namespace weir::sim
