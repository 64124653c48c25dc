// One program, many commands.

#include "runtime/app/program.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/app/control_process.h"
#include "runtime/app/daemons.h"
#include "runtime/app/init_process.h"
#include "runtime/app/machine.h"
#include "runtime/app/module_process.h"
#include "runtime/app/sessions.h"
#include "runtime/base/log.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/command_line.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/env/real/kernel_sources.h"
#include "runtime/env/real/standard_streams.h"
#include "runtime/env/real/state_directory.h"
#include "runtime/worker/supervise/process_title.h"
#include "runtime/worker/supervise/zygote.h"

namespace weir::app {
namespace {

double NowMicros() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t UnixMillis() { return env::KernelWallClock().UnixMillis(); }

// A full disk behind a redirect must not look like success.
int CodeOnceWritten(int code) {
  std::cout.flush();
  if (code != client::kExitOk || std::cout) return code;
  std::cerr << "weir: the result could not be written to stdout\n";
  return client::kExitJobFailed;
}

// By _exit, so that nobody waits for what sessions leave (kept_session.h).
[[noreturn]] void EndProcess(int code) {
  code = CodeOnceWritten(code);
  std::cerr.flush();
  std::fflush(nullptr);
  ::_exit(code);
}

// Where nothing has been asked for yet, memory and threads can only be missing to the program
// itself. Returns `code`.
int NotEnough(const char* what, const char* limit, client::ExitCode code) {
  std::cerr << "weir: not enough " << what << " to run; see the limits of this user (ulimit "
            << limit << ") and of its control group\n";
  return code;
}

// Runs it with what the program itself may lack said in a sentence; then it ends with `lacking`.
int RunGuarded(const std::function<int()>& run, client::ExitCode lacking) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return NotEnough("memory", "-v, -d", lacking);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    return NotEnough("threads or memory", "-u, -v", lacking);
  }
}

// What a command ends with that lacks what it needs: a daemon is one that cannot start.
client::ExitCode LackingCode(const client::Command& command) {
  const bool daemon = std::holds_alternative<client::MasterDaemonOptions>(command) ||
                      std::holds_alternative<client::WorkerDaemonOptions>(command);
  return daemon ? client::kExitRefused : client::kExitJobFailed;
}

// What a command ends with whose current directory is gone: calls in Hadoop's form have its codes.
int NowhereCode(const client::Command& command) {
  if (std::holds_alternative<client::StreamingOptions>(command)) return client::kHadoopIo;
  if (std::holds_alternative<client::HadoopOptions>(command)) return client::kHadoopFailed;
  return client::kExitRefused;
}

// Call before any thread, and before settings that tasks shall not have.
using StartZygote = std::function<absl::StatusOr<std::unique_ptr<worker::Zygote>>()>;

int RunUserCommand(const client::Command& command, const JobCatalog& catalog,
                   const StartZygote& start_zygote) {
  // What a person should know is said by the command itself.
  SetUpLogging(LogFormat::kText, LogLevel::kError);
  // Paths are relative to it; those of another directory would be somebody else's files.
  const absl::StatusOr<std::string> working_directory = WorkingDirectory();
  if (!working_directory.ok()) {
    std::cerr << "weir: " << working_directory.status().message() << "\n";
    return NowhereCode(command);
  }
  env::PosixStorage storage;
  env::KernelRandom random;
  client::CommandHost host = {
      .out = std::cout,
      .err = std::cerr,
      .terminal = StderrTerminal(),
      .out_is_terminal = StdoutIsTerminal(),
      .working_directory = *working_directory,
      .user = UserAtHost(),
      .catalog = catalog,
      .storage = storage,
      .random = random,
      .now_micros = NowMicros,
      .ask_module = AskModule,
      .connect = ConnectToMaster,
      .start_embedded =
          [&](const client::EmbeddedOptions& options, const client::JobOptions& job) {
            return StartEmbeddedCluster(options, job, catalog, start_zygote);
          },
      .program = ProgramPath(),
      .unix_ms = UnixMillis,
      .hdfs_root = env::StateDirectory() + "/hdfs"};
  EndProcess(client::RunCommand(command, host));
}

}  // namespace

namespace {

/// Debian builds Abseil with its search for lock cycles: a node and a lookup under one lock for
/// each mutex, gRPC's too, in memory that grows with the calls of a daemon. Unit tests keep it.
void LeaveOutLockCycles() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

/// gRPC and Abseil abort where descriptors are so few that they cannot wait for events. Returns
/// whether there are enough.
bool HasFiles() {
  constexpr rlim_t kFilesMin = 64;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kFilesMin) return true;
  files.rlim_cur = std::min(files.rlim_max, kFilesMin);
  return ::setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= kFilesMin;
}

/// A daemon has one a connection, and waits by epoll: shells and services give fewer, for select().
/// Tasks have a limit of their own (runtime/worker/supervise/task_process.cc). Where it is refused,
/// what there is must do.
void TakeAllFiles() {
  constexpr rlim_t kFilesMax = 1 << 20;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t most = std::min(files.rlim_max, kFilesMax);
  if (files.rlim_cur >= most) return;
  files.rlim_cur = most;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

int RunParsed(int argc, char** argv, const JobCatalog& catalog) {
  const worker::ProcessTitle title(argv, environ);
  LeaveOutLockCycles();
  IgnoreSignalsOfWrites();
  // Before anything else is set up: a task should start in a few milliseconds.
  if (argc > 1 && std::string(argv[1]) == "task") {
    return RunTaskProcess(argc - 2, argv + 2, catalog);
  }
  std::ios::sync_with_stdio(false);
  const client::ParsedCommandLine parsed =
      client::ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  std::cout << parsed.out << std::flush;
  std::cerr << parsed.err << std::flush;
  if (!parsed.command) return CodeOnceWritten(parsed.exit_code);
  const client::ExitCode lacking = LackingCode(*parsed.command);
  if (!HasFiles()) return NotEnough("open files", "-n", lacking);
  const StartZygote start_zygote = [&] {
    return worker::Zygote::Start(title, [&] {
      return RunGuarded([&] { return RunForkedTask(catalog); }, client::kExitJobFailed);
    });
  };
  if (const auto* master = std::get_if<client::MasterDaemonOptions>(&*parsed.command)) {
    TakeAllFiles();
    return RunGuarded([&] { return RunMasterDaemon(*master, catalog); }, lacking);
  }
  if (const auto* worker = std::get_if<client::WorkerDaemonOptions>(&*parsed.command)) {
    GoBehindInit(title);
    absl::StatusOr<std::unique_ptr<worker::Zygote>> zygote = start_zygote();
    KeepTwoHeaps();
    TakeAllFiles();
    return RunGuarded([&] { return RunWorkerDaemon(*worker, std::move(zygote)); }, lacking);
  }
  return RunUserCommand(*parsed.command, catalog, start_zygote);
}

}  // namespace

int RunProgram(int argc, char** argv, const JobCatalog& catalog) {
  env::OpenClosedStreams();
  return RunGuarded([&] { return RunParsed(argc, argv, catalog); }, client::kExitJobFailed);
}

}  // namespace weir::app
