// Stands in for the task process in tests of the worker: speaks its protocol on descriptor 3 and
// then does what its argument says. Usage: misbehaving_task MODE

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "runtime/base/task_frame.h"
#include "weir/v1/steps.pb.h"

extern char** environ;

namespace weir {
namespace {

constexpr int kSocket = 3;

[[noreturn]] void SleepForEver() {
  while (true) pause();
}

void SendBytes(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = write(kSocket, bytes.data() + sent, bytes.size() - sent);
    if (n <= 0) _exit(90);
    sent += static_cast<std::size_t>(n);
  }
}

void Send(const v1::TaskEvent& event) {
  std::string frame;
  if (!AppendTaskFrame(event, frame).ok()) _exit(91);
  SendBytes(frame);
}

v1::TaskCommand Receive() {
  static TaskFrameReader* const reader = new TaskFrameReader;
  v1::TaskCommand command;
  while (true) {
    const absl::StatusOr<bool> whole = reader->Next(command);
    if (!whole.ok()) _exit(92);
    if (*whole) return command;
    std::array<char, 4096> bytes;
    const ssize_t n = read(kSocket, bytes.data(), bytes.size());
    if (n <= 0) _exit(0);
    reader->Append(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
  }
}

void SendReady() {
  v1::TaskEvent event;
  event.mutable_ready();
  Send(event);
}

void SendProgress(int step, std::int64_t bytes, bool io_under_way = false) {
  v1::TaskEvent event;
  event.mutable_progress()->set_io_under_way(io_under_way);
  event.mutable_progress()->set_step(step);
  event.mutable_progress()->set_input_bytes_done(bytes);
  Send(event);
}

// Writes what the step is to make; its content names the step.
std::string WriteFileOf(const v1::TaskCommand::Run& run) {
  std::string content = "run of step " + std::to_string(run.order().step());
  const std::string& path = run.run_path().empty() ? run.order().part_path() : run.run_path();
  if (!path.empty()) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file < 0 || write(file, content.data(), content.size()) < 0) _exit(93);
    close(file);
  }
  return content;
}

// A run of one section.
void Finish(const v1::TaskCommand::Run& run) {
  const std::string content = WriteFileOf(run);
  v1::TaskEvent event;
  v1::StepResult& result = *event.mutable_result();
  result.set_step(run.order().step());
  if (!run.run_path().empty()) {
    result.mutable_run()->set_bytes(static_cast<std::int64_t>(content.size()));
  }
  Send(event);
}

void LeaveAChildBehind() {
  const pid_t child = fork();
  if (child != 0) return;
  signal(SIGTERM, SIG_IGN);
  SleepForEver();
}

// What of the daemon's world reaches a task.
void PrintSurroundings() {
  for (char** variable = environ; *variable; ++variable) std::printf("env %s\n", *variable);
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name[0] != '.' && name != std::to_string(dirfd(directory))) {
      std::printf("fd %s\n", name.c_str());
    }
  }
  closedir(directory);
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  std::printf("core %llu\n", static_cast<unsigned long long>(limit.rlim_max));
  getrlimit(RLIMIT_AS, &limit);
  std::printf("address space %llu\n", static_cast<unsigned long long>(limit.rlim_max));
  std::printf("group leader %d\n", getpgrp() == getpid());
  std::array<char, 4096> path;
  std::printf("in %s\n", getcwd(path.data(), path.size()));
  std::fflush(stdout);
}

constexpr std::chrono::hours kForEver(24);

void ReportFor(std::chrono::nanoseconds time, int step, bool io_under_way) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    SendProgress(step, 1000, io_under_way);
    usleep(20'000);
  }
}

void Compute(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

void Misbehave(const std::string& mode, const v1::TaskCommand::Run& run) {
  const int step = run.order().step();
  if (mode == "segfault" || mode == "segfault-in-its-run") {
    if (mode == "segfault-in-its-run") WriteFileOf(run);
    std::fputs("about to die\n", stderr);
    signal(SIGSEGV, SIG_DFL);  // a sanitizer may have taken it
    raise(SIGSEGV);
  } else if (mode == "killed") {
    raise(SIGKILL);
  } else if (mode == "leave") {
    _exit(0);
  } else if (mode == "exit-3") {
    _exit(3);
  } else if (mode == "sleep") {
    // As a task whose reporting still works while the user's code waits for itself.
    ReportFor(kForEver, step, /*io_under_way=*/false);
  } else if (mode == "write-for-ever") {
    ReportFor(kForEver, step, /*io_under_way=*/true);
  } else if (mode == "long-write") {
    ReportFor(std::chrono::seconds(1), step, /*io_under_way=*/true);
  } else if (mode == "compute-for-ever") {
    std::thread user([] { Compute(kForEver); });
    user.join();
  } else if (mode == "compute") {
    std::thread user([] { Compute(std::chrono::seconds(1)); });
    user.join();
  } else if (mode == "compute-in-child") {
    const pid_t child = fork();
    if (child == 0) {
      Compute(std::chrono::seconds(1));
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  } else if (mode == "stopped") {
    raise(SIGSTOP);
  } else if (mode == "slow") {
    for (int i = 1; i <= 20; ++i) {
      SendProgress(step, i);
      usleep(30'000);
    }
  } else if (mode == "stubborn") {
    signal(SIGTERM, SIG_IGN);
    SleepForEver();
  } else if (mode == "leave-group") {
    signal(SIGTERM, SIG_IGN);
    if (setpgid(0, getpgid(getppid())) != 0) _exit(95);
    SendProgress(step, 1);
    SleepForEver();
  } else if (mode == "flood") {
    const std::string line(99, 'x');
    for (int i = 0; i < 200'000; ++i) std::puts(line.c_str());
    std::puts("end of flood");
    std::fflush(stdout);
  } else if (mode == "child") {
    LeaveAChildBehind();
  } else if (mode == "child-then-crash") {
    LeaveAChildBehind();
    abort();
  } else if (mode == "garbage") {
    SendBytes(std::string("\x05\x00\x00\x00\xff\xff\xff\xff\xff", 9));
    SleepForEver();
  } else if (mode == "oversized") {
    SendBytes("\xff\xff\xff\xff");
    SleepForEver();
  } else if (mode == "truncated") {
    SendBytes(std::string("\x05\x00\x00\x00\x01", 5));
    _exit(0);
  } else if (mode == "hang-up") {
    close(kSocket);
    SleepForEver();
  } else if (mode == "wrong-step") {
    v1::TaskEvent event;
    event.mutable_result()->set_step(step + 1);
    Send(event);
    SleepForEver();
  } else if (mode == "give-up") {
    v1::TaskEvent event;
    event.mutable_failed()->set_code("USER_ERROR");
    event.mutable_failed()->set_message("cannot go on");
    Send(event);
    _exit(1);
  } else if (mode == "user-error") {
    v1::TaskEvent event;
    event.mutable_result()->set_step(step);
    event.mutable_result()->mutable_error()->set_code("USER_ERROR");
    event.mutable_result()->mutable_error()->set_message("job threw: no such city");
    Send(event);
    return;
  }
  Finish(run);
}

void Serve(const std::string& mode) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (mode == "never-ready") SleepForEver();
  if (mode == "dead-on-arrival") _exit(7);
  while (true) {
    const v1::TaskCommand command = Receive();
    switch (command.command_case()) {
      case v1::TaskCommand::kStart:
        if (mode == "surroundings") PrintSurroundings();
        SendReady();
        if (mode == "leave-when-idle") _exit(0);
        break;
      case v1::TaskCommand::kRun:
        Misbehave(mode, command.run());
        break;
      case v1::TaskCommand::kStop:
        std::puts("stopped in order");
        std::fflush(stdout);
        if (mode == "ignore-stop") SleepForEver();
        _exit(0);
      case v1::TaskCommand::COMMAND_NOT_SET:
        _exit(94);
    }
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::Serve(argc > 1 ? argv[1] : "");
  return 0;
}
