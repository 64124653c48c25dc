#include "runtime/worker/worker_daemon.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/log.h"
#include "runtime/base/worker_name.h"
#include "runtime/rpc/wire_version.h"

namespace weir::worker {
namespace {

// What a directory may take to be looked at: names and free space, no bytes of files. Longer than a
// disk that is merely slow lets wait, shorter than the master waits for an answer (kPeerPatience).
constexpr absl::Duration kDirectoryPatience = absl::Seconds(10);

absl::Status CheckOptions(const WorkerOptions& options) {
  if (absl::Status name = CheckWorkerName(options.name); !name.ok()) return name;
  if (options.slots < 1) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", options.name, " has ", options.slots,
                                                   " slots; it needs one or more"));
  }
  if (options.work_dir.empty() || options.work_dir[0] != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("work directory \"", options.work_dir, "\" is not an absolute path"));
  }
  return absl::OkStatus();
}

}  // namespace

WorkerDaemon::WorkerDaemon(WorkerOptions options, WorkerSeams seams)
    : options_(std::move(options)),
      seams_(seams),
      incarnation_(absl::StrFormat("%016x", seams_.random.Next())),
      keeper_(seams_.random, options_.master_grace),
      prober_(seams_) {}

WorkerDaemon::~WorkerDaemon() {
  if (turn_timer_) seams_.loop.CancelTimer(*turn_timer_);
  if (drain_timer_) seams_.loop.CancelTimer(*drain_timer_);
}

const std::string& WorkerDaemon::directory() const {
  static const std::string* const kNone = new std::string;
  return directory_ ? directory_->path() : *kNone;
}

void WorkerDaemon::Start(absl::AnyInvocable<void(absl::Status)> started) {
  if (absl::Status status = CheckOptions(options_); !status.ok()) return started(status);
  state_ = State::kStarting;
  auto claimed = [this, started = std::move(started)](
                     absl::StatusOr<WorkDirectory> directory,
                     absl::btree_map<std::string, v1::HeldJob> held) mutable {
    if (!directory.ok()) {
      state_ = State::kStopped;
      return started(directory.status());
    }
    directory_ = *std::move(directory);
    held_ = std::move(held);
    for (const auto& [id, job] : held_) {
      if (job.runs_size() == 0) continue;
      LogInfo("Runs of an earlier life are kept",
              {{"job", id}, {"worker", options_.name}, {"runs", job.runs_size()}});
    }
    state_ = State::kServing;
    LogInfo("Worker started", {{"worker", options_.name}, {"directory", directory_->path()}});
    started(absl::OkStatus());
    // Registers with the room that it has: the first job may come at once.
    LookAtDirectory([this] { Turn(); });
  };
  seams_.disk_pool.Run([&storage = seams_.storage, &loop = seams_.loop,
                        work_dir = options_.work_dir, name = options_.name,
                        incarnation = incarnation_, check = seams_.check_run,
                        claimed = WhileAlive(std::move(claimed))]() mutable {
    absl::StatusOr<WorkDirectory> directory =
        WorkDirectory::Claim(storage, work_dir, name, incarnation, LeftRuns::kTaken);
    absl::btree_map<std::string, v1::HeldJob> held;
    if (directory.ok()) held = FindHeldJobs(storage, directory->path(), check);
    loop.Post([directory = std::move(directory), held = std::move(held),
               claimed = std::move(claimed)]() mutable {
      claimed(std::move(directory), std::move(held));
    });
  });
}

void WorkerDaemon::Turn() {
  if (turn_timer_) seams_.loop.CancelTimer(*turn_timer_);
  turn_timer_.reset();
  if (state_ != State::kServing && state_ != State::kDraining) return;
  for (const LeaseAction action : keeper_.Advance(seams_.loop.Now())) {
    switch (action) {
      case LeaseAction::kRegister:
        RegisterIfFit();
        break;
      case LeaseAction::kHeartbeat:
        SendHeartbeat();
        break;
      case LeaseAction::kDropJobs:
        LogWarning("Lease lost; jobs dropped",
                   {{"worker", options_.name}, {"jobs", table_.num_held()}});
        table_.Close();
        prober_.Stop();
        HoldAll();
        break;
      case LeaseAction::kGiveUp:
        gave_up_ = true;
        break;
    }
  }
  if (const std::optional<MonoTime> wake = keeper_.NextWake()) {
    // What was done above may have had a turn of its own.
    if (turn_timer_) seams_.loop.CancelTimer(*turn_timer_);
    turn_timer_ = seams_.loop.RunAt(*wake, [this] {
      turn_timer_.reset();
      Turn();
    });
  }
}

void WorkerDaemon::RegisterIfFit() {
  // One that drains does not come back.
  if (state_ == State::kDraining) return;
  if (leaving_.empty()) return SendRegister();
  if (hangs_) return StayAway();
  LookAtDirectory([this] { StayAway(); });
}

void WorkerDaemon::SendRegister() {
  v1::RegisterRequest request;
  rpc::StampWireVersion(request);
  v1::WorkerIdentity& identity = *request.mutable_identity();
  identity.set_name(options_.name);
  identity.set_control_endpoint(options_.control_endpoint);
  identity.set_data_endpoint(options_.data_endpoint);
  identity.set_handover_domain(options_.handover_domain);
  identity.set_incarnation(incarnation_);
  identity.set_version(options_.version);
  v1::WorkerProfile& profile = *request.mutable_profile();
  profile.set_slots(options_.slots);
  profile.set_cores(options_.cores);
  profile.set_memory_bytes(options_.memory_bytes);
  profile.set_free_disk_bytes(free_disk_bytes_);
  if (options_.memory_bytes == 0) profile.set_spill_above_bytes(options_.spill_above_bytes);
  const MachineProfile& machine = options_.machine;
  profile.set_compute_rate(machine.compute_rate);
  profile.set_slot_compute_rate(machine.slot_compute_rate);
  profile.set_available_memory_bytes(machine.available_memory_bytes);
  profile.set_disk_write_bytes_per_s(machine.disk_write_bytes_per_s);
  profile.set_disk_read_bytes_per_s(machine.disk_read_bytes_per_s);
  profile.set_task_start_s(machine.task_start_s);
  for (auto& [id, held] : HeldToTell()) *request.add_held() = std::move(held);
  auto answered = [this](const absl::StatusOr<v1::RegisterResponse>& answer) {
    const absl::Status status = keeper_.OnRegisterAnswer(answer, seams_.loop.Now());
    if (status.ok()) {
      const Registration& granted = *keeper_.registration();
      table_.Open(granted.worker_epoch, granted.master_epoch);
      LogInfo("Registered", {{"worker", options_.name},
                             {"worker_epoch", granted.worker_epoch},
                             {"master_epoch", granted.master_epoch}});
      register_failure_.clear();
    } else if (register_failure_ != status.message()) {
      // Once for each reason: it tries for as long as it lives.
      register_failure_ = std::string(status.message());
      LogWarning("Not registered; keeps trying",
                 {{"worker", options_.name}, {"error", register_failure_}});
    }
    Turn();
  };
  seams_.cluster.Send<rpc::Register>(std::move(request), WhileAlive(std::move(answered)));
}

absl::btree_map<std::string, v1::HeldJob> WorkerDaemon::HeldToTell() {
  absl::btree_map<std::string, v1::HeldJob> told = held_;
  for (const auto& [id, job] : jobs_) {
    if (v1::HeldJob held = job->Held(); held.runs_size() > 0) told[id] = std::move(held);
  }
  const int left_out = LeaveWhatFits(told, options_.held_bytes_max);
  if (left_out == 0) return told;
  LogWarning("Runs that are kept are more than a registration can tell; those beyond are let go",
             {{"worker", options_.name}, {"runs", left_out}});
  for (auto& [id, held] : held_) {
    // A job without any keeps its entry: its directory goes when it begins anew, or ends.
    if (const auto kept = told.find(id); kept != told.end()) {
      held = kept->second;
    } else {
      held.clear_runs();
    }
  }
  const auto jobs = jobs_;
  for (const auto& [id, job] : jobs) {
    if (job->Held().runs_size() == 0) continue;
    if (const auto kept = told.find(id); kept != told.end()) {
      job->HoldOnly(kept->second);
    } else {
      Release(id, [](const absl::StatusOr<std::string>&) {});
    }
  }
  return told;
}

void WorkerDaemon::StayAway() {
  if (leaving_.empty()) return SendRegister();
  keeper_.OnRegisterAnswer(absl::FailedPreconditionError(leaving_), seams_.loop.Now())
      .IgnoreError();
  Turn();
}

v1::HeartbeatRequest WorkerDaemon::HeartbeatNow(const std::string& leaving) const {
  const Registration& granted = *keeper_.registration();
  v1::HeartbeatRequest request;
  request.set_worker_id(granted.worker_id);
  request.set_worker_epoch(granted.worker_epoch);
  request.set_master_epoch(granted.master_epoch);
  request.set_free_disk_bytes(free_disk_bytes_);
  request.set_leaving(leaving);
  request.set_draining(state_ == State::kDraining);
  return request;
}

void WorkerDaemon::SendHeartbeat() {
  v1::HeartbeatRequest request = HeartbeatNow(leaving_);
  for (const auto& [id, job] : jobs_) {
    request.add_held_jobs(id);
    const auto progress = job->progress();
    // That of an old plan says nothing of the next one.
    if (!progress || next_plans_.contains(id)) continue;
    v1::StepProgress& entry = *request.add_progress();
    entry.set_job_id(id);
    entry.set_step(progress->step);
    entry.set_input_bytes_done(progress->input_bytes_done);
    entry.set_status(progress->status);
  }
  for (const auto& [id, held] : held_) request.add_held_jobs(id);
  auto answered = [this,
                   left = !leaving_.empty()](const absl::StatusOr<v1::HeartbeatResponse>& answer) {
    keeper_.OnHeartbeatAnswer(left && answer.ok() ? absl::NotFoundError("left") : answer.status(),
                              seams_.loop.Now());
    if (answer.ok()) ReleaseJobs(*answer);
    LookAtDirectory(nullptr);
    Turn();
  };
  seams_.cluster.Send<rpc::Heartbeat>(std::move(request), keeper_.HeartbeatTimeout(),
                                      WhileAlive(std::move(answered)));
}

void WorkerDaemon::ReleaseJobs(const v1::HeartbeatResponse& answer) {
  for (const std::string& id : answer.release_jobs()) {
    if (jobs_.contains(id)) Release(id, [](const absl::StatusOr<std::string>&) {});
    if (held_.contains(id)) DropHeld(id);
  }
}

struct WorkerDaemon::DirectoryLook {
  absl::StatusOr<std::optional<WorkDirectory>> anew;
  absl::StatusOr<std::int64_t> free_bytes;
};

void WorkerDaemon::LookAtDirectory(env::Task looked) {
  if (looked) after_look_.push_back(std::move(looked));
  if (looking_) LeaveIfItHangs();
  if (looking_ || !directory_ || state_ == State::kStopping) return;
  looking_ = true;
  // In a pool of its own it waits for nothing but other looks, which are to be as short.
  look_began_->store(seams_.look_pool != nullptr ? seams_.loop.Now().nanos() : 0);
  auto done = WhileAlive([this, waiting = std::exchange(after_look_, {})](
                             std::shared_ptr<DirectoryLook> look) mutable {
    looking_ = false;
    OnDirectoryLook(std::move(*look));
    for (env::Task& task : waiting) task();
    if (state_ == State::kStopping) return OnJobGone();
    if (!after_look_.empty()) LookAtDirectory(nullptr);
  });
  env::WorkPool& pool = seams_.look_pool ? *seams_.look_pool : seams_.disk_pool;
  pool.Run([&storage = seams_.storage, &loop = seams_.loop, path = directory_->path(),
            work_dir = options_.work_dir, name = options_.name, incarnation = incarnation_,
            began = look_began_, done = std::move(done)]() mutable {
    began->store(loop.Now().nanos());
    auto look = std::make_shared<DirectoryLook>(
        DirectoryLook{WorkDirectory::ClaimIfGone(storage, path, work_dir, name, incarnation), 0});
    look->free_bytes = storage.FreeBytes(path);
    loop.Post(
        [look = std::move(look), done = std::move(done)]() mutable { done(std::move(look)); });
  });
}

// Its files are where they were: what was held is held once it answers.
void WorkerDaemon::LeaveIfItHangs() {
  const MonoTime began = MonoTime::FromNanos(look_began_->load());
  const bool waits = began == MonoTime::FromNanos(0);
  if (waits || !leaving_.empty() || seams_.loop.Now() - began < kDirectoryPatience) return;
  hangs_ = true;
  leaving_ = absl::StrCat("its work directory ", directory_->path(), " has not answered for ",
                          absl::FormatDuration(kDirectoryPatience));
  LogError("Work directory does not answer; leaves the cluster until it does",
           {{"worker", options_.name}, {"error", leaving_}});
}

void WorkerDaemon::OnDirectoryLook(DirectoryLook look) {
  // 0 stands for what is not known.
  if (look.free_bytes.ok()) free_disk_bytes_ = std::max<std::int64_t>(1, *look.free_bytes);
  const bool hung = std::exchange(hangs_, false);
  if (!directory_ || state_ == State::kStopping) return;
  if (hung) LogWarning("Work directory answers again", {{"worker", options_.name}});
  if (!look.anew.ok()) {
    const bool news = leaving_.empty() || hung;
    leaving_ = std::string(look.anew.status().message());
    if (!news) return;
    LogError("Work directory was removed and cannot be made again; leaves the cluster until it can",
             {{"worker", options_.name}, {"error", leaving_}});
    return LoseJobFiles();
  }
  leaving_.clear();
  if (!look.anew->has_value()) return;
  directory_ = *std::move(*look.anew);
  LogWarning("Work directory was removed; made a new one",
             {{"worker", options_.name}, {"directory", directory_->path()}});
  LoseJobFiles();
}

void WorkerDaemon::LoseJobFiles() {
  for (const auto& [id, job] : jobs_) job->OnFilesLost();
  held_.clear();
}

void WorkerDaemon::ReleaseAll() {
  // Copied: a release that ends at once takes its job out of the map.
  const auto jobs = jobs_;
  for (const auto& [id, job] : jobs) Release(id, [](const absl::StatusOr<std::string>&) {});
}

void WorkerDaemon::HoldAll() {
  const auto jobs = jobs_;
  for (const auto& [id, job] : jobs) {
    if (next_plans_.contains(id) || !job->can_hold()) {
      Release(id, [](const absl::StatusOr<std::string>&) {});
      continue;
    }
    table_.MarkReleasing(id);
    job->Hold(WhileAlive(
        [this, id = id](const absl::StatusOr<std::string>& tail) { OnJobHeld(id, tail); }));
  }
}

void WorkerDaemon::OnJobHeld(const std::string& job_id, const absl::StatusOr<std::string>& tail) {
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return;
  if (!tail.ok()) {
    LogWarning("Files of a job not removed", {{"job", job_id}, {"error", tail.status().message()}});
    held_[job_id].set_job_id(job_id);
  } else if (v1::HeldJob held = job->second->Held(); held.runs_size() > 0) {
    LogInfo("Runs of a job are kept",
            {{"job", job_id}, {"worker", options_.name}, {"runs", held.runs_size()}});
    held_[job_id] = std::move(held);
  }
  jobs_.erase(job);
  table_.EndRelease(job_id, tail.value_or(""));
  artifacts_.LetGo(job_id, seams_.loop.Now());
  OnJobGone();
}

void WorkerDaemon::DropHeld(const std::string& job_id) {
  held_.erase(job_id);
  if (!directory_) return;  // removed, with all that was held
  ++dropping_;
  auto dropped = WhileAlive([this, job_id](const absl::Status& status) {
    --dropping_;
    if (!status.ok()) {
      // The next heartbeat tells of it, and so it is asked for until it is gone.
      if (!jobs_.contains(job_id)) held_[job_id].set_job_id(job_id);
      if (std::exchange(not_dropped_, status) != status) {
        LogWarning("Runs of a job not removed", {{"job", job_id}, {"error", status.message()}});
      }
    }
    OnJobGone();
  });
  seams_.disk_pool.Run([&storage = seams_.storage, &loop = seams_.loop,
                        root = MakeJobPaths(directory_->path(), job_id).root,
                        dropped = std::move(dropped)]() mutable {
    loop.Post([status = storage.RemoveAll(root), dropped = std::move(dropped)]() mutable {
      dropped(status);
    });
  });
}

void WorkerDaemon::Drain(absl::Duration at_most, env::Task drained) {
  if (state_ == State::kServing) state_ = State::kDraining;
  keeper_.BeatSoon(seams_.loop.Now());
  Turn();
  drained_ = std::move(drained);
  drain_timer_ = seams_.loop.RunAt(seams_.loop.Now() + at_most, [this] {
    drain_timer_.reset();
    if (drained_) std::exchange(drained_, nullptr)();
  });
  OnJobGone();
}

void WorkerDaemon::Stop(env::Task stopped) {
  state_ = State::kStopping;
  stopped_ = std::move(stopped);
  table_.Close();
  prober_.Stop();
  Turn();  // ends the timer
  SendLeave();
  ReleaseAll();
  OnJobGone();
}

// A worker that leaves says so: else it would count as lost once its lease ends.
void WorkerDaemon::SendLeave() {
  if (!registered()) return;
  leave_under_way_ = true;
  // A master that is gone must not hold up the end.
  constexpr absl::Duration kLeaveTimeout = absl::Seconds(1);
  seams_.cluster.Send<rpc::Heartbeat>(HeartbeatNow("it was stopped"), kLeaveTimeout,
                                      WhileAlive([this](const auto& /*answer*/) {
                                        leave_under_way_ = false;
                                        OnJobGone();
                                      }));
}

}  // namespace weir::worker
