#include "runtime/master/workers/worker_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/base/limits.h"

namespace weir::master {

WorkerTable::WorkerTable(rpc::WorkerConnector& connector, Epoch first_epoch)
    : connector_(connector), leases_(limits::kHeartbeatOverdue, first_epoch) {}

namespace {

bool SameDaemon(const v1::WorkerIdentity& alive, const v1::WorkerIdentity& newcomer) {
  return alive.incarnation() == newcomer.incarnation() ||
         alive.control_endpoint() == newcomer.control_endpoint();
}

}  // namespace

bool SameHost(absl::Span<const RegisteredWorker> workers) {
  const std::string& domain = workers.front().identity.handover_domain();
  return !domain.empty() &&
         std::all_of(workers.begin(), workers.end(), [&](const RegisteredWorker& worker) {
           return worker.identity.handover_domain() == domain;
         });
}

const v1::HeldJob* HeldOf(const RegisteredWorker& worker, const std::string& job_id,
                          const v1::KeptPlan& plan) {
  if (worker.held == nullptr) return nullptr;
  for (const v1::HeldJob& held : *worker.held) {
    if (held.job_id() == job_id && held.master_epoch() == plan.master_epoch() &&
        held.plan_epoch() == plan.plan_epoch()) {
      return &held;
    }
  }
  return nullptr;
}

absl::Status WorkerTable::NameTaken(const Entry& holder) const {
  const v1::WorkerIdentity& identity = holder.worker.identity;
  return absl::AlreadyExistsError(absl::StrCat(
      "worker name '", identity.name(), "' is taken: ", identity.name(), " is alive at ",
      identity.control_endpoint(), " since ",
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(holder.since_unix_ms),
                       absl::UTCTimeZone()),
      "; stop that one, or give this one another name: --name NAME"));
}

absl::Duration WorkerTable::LeaseOf(const Entry& before, const v1::WorkerIdentity& identity,
                                    MonoTime now) {
  if (before.worker.identity.incarnation() != identity.incarnation()) return limits::kWorkerLease;
  const absl::Duration held = now - before.since;
  // Asked again because the answer was lost.
  if (held < limits::kWorkerLease) return before.worker.lease;
  const absl::Duration last =
      held < kLostTouchForgotten ? before.worker.lease : limits::kWorkerLease;
  return std::min(2 * last, kWorkerLeaseMax);
}

absl::StatusOr<WorkerTable::Registration> WorkerTable::Register(const v1::RegisterRequest& request,
                                                                MonoTime now,
                                                                std::int64_t now_unix_ms) {
  const std::string& name = request.identity().name();
  const auto known = id_by_name_.find(name);
  const WorkerId id = known != id_by_name_.end() ? known->second : next_id_;
  if (known != id_by_name_.end()) {
    const Entry& holder = entries_[id];
    if (holder.alive && !SameDaemon(holder.worker.identity, request.identity())) {
      return NameTaken(holder);
    }
  }
  const absl::Duration lease = known == id_by_name_.end()
                                   ? limits::kWorkerLease
                                   : LeaseOf(entries_[id], request.identity(), now);
  absl::StatusOr<Epoch> epoch = leases_.Register(id, lease, now);
  if (!epoch.ok()) return epoch.status();
  if (known == id_by_name_.end()) {
    id_by_name_[name] = next_id_++;
    if (static_cast<std::int64_t>(entries_.size()) >= 2 * limits::kWorkersMax) ForgetOldestLost();
  }
  Entry& entry = entries_[id];
  Registration registration;
  if (entry.alive) registration.replaced_epoch = entry.worker.epoch;
  entry.worker = RegisteredWorker{id,
                                  *epoch,
                                  lease,
                                  request.identity(),
                                  request.profile(),
                                  connector_.Connect(request.identity().control_endpoint())};
  if (request.held_size() > 0) {
    entry.worker.held = std::make_shared<const std::vector<v1::HeldJob>>(request.held().begin(),
                                                                         request.held().end());
  }
  entry.alive = true;
  entry.draining = false;
  entry.since_unix_ms = now_unix_ms;
  entry.since = now;
  entry.left_because.clear();
  entry.heard = now;
  registration.worker = entry.worker;
  return registration;
}

absl::Status WorkerTable::Heartbeat(const v1::HeartbeatRequest& request, MonoTime now) {
  absl::Status renewed = leases_.Renew(request.worker_id(), request.worker_epoch(), now);
  if (!renewed.ok()) return renewed;
  Entry& entry = entries_[request.worker_id()];
  entry.heard = now;
  entry.worker.profile.set_free_disk_bytes(request.free_disk_bytes());
  return absl::OkStatus();
}

bool WorkerTable::BeginDrain(WorkerId worker) {
  const auto it = entries_.find(worker);
  return it != entries_.end() && it->second.alive && !std::exchange(it->second.draining, true);
}

absl::StatusOr<RegisteredWorker> WorkerTable::Leave(const v1::HeartbeatRequest& request,
                                                    MonoTime now) {
  absl::Status left = leases_.Leave(request.worker_id(), request.worker_epoch());
  if (!left.ok()) return left;
  Entry& entry = entries_[request.worker_id()];
  entry.alive = false;
  entry.heard = now;
  entry.left_because = request.leaving();
  return entry.worker;
}

std::vector<RegisteredWorker> WorkerTable::TakeLost(MonoTime now) {
  std::vector<RegisteredWorker> lost;
  for (const WorkerId id : leases_.TakeExpired(now)) {
    Entry& entry = entries_[id];
    entry.alive = false;
    lost.push_back(entry.worker);
  }
  return lost;
}

std::vector<std::pair<SilentWorker, std::string>> WorkerTable::TakeSilent(MonoTime now) {
  std::vector<std::pair<SilentWorker, std::string>> silent;
  for (const SilentWorker& worker : leases_.TakeSilent(now)) {
    silent.emplace_back(worker, entries_[worker.worker].worker.identity.control_endpoint());
  }
  return silent;
}

std::pair<SilentWorker, std::string> WorkerTable::TakeHolder(const std::string& name,
                                                             MonoTime now) {
  const WorkerId id = id_by_name_.at(name);
  return {leases_.Ask(id, now), entries_[id].worker.identity.control_endpoint()};
}

std::optional<std::pair<SilentWorker, std::string>> WorkerTable::TakeCutOff(WorkerId worker,
                                                                            Epoch epoch,
                                                                            MonoTime now) {
  if (!CheckLease(worker, epoch).ok()) return std::nullopt;
  return std::pair(leases_.Ask(worker, now), entries_[worker].worker.identity.control_endpoint());
}

std::optional<RegisteredWorker> WorkerTable::TakeGone(const SilentWorker& gone) {
  if (!leases_.EndLease(gone)) return std::nullopt;
  Entry& entry = entries_[gone.worker];
  entry.alive = false;
  return entry.worker;
}

void WorkerTable::ForgetOldestLost() {
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->second.alive) continue;
    id_by_name_.erase(it->second.worker.identity.name());
    entries_.erase(it);
    return;
  }
}

void WorkerTable::ForEachAlive(absl::FunctionRef<void(const RegisteredWorker&)> visit) const {
  for (const auto& [id, entry] : entries_) {
    if (entry.alive && !entry.draining) visit(entry.worker);
  }
}

bool WorkerTable::AnyAlive() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& known) {
    return known.second.alive && !known.second.draining;
  });
}

std::vector<RegisteredWorker> WorkerTable::Alive() const {
  std::vector<RegisteredWorker> alive;
  ForEachAlive([&alive](const RegisteredWorker& worker) { alive.push_back(worker); });
  return alive;
}

v1::ListWorkersResponse WorkerTable::List(MonoTime now) const {
  v1::ListWorkersResponse response;
  for (const auto& [id, entry] : entries_) {
    v1::WorkerStatus& status = *response.add_workers();
    status.set_worker_id(id);
    status.set_epoch(entry.worker.epoch);
    *status.mutable_identity() = entry.worker.identity;
    *status.mutable_profile() = entry.worker.profile;
    status.set_state(entry.alive && entry.draining ? v1::WORKER_STATE_DRAINING
                     : entry.alive                 ? v1::WORKER_STATE_ALIVE
                     : entry.left_because.empty()  ? v1::WORKER_STATE_LOST
                                                   : v1::WORKER_STATE_LEFT);
    status.set_left_because(entry.left_because);
    status.set_seconds_since_heartbeat(absl::ToDoubleSeconds(now - entry.heard));
  }
  return response;
}

}  // namespace weir::master
