#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "asio/io_context.hpp"
#include "runtime/app/control_process.h"
#include "runtime/app/interrupts.h"
#include "runtime/app/kept_session.h"
#include "runtime/app/machine.h"
#include "runtime/app/sessions.h"
#include "runtime/app/shape_file.h"
#include "runtime/app/sweeper.h"
#include "runtime/base/log.h"
#include "runtime/client/commands/commands.h"
#include "runtime/master/journal/journal_sqlite.h"
#include "runtime/master/master.h"
#include "runtime/rpc/in_process/in_process.h"
#include "runtime/transfer/data_plane.h"
#include "runtime/worker/measure/measure_machine.h"
#include "runtime/worker/supervise/task_processes.h"
#include "runtime/worker/supervise/zygote.h"
#include "runtime/worker/work_directory.h"
#include "runtime/worker/worker_daemon.h"

namespace weir::app {
namespace {

constexpr absl::Duration kStartPatience = absl::Seconds(10);
// Longer than the master's own 10 s for ending a job, so that it has its way.
constexpr absl::Duration kStopPatience = absl::Seconds(12);

// One worker with the data plane that its contract asks for; all in one hand-over domain, so that
// nothing is ever fetched from it.
struct EmbeddedWorker {
  transfer::PublishedRuns runs;
  std::unique_ptr<rpc::ClusterApi> cluster;
  std::unique_ptr<transfer::DataServer> server;
  std::unique_ptr<transfer::Fetcher> fetcher;
  std::unique_ptr<worker::TaskProcesses> tasks;
  std::unique_ptr<worker::WorkerDaemon> daemon;
};

// How a machine is divided. Slots of one worker share what lies in its memory, so that nothing has
// to move (docs/adr/0066-an-embedded-run-is-one-worker.md).
struct Division {
  int workers;
  int slots;
};

bool ReducesOnSlots(const client::JobOptions& job, const JobCatalog& catalog) {
  const auto known = catalog.find(job.job);
  const bool of_module = !job.module.empty();
  return of_module || known == catalog.end() || known->second->info().reduces_on_slots;
}

Division Divide(const client::EmbeddedOptions& options, bool reduces_on_slots, int num_cores) {
  if (options.workers > 0) return {options.workers, std::max(options.slots, 1)};
  if (!reduces_on_slots) return {num_cores, std::max(options.slots, 1)};
  return {1, options.slots > 0 ? options.slots : num_cores};
}

class EmbeddedSession {
 public:
  explicit EmbeddedSession(
      const std::function<absl::StatusOr<std::unique_ptr<worker::Zygote>>()>& start_zygote)
      : zygote_(start_zygote()), interrupts_(process_.loop), connector_(process_.loop) {
    StopTogether(process_.loop, [this](int signal) {
      for (const auto& worker : workers_) {
        if (worker->tasks) worker->tasks->SignalAll(signal);
      }
    });
  }

  /// Ends master and workers, and removes what is temporary. Call once, last.
  void Close() {
    StopAll();
    // In the reverse order of what stands on what, on the loop as their contracts ask.
    process_.OnLoop([this] {
      jobs_.reset();
      for (auto& worker : workers_) worker->daemon.reset();
      master_.reset();
    });
    for (auto& worker : workers_) {
      worker->fetcher.reset();
      if (worker->server) worker->server->Close();
    }
    journal_thread_.Finish();
    KeepShapes();
    journal_.reset();
    if (directory_) {
      const absl::Status removed = directory_->Remove(process_.storage);
      if (!removed.ok()) {
        LogWarning("Temporary directory not removed", {{"error", std::string(removed.message())}});
      }
    }
    process_.disk.Finish();  // its work has the sweeper's storage
    sweeper_.reset();
  }

  absl::Status Start(const client::EmbeddedOptions& options, const client::JobOptions& job,
                     const JobCatalog& catalog) {
    auto directory = worker::WorkDirectory::Claim(
        process_.storage, TemporaryDirectory(options.work_dir), absl::StrCat("run-", ::getuid()),
        absl::StrFormat("%016x", process_.random.Next()), worker::LeftRuns::kRemoved);
    if (!directory.ok()) return directory.status();
    directory_ = *std::move(directory);
    sweeper_->Watch(directory_->path());
    auto journal = master::OpenSqliteJournal(master::kJournalInMemory);
    if (!journal.ok()) return journal.status();
    journal_ = *std::move(journal);
    if (!options.no_history) RecallShapes();
    if (absl::Status ready = StartMaster(catalog); !ready.ok()) return ready;
    const Division division = Divide(options, ReducesOnSlots(job, catalog), NumCores());
    for (int i = 0; i < division.workers; ++i) {
      if (absl::Status started = StartWorker(i, division, options); !started.ok()) {
        return started;
      }
    }
    const bool registered = process_.WaitFor(kStartPatience, [this] {
      for (const auto& worker : workers_) {
        if (!worker->daemon->registered()) return false;
      }
      return true;
    });
    if (!registered) return absl::InternalError("the embedded workers did not register in time");
    jobs_ = rpc::ConnectInProcess(process_.loop, process_.loop, master_->jobs());
    return absl::OkStatus();
  }

  const rpc::JobApi& jobs() { return *jobs_; }
  env::EventLoop& loop() { return process_.loop; }
  void RunUntil(const std::function<bool()>& done) { process_.loop.RunUntil(done); }
  void OnInterrupt(std::function<void()> on_interrupt) {
    interrupts_.Listen(std::move(on_interrupt));
  }
  void EndWithStdin() { interrupts_.EndWith(STDIN_FILENO); }
  std::string master_name() const { return "this process"; }

 private:
  absl::Status StartMaster(const JobCatalog& catalog) {
    master::MasterOptions options;
    options.version = client::kVersion;
    options.journal_outlives = false;
    options.running_jobs_max = 1;  // it has one
    options.measure_disks = true;
    options.shared_cores = UsableCores();
    options.artifact_directory = directory_->path() + "/artifacts";
    process_.OnLoop([&] {
      master_ = std::make_unique<master::Master>(
          master::MasterSeams{.loop = process_.loop,
                              .disk_pool = process_.disk.pool(),
                              .compute_pool = process_.compute.pool(),
                              .storage = storage_,
                              .random = process_.random,
                              .wall_clock = process_.wall_clock,
                              .connector = connector_,
                              .journal = *journal_,
                              .catalog = catalog,
                              .journal_pool = &journal_thread_.pool()},
          options);
    });
    return process_.Await<absl::Status>(
        [this](std::function<void(absl::Status)> answer) { master_->Start(std::move(answer)); });
  }

  absl::Status StartWorker(int index, const Division& division,
                           const client::EmbeddedOptions& options) {
    auto& worker = *workers_.emplace_back(std::make_unique<EmbeddedWorker>());
    auto& loop = process_.loop;
    const std::string name = absl::StrCat("local-", index);
    worker.cluster = rpc::ConnectInProcess(loop, loop, master_->cluster());
    // Not owned: `runs` lives as long as the server.
    auto server = transfer::MakeDataServer(
        loop.context().get_executor(),
        std::shared_ptr<const transfer::RunCatalog>(std::shared_ptr<void>(), &worker.runs), loop,
        {});
    if (!server.ok()) return server.status();
    worker.server = *std::move(server);
    worker.fetcher = transfer::MakeFetcher(loop.context().get_executor(), loop, {});
    worker::WorkerOptions worker_options;
    worker_options.name = name;
    worker_options.work_dir = directory_->path();
    worker_options.slots = division.slots;
    worker_options.memory_bytes = options.memory_bytes;
    worker_options.spill_above_bytes =
        worker::SpillAbove(worker::AvailableMemoryHere(), 1.0 / division.workers);
    worker_options.control_endpoint = absl::StrCat("embedded:", index);
    worker_options.data_endpoint = worker.server->endpoint();
    worker_options.handover_domain = "embedded";
    worker_options.version = client::kVersion;
    worker_options.runs_outlive = false;
    worker_options.workers_on_machine = division.workers;
    worker::TaskOptions task_options;
    task_options.environment = WholeEnvironment();
    if (zygote_.ok()) task_options.zygote = zygote_->get();
    worker.tasks = std::make_unique<worker::TaskProcesses>(std::move(task_options), loop, loop);
    process_.OnLoop([&] {
      worker.daemon = std::make_unique<worker::WorkerDaemon>(
          worker_options, worker::WorkerSeams{.loop = loop,
                                              .disk_pool = process_.disk.pool(),
                                              .tasks = *worker.tasks,
                                              .random = process_.random,
                                              .storage = process_.storage,
                                              .cluster = *worker.cluster,
                                              .runs = worker.runs,
                                              .server = *worker.server,
                                              .fetcher = *worker.fetcher,
                                              .look_pool = &look_thread_.pool()});
    });
    connector_.Announce(worker_options.control_endpoint, loop, worker.daemon->api());
    return process_.Await<absl::Status>(
        [&](std::function<void(absl::Status)> answer) { worker.daemon->Start(std::move(answer)); });
  }

  // The journal of an embedded run goes with it; what it learned of jobs is carried over.
  void RecallShapes() {
    shape_file_ = ShapeFilePath();
    std::vector<v1::JournalRecord> records;
    v1::JobShapes kept = ReadShapeFile(shape_file_);
    for (v1::JobShapeLearned& shape : *kept.mutable_shapes())
      records.emplace_back().mutable_job_shape_learned()->Swap(&shape);
    num_recalled_ = records.size();
    if (records.empty()) return;
    if (absl::Status status = journal_->Append(records); !status.ok()) {
      LogInfo("What was learned of jobs is not used", {{"error", std::string(status.message())}});
    }
  }

  void KeepShapes() {
    if (shape_file_.empty() || journal_ == nullptr) return;
    std::vector<v1::JobShapeLearned> learned;
    const absl::Status read = journal_->ReadHistory([&](const v1::JournalRecord& record) {
      if (record.has_job_shape_learned()) learned.push_back(record.job_shape_learned());
    });
    if (!read.ok() || learned.size() <= num_recalled_) return;
    // Read again: another process may have learned meanwhile.
    v1::JobShapes shapes = ReadShapeFile(shape_file_);
    for (std::size_t i = num_recalled_; i < learned.size(); ++i) *shapes.add_shapes() = learned[i];
    WriteShapeFile(shape_file_, shapes);
  }

  void StopAll() {
    master_stopped_ = master_ == nullptr;
    process_.loop.Post([this] {
      if (master_) master_->Shutdown([this] { master_stopped_ = true; });
    });
    process_.WaitFor(kStopPatience, [this] { return master_stopped_; });
    process_.loop.Post([this] {
      for (auto& worker : workers_) {
        if (worker->daemon) {
          worker->daemon->Stop([this] { ++workers_stopped_; });
        } else {
          ++workers_stopped_;
        }
      }
    });
    process_.WaitFor(kStopPatience, [this] { return workers_stopped_ == workers_.size(); });
  }

  // First: both are made before any thread. The sweeper must not hold the zygote's line.
  std::optional<Sweeper> sweeper_{std::in_place};
  const absl::StatusOr<std::unique_ptr<worker::Zygote>> zygote_;
  SweptStorage storage_{*sweeper_};
  // Of StopAll: the loop may still run when that does not wait any more.
  bool master_stopped_ = false;
  std::size_t workers_stopped_ = 0;
  ControlProcess process_;
  PoolThreads journal_thread_{1};
  PoolThreads look_thread_{1};  // of all workers: they have one work directory
  Interrupts interrupts_;
  std::optional<worker::WorkDirectory> directory_;
  std::unique_ptr<master::Journal> journal_;
  std::string shape_file_;  // empty: nothing is kept
  std::size_t num_recalled_ = 0;
  rpc::InProcessWorkers connector_;
  std::unique_ptr<master::Master> master_;
  std::vector<std::unique_ptr<EmbeddedWorker>> workers_;
  std::unique_ptr<rpc::JobApi> jobs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<client::Session>> StartEmbeddedCluster(
    const client::EmbeddedOptions& options, const client::JobOptions& job,
    const JobCatalog& catalog,
    const std::function<absl::StatusOr<std::unique_ptr<worker::Zygote>>()>& start_zygote) {
  auto embedded = std::make_unique<EmbeddedSession>(start_zygote);
  EmbeddedSession& starting = *embedded;
  auto session = std::make_unique<KeptSession<EmbeddedSession>>(std::move(embedded));
  if (absl::Status started = starting.Start(options, job, catalog); !started.ok()) return started;
  return std::unique_ptr<client::Session>(std::move(session));
}

}  // namespace weir::app
