#include "jobs/stream/script/script.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir::stream {
namespace {

// How long a look at the descriptors lasts at most: soon enough for a job that is being ended.
constexpr int kLookMs = 200;
// The kernel's 64 KiB cost a switch of processes each.
constexpr int kPipeBytes = 256 << 10;
// A look that moves less wakes us, and with us a processor, more often than it is worth: the next
// one waits a moment, in which a script of 60 MB/s reads and writes so much, and none that is
// slower than 250 MB/s finds its pipes empty or full.
constexpr std::size_t kWorthALook = 64 << 10;
constexpr timespec kMoment = {.tv_sec = 0, .tv_nsec = 1'000'000};
// Those of the child.
constexpr int kFirstOther = 3;
// What the kernel reads of a first line.
constexpr std::size_t kFirstLineBytes = 256;
// With it env ends, and shells, when they find no such program.
constexpr int kNoSuchProgram = 127;

absl::Status Failed(const std::string& what, int error) {
  return absl::ResourceExhaustedError(absl::StrCat(what, ": ", std::strerror(error)));
}

void Close(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// Both ends above the descriptors that the child puts its own ends at.
absl::Status MakePipe(int& read_end, int& write_end) {
  std::array<int, 2> fds;
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return Failed("cannot make a pipe", errno);
  for (int& fd : fds) {
    if (fd >= kFirstOther) continue;
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstOther);
    const int error = errno;
    ::close(fd);
    fd = moved;
    if (moved < 0) return Failed("cannot move a descriptor", error);
  }
  // Where the user has too many pipes already they stay small.
  ::fcntl(fds[0], F_SETPIPE_SZ, kPipeBytes);
  read_end = fds[0];
  write_end = fds[1];
  return absl::OkStatus();
}

std::vector<char*> PointersOf(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// 0, or an error number.
int Spawn(const std::string& program, const ScriptSetup& setup, const std::array<int, 3>& ends,
          pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  int error = 0;
  const auto note = [&error](int result) { error = error == 0 ? result : error; };
  for (int target = 0; target < kFirstOther; ++target) {
    note(
        posix_spawn_file_actions_adddup2(&actions, ends[static_cast<std::size_t>(target)], target));
  }
  // The task's line to its daemon is nobody else's.
  note(posix_spawn_file_actions_addclosefrom_np(&actions, kFirstOther));
  note(posix_spawn_file_actions_addchdir_np(&actions, setup.directory.c_str()));
  note(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
  note(posix_spawnattr_setsigdefault(&attributes, &all));
  note(posix_spawnattr_setsigmask(&attributes, &none));
  if (error == 0) {
    error = posix_spawn(&pid, program.c_str(), &actions, &attributes,
                        PointersOf(setup.words).data(), PointersOf(setup.environment).data());
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

bool IsFile(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

bool IsProgram(const std::string& path) {
  return IsFile(path) && ::access(path.c_str(), X_OK) == 0;
}

std::string FirstLine(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, kFirstLineBytes> bytes;
  const ssize_t got = file < 0 ? 0 : ::read(file, bytes.data(), bytes.size());
  Close(file);
  const std::string_view read(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return std::string(read.substr(0, read.find('\n')));
}

// The kernel reports of a script's interpreter what it would of the script.
absl::Status CannotStart(const std::string& program, int error) {
  const std::string what = absl::StrCat("cannot start ", program, ": ");
  const std::string line = FirstLine(program);
  if (error == ENOEXEC) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, "it is no program, and its first line does not begin with #!"));
  }
  if (error == ENOENT && line.starts_with("#!")) {
    return absl::FailedPreconditionError(absl::StrCat(
        what, "its first line, '", absl::CEscape(line), "', names a program that is not there",
        line.ends_with('\r') ? "; it ends with a carriage return, as of Windows" : ""));
  }
  const std::string message = absl::StrCat(what, std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  if (error == EACCES) return absl::PermissionDeniedError(message);
  return absl::ResourceExhaustedError(message);
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& name, const std::string& directory,
                                        const std::string& path) {
  const std::string here = name.starts_with('/') ? name : absl::StrCat(directory, "/", name);
  if (IsProgram(here)) return here;
  if (name.find('/') == std::string::npos) {
    for (const std::string& folder :
         std::vector<std::string>(absl::StrSplit(path, ':', absl::SkipEmpty()))) {
      std::string program = absl::StrCat(folder, "/", name);
      if (IsProgram(program)) return program;
    }
    if (!IsFile(here)) {
      return absl::NotFoundError(absl::StrCat("there is no program '", name, "' in ", directory,
                                              " nor in PATH (", path, ")"));
    }
  }
  if (IsFile(here)) {
    return absl::PermissionDeniedError(absl::StrCat("'", here, "' may not be executed"));
  }
  return absl::NotFoundError(absl::StrCat("there is no program '", here, "'"));
}

std::string ScriptEnd::Describe() const {
  if (signal == 0) {
    return absl::StrCat("exited with code ", exit_code,
                        windows_line.empty()
                            ? ""
                            : absl::StrCat("; its first line, '", absl::CEscape(windows_line),
                                           "', ends with a carriage return, as of Windows"));
  }
  const char* name = sigabbrev_np(signal);
  const char* meaning = sigdescr_np(signal);
  return absl::StrCat("was ended by signal ",
                      name != nullptr ? absl::StrCat("SIG", name) : absl::StrCat(signal), " (",
                      meaning != nullptr ? meaning : "unknown", ")");
}

Script::Script(ScriptListener& listener, std::int64_t silence_ms)
    : listener_(listener), silence_ms_(silence_ms), buffer_(kReadBytes) {}

absl::StatusOr<std::unique_ptr<Script>> Script::Start(const ScriptSetup& setup,
                                                      ScriptListener& listener) {
  const absl::StatusOr<std::string> program =
      FindProgram(setup.words.front(), setup.directory, setup.path);
  if (!program.ok()) return program.status();
  std::unique_ptr<Script> script(new Script(listener, setup.silence_ms));
  std::array<int, 3> ends = {-1, -1, -1};
  absl::Status made = MakePipe(ends[0], script->in_);
  if (made.ok()) made = MakePipe(script->out_, ends[1]);
  if (made.ok()) made = MakePipe(script->err_, ends[2]);
  if (made.ok()) {
    script->program_ = *program;
    const int error = Spawn(*program, setup, ends, script->pid_);
    if (error != 0) {
      script->pid_ = -1;
      made = CannotStart(*program, error);
    }
  }
  for (int& end : ends) Close(end);
  if (!made.ok()) return made;
  script->pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, script->pid_, 0));
  if (script->pidfd_ < 0) return Failed("cannot watch a script", errno);
  for (const int fd : {script->in_, script->out_, script->err_}) {
    if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return Failed("cannot set up a pipe", errno);
  }
  return script;
}

Script::~Script() {
  Close(in_);
  Close(out_);
  Close(err_);
  Close(pidfd_);
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

absl::Status Script::Write(std::string_view bytes) {
  // Most often there is room; then nothing has to be waited for.
  if (!closed()) WriteSome(bytes);
  while (!bytes.empty() && !closed()) {
    if (absl::Status status = Turn(bytes); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<ScriptEnd> Script::Finish() {
  CloseInput();
  std::string_view nothing;
  while (!exited_ || out_ >= 0 || err_ >= 0) {
    if (absl::Status status = Turn(nothing); !status.ok()) return status;
  }
  ScriptEnd end;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
    if (end.exit_code == kNoSuchProgram) {
      const std::string line = FirstLine(program_);
      if (line.starts_with("#!") && line.ends_with('\r')) end.windows_line = line;
    }
  }
  return end;
}

void Script::WaitForMore() {
  pollfd end = {exited_ ? -1 : pidfd_, POLLIN, 0};
  if (moved_ < kWorthALook && !exited_) ::ppoll(&end, 1, &kMoment, nullptr);
  moved_ = 0;
}

// One look at all descriptors, and what can be done at once.
absl::Status Script::Turn(std::string_view& left) {
  WaitForMore();
  std::array<pollfd, 4> fds = {{{left.empty() ? -1 : in_, POLLOUT, 0},
                                {out_, POLLIN, 0},
                                {err_, POLLIN, 0},
                                {exited_ ? -1 : pidfd_, POLLIN, 0}}};
  const int ready = ::poll(fds.data(), fds.size(), kLookMs);
  if (ready < 0 && errno != EINTR) return Failed("cannot wait for a script", errno);
  if (listener_.stop()) return absl::CancelledError("the job is being ended");
  if (ready <= 0) return ready == 0 ? CountSilence() : absl::OkStatus();
  silent_ms_ = 0;
  if (fds[1].revents != 0) {
    if (absl::Status status = Read(out_, false); !status.ok()) return status;
  }
  if (fds[2].revents != 0) {
    if (absl::Status status = Read(err_, true); !status.ok()) return status;
  }
  if (fds[3].revents != 0) {
    // What it started may hold the other end of its stdin, and never read it.
    exited_ = true;
    CloseInput();
  } else if (fds[0].revents != 0) {
    WriteSome(left);
  }
  return absl::OkStatus();
}

absl::Status Script::Read(int& fd, bool is_error) {
  const ssize_t got = ::read(fd, buffer_.data(), buffer_.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (got <= 0) {
    Close(fd);
    return absl::OkStatus();
  }
  moved_ += static_cast<std::size_t>(got);
  const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
  return is_error ? listener_.OnErrorOutput(bytes) : listener_.OnOutput(bytes);
}

void Script::WriteSome(std::string_view& left) {
  while (!left.empty()) {
    const ssize_t wrote = ::write(in_, left.data(), left.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      if (errno != EAGAIN) CloseInput();
      return;
    }
    written_ += wrote;
    moved_ += static_cast<std::size_t>(wrote);
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

absl::Status Script::CountSilence() {
  listener_.StillWaiting();
  silent_ms_ += kLookMs;
  if (silence_ms_ == 0 || silent_ms_ < silence_ms_) return absl::OkStatus();
  return absl::DeadlineExceededError(
      exited_ ? "ended, but something that it started holds its output open and is silent"
              : "neither read nor wrote anything");
}

void Script::CloseInput() { Close(in_); }

std::vector<std::pair<std::string, std::string>> OwnEnvironment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::string OwnDirectory() {
  char* const found = ::get_current_dir_name();
  if (found == nullptr) return ".";
  std::string directory = found;
  std::free(found);
  return directory;
}

void SayOnStderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(STDERR_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace weir::stream
