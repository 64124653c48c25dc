#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/app/certificate_watch.h"
#include "runtime/app/control_process.h"
#include "runtime/app/daemons.h"
#include "runtime/app/end_in_time.h"
#include "runtime/app/interrupts.h"
#include "runtime/app/machine.h"
#include "runtime/app/serve_until.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/env/real/service_notice.h"
#include "runtime/env/real/state_directory.h"
#include "runtime/master/journal/journal_sqlite.h"
#include "runtime/master/learning/data_seen.h"
#include "runtime/master/master.h"
#include "runtime/rpc/grpc/grpc_clients.h"
#include "runtime/rpc/grpc/grpc_server.h"

namespace weir::app {
namespace {

constexpr char kMasterRole[] = "weir.master";
constexpr absl::Duration kMasterStopPatience = absl::Seconds(12);
// Of all pools: control's disk and compute, journal, listing, settling.
constexpr int kOwnThreads = 2 + 1 + 1 + limits::kListingThreads + limits::kSettlingThreads;

absl::Status CannotUse(const std::filesystem::path& journal, const std::string& why) {
  return absl::UnavailableError("the journal " + journal.string() + " cannot be used: " + why +
                                "; choose another by --journal FILE");
}

// No link is followed: in a directory that others may write to it could be theirs.
absl::Status IsALink(const std::filesystem::path& journal, const absl::Status& refused) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(journal, error);
  if (error) return CannotUse(journal, std::string(refused.message()));
  return absl::UnavailableError(absl::StrCat(
      "the journal ", journal.string(),
      " is a symbolic link, which is not followed: name the file itself, by --journal ",
      (journal.parent_path() / target).lexically_normal().string()));
}

absl::StatusOr<std::string> JournalPath(const std::string& chosen, env::Storage& storage) {
  std::filesystem::path path = chosen;
  if (chosen.empty()) {
    const std::string directory = env::StateDirectory();
    if (directory.empty()) {
      return absl::InvalidArgumentError("no HOME to keep the journal in: pass --journal FILE");
    }
    path = directory + "/journal.db";
  }
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    return CannotUse(path, "cannot make " + path.parent_path().string() + ": " + error.message());
  }
  // Who reads the journal knows what everybody ran, and SQLite leaves its files to all. One that is
  // there stays as it is.
  const auto made = storage.MakeLock(path.string());
  if (ErrnoOf(made.status()) == ELOOP) return IsALink(path, made.status());
  if (!made.ok() && !absl::IsAlreadyExists(made.status())) {
    return CannotUse(path, std::string(made.status().message()));
  }
  return path.string();
}

absl::StatusOr<master::MasterOptions> MakeOptions(const client::MasterDaemonOptions& options,
                                                  env::Storage& storage) {
  constexpr std::int64_t kNetworkFileBytesMax = std::int64_t{16} << 20;
  master::MasterOptions made;
  if (options.jobs_kept > 0) made.jobs_kept = options.jobs_kept;
  if (options.jobs_kept_for > absl::ZeroDuration()) made.jobs_kept_for = options.jobs_kept_for;
  if (!options.network_file.empty()) {
    const auto text = storage.ReadFile(options.network_file, kNetworkFileBytesMax);
    if (!text.ok()) return text.status();
    auto network = master::ParseNetworkSpec(*text);
    if (!network.ok()) {
      return absl::Status(network.status().code(),
                          absl::StrCat("--network ", options.network_file, ": ",
                                       std::string(network.status().message())));
    }
    made.network = *std::move(network);
    made.network_origin = planner::Origin::kFlag;
  }
  made.version = client::kVersion;
  // A flag goes before the file: who starts a master by hand means what they type.
  master::NetworkSpec flags;
  if (options.channel_bytes_per_s > 0) {
    flags.channel_bytes_per_s = options.channel_bytes_per_s;
    made.channel_seconds_per_byte = 1 / options.channel_bytes_per_s;
    made.network_origin = planner::Origin::kFlag;
  }
  if (options.latency != absl::InfiniteDuration()) {
    flags.latency_s = absl::ToDoubleSeconds(options.latency);
    made.latency_s = flags.latency_s;
  }
  made.bisection_channels = options.bisection_channels;
  if (options.running_jobs_max > 0) made.running_jobs_max = options.running_jobs_max;
  if (options.pacing_fraction >= 0) made.pacing_fraction = options.pacing_fraction;
  if (options.worker_grace != absl::InfiniteDuration()) made.worker_grace = options.worker_grace;
  if (options.look_ahead_bytes >= 0) made.look_ahead_bytes = options.look_ahead_bytes;
  if (made.bisection_channels > 0) {
    const std::int32_t in_file = master::TakeTotal(made.network);
    if (in_file > 0 && in_file != made.bisection_channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("--bisection-channels is ", made.bisection_channels, ", total_channels in ",
                       options.network_file, " is ", in_file, "; leave one of them out"));
    }
  }
  made.network = master::Overlay(std::move(flags), made.network);
  return made;
}

// What a service manager waits for before it starts what comes after this master.
void TellManager(const std::string& state) {
  const absl::Status told = env::TellServiceManager(EnvironmentVariable("NOTIFY_SOCKET"), state);
  if (!told.ok()) {
    LogWarning("The service manager was not told", {{"state", state}, {"error", told.message()}});
  }
}

// What the loop says while the daemon ends: it may still run when nobody waits for that any more.
struct Ending {
  bool asked = false;  // by a signal
  bool stopped = false;
};

// Serves until a signal comes, then stops in the time that there is. Returns as ServeUntil.
bool ServeUntilAsked(ControlProcess& process, rpc::GrpcServer& server, Interrupts& interrupts,
                     master::Master& master, Ending& ending) {
  interrupts.Listen([&ending] { ending.asked = true; });
  const bool reachable = ServeUntil(process, server, [&ending] { return ending.asked; });
  LogInfo("Master stops");
  TellManager("STOPPING=1");
  server.SetServing(kMasterRole, false);
  process.loop.Post([&master, &ending] { master.Shutdown([&ending] { ending.stopped = true; }); });
  process.WaitFor(kMasterStopPatience, [&ending] { return ending.stopped; });
  return reachable;
}

}  // namespace

int RunMasterDaemon(const client::MasterDaemonOptions& options, const JobCatalog& catalog) {
  SetUpDaemonLog(options.log);
  auto security =
      LoadSecurity(options.tls, options.insecure, options.token_file, TokenUse::kMaster);
  if (!security.ok()) return CannotStart("master", security.status());
  if (absl::Status allowed = rpc::CheckListenAddress(options.listen, *security); !allowed.ok()) {
    return CannotStart("master", allowed);
  }
  EndInTime end;
  Ending ending;
  env::PosixStorage storage;
  const auto journal_path = JournalPath(options.journal, storage);
  if (!journal_path.ok()) return CannotStart("master", journal_path.status());
  auto journal = master::OpenSqliteJournal(*journal_path, master::IsSameKindOfData);
  if (!journal.ok()) return CannotStart("master", journal.status());

  TryThreads(kOwnThreads + ThreadsOfGrpc());
  ControlProcess process;
  PoolThreads journal_thread(1);
  PoolThreads list_threads(limits::kListingThreads);
  PoolThreads settle_threads(limits::kSettlingThreads);
  Interrupts interrupts(process.loop);
  rpc::GrpcClients clients(process.loop, *security);
  auto master_options = MakeOptions(options, process.storage);
  if (!master_options.ok()) return CannotStart("master", master_options.status());
  // Beside the journal, whose jobs need them, and named after it: two masters may keep theirs in
  // one folder.
  master_options->artifact_directory =
      std::filesystem::absolute(*journal_path).string() + ".artifacts";
  std::unique_ptr<master::Master> master;
  std::unique_ptr<CertificateWatch> certificates;
  process.OnLoop([&] {
    master =
        std::make_unique<master::Master>(master::MasterSeams{.loop = process.loop,
                                                             .disk_pool = process.disk.pool(),
                                                             .compute_pool = process.compute.pool(),
                                                             .storage = process.storage,
                                                             .random = process.random,
                                                             .wall_clock = process.wall_clock,
                                                             .connector = clients,
                                                             .journal = **journal,
                                                             .catalog = catalog,
                                                             .journal_pool = &journal_thread.pool(),
                                                             .list_pool = &list_threads.pool(),
                                                             .settle_pool = &settle_threads.pool()},
                                         *master_options);
  });
  auto server = rpc::GrpcServer::Start(options.listen, *security, process.loop,
                                       {.jobs = &master->jobs(), .cluster = &master->cluster()});
  absl::Status ready = server.status();
  bool reachable = true;
  if (ready.ok()) {
    (*server)->SetServing(kMasterRole, false);
    ready = process.Await<absl::Status>(
        [&](std::function<void(absl::Status)> answer) { master->Start(std::move(answer)); });
  }
  if (ready.ok()) {
    (*server)->SetServing(kMasterRole, true);
    LogInfo("Master serves", {{"listen", options.listen},
                              {"port", (*server)->port()},
                              {"journal", *journal_path},
                              {"tls", security->tls ? "mutual" : "none"},
                              {"callers", Callers(*security)}});
    TellManager(absl::StrCat("READY=1\nSTATUS=Serves on ", options.listen));
    process.OnLoop([&] {
      certificates =
          std::make_unique<CertificateWatch>(process.loop, process.wall_clock, *security);
    });
    reachable = ServeUntilAsked(process, **server, interrupts, *master, ending);
  }
  int code = client::kExitOk;
  if (!reachable) code = client::kExitRefused;
  if (!ready.ok()) code = CannotStart("master", ready);
  end.Begin(code, kEndPatience);
  if (server.ok()) (*server)->Close();
  process.OnLoop([&] {
    certificates.reset();
    master.reset();
  });
  return code;
}

}  // namespace weir::app
