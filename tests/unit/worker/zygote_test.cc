// Real processes, forked by a zygote: each begins as one that was executed.

#include "runtime/worker/supervise/zygote.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "runtime/worker/supervise/task_process.h"
#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::string ReadAll(int fd) {
  std::string all;
  char bytes[4096];
  ssize_t got = 0;
  while ((got = ::read(fd, bytes, sizeof bytes)) > 0) all.append(bytes, static_cast<size_t>(got));
  return all;
}

std::string FileOf(pid_t pid, const std::string& name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/", name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> WordsOf(const std::string& text) {
  return absl::StrSplit(text, '\0', absl::SkipEmpty());
}

// As main got them, in one piece.
class Words {
 public:
  explicit Words(std::vector<std::string> words) {
    for (const std::string& word : words) text_ += word + '\0';
    for (std::size_t at = 0; at < text_.size(); at += words[pointers_.size() - 1].size() + 1) {
      pointers_.push_back(text_.data() + at);
    }
    pointers_.push_back(nullptr);
  }
  char** pointers() { return pointers_.data(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<char*> pointers_;
};

// One forked process, with the other ends of its lines.
struct Forked {
  pid_t pid = -1;
  Fd socket;
  Fd output;

  int Await() const {
    int status = -1;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid) << "it is a child of this process";
    return status;
  }
};

class ZygoteTest : public testing::Test {
 protected:
  void Start(std::function<int()> task) {
    auto zygote = Zygote::Start(ProcessTitle(), std::move(task));
    ASSERT_TRUE(zygote.ok()) << zygote.status();
    zygote_ = *std::move(zygote);
  }

  Forked Fork(const std::vector<std::string>& environment = {}) {
    int sockets[2];
    int pipes[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    EXPECT_EQ(::pipe2(pipes, O_CLOEXEC), 0);
    const Fd its_socket(sockets[1]);
    const Fd its_output(pipes[1]);
    const auto pid = zygote_->Fork(
        {its_socket.get(), its_output.get(), scratch_.path(), {"weir", "task"}, environment});
    return {pid.value_or(-1), Fd(sockets[0]), Fd(pipes[0])};
  }

  // The only child of this process so far.
  pid_t ZygotePid() const {
    const std::string children = FileOf(::getpid(), absl::StrCat("task/", ::getpid(), "/children"));
    return std::atoi(children.c_str());
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Zygote> zygote_;
};

TEST_F(ZygoteTest, ATaskBeginsAsOneThatWasExecuted) {
  ::signal(SIGUSR1, SIG_IGN);
  Start([] {
    std::vector<std::string> lines = {std::filesystem::current_path()};
    lines.push_back(absl::StrCat("group ", ::getpgrp() == ::getpid()));
    lines.push_back(absl::StrCat("ignores ", ::signal(SIGUSR1, SIG_DFL) == SIG_IGN));
    for (char** one = environ; *one != nullptr; ++one) lines.emplace_back(*one);
    for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
      const std::string name = fd.path().filename();
      // Listing takes one more.
      if (std::atoi(name.c_str()) <= 3) lines.push_back(absl::StrCat("fd ", name));
      if (std::atoi(name.c_str()) > 4) lines.push_back(absl::StrCat("fd left open: ", name));
    }
    const std::string told = absl::StrJoin(lines, "\n");
    if (::write(3, told.data(), told.size()) < 0) return 1;
    ::close(3);
    return ::write(1, "out", 3) == 3 && ::write(2, "err", 3) == 3 ? 7 : 1;
  });
  ::signal(SIGUSR1, SIG_DFL);
  const Forked forked = Fork({"PATH=/bin", "TMPDIR=/somewhere"});
  ASSERT_GT(forked.pid, 0);
  EXPECT_EQ(ReadAll(forked.output.get()), "outerr");
  const std::vector<std::string> told = absl::StrSplit(ReadAll(forked.socket.get()), '\n');
  EXPECT_THAT(told, UnorderedElementsAre(std::filesystem::canonical(scratch_.path()).string(),
                                         "group 1", "ignores 0", "PATH=/bin", "TMPDIR=/somewhere",
                                         "fd 0", "fd 1", "fd 2", "fd 3"));
  const int status = forked.Await();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(ZygoteTest, TasksAreApart) {
  Start([] {
    static int calls = 0;
    return ++calls;
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(WEXITSTATUS(Fork().Await()), 1);
}

TEST_F(ZygoteTest, ATaskThatCrashesEndsAloneAndItsParentSeesHow) {
  Start([]() -> int { std::abort(); });
  for (int i = 0; i < 2; ++i) {
    const int status = Fork().Await();
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGABRT);
  }
}

TEST_F(ZygoteTest, EndsWithItsOwnerAndTasksLiveOn) {
  Start([] {
    char byte = 0;
    return ::read(3, &byte, 1) == 1 ? 5 : 1;
  });
  const pid_t zygote = ZygotePid();
  const Forked forked = Fork();
  ASSERT_GT(forked.pid, 0);
  zygote_.reset();
  EXPECT_EQ(::kill(zygote, 0), -1) << "ended and collected";
  ASSERT_EQ(::write(forked.socket.get(), "x", 1), 1);
  EXPECT_EQ(WEXITSTATUS(forked.Await()), 5);
}

TEST_F(ZygoteTest, EndsWhenItsStarterIsKilled) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "ThreadSanitizer has a thread of its own in a child, and no zygote is forked from "
         "a process of several";
#endif
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd read_end(ends[0]);
  const pid_t starter = ::fork();
  if (starter == 0) {
    const auto zygote = Zygote::Start(ProcessTitle(), [] { return 0; });
    const pid_t pid = ZygotePid();
    [[maybe_unused]] const ssize_t told = ::write(ends[1], &pid, sizeof pid);
    ::pause();
    ::_exit(0);
  }
  ::close(ends[1]);
  pid_t zygote = -1;
  const ssize_t told = ::read(read_end.get(), &zygote, sizeof zygote);
  // Whatever it has told: other tests take each child of this process for theirs.
  ::kill(starter, SIGKILL);
  ASSERT_EQ(::waitpid(starter, nullptr, 0), starter);
  ASSERT_EQ(told, static_cast<ssize_t>(sizeof zygote));
  ASSERT_GT(zygote, 0);
  // Held by both; the zygote's copies are closed.
  char byte = 0;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 0);
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    // Whoever collects orphans here may take its time.
    const std::string stat = FileOf(zygote, "stat");
    gone = stat.empty() || stat.find(") Z ") != std::string::npos;
    if (!gone) ::usleep(10'000);
  }
  EXPECT_TRUE(gone);
}

TEST_F(ZygoteTest, OneThatWasKilledIsNotAskedAgainAndTasksAreExecuted) {
  Start([] { return 0; });
  ::kill(ZygotePid(), SIGKILL);
  EXPECT_EQ(Fork().pid, -1);
  EXPECT_EQ(Fork().pid, -1);
  TaskOptions options = MisbehavingTask("sleep");
  options.zygote = zygote_.get();
  auto process = TaskProcess::Start(options, scratch_.path());
  ASSERT_TRUE(process.ok()) << process.status();
  // The kernel lets go of who spawned before it shows the words of who was spawned.
  std::string words;
  for (int i = 0; i < 500 && words.empty(); ++i) {
    words = FileOf(process->pid(), "cmdline");
    if (words.empty()) ::usleep(10'000);
  }
  EXPECT_THAT(words, HasSubstr("misbehaving_task"));
}

TEST_F(ZygoteTest, TaskProcessesAreForkedWhereThereIsOne) {
  Start([] {
    char byte = 0;
    return ::read(3, &byte, 1) == 1 ? 9 : 1;
  });
  TaskOptions options = MisbehavingTask("sleep");
  options.zygote = zygote_.get();
  auto process = TaskProcess::Start(options, scratch_.path());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(::getpgid(process->pid()), process->pid());
  ASSERT_EQ(::write(process->socket().get(), "x", 1), 1);
  EXPECT_EQ(process->Reap().exit_code, 9);
}

TEST_F(ZygoteTest, WhatCannotBeForkedIsSaidToBeNoTask) {
  Start([] { return 0; });
  EXPECT_FALSE(zygote_->Fork({0, 1, scratch_.path() + "/missing", {"weir"}, {}}).has_value());
  const std::string long_value(1 << 20, 'x');
  EXPECT_FALSE(
      zygote_->Fork({0, 1, scratch_.path(), {"weir"}, {"PATH=" + long_value}}).has_value());
  EXPECT_EQ(WEXITSTATUS(Fork().Await()), 0) << "it goes on";
}

TEST_F(ZygoteTest, IsNotForkedFromSeveralThreads) {
  absl::Notification seen;
  std::thread other([&] { seen.WaitForNotification(); });
  const auto zygote = Zygote::Start(ProcessTitle(), [] { return 0; });
  seen.Notify();
  other.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(zygote.status())) << zygote.status();
}

TEST(ProcessTitleTest, NothingOfTheOldOneStays) {
  Words words({"weir", "run", "wordcount", "secret"});
  Words environment({"TOKEN=secret", "PATH=/bin"});
  const std::size_t room = words.text().size();
  ProcessTitle(words.pointers(), environment.pointers()).Write({"weir", "task"}, {"TMPDIR=/x"});
  EXPECT_THAT(WordsOf(words.text()), ElementsAre("weir", "task"));
  EXPECT_THAT(WordsOf(environment.text()), ElementsAre("TMPDIR=/x"));
  EXPECT_EQ(words.text().size(), room);
}

TEST(ProcessTitleTest, WhatDoesNotFitIsLeftOut) {
  Words words({"weir", "run"});
  Words environment({"A=1"});
  ProcessTitle(words.pointers(), environment.pointers()).Write({"weir", "a long word"}, {"LONG=1"});
  EXPECT_THAT(WordsOf(words.text()), ElementsAre("weir"));
  EXPECT_THAT(WordsOf(environment.text()), ElementsAre());
}

}  // namespace
}  // namespace weir::worker
