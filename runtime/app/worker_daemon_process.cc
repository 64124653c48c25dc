#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "asio/executor_work_guard.hpp"
#include "asio/io_context.hpp"
#include "runtime/app/certificate_watch.h"
#include "runtime/app/control_process.h"
#include "runtime/app/daemons.h"
#include "runtime/app/end_in_time.h"
#include "runtime/app/interrupts.h"
#include "runtime/app/machine.h"
#include "runtime/app/serve_until.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/real/machine_id.h"
#include "runtime/format/run_check.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/grpc_clients.h"
#include "runtime/rpc/grpc/grpc_server.h"
#include "runtime/rpc/grpc/tls_probe.h"
#include "runtime/transfer/data_plane.h"
#include "runtime/worker/measure/given_profile.h"
#include "runtime/worker/measure/kept_profile.h"
#include "runtime/worker/measure/measure_machine.h"
#include "runtime/worker/supervise/task_processes.h"
#include "runtime/worker/work_directory.h"
#include "runtime/worker/worker_daemon.h"

namespace weir::app {
namespace {

constexpr char kWorkerRole[] = "weir.worker";
// A job that ends by itself within this time has its steps here, and those who read them, to its
// end: as long as supervisors that sent SIGTERM usually wait before they send SIGKILL.
constexpr absl::Duration kDrainPatience = absl::Seconds(30);
constexpr absl::Duration kWorkerStopPatience = absl::Seconds(6);
constexpr std::int64_t kKeptProfileBytesMax = 4096;
constexpr absl::Duration kHealthInterval = absl::Milliseconds(200);
// Why the master does not take this worker is looked for as often as this, for as long as that.
constexpr absl::Duration kHandshakeEvery = absl::Seconds(10);
constexpr absl::Duration kWorkerHandshakePatience = absl::Seconds(2);
// Of all pools: control's disk and compute, looks at the work directory, transfers and their names.
constexpr int kOwnThreads = 2 + 1 + 1 + 2 + 1;

// Carrier to a daemon that is made after the server, because it must know the server's port.
struct ToDaemon {
  std::unique_ptr<worker::WorkerDaemon>* daemon;

  template <typename Method>
  void Carry(rpc::Call<Method> call) {
    if (!*daemon) {
      return call.reply(
          absl::UnavailableError(absl::StrCat(Method::kName, ": the worker is starting")));
    }
    (*daemon)->api().Take(std::move(call));
  }
};

// Sockets of the data plane on a thread of their own: control never waits for bulk.
class TransferThreads {
 public:
  explicit TransferThreads(int num_threads) {
    try {
      transfer::StartLookups(context_.get_executor());
      for (int i = 0; i < num_threads; ++i) threads_.Start([this] { context_.run(); });
    } catch (...) {
      context_.stop();
      throw;
    }
  }
  ~TransferThreads() {
    guard_.reset();
    context_.stop();
    threads_.Join();
  }
  asio::io_context::executor_type executor() { return context_.get_executor(); }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{context_.get_executor()};
  Threads threads_;
};

struct HostPort {
  std::string host;
  std::string port;
};

HostPort Split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  return {address.substr(0, colon), address.substr(colon + 1)};
}

std::string Unbracketed(const std::string& host) {
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

absl::Status CheckAddresses(const client::WorkerDaemonOptions& options,
                            const rpc::Security& security) {
  if (absl::Status allowed = rpc::CheckListenAddress(options.listen, security); !allowed.ok()) {
    return allowed;
  }
  if (absl::Status well_formed =
          rpc::CheckListenAddress(options.data_listen, {.tls = std::nullopt, .insecure = true});
      !well_formed.ok()) {
    return well_formed;
  }
  if (!rpc::IsLoopback(options.data_listen) && !options.insecure) {
    return absl::FailedPreconditionError(absl::StrCat(
        "refusing to serve runs on ", options.data_listen,
        ": the data plane has no TLS, only tokens that each job gives to its own workers; pass "
        "--insecure to allow it on this network"));
  }
  for (const std::string& address : {options.listen, options.data_listen}) {
    const std::string host = Unbracketed(Split(address).host);
    if (options.advertise.empty() && (host == "0.0.0.0" || host == "::")) {
      return absl::InvalidArgumentError(
          absl::StrCat(address, " is no address that others can reach: pass --advertise HOST"));
    }
  }
  return absl::OkStatus();
}

std::string Advertised(const client::WorkerDaemonOptions& options, const std::string& listen,
                       const std::string& port) {
  return absl::StrCat(options.advertise.empty() ? Split(listen).host : options.advertise, ":",
                      port);
}

// Everything of one worker daemon, in the order in which it stands on each other.
class WorkerProcess {
 public:
  WorkerProcess(const client::WorkerDaemonOptions& options, const rpc::Security& security,
                worker::Zygote* zygote)
      : options_(options),
        security_(security),
        zygote_(zygote),
        clients_(process_.loop, security),
        cluster_(clients_.ConnectCluster(options.master.address)) {}

  ~WorkerProcess() {
    if (server_) server_->Close();
    process_.OnLoop([this] {
      certificates_.reset();
      daemon_.reset();
    });
    fetcher_.reset();
    if (data_server_) data_server_->Close();
  }

  absl::Status Start() {
    if (absl::Status usable = worker::WorkDirectory::Check(process_.storage, work_dir_);
        !usable.ok()) {
      return usable;
    }
    auto data_server = MakeServer();
    if (!data_server.ok()) return data_server.status();
    data_server_ = *std::move(data_server);
    fetcher_ = transfer::MakeFetcher(transfers_.executor(), process_.loop, {});
    auto server =
        rpc::GrpcServer::Start(options_.listen, security_, process_.loop, {.worker = &to_daemon_});
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    server_->SetServing(kWorkerRole, false);
    MeasureMachine();
    process_.OnLoop([this] {
      daemon_ = std::make_unique<worker::WorkerDaemon>(
          MakeOptions(), worker::WorkerSeams{.loop = process_.loop,
                                             .disk_pool = process_.disk.pool(),
                                             .tasks = tasks_,
                                             .random = process_.random,
                                             .storage = process_.storage,
                                             .cluster = *cluster_,
                                             .runs = *runs_,
                                             .server = *data_server_,
                                             .fetcher = *fetcher_,
                                             .check_run = format::CheckRun,
                                             .look_pool = &look_thread_.pool()});
    });
    return process_.Await<absl::Status>(
        [this](std::function<void(absl::Status)> answer) { daemon_->Start(std::move(answer)); });
  }

  // Returns the exit code.
  int Serve() {
    interrupts_.Listen([this] { stopping_ = true; });
    process_.OnLoop([this] {
      certificates_ =
          std::make_unique<CertificateWatch>(process_.loop, process_.wall_clock, security_);
      FollowHealth();
    });
    const bool reachable =
        ServeUntil(process_, *server_, [this] { return stopping_ || daemon_->gave_up(); });
    const bool gave_up = reachable && !stopping_;
    if (gave_up) {
      LogError("No master answered for longer than --master-grace; the worker ends",
               {{"master", options_.master.address},
                {"grace", absl::FormatDuration(options_.master_grace)}});
    }
    LogInfo("Worker stops");
    draining_ = true;
    server_->SetServing(kWorkerRole, false);
    LogInfo("Worker drains", {{"at_most", absl::FormatDuration(kDrainPatience)}});
    // Where no master is left to release them, jobs go with the lease.
    process_.loop.Post([this] { daemon_->Drain(kDrainPatience, [this] { drained_ = true; }); });
    // A second signal ends the drain.
    interrupts_.Listen([this] { drained_ = true; });
    process_.loop.RunUntil([this] { return drained_; });
    process_.loop.Post([this] { daemon_->Stop([this] { stopped_ = true; }); });
    process_.WaitFor(kWorkerStopPatience, [this] { return stopped_; });
    // Whoever starts a worker that was stopped may have changed the machine.
    if (options_.measure) (void)process_.storage.RemoveAll(kept_profile_);
    if (!reachable) return client::kExitRefused;
    return gave_up ? client::kExitMasterUnreachable : client::kExitOk;
  }

 private:
  absl::StatusOr<std::unique_ptr<transfer::DataServer>> MakeServer() {
    const HostPort address = Split(options_.data_listen);
    transfer::DataServerOptions server_options;
    server_options.listen_host = Unbracketed(address.host);
    if (server_options.listen_host == "localhost") server_options.listen_host = "127.0.0.1";
    int port = 0;
    if (!absl::SimpleAtoi(address.port, &port)) return absl::InvalidArgumentError("no port");
    server_options.port = static_cast<std::uint16_t>(port);
    server_options.congestion_control = options_.congestion_control;
    return transfer::MakeDataServer(transfers_.executor(), runs_, process_.loop, server_options);
  }

  int slots() const { return options_.slots > 0 ? options_.slots : NumCores(); }

  worker::ProfileKey ProfileKeyHere() const {
    return {env::MachineId(), client::kVersion, slots(), UsableCores(), work_dir_};
  }

  // Before the loop runs, on threads that then go: nothing else is under way in this process.
  void MeasureMachine() {
    const auto text = process_.storage.ReadFile(kept_profile_, kKeptProfileBytesMax);
    const auto kept = worker::KeptProfile(ProfileKeyHere(), text.value_or(""));
    if (options_.measure && kept) {
      machine_ = *kept;
      machine_.available_memory_bytes = worker::AvailableMemoryHere();
      LogInfo("Not measured again: a daemon of this machine measured it that did not end by itself",
              {{"file", kept_profile_}});
    } else if (options_.measure) {
      const worker::Clock clock = [this] { return process_.loop.Now(); };
      const std::string& directory = work_dir_;
      {
        PoolThreads pool(slots());
        worker::MeasureCompute(pool.pool(), slots(), UsableCores(), {clock, env::ThreadCpuTime},
                               limits::kComputeProbeTime, machine_);
      }
      if (absl::Status disk = worker::MeasureDisk(directory, clock, machine_); !disk.ok()) {
        LogWarning("Disk rate not measured", {{"error", std::string(disk.message())}});
      }
      const auto start = worker::MeasureTaskStart(OptionsOfTasks(), directory, "wordcount", clock);
      if (!start.ok()) {
        LogWarning("Start of a task process not measured",
                   {{"error", std::string(start.status().message())}});
      }
      machine_.task_start_s = start.value_or(0);
      machine_.available_memory_bytes = worker::AvailableMemoryHere();
      // It spares the next one time; without it nothing is lost.
      (void)process_.storage.WriteFile(kept_profile_,
                                       worker::KeptProfileText(ProfileKeyHere(), machine_));
    }
    machine_ = worker::WithGiven(machine_,
                                 {.compute_rate = options_.compute_rate,
                                  .disk_write_bytes_per_s = options_.disk_write_bytes_per_s,
                                  .disk_read_bytes_per_s = options_.disk_read_bytes_per_s,
                                  .task_start_s = absl::ToDoubleSeconds(options_.task_start)},
                                 slots());
  }

  worker::TaskOptions OptionsOfTasks() const {
    worker::TaskOptions made;
    made.environment = WholeEnvironment();
    made.zygote = zygote_;
    return made;
  }

  worker::WorkerOptions MakeOptions() const {
    worker::WorkerOptions made;
    made.control_endpoint = Advertised(options_, options_.listen, absl::StrCat(server_->port()));
    made.data_endpoint =
        Advertised(options_, options_.data_listen, Split(data_server_->endpoint()).port);
    made.name = options_.name.empty() ? made.data_endpoint : options_.name;
    made.work_dir = work_dir_;
    made.slots = slots();
    made.cores = UsableCores();
    made.machine = machine_;
    made.memory_bytes = options_.memory_bytes;
    // Workers that share a machine have slots for a part of its cores each.
    made.spill_above_bytes = worker::SpillAbove(worker::AvailableMemoryHere(),
                                                static_cast<double>(slots()) / NumCores());
    made.handover_domain = options_.handover_domain;
    made.version = client::kVersion;
    made.master_grace = options_.master_grace;
    return made;
  }

  // Health says what the master would say.
  void FollowHealth() {
    if (draining_) return;
    if (daemon_->registered() != serving_) {
      serving_ = !serving_;
      server_->SetServing(kWorkerRole, serving_);
      LogInfo(serving_ ? "Worker serves" : "Worker lost its master",
              {{"master", options_.master.address}, {"data", data_server_->endpoint()}});
    }
    if (!serving_) TryHandshake();
    process_.loop.RunAt(process_.loop.Now() + kHealthInterval, [this] { FollowHealth(); });
  }

  // Where certificates do not fit, calls say no more than that a socket closed.
  void TryHandshake() {
    if (!security_.tls || handshaking_ || process_.loop.Now() < next_handshake_) return;
    // One at a time, and apart from files, for which jobs wait: a name server may be silent for
    // long.
    handshaking_ = true;
    next_handshake_ = process_.loop.Now() + kHandshakeEvery;
    env::Offload(
        process_.loop, process_.compute.pool(),
        [master = options_.master.address, security = security_] {
          return rpc::TryTlsHandshake(master, security, kWorkerHandshakePatience);
        },
        callbacks_.Guard([this](const absl::Status& handshake) {
          handshaking_ = false;
          if (handshake.ok() || serving_) return;
          LogError("The master cannot be talked to",
                   {{"master", options_.master.address}, {"reason", handshake.message()}});
        }));
  }

  const client::WorkerDaemonOptions& options_;
  const std::string work_dir_ = WorkerDirectory(options_.work_dir);
  // Where there is no place for it nothing is read, and writing fails.
  const std::string kept_profile_ =
      absl::StrCat(WorkerState(), "/", worker::KeptProfileName(work_dir_));
  const rpc::Security& security_;
  worker::Zygote* const zygote_;  // null: there is none
  // What the loop says while the daemon ends; it may still run when nobody waits for that any more.
  bool stopping_ = false;
  bool drained_ = false;
  bool stopped_ = false;
  ControlProcess process_;
  // Where files hang, they hang all threads of the disk's pool; that they do is still to be seen.
  PoolThreads look_thread_{1};
  Interrupts interrupts_{process_.loop};
  TransferThreads transfers_{2};
  rpc::GrpcClients clients_;
  std::unique_ptr<rpc::ClusterApi> cluster_;
  std::shared_ptr<transfer::PublishedRuns> runs_ = std::make_shared<transfer::PublishedRuns>();
  std::unique_ptr<transfer::DataServer> data_server_;
  std::unique_ptr<transfer::Fetcher> fetcher_;
  worker::TaskProcesses tasks_{OptionsOfTasks(), process_.loop, process_.loop};
  std::unique_ptr<worker::WorkerDaemon> daemon_;
  rpc::WorkerApi to_daemon_{std::make_shared<ToDaemon>(ToDaemon{&daemon_})};
  std::unique_ptr<rpc::GrpcServer> server_;
  worker::MachineProfile machine_;
  bool serving_ = false;
  bool draining_ = false;
  bool handshaking_ = false;
  std::unique_ptr<CertificateWatch> certificates_;
  MonoTime next_handshake_;
  env::CallbackScope callbacks_;
};

}  // namespace

int RunWorkerDaemon(const client::WorkerDaemonOptions& options,
                    absl::StatusOr<std::unique_ptr<worker::Zygote>> zygote) {
  SetUpDaemonLog(options.log);
  if (!zygote.ok()) {
    LogInfo("Tasks are executed, not forked", {{"reason", zygote.status().message()}});
  }
  const auto security = LoadSecurity(options.master.tls, options.insecure,
                                     options.master.token_file, TokenUse::kWorker);
  if (!security.ok()) return CannotStart("worker", security.status());
  if (absl::Status allowed = CheckAddresses(options, *security); !allowed.ok()) {
    return CannotStart("worker", allowed);
  }
  TryThreads(kOwnThreads + ThreadsOfGrpc());
  EndInTime end;
  WorkerProcess worker(options, *security, zygote.ok() ? zygote->get() : nullptr);
  if (absl::Status started = worker.Start(); !started.ok()) return CannotStart("worker", started);
  const int code = worker.Serve();
  end.Begin(code, kEndPatience);
  return code;
}

}  // namespace weir::app
