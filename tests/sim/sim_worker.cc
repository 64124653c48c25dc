#include "tests/sim/sim_worker.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/world.h"

namespace weir::sim {
namespace {

// A link, a removal, a small file that is not synced.
constexpr absl::Duration kDiskWorkMax = absl::Microseconds(100);

// Workers of one host share a disk, as they share a file system.
std::string DiskOf(const WorkerModel& model) {
  return absl::StrCat("/disks/",
                      model.handover_domain.empty() ? model.name : model.handover_domain);
}

worker::WorkerOptions OptionsOf(const SimProcess& process) {
  worker::WorkerOptions options;
  options.name = process.name();
  options.work_dir = process.storage.own_disk();
  options.slots = process.model.slots;
  options.control_endpoint = process.control_endpoint();
  options.data_endpoint = process.data_endpoint();
  options.handover_domain = process.model.handover_domain;
  return options;
}

std::string LastName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

SimProcess::SimProcess(World& in, WorkerModel what)
    : world(in),
      model(std::move(what)),
      loop(std::make_shared<ProcessLoop>(in.time())),
      storage(in.disks(), DiskOf(model), in.storage(), faults, model.machine_start) {}

SimWorker::SimWorker(World& world, WorkerModel model)
    : process_(world, std::move(model)),
      watch_(world, process_.name()),
      disk_pool_(process_.loop, world.random(), kDiskWorkMax),
      tasks_(process_),
      port_(world.data_plane().AddPort(process_, runs_)),
      server_(world.data_plane(), port_, process_.data_endpoint()),
      fetcher_(world.data_plane(), port_),
      master_(world.network().ConnectMaster({process_.loop, process_.name()})),
      daemon_(OptionsOf(process_), worker::WorkerSeams{.loop = *process_.loop,
                                                       .disk_pool = disk_pool_,
                                                       .tasks = tasks_,
                                                       .random = world.random(),
                                                       .storage = process_.storage,
                                                       .cluster = cluster_,
                                                       .runs = runs_,
                                                       .server = server_,
                                                       .fetcher = fetcher_,
                                                       .check_run = [this](const v1::RunInfo& run) {
                                                         return process_.storage.CheckWritten(
                                                             run.path(), 0, run.bytes());
                                                       }}) {}

template <typename Method>
void SimWorker::ToDaemon::Carry(rpc::Call<Method> call) {
  auto at_once = std::make_shared<bool>(true);
  self->OnOrder(call.request);
  call.reply =
      [self = self, gist = OrderWatch::Gist(call.request), at_once,
       reply = std::move(call.reply)](absl::StatusOr<typename Method::Response> answer) mutable {
        if (*at_once) self->watch_.OnAnswer(Method::kName, gist, answer.status());
        self->watch_.OnEnd(gist, answer.status());
        reply(std::move(answer));
      };
  self->daemon_.api().Take(std::move(call));
  *at_once = false;
}

template <typename Method>
void SimWorker::ToMaster::Carry(rpc::Call<Method> call) {
  self->OnCall(call.request);
  call.reply = [self = self, reply = std::move(call.reply)](
                   absl::StatusOr<typename Method::Response> answer) mutable {
    if (answer.ok()) self->OnAnswer(*answer);
    reply(std::move(answer));
  };
  self->master_->Take(std::move(call));
}

void SimWorker::OnAnswer(const v1::RegisterResponse& response) {
  World& world = process_.world;
  world.trace().worker_epochs.push_back(response.worker_epoch());
  world.Note(absl::StrCat(process_.name(), " registered, epoch ", response.worker_epoch()));
}

void SimWorker::OnOrder(const v1::PrepareJobRequest& request) {
  if (!request.has_kept()) return;
  const v1::Fence& fence = request.fence();
  process_.world.contents().GoOn(
      {fence.job_id(), request.kept().master_epoch(), request.kept().plan_epoch()},
      {fence.job_id(), fence.master_epoch(), fence.plan_epoch()});
}

void SimWorker::Start() {
  World& world = process_.world;
  const std::string disk = process_.storage.own_disk();
  if (!world.disks().Stat(disk).ok()) world.disks().MakeDirectory(disk).IgnoreError();
  daemon_.Start([this, &world](const absl::Status& started) {
    if (!started.ok()) {
      world.Wrong(absl::StrCat(process_.name(), " cannot start: ", started.ToString()));
    }
  });
}

void SimWorker::Kill() {
  process_.loop->Kill();
  process_.storage.DropLocks();
  process_.world.data_plane().OnKilled(process_);
}

void SimWorker::LoseFiles() {
  for (const std::string& directory : Directories()) {
    process_.world.disks().RemoveAll(directory).IgnoreError();
  }
}

void SimWorker::LosePower() {
  for (const std::string& directory : Directories()) {
    process_.world.disks().LosePower(directory, process_.world.random());
  }
}

void SimWorker::Drain(absl::Duration at_most, env::Task stopped) {
  ProcessLoop& loop = *process_.loop;
  process_.world.Note(absl::StrCat(process_.name(), " drains"));
  loop.Post([this, at_most, &loop, stopped = std::move(stopped)]() mutable {
    daemon_.Drain(at_most, [this, &loop, stopped = std::move(stopped)]() mutable {
      loop.Post([this, stopped = std::move(stopped)]() mutable {
        daemon_.Stop([this, stopped = std::move(stopped)]() mutable {
          process_.world.Note(absl::StrCat(process_.name(), " stopped"));
          if (stopped) stopped();
        });
      });
    });
  });
}

void SimWorker::Hang() {
  process_.loop->Hang();
  process_.world.data_plane().OnHung(process_);
}

void SimWorker::GoOn() {
  if (!process_.loop->alive()) return;
  process_.loop->GoOn();
  process_.world.data_plane().OnGoesOn(process_);
}

std::vector<std::string> SimWorker::BusyJobs() {
  std::set<std::string> busy(tasks_.jobs().begin(), tasks_.jobs().end());
  for (std::string& job : process_.world.data_plane().JobsAt(process_)) busy.insert(std::move(job));
  return {busy.begin(), busy.end()};
}

std::vector<std::string> SimWorker::HeldJobs() {
  const std::vector<std::string> busy = BusyJobs();
  std::set<std::string> held(busy.begin(), busy.end());
  const auto directories = process_.storage.List(absl::StrCat(daemon_.directory(), "/jobs"));
  if (directories.ok()) {
    for (const env::FileInfo& directory : *directories) held.insert(LastName(directory.path));
  }
  return {held.begin(), held.end()};
}

std::vector<std::string> SimWorker::Directories() {
  std::vector<std::string> directories;
  const std::string own = absl::StrCat("weir-worker-", process_.name(), "-");
  const auto entries = process_.storage.List(process_.storage.own_disk());
  if (!entries.ok()) return directories;
  for (const env::FileInfo& entry : *entries) {
    if (absl::StrContains(entry.path, own)) directories.push_back(entry.path);
  }
  return directories;
}

std::vector<std::string> SimWorker::StrayDirectories() {
  const absl::Status there = process_.storage.Stat(process_.storage.own_disk()).status();
  if (!there.ok()) return {there.ToString()};
  std::vector<std::string> strays = Directories();
  std::erase(strays, daemon_.directory());
  return strays;
}

}  // namespace weir::sim
