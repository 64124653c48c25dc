#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "runtime/master/job/job_machine.h"
#include "tests/sim/sim_job.h"
#include "tests/sim/sim_loop.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(50);
constexpr absl::Duration kNoticedWithin = absl::Seconds(1);
constexpr std::uint64_t kEventsMax = 3'000'000;

/// A job of which the master needs the numbers only.
class SimJob final : public DescribedJob {
 public:
  explicit SimJob(JobRates rates) : DescribedJob("simjob", "computes nothing, in virtual time") {
    info_.rates = std::move(rates);
  }
  ElementInfo Element(const ParameterValues&, int) const override {
    ElementInfo element;
    element.kind = ElementKind::kTable;
    element.places = kTablePlaces;
    return element;
  }
};

}  // namespace

/// One life of the master.
struct World::MasterProcess {
  explicit MasterProcess(World& world)
      : loop(std::make_shared<ProcessLoop>(world.time_)),
        disk_pool(loop, world.random_),
        compute_pool(loop, world.random_),
        journal_pool(loop, world.random_),
        list_pool(loop, world.random_),
        master(master::MasterSeams{*loop, disk_pool, compute_pool, world.storage_, world.random_,
                                   world.wall_clock_, world.network_, world.journal_,
                                   world.catalog_, &journal_pool, &list_pool},
               world.options_) {}
  std::shared_ptr<ProcessLoop> loop;
  SimWorkPool disk_pool;
  SimWorkPool compute_pool;
  SimWorkPool journal_pool;
  SimWorkPool list_pool;
  master::Master master;
  bool serves = false;
};

World::World(std::uint64_t seed, const master::MasterOptions& options, JobRates rates, bool print)
    : random_(seed),
      trace_(print),
      network_(time_, random_),
      data_plane_(*this),
      wall_clock_(time_),
      options_(options) {
  catalog_["simjob"] = std::make_unique<SimJob>(std::move(rates));
  catalog_[kLoopJob] = MakeLoopJob();
  for (const char* directory : {"/in", "/out"}) {
    storage_.MakeDirectory(directory).IgnoreError();
  }
  disks_.MakeDirectory("/disks").IgnoreError();
  After(kPollInterval, [this] { Poll(); });
}

World::~World() {
  // Nothing may move between workers while they go one by one.
  for (const auto& [name, worker] : workers_) worker->Kill();
}

void World::Wrong(const std::string& what) {
  Note(absl::StrCat("WRONG: ", what));
  wrong_.push_back(what);
}

void World::StartMaster() {
  Note("master starts");
  ++num_masters_;
  storage_.SetGate(nullptr);
  journal_.SetGate(nullptr);
  crashed_.reset();
  // Connections that the new master opens answer on its loop.
  auto process = std::make_unique<MasterProcess>(*this);
  network_.SetMasterLoop(process->loop);
  network_.Attach("master", Endpoint{process->loop, &process->master.cluster(), nullptr,
                                     &process->master.jobs()});
  MasterProcess* started = process.get();
  master_ = std::move(process);
  started->master.Start([this, started](const absl::Status& status) {
    if (!status.ok()) return Note(absl::StrCat("master cannot start: ", status.ToString()));
    started->serves = true;
    Note("master serves");
  });
}

master::Master& World::master() { return master_->master; }

int World::NumComputeRuns() const { return master_->compute_pool.num_runs(); }

SimWorkPool& World::disk_pool() { return master_->disk_pool; }

SimWorkPool& World::list_pool() { return master_->list_pool; }

SimWorkPool& World::journal_pool() { return master_->journal_pool; }

void World::SlowPlanning(absl::Duration at_most) {
  if (master_ != nullptr) master_->compute_pool.SetAtMost(at_most);
}

void World::RestartMaster(absl::Duration pause) {
  if (master_ == nullptr) return;
  Note("master is killed");
  master_->loop->Kill();
  network_.Detach("master");
  // The dead process may be on the call stack; it is destroyed when the next one starts.
  crashed_ = std::move(master_);
  After(pause, [this] { StartMaster(); });
}

void World::StopMaster(absl::Duration pause) {
  if (!MasterServes()) return;
  Note("master is shut down");
  master_->serves = false;
  // In a turn of its own: what says that it stopped is part of what goes.
  master_->master.Shutdown([this, pause, stopping = master_.get()] {
    After(absl::ZeroDuration(), [this, pause, stopping] {
      if (master_.get() == stopping) RestartMaster(pause);
    });
  });
}

void World::HangMaster(absl::Duration pause) {
  if (!MasterServes()) return;
  Note("master stands still");
  master_->loop->Hang();
  After(pause, [this, loop = master_->loop] {
    if (!loop->alive()) return;  // it was killed meanwhile
    Note("master goes on");
    master_went_on_ = time_.now();
    loop->GoOn();
  });
}

void World::CrashMasterInStorage(int operations, absl::Duration pause) {
  storage_.SetGate([this, left = operations, pause, loop = master_->loop](
                       const char*, const std::string&) mutable {
    if (time_.running() != loop.get()) return absl::OkStatus();  // a worker's
    if (left < 0) return absl::UnavailableError("the master is dead (simulated)");
    if (left-- > 0) return absl::OkStatus();
    RestartMaster(pause);
    return absl::UnavailableError("the master died here (simulated)");
  });
}

void World::CrashMasterInJournal(int writes, bool written, absl::Duration pause) {
  journal_.SetGate([this, left = writes, written, pause]() mutable {
    using Fate = MemoryJournal::Fate;
    if (left < 0) return Fate::kLost;
    if (left-- > 0) return Fate::kWritten;
    RestartMaster(pause);
    return written ? Fate::kWrittenUnknown : Fate::kLost;
  });
}

void World::StartWorker(WorkerModel model) {
  model.machine_start = 1 + machine_restarts_[model.name];
  auto worker = std::make_unique<SimWorker>(*this, model);
  network_.Attach(worker->control_endpoint(), Endpoint{worker->loop(), nullptr, &worker->api()});
  Note(absl::StrCat(model.name, " starts"));
  worker->Start();
  std::unique_ptr<SimWorker>& place = workers_[model.name];
  if (place != nullptr) dead_workers_.push_back(std::move(place));
  place = std::move(worker);
}

void World::KillWorker(const std::string& name) {
  SimWorker* worker = FindWorker(name);
  if (worker == nullptr || !worker->loop()->alive()) return;
  Note(absl::StrCat(name, " is killed"));
  worker->Kill();
  network_.BreakHeld(worker->control_endpoint());
  After(kNoticedWithin,
        [this, name, incarnation = worker->incarnation()] { CheckNoticed(name, incarnation); });
}

void World::CheckNoticed(const std::string& worker, const std::string& incarnation) {
  if (!MasterServes() || network_.cuts().Part("master", worker)) return;
  if (time_.now() - master_went_on_ <= kNoticedWithin) return;
  master_->master.jobs().Send<rpc::ListWorkers>({}, [&](const auto& response) {
    if (!response.ok()) return Wrong(response.status().ToString());
    for (const v1::WorkerStatus& status : response->workers()) {
      if (status.identity().incarnation() == incarnation &&
          status.state() == v1::WORKER_STATE_ALIVE) {
        Wrong(absl::StrCat(worker, " was killed and still counts as alive after ",
                           absl::FormatDuration(kNoticedWithin)));
      }
    }
  });
}

void World::ChangeCuts(const std::string& what, const std::function<void(Cuts&)>& change) {
  Note(what);
  change(network_.cuts());
  data_plane_.OnCutsChanged();
}

void World::HangWorker(const std::string& name, absl::Duration pause) {
  SimWorker* worker = FindWorker(name);
  if (worker == nullptr || !worker->loop()->alive()) return;
  Note(absl::StrCat(name, " hangs"));
  worker->Hang();
  if (pause == absl::InfiniteDuration()) return;
  After(pause, [this, worker, name] {
    Note(absl::StrCat(name, " goes on"));
    worker->GoOn();
  });
}

void World::UpgradeWorker(const std::string& name, absl::Duration at_most, absl::Duration pause,
                          env::Task done) {
  SimWorker* worker = FindWorker(name);
  if (worker == nullptr || !worker->loop()->alive()) return;
  // In turns of the world's own: what says that it stopped is part of what goes.
  auto start = [this, worker, done = std::move(done)]() mutable {
    StartWorker(worker->model());
    done();
  };
  auto end = [this, worker, pause, start = std::move(start)]() mutable {
    worker->Kill();
    network_.BreakHeld(worker->control_endpoint());
    After(pause, std::move(start));
  };
  worker->Drain(at_most, [this, end = std::move(end)]() mutable {
    After(absl::ZeroDuration(), std::move(end));
  });
}

void World::SetFull(const std::string& name, bool full) {
  const std::string domain = FindWorker(name)->model().handover_domain;
  for (const auto& [other, worker] : workers_) {
    const bool same = !domain.empty() && worker->model().handover_domain == domain;
    if (!same && other != name) continue;
    WorkerFaults& faults = worker->faults();
    faults.healed = faults.healed || (faults.disk_full && !full);
    faults.disk_full = full;
  }
}

void World::FillDisk(const std::string& name) {
  Note(absl::StrCat("disk of ", name, " is full"));
  SetFull(name, true);
}

void World::MakeRoom(const std::string& name) {
  Note(absl::StrCat("disk of ", name, " has room again"));
  SetFull(name, false);
}

void World::LoseFiles(const std::string& name) {
  SimWorker* const worker = FindWorker(name);
  if (worker == nullptr || worker->loop()->alive()) return;
  Note(absl::StrCat("files of ", name, " are gone"));
  worker->LoseFiles();
}

void World::CutPower(const std::string& name, bool silent) {
  SimWorker* const worker = FindWorker(name);
  if (worker == nullptr) return;
  Note(absl::StrCat(name, " has no power"));
  if (silent) {
    ChangeCuts("nobody hears of it", [&](Cuts& cuts) { cuts.CutBoth(name, kEverybody); });
  }
  KillWorker(name);
  worker->LosePower();
  ++machine_restarts_[name];
}

bool World::AnySoundWorker() {
  return std::any_of(workers_.begin(), workers_.end(), [this](const auto& entry) {
    const auto& [name, worker] = entry;
    const WorkerFaults& faults = worker->faults();
    const bool tasks_end_well = !faults.task_crashes && !faults.task_is_killed_for_memory &&
                                !faults.task_hangs && !faults.user_errors &&
                                !faults.unpacking_fails;
    return worker->loop()->alive() && !worker->loop()->hung() &&
           !network_.cuts().Part("master", name) && !faults.disk_full && tasks_end_well &&
           !faults.healed;
  });
}

SimWorker* World::FindWorker(const std::string& name) {
  const auto it = workers_.find(name);
  return it == workers_.end() ? nullptr : it->second.get();
}

bool World::MasterHangs() const { return master_ != nullptr && master_->loop->hung(); }

bool World::MasterServes() const { return master_ != nullptr && master_->serves && !MasterHangs(); }

void World::Submit(absl::Duration delay, v1::JobSpec spec) {
  spec.set_idempotency_key(absl::StrCat("key-", jobs_.size()));
  jobs_.emplace_back().spec = std::move(spec);
  After(delay, [this, job = jobs_.size() - 1] { TrySubmit(job); });
}

void World::TrySubmit(std::size_t job) {
  if (!jobs_[job].id.empty() || !jobs_[job].refused.ok()) return;
  // Asked again until answered: the answer may be lost with the master, the key tells it once.
  After(absl::Seconds(1), [this, job] { TrySubmit(job); });
  if (!MasterServes()) return;
  v1::SubmitRequest request;
  *request.mutable_spec() = jobs_[job].spec;
  master_->loop->Post([this, job, master = &master_->master, request] {
    master->jobs().Send<rpc::Submit>(request, [this, job](const auto& response) {
      if (response.ok()) {
        jobs_[job].id = response->job_id();
        Note(absl::StrCat("accepted as ", response->job_id()));
      } else if (!absl::IsUnavailable(response.status())) {
        jobs_[job].refused = response.status();
        Note(absl::StrCat("refused: ", response.status().ToString()));
      }
    });
  });
}

void World::Cancel(std::size_t job) {
  if (!MasterServes() || jobs_[job].id.empty()) return;
  Note("user cancels");
  v1::CancelRequest request;
  request.set_job_id(jobs_[job].id);
  request.set_reason("changed my mind");
  master_->master.jobs().Send<rpc::Cancel>(request, [this](const auto& response) {
    Note(absl::StrCat("cancel: ", response.status().ToString()));
  });
}

void World::Poll() {
  After(kPollInterval, [this] { Poll(); });
  if (!MasterServes()) return;
  for (UserJob& job : jobs_) {
    if (job.id.empty() || master::IsTerminal(job.status.state())) continue;
    v1::GetStatusRequest request;
    request.set_job_id(job.id);
    master_->master.jobs().Send<rpc::GetStatus>(request, [&](const auto& response) {
      if (!response.ok()) return Wrong(absl::StrCat("accepted job ", job.id, " is unknown"));
      if (response->state() != job.status.state()) {
        Note(absl::StrCat(job.id, " is ", master::JobStateWord(response->state()), " ",
                          response->error().code()));
      }
      job.status = *response;
      if (job.status.has_error() && !job.left_sound_worker) {
        job.left_sound_worker = AnySoundWorker();
      }
      if (master::IsTerminal(job.status.state())) job.ended = time_.now();
    });
  }
}

bool World::AllEnded() const {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const UserJob& job) {
    return !job.refused.ok() || master::IsTerminal(job.status.state());
  });
}

bool World::Run(absl::Duration limit, absl::Duration settle) {
  const MonoTime give_up = time_.now() + limit;
  while (!AllEnded()) {
    if (time_.now() > give_up || time_.events_run() > kEventsMax || !time_.RunNext()) return false;
  }
  MonoTime settled = time_.now() + settle;
  while (time_.now() < settled && time_.RunNext()) {
    // Workers that hear nothing keep what they would let go of.
    if (MasterHangs()) settled = time_.now() + settle;
  }
  return true;
}

}  // namespace weir::sim
