#include "runtime/worker/supervise/task_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/limits.h"
#include "runtime/worker/supervise/zygote.h"

namespace weir::worker {
namespace {

constexpr int kTaskSocketFd = 3;
// A reduce step opens a file per producer; the rest is for input files and libraries.
constexpr rlim_t kTaskFilesMax = limits::kReducersMax + 1024;

// Moves a descriptor above those that the child uses, so that no dup2 in the child overwrites a
// source that is still needed. Only matters when the daemon itself was started with closed standard
// streams.
absl::Status MoveAboveChildFds(Fd& fd) {
  if (fd.get() > kTaskSocketFd) return absl::OkStatus();
  const int moved = fcntl(fd.get(), F_DUPFD_CLOEXEC, kTaskSocketFd + 1);
  if (moved < 0) return ErrnoStatus(errno, "cannot move descriptor");
  fd.Reset(moved);
  return absl::OkStatus();
}

// The daemon's end does not block; the task's does.
struct Pair {
  Fd daemon;
  Fd task;
};

absl::StatusOr<Pair> SetUp(Pair pair) {
  if (fcntl(pair.daemon.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "cannot set up a line to a task");
  }
  if (absl::Status status = MoveAboveChildFds(pair.task); !status.ok()) return status;
  return pair;
}

absl::StatusOr<Pair> MakeSocketPair() {
  std::array<int, 2> fds;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return ErrnoStatus(errno, "cannot make the socket to a task");
  }
  return SetUp({Fd(fds[0]), Fd(fds[1])});
}

absl::StatusOr<Pair> MakeOutputPipe() {
  std::array<int, 2> fds;
  if (pipe2(fds.data(), O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "cannot make the output pipe of a task");
  }
  return SetUp({Fd(fds[0]), Fd(fds[1])});
}

// posix_spawn's two C objects.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // These only fail for want of memory or for descriptors out of range.
  int Fill(int socket, int output, const std::string& directory) {
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    const std::array<int, 9> results = {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO),
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO),
        posix_spawn_file_actions_adddup2(&actions, socket, kTaskSocketFd),
        posix_spawn_file_actions_addclosefrom_np(&actions, kTaskSocketFd + 1),
        posix_spawn_file_actions_addchdir_np(&actions, directory.c_str()),
        posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK),
        posix_spawnattr_setsigdefault(&attributes, &all),
        posix_spawnattr_setsigmask(&attributes, &none)};
    const auto failed = std::find_if(results.begin(), results.end(), [](int r) { return r != 0; });
    return failed == results.end() ? 0 : *failed;
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<char*> PointersOf(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<pid_t> ForkOrSpawn(const TaskOptions& options, const std::string& directory,
                                  int socket, int output) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = TaskEnvironment(options.environment, directory);
  if (options.zygote != nullptr) {
    const std::optional<pid_t> forked =
        options.zygote->Fork({socket, output, directory, arguments, environment});
    if (forked) return *forked;
  }
  SpawnPlan plan;
  int error = plan.Fill(socket, output, directory);
  pid_t pid = -1;
  if (error == 0) {
    error = posix_spawn(&pid, options.program.c_str(), &plan.actions, &plan.attributes,
                        PointersOf(arguments).data(), PointersOf(environment).data());
  }
  if (error != 0) {
    return ErrnoStatus(error, absl::StrCat("cannot start ", options.program, " in ", directory));
  }
  return pid;
}

// posix_spawn has no place for limits. Setting them from outside is early enough: the process runs
// no code of a user before it is sent a Start.
absl::Status LimitResources(pid_t pid, std::int64_t address_space_bytes) {
  rlimit files{};
  if (prlimit(pid, RLIMIT_NOFILE, nullptr, &files) == 0) {
    files.rlim_cur = files.rlim_max = std::min(files.rlim_max, kTaskFilesMax);
  }
  const rlimit no_core{0, 0};
  if (prlimit(pid, RLIMIT_CORE, &no_core, nullptr) != 0 ||
      prlimit(pid, RLIMIT_NOFILE, &files, nullptr) != 0) {
    return ErrnoStatus(errno, "cannot limit a task's files");
  }
  if (address_space_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(address_space_bytes);
    const rlimit memory{bytes, bytes};
    if (prlimit(pid, RLIMIT_AS, &memory, nullptr) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot limit a task's address space to ",
                                             address_space_bytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string ProcessEnd::Describe() const {
  if (signal == 0) return absl::StrCat("exit code ", exit_code);
  const char* name = sigabbrev_np(signal);
  const char* meaning = sigdescr_np(signal);
  return absl::StrCat("signal ", name ? absl::StrCat("SIG", name) : absl::StrCat(signal), " (",
                      meaning ? meaning : "unknown", ")");
}

std::vector<std::string> TaskEnvironment(
    const std::vector<std::pair<std::string, std::string>>& inherited, const std::string& tmp_dir) {
  constexpr std::array<std::string_view, 4> kAllowed = {"PATH", "HOME", "LANG", "TZ"};
  std::vector<std::string> environment;
  for (const auto& [name, value] : inherited) {
    if (std::find(kAllowed.begin(), kAllowed.end(), name) != kAllowed.end()) {
      environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  environment.push_back(absl::StrCat("TMPDIR=", tmp_dir));
  return environment;
}

absl::StatusOr<TaskProcess> TaskProcess::Start(const TaskOptions& options,
                                               const std::string& directory) {
  absl::StatusOr<Pair> socket = MakeSocketPair();
  if (!socket.ok()) return socket.status();
  absl::StatusOr<Pair> output = MakeOutputPipe();
  if (!output.ok()) return output.status();

  const absl::StatusOr<pid_t> pid =
      ForkOrSpawn(options, directory, socket->task.get(), output->task.get());
  if (!pid.ok()) return pid.status();
  // From here on the destructor cleans up.
  TaskProcess process(*pid, Fd(), std::move(socket->daemon), std::move(output->daemon));
  process.pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, *pid, 0)));
  if (!process.pidfd_.valid()) return ErrnoStatus(errno, "cannot watch a task process");
  if (absl::Status status = LimitResources(*pid, options.address_space_bytes); !status.ok()) {
    return status;
  }
  return process;
}

TaskProcess::TaskProcess(TaskProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      socket_(std::move(other.socket_)),
      output_(std::move(other.output_)) {}

TaskProcess::~TaskProcess() {
  if (pid_ < 0) return;
  SignalGroup(SIGKILL);
  Reap();
}

void TaskProcess::SignalGroup(int signal) const {
  if (pid_ <= 0) return;
  kill(-pid_, signal);
  // User code may have led it into another group; until it is collected its number is its own.
  if (getpgid(pid_) != pid_) kill(pid_, signal);
}

void TaskProcess::Abandon() {
  SignalGroup(SIGKILL);
  pid_ = -1;
}

bool TaskProcess::ended() const {
  if (pid_ < 0) return true;
  siginfo_t info{};
  const int asked = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG);
  return asked != 0 || info.si_pid == pid_;
}

ProcessEnd TaskProcess::Reap() {
  ProcessEnd end;
  if (pid_ < 0) return end;
  siginfo_t info{};
  // Without taking it yet: as long as the leader is a zombie, its number still names this group and
  // no other.
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  SignalGroup(SIGKILL);
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (info.si_code == CLD_EXITED) {
    end.exit_code = info.si_status;
  } else {
    end.signal = info.si_status;
  }
  return end;
}

}  // namespace weir::worker
