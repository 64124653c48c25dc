// The task process as its daemon sees it: frames over a socketpair.

#include "runtime/task/task.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/base/fd.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/task_frame.h"
#include "tests/unit/format/scratch_file.h"
#include "tests/unit/task/letters_job.h"
#include "tests/unit/task/task_threads.h"

namespace weir::task {
namespace {

using testing::HasSubstr;

constexpr int kPatienceMs = 20'000;

class TaskTest : public testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    daemon_ = Fd(fds[0]);
    task_ = Fd(fds[1]);
  }
  void TearDown() override {
    daemon_.Reset();
    if (thread_.joinable()) thread_.join();
  }

  // Runs the task in a thread of this process.
  void Serve(std::size_t threads_max = 1000) {
    thread_ = std::thread([this, threads_max] {
      TestEnvironment environment(threads_max);
      exit_code_ = RunTask(task_.get(), LettersCatalog(), environment.environment());
      task_.Reset();
    });
  }
  int Join() {
    thread_.join();
    return exit_code_;
  }

  void SendBytes(const std::string& bytes) {
    ASSERT_EQ(::send(daemon_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void Send(const v1::TaskCommand& command) {
    std::string frame;
    ASSERT_TRUE(AppendTaskFrame(command, frame).ok());
    SendBytes(frame);
  }
  void SendStart(const std::string& job = "letters") {
    v1::TaskCommand command;
    command.mutable_start()->set_job(job);
    command.mutable_start()->set_slots(2);
    Send(command);
  }
  void SendStartOfModule(const std::string& path) {
    v1::TaskCommand command;
    command.mutable_start()->set_job("letters");
    command.mutable_start()->set_slots(2);
    command.mutable_start()->set_module_path(path);
    Send(command);
  }
  void SendRun(const v1::TaskCommand::Run& run) {
    v1::TaskCommand command;
    *command.mutable_run() = run;
    Send(command);
  }
  void SendStop() {
    v1::TaskCommand command;
    command.mutable_stop();
    Send(command);
  }
  v1::TaskCommand::Run RunOf(int step, const std::string& text) {
    const std::string name = absl::StrCat("in", step);
    format::WriteAll(folder_.File(name), text);
    return MapRun(step, folder_.File(name), static_cast<std::int64_t>(text.size()),
                  folder_.File(absl::StrCat(step, ".1.run")));
  }

  // Nothing at the end of the stream or when patience ends.
  std::optional<v1::TaskEvent> Receive() {
    v1::TaskEvent event;
    while (true) {
      const absl::StatusOr<bool> whole = reader_.Next(event);
      if (!whole.ok()) return std::nullopt;
      if (*whole) return event;
      pollfd fd{daemon_.get(), POLLIN, 0};
      if (::poll(&fd, 1, kPatienceMs) != 1) return std::nullopt;
      char bytes[4096];
      const ssize_t got = ::recv(daemon_.get(), bytes, sizeof bytes, 0);
      if (got <= 0) return std::nullopt;
      reader_.Append({bytes, static_cast<std::size_t>(got)});
    }
  }
  std::optional<v1::StepResult> ReceiveResult() {
    while (true) {
      const std::optional<v1::TaskEvent> event = Receive();
      if (!event) return std::nullopt;
      if (event->has_result()) return event->result();
    }
  }

  format::ScratchFolder folder_;
  Fd daemon_;
  Fd task_;
  TaskFrameReader reader_;
  std::thread thread_;
  int exit_code_ = -1;
};

TEST_F(TaskTest, RunsStepsInOrderAndStops) {
  Serve();
  SendStart();
  ASSERT_TRUE(Receive()->has_ready());
  for (int step = 0; step < 3; ++step) SendRun(RunOf(step, "hello"));
  for (int step = 0; step < 3; ++step) {
    const auto result = ReceiveResult();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->step(), step);
    EXPECT_FALSE(result->has_error()) << DescribeJobError(result->error());
  }
  SendStop();
  EXPECT_EQ(Join(), 0);
}

TEST_F(TaskTest, GoesOnAfterAFailedStep) {
  Serve();
  SendStart();
  SendRun(RunOf(0, "throw"));
  EXPECT_EQ(ReceiveResult()->error().code(), job_error::kUserError);
  SendRun(RunOf(1, "hello"));
  EXPECT_FALSE(ReceiveResult()->has_error());
}

TEST_F(TaskTest, ReportsProgressWhileAStepRunsAndCancelsItOnStop) {
  Serve();
  SendStart();
  ASSERT_TRUE(Receive()->has_ready());
  SendRun(RunOf(5, "wait"));
  const auto event = Receive();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->progress().step(), 5);
  SendStop();
  EXPECT_EQ(ReceiveResult()->error().code(), job_error::kCancelled);
  EXPECT_EQ(Join(), 0);
}

TEST_F(TaskTest, AnUnknownJobIsNamed) {
  Serve();
  SendStart("lettres");
  const auto event = Receive();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->failed().code(), job_error::kInvalidJob);
  EXPECT_THAT(event->failed().message(), HasSubstr("lettres"));
  EXPECT_EQ(Join(), 1);
}

TEST_F(TaskTest, AModuleThatIsGoneFromItsWorkerIsItsWorkersFault) {
  Serve();
  SendStartOfModule(folder_.File("lost.so"));
  const std::optional<v1::TaskEvent> event = Receive();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->failed().fault_of(), v1::FAULT_OF_WORKER) << DescribeJobError(event->failed());
  EXPECT_EQ(event->failed().code(), job_error::kInternal) << "no input is missing";
  EXPECT_THAT(event->failed().message(), HasSubstr("lost.so"));
  EXPECT_EQ(Join(), 1);
}

// A job of two slots needs two threads beside the main one.
class TaskOfFewThreadsTest : public TaskTest, public testing::WithParamInterface<int> {};

TEST_P(TaskOfFewThreadsTest, ThatIsItsWorkersFault) {
  Serve(static_cast<std::size_t>(GetParam()));
  SendStart();
  const std::optional<v1::TaskEvent> event = Receive();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->failed().fault_of(), v1::FAULT_OF_WORKER) << DescribeJobError(event->failed());
  EXPECT_THAT(event->failed().message(), HasSubstr("threads of 2 slots"));
  EXPECT_EQ(Join(), 1);
}

INSTANTIATE_TEST_SUITE_P(Task, TaskOfFewThreadsTest, testing::Values(0, 1));

TEST_F(TaskTest, AModuleThatIsNoneIsTheJobs) {
  Serve();
  format::WriteAll(folder_.File("none.so"), "text");
  SendStartOfModule(folder_.File("none.so"));
  const std::optional<v1::TaskEvent> event = Receive();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->failed().fault_of(), v1::FAULT_OF_UNSPECIFIED);
  EXPECT_EQ(event->failed().code(), job_error::kModuleRefused);
  EXPECT_EQ(Join(), 1);
}

// As one does whose libraries are missing, or of another version, on this machine.
TEST_F(TaskTest, AModuleThatTheLoaderRefusesIsItsWorkersFault) {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  std::string head(64, '\0');
  ASSERT_TRUE(program.read(head.data(), static_cast<std::streamsize>(head.size())));
  head[16] = 3;  // e_type: a shared library for this machine, with nothing behind its head
  head[17] = 0;
  format::WriteAll(folder_.File("half.so"), head);
  Serve();
  SendStartOfModule(folder_.File("half.so"));
  const std::optional<v1::TaskEvent> event = Receive();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->failed().fault_of(), v1::FAULT_OF_WORKER);
  EXPECT_EQ(event->failed().code(), job_error::kModuleRefused);
  EXPECT_THAT(event->failed().message(), HasSubstr("cannot be loaded"));
  EXPECT_EQ(Join(), 1);
}

TEST_F(TaskTest, GarbageEndsTheTaskWithAReason) {
  Serve();
  SendBytes("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(Receive()->failed().message(), HasSubstr("frame"));
  EXPECT_EQ(Join(), 1);
}

TEST_F(TaskTest, AStepBeforeTheStartIsRefused) {
  Serve();
  SendRun(RunOf(0, "hello"));
  EXPECT_THAT(Receive()->failed().message(), HasSubstr("before"));
  EXPECT_EQ(Join(), 1);
}

TEST_F(TaskTest, EndsWithItsDaemonWhenIdle) {
  Serve();
  SendStart();
  ASSERT_TRUE(Receive()->has_ready());
  daemon_.Reset();
  EXPECT_EQ(Join(), 0);
}

TEST_F(TaskTest, ExitsAtOnceWhenItsDaemonDiesDuringAStepThatNeverReturns) {
  const pid_t child = ::fork();
  if (child == 0) {
    daemon_.Reset();
    TestEnvironment environment;
    ::_exit(RunTask(task_.get(), LettersCatalog(), environment.environment()));
  }
  task_.Reset();
  SendStart();
  ASSERT_TRUE(Receive()->has_ready());
  SendRun(RunOf(0, "hang"));
  ASSERT_TRUE(Receive()->has_progress());
  daemon_.Reset();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kExitOrphaned);
}

class TaskSpecTest : public testing::Test {
 protected:
  std::string WriteSpec(const std::string& text) {
    format::WriteAll(folder_.File("in"), text);
    v1::TaskSpec spec;
    spec.mutable_start()->set_job("letters");
    *spec.mutable_run() = MapRun(4, folder_.File("in"), static_cast<std::int64_t>(text.size()),
                                 folder_.File("4.1.run"));
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(spec, &json).ok());
    format::WriteAll(folder_.File("4.1.spec.json"), json);
    return folder_.File("4.1.spec.json");
  }
  int Rerun(const std::string& path) {
    TestEnvironment environment;
    return RunTaskSpec(path, LettersCatalog(), environment.environment(), out_, err_);
  }

  format::ScratchFolder folder_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(TaskSpecTest, RunsAStepAgainBesideItsSpec) {
  const std::string spec = WriteSpec("hello");
  ASSERT_EQ(Rerun(spec), 0) << err_.str();
  ASSERT_EQ(Rerun(spec), 0) << "a second time: " << err_.str();

  EXPECT_THAT(out_.str(), HasSubstr("\"runId\": \"4.1\""));
  EXPECT_EQ(::access(folder_.File("4.1.rerun").c_str(), R_OK), 0);
  EXPECT_EQ(::access(folder_.File("4.1.run").c_str(), F_OK), -1);
}

TEST_F(TaskSpecTest, SaysWhyTheStepFails) {
  EXPECT_EQ(Rerun(WriteSpec("bad record")), 1);
  EXPECT_THAT(err_.str(), HasSubstr("/in/a.txt at byte 42"));
}

TEST_F(TaskSpecTest, NamesAFileThatIsNoSpec) {
  EXPECT_EQ(Rerun(folder_.File("missing")), 2);
  EXPECT_THAT(err_.str(), HasSubstr("missing"));
  format::WriteAll(folder_.File("text"), "{ \"run\": 7 }");
  EXPECT_EQ(Rerun(folder_.File("text")), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is no task spec"));
}

}  // namespace
}  // namespace weir::task
