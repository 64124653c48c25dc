#pragma once

// The registered workers: who they are, how to call them, whether they are alive.
// Upstream: ClusterApi handlers. Downstream: planning, JobRun.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/limits.h"
#include "runtime/master/workers/worker_leases.h"
#include "runtime/rpc/api.h"
#include "weir/v1/cluster.pb.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

/// A daemon that lost touch though it lives gets a lease of twice the length, up to this: on a
/// machine with no time for it that is better than to do its work again and again. Shorter than
/// limits::kPeerPatience, so that a lease still says of a silent worker that it is lost.
inline constexpr absl::Duration kWorkerLeaseMax = absl::Seconds(30);
/// One that kept its lease for so long starts from the usual length when it loses touch again.
inline constexpr absl::Duration kLostTouchForgotten = absl::Minutes(10);

/// One worker under one registration. A job keeps a copy: `api` stays usable after the worker is
/// lost (its calls then simply fail).
struct RegisteredWorker {
  WorkerId id = 0;
  Epoch epoch = 0;
  absl::Duration lease = limits::kWorkerLease;  // how long it may be silent
  v1::WorkerIdentity identity;
  v1::WorkerProfile profile;
  std::shared_ptr<rpc::WorkerApi> api;
  /// What it held of jobs of earlier masters when it registered; null: nothing.
  std::shared_ptr<const std::vector<v1::HeldJob>> held = nullptr;
};

/// Whether all workers hand runs over in place: they are on one machine. Requires: not empty.
bool SameHost(absl::Span<const RegisteredWorker> workers);

/// What the worker held of a job's plan when it registered; null: nothing.
const v1::HeldJob* HeldOf(const RegisteredWorker& worker, const std::string& job_id,
                          const v1::KeptPlan& plan);

/// Keeps identity, profile and lease of every worker by name. A name keeps its id for the life of
/// the master; each registration has an epoch of its own. A daemon that lost touch and registers
/// again gets a longer lease (kWorkerLeaseMax). Thread-safety: control strand only. Time:
/// passed in. Bounds: limits::kWorkersMax alive; as many lost ones are remembered for the list.
/// Checked by: tests/unit/master/worker_table_test.cc.
class WorkerTable {
 public:
  WorkerTable(rpc::WorkerConnector& connector, Epoch first_epoch);

  /// Registers a worker, or registers it anew: `replaced` is then set and whatever ran under the
  /// old registration is lost. Two daemons with one name are told apart by their incarnations, and
  /// the second is refused while the first is alive; one that listens where the first did stands in
  /// its place. `now_unix_ms`: the same moment, to be shown.
  /// Errors: kResourceExhausted; kAlreadyExists naming the worker that has the name.
  struct Registration {
    RegisteredWorker worker;
    Epoch replaced_epoch = 0;  // 0: it was not alive before
  };
  absl::StatusOr<Registration> Register(const v1::RegisterRequest& request, MonoTime now,
                                        std::int64_t now_unix_ms);
  /// The worker alive under this name, to be asked after because another one wants the name.
  std::pair<SilentWorker, std::string> TakeHolder(const std::string& name, MonoTime now);
  /// Errors: as WorkerLeases::Renew.
  absl::Status Heartbeat(const v1::HeartbeatRequest& request, MonoTime now);
  /// The worker, LEFT from now on. Errors: as WorkerLeases::Renew.
  absl::StatusOr<RegisteredWorker> Leave(const v1::HeartbeatRequest& request, MonoTime now);
  /// No job is planned for the worker from now on; its lease stays. Returns whether that is new.
  bool BeginDrain(WorkerId worker);
  absl::Status CheckLease(WorkerId worker, Epoch epoch) const {
    return leases_.Check(worker, epoch);
  }
  /// Workers whose lease ended, in id order; they are LOST from now on.
  std::vector<RegisteredWorker> TakeLost(MonoTime now);
  /// Workers to be asked after, as WorkerLeases::TakeSilent says, by their control endpoints.
  std::vector<std::pair<SilentWorker, std::string>> TakeSilent(MonoTime now);
  /// The same of one worker, whose connection broke under this epoch; nothing when that is over.
  std::optional<std::pair<SilentWorker, std::string>> TakeCutOff(WorkerId worker, Epoch epoch,
                                                                 MonoTime now);
  /// The worker, LOST from now on, unless it was heard of since it was asked after.
  std::optional<RegisteredWorker> TakeGone(const SilentWorker& gone);
  std::optional<MonoTime> NextWake() const { return leases_.NextWake(); }
  /// As WorkerLeases::StoodStill.
  void StoodStill(absl::Duration stood, MonoTime now) { leases_.StoodStill(stood, now); }

  /// Alive workers in id order, without those that drain.
  std::vector<RegisteredWorker> Alive() const;
  /// Visits the same in place: copies of a thousand workers, made for each job that comes and each
  /// worker that registers, would be what a large cluster's master does most.
  void ForEachAlive(absl::FunctionRef<void(const RegisteredWorker&)> visit) const;
  /// Whether there is one of them.
  bool AnyAlive() const;
  /// Everybody known, in id order.
  v1::ListWorkersResponse List(MonoTime now) const;

 private:
  struct Entry {
    RegisteredWorker worker;
    bool alive = false;
    bool draining = false;
    std::int64_t since_unix_ms = 0;
    MonoTime since;  // the same moment
    MonoTime heard;
    std::string left_because;  // empty: it is alive, or was lost
  };
  absl::Status NameTaken(const Entry& holder) const;
  /// For the next registration of the name.
  static absl::Duration LeaseOf(const Entry& before, const v1::WorkerIdentity& identity,
                                MonoTime now);
  void ForgetOldestLost();

  rpc::WorkerConnector& connector_;
  WorkerLeases leases_;
  WorkerId next_id_ = 1;
  absl::btree_map<std::string, WorkerId> id_by_name_;
  absl::btree_map<WorkerId, Entry> entries_;
};

}  // namespace weir::master
