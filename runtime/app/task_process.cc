#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <ext/stdio_sync_filebuf.h>
#include <iostream>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "runtime/app/control_process.h"
#include "runtime/app/daemons.h"
#include "runtime/app/task_guardian.h"
#include "runtime/app/threads.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/task/start/module_answers.h"
#include "runtime/task/task.h"

namespace weir::app {
namespace {

// Who started this process may have died before the guardian looked who that is: then the guardian
// watches somebody else. Sockets close before a process has another parent, so this finds out.
bool StarterIsGone(int fd) {
  pollfd line = {.fd = fd, .events = POLLRDHUP, .revents = 0};
  return poll(&line, 1, 0) == 1 && (line.revents & (POLLRDHUP | POLLHUP)) != 0;
}

// User code, and what it starts, has the rights of its daemon and no more: set-user-ID programs
// (sudo, su) run without theirs. Requires: called before any thread, whose children have it too.
void GainNoPrivileges() { (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

// As in a program that has just begun; who forked this one may have it otherwise. Code of users
// may write by both.
void WriteThroughStdio() {
  static __gnu_cxx::stdio_sync_filebuf<char> in(stdin);
  static __gnu_cxx::stdio_sync_filebuf<char> out(stdout);
  static __gnu_cxx::stdio_sync_filebuf<char> err(stderr);
  std::cin.rdbuf(&in);
  std::cout.rdbuf(&out);
  std::cerr.rdbuf(&err);
  std::clog.rdbuf(&err);
}

}  // namespace

int RunForkedTask(const JobCatalog& catalog) {
  IgnoreSignalsOfWrites();
  WriteThroughStdio();
  std::string words[] = {"--fd", "3"};
  char* pointers[] = {words[0].data(), words[1].data()};
  return RunTaskProcess(2, pointers, catalog);
}

int RunTaskProcess(int num_words, char** words, const JobCatalog& catalog) {
  Threads threads;
  const env::AsioEventLoop clock;  // its Now is the process's steady clock
  const task::TaskEnvironment environment = {
      .start_thread = [&threads](std::function<void()> body) { threads.Start(std::move(body)); },
      .now = [&clock] { return clock.Now(); }};
  int fd = -1;
  if (num_words == 2 && std::string_view(words[0]) == "--fd" && absl::SimpleAtoi(words[1], &fd) &&
      fd >= 0) {
    // Without a group of its own it was not started by a daemon: the group is somebody else's.
    if (getpgrp() == getpid()) StartTaskGuardian();
    GainNoPrivileges();
    // Its Start may have come before, and what that loads need not come back.
    if (StarterIsGone(fd)) return task::kExitOrphaned;
    return task::RunTask(fd, catalog, environment);
  }
  if (num_words == 3 && std::string_view(words[0]) == "--module" &&
      std::string_view(words[1]) == "--fd" && absl::SimpleAtoi(words[2], &fd) && fd >= 0) {
    if (getpgrp() == getpid()) StartTaskGuardian();
    GainNoPrivileges();
    if (StarterIsGone(fd)) return client::kExitUsage;
    return task::AnswerForModule(fd);
  }
  if (num_words == 2 && std::string_view(words[0]) == "--spec") {
    return task::RunTaskSpec(words[1], catalog, environment, std::cout, std::cerr);
  }
  std::cerr << "usage: weir task --spec FILE   run one step of a job again, from the spec that the "
               "worker left beside its run\n"
               "       weir task --fd N        serve a worker daemon (started by it)\n"
               "       weir task --module --fd N   answer for a module (started by 'weir run')\n";
  return client::kExitUsage;
}

}  // namespace weir::app
