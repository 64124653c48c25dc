// Real processes that do everything wrong that a task can do. Each must end in its own named error,
// in its own time, with no process and no descriptor left.

#include "runtime/worker/supervise/task_supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/time/clock.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/worker/late_exits.h"
#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

// What no machine needs, however busy it is with other tests. What a task must not outlast is said
// where it is stopped.
constexpr absl::Duration kLong = absl::Seconds(20);

using testing::HasSubstr;

class TaskSupervisorTest : public testing::Test {
 protected:
  // Brings the task up and hands it one map step.
  void StartStep(TaskOptions options) {
    Start(std::move(options));
    AwaitReady(absl::Seconds(10));
    v1::TaskCommand::Run run;
    run.mutable_order()->set_step(5);
    run.mutable_order()->set_kind(v1::STEP_KIND_MAP);
    run.mutable_order()->set_label("map 3");
    ASSERT_TRUE(supervisor_->Run(run).ok());
  }

  void Start(TaskOptions options) {
    descriptors_before_ = OpenDescriptors();
    supervisor_ = std::make_unique<TaskSupervisor>(
        std::move(options), loop_, *fds_,
        TaskSupervisor::Listener{.on_ready = [this] { ready_ = true; },
                                 .on_result = [this](v1::StepResult r) { result_ = std::move(r); },
                                 .on_failed = [this](v1::JobError e) { failed_ = std::move(e); }});
    v1::TaskCommand::Start start;
    start.set_job_id("j");
    ASSERT_TRUE(supervisor_->Start(scratch_.path(), start).ok());
    group_ = supervisor_->pid();
  }

  void AwaitReady(absl::Duration at_most) {
    ASSERT_TRUE(RunUntil(
        loop_, [&] { return ready_ || failed_; }, at_most));
    ASSERT_TRUE(ready_) << failed_->message();
  }

  void AwaitResult(absl::Duration at_most) {
    ASSERT_TRUE(RunUntil(
        loop_, [&] { return result_ || failed_; }, at_most));
    ASSERT_TRUE(result_) << failed_->message();
  }

  void Stop(absl::Duration at_most) {
    bool stopped = false;
    supervisor_->Stop([&stopped] { stopped = true; });
    ASSERT_TRUE(RunUntil(
        loop_, [&] { return stopped; }, at_most))
        << "still running";
    EXPECT_FALSE(failed_) << failed_->message();
    ExpectNothingLeft();
  }

  void ExpectNothingLeft() {
    EXPECT_TRUE(GroupIsGone(group_));
    bool settled = false;
    loop_.Post([&] { settled = true; });
    EXPECT_TRUE(RunUntil(
        loop_, [&] { return settled; }, kLong));
    EXPECT_EQ(OpenDescriptors(), descriptors_before_);
    EXPECT_FALSE(supervisor_->progress());
    EXPECT_TRUE(absl::IsFailedPrecondition(supervisor_->Run({})));
  }

  std::string Output() const { return supervisor_->OutputTailBytes(64 << 10); }

  ScratchDirectory scratch_;
  env::AsioEventLoop loop_;
  LateExits late_exits_{loop_};
  env::FdWatcher* fds_ = &loop_;
  std::unique_ptr<TaskSupervisor> supervisor_;
  std::size_t descriptors_before_ = 0;
  int group_ = 0;
  bool ready_ = false;
  std::optional<v1::StepResult> result_;
  std::optional<v1::JobError> failed_;
};

TEST_F(TaskSupervisorTest, RunsAStepAndStopsInOrder) {
  StartStep(MisbehavingTask("good"));
  AwaitResult(kLong);
  EXPECT_EQ(result_->step(), 5);
  Stop(absl::Milliseconds(250));
  EXPECT_EQ(Output(), "stopped in order\n");
}

TEST_F(TaskSupervisorTest, TimeInWhichTheDaemonStoodStillDoesNotCountForTheStart) {
  TaskOptions options = MisbehavingTask("good");
  options.start_timeout = absl::Seconds(2);
  Start(options);
  kill(group_, SIGSTOP);
  absl::SleepFor(options.start_timeout + absl::Milliseconds(200));
  kill(group_, SIGCONT);
  AwaitReady(kLong);
  Stop(absl::Seconds(1));
}

TEST_F(TaskSupervisorTest, GivesATaskNothingItDoesNotNeed) {
  const int leak = dup(0);  // without close-on-exec
  TaskOptions options = MisbehavingTask("surroundings");
  options.environment = {{"PATH", "/bin"},        {"HOME", "/root"},     {"LANG", "C"},
                         {"TZ", "UTC"},           {"SECRET_TOKEN", "x"}, {"LD_PRELOAD", ""},
                         {"AWS_ACCESS_KEY", "AK"}};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  options.address_space_bytes = std::int64_t{1} << 32;
#endif
  Start(options);
  AwaitReady(kLong);
  Stop(absl::Seconds(1));
  close(leak);
  EXPECT_THAT(Output(),
              HasSubstr("env PATH=/bin\nenv HOME=/root\nenv LANG=C\nenv TZ=UTC\nenv TMPDIR=" +
                        scratch_.path() + "\nfd 0\nfd 1\nfd 2\nfd 3\ncore 0\n"));
  EXPECT_THAT(Output(), HasSubstr("group leader 1\n"));
  EXPECT_THAT(Output(), HasSubstr("in " + scratch_.path() + "\n"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_THAT(Output(), HasSubstr("address space 4294967296\n"));
#endif
}

TEST_F(TaskSupervisorTest, ProgramThatDoesNotExist) {
  TaskOptions options = MisbehavingTask("good");
  options.program = "/nonexistent/weir";
  TaskSupervisor supervisor(options, loop_, loop_, {});
  const absl::Status status = supervisor.Start(scratch_.path(), {});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/weir"));
}

// What a task does wrong, and the error that it must end in.
struct Misbehaviour {
  std::string name;
  // Of misbehaving_task.cc.
  std::string behaviour;
  enum class During { kStart, kStep } during = During::kStep;
  std::string_view code = job_error::kTaskCrashed;
  std::string message;
  // The limit that cuts it off; none: it ends by itself.
  std::function<void(TaskOptions&)> limit = nullptr;
  std::string stderr_tail = "";

  friend std::ostream& operator<<(std::ostream& out, const Misbehaviour& wrong) {
    return out << wrong.behaviour;
  }
};

class TaskSupervisorErrorTest : public TaskSupervisorTest,
                                public testing::WithParamInterface<Misbehaviour> {};

TEST_P(TaskSupervisorErrorTest, EndsByName) {
  const Misbehaviour& wrong = GetParam();
  TaskOptions options = MisbehavingTask(wrong.behaviour);
  if (wrong.limit != nullptr) wrong.limit(options);
  if (wrong.during == Misbehaviour::During::kStart) {
    Start(options);
  } else {
    StartStep(options);
  }
  ASSERT_TRUE(RunUntil(
      loop_, [&] { return failed_.has_value(); }, kLong))
      << "still running";
  EXPECT_EQ(failed_->code(), wrong.code);
  EXPECT_THAT(failed_->message(), HasSubstr(wrong.message));
  if (!wrong.stderr_tail.empty()) {
    EXPECT_EQ(failed_->stderr_tail(), wrong.stderr_tail);
  }
  ExpectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, TaskSupervisorErrorTest,
    testing::Values(
        Misbehaviour{.name = "Segfault",
                     .behaviour = "segfault",
                     .message = "in map 3 with signal SIGSEGV (Segmentation fault)",
                     .stderr_tail = "about to die\n"},
        Misbehaviour{.name = "LeavesEarlyAsIfAllWereWell",
                     .behaviour = "leave",
                     .message = "in map 3 with exit code 0"},
        Misbehaviour{
            .name = "LeavesWithACode", .behaviour = "exit-3", .message = "with exit code 3"},
        Misbehaviour{.name = "LeavesBetweenSteps",
                     .behaviour = "leave-when-idle",
                     .during = Misbehaviour::During::kStart,
                     .message = "between steps with exit code 0"},
        Misbehaviour{.name = "SleepsButStillReports",
                     .behaviour = "sleep",
                     .code = job_error::kTaskHung,
                     .message = "map 3 neither read, wrote nor computed for 400ms after 1000 input",
                     .limit = [](TaskOptions& o) { o.liveness.silence = absl::Milliseconds(400); }},
        Misbehaviour{.name = "EndlessLoop",
                     .behaviour = "compute-for-ever",
                     .code = job_error::kTaskHung,
                     .message = "map 3 used a processor for 150ms without reading or writing",
                     .limit =
                         [](TaskOptions& o) {
                           o.liveness.silence = absl::Milliseconds(200);
                           o.liveness.loop_cpu = absl::Milliseconds(150);
                         }},
        Misbehaviour{.name = "WriteThatNeverEnds",
                     .behaviour = "write-for-ever",
                     .code = job_error::kTaskHung,
                     .message = "map 3 read and wrote nothing, and hardly computed, for 600ms",
                     .limit =
                         [](TaskOptions& o) {
                           o.liveness.silence = absl::Milliseconds(200);
                           o.liveness.stall = absl::Milliseconds(600);
                         }},
        Misbehaviour{.name = "StoppedProcess",
                     .behaviour = "stopped",
                     .code = job_error::kTaskHung,
                     .message = "map 3 neither read, wrote nor computed",
                     .limit = [](TaskOptions& o) { o.liveness.silence = absl::Milliseconds(400); }},
        Misbehaviour{.name = "LeavesAChildBehindAndCrashes",
                     .behaviour = "child-then-crash",
                     .message = "signal SIGABRT"},
        Misbehaviour{.name = "NeverSaysReady",
                     .behaviour = "never-ready",
                     .during = Misbehaviour::During::kStart,
                     .code = job_error::kTaskHung,
                     .message = "did not come up within 300ms",
                     .limit = [](TaskOptions& o) { o.start_timeout = absl::Milliseconds(300); }},
        Misbehaviour{.name = "DeadOnArrival",
                     .behaviour = "dead-on-arrival",
                     .during = Misbehaviour::During::kStart,
                     .message = "before it was ready with exit code 7"},
        Misbehaviour{.name = "SendsGarbage",
                     .behaviour = "garbage",
                     .code = job_error::kInternal,
                     .message = "task process sent garbage"},
        Misbehaviour{.name = "SendsAnOversizedFrame",
                     .behaviour = "oversized",
                     .code = job_error::kInternal,
                     .message = "claims 4294967295 bytes"},
        Misbehaviour{.name = "SendsHalfAFrame",
                     .behaviour = "truncated",
                     .message = "in map 3 with exit code 0"},
        Misbehaviour{.name = "ClosesItsSocketButLivesOn",
                     .behaviour = "hang-up",
                     .message = "closed its socket"},
        Misbehaviour{.name = "AnswersWhatItWasNotAsked",
                     .behaviour = "wrong-step",
                     .code = job_error::kInternal,
                     .message = "result of step 6"},
        Misbehaviour{.name = "ItsOwnWordCountsMoreThanItsExitCode",
                     .behaviour = "give-up",
                     .code = job_error::kUserError,
                     .message = "cannot go on"}),
    [](const testing::TestParamInfo<Misbehaviour>& row) { return row.param.name; });

// A kernel that has ended one more process each time it is asked.
struct KillingKernel {
  std::string counter_file;
  int kills = 0;
  std::optional<std::string> operator()(const std::string& path) {
    if (path == "/proc/self/cgroup") return "0::/box\n";
    if (path == "/sys/fs/cgroup/box/memory.max") return "67108864\n";
    if (path == counter_file) return "oom_kill " + std::to_string(++kills) + "\n";
    return std::nullopt;
  }
};

class TaskOutOfMemoryTest : public TaskSupervisorTest {
 protected:
  v1::JobError ErrorOf(const std::string& behaviour, const std::string& counter_file) {
    TaskOptions options = MisbehavingTask(behaviour);
    options.read_kernel_file = KillingKernel{counter_file};
    StartStep(options);
    EXPECT_TRUE(RunUntil(
        loop_, [&] { return failed_.has_value(); }, kLong))
        << "still running";
    return failed_.value_or(v1::JobError());
  }
};

TEST_F(TaskOutOfMemoryTest, OfItsControlGroup) {
  const v1::JobError error = ErrorOf("killed", "/sys/fs/cgroup/box/memory.events");
  EXPECT_EQ(error.code(), job_error::kOutOfMemory);
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER);
  EXPECT_THAT(error.message(), HasSubstr("OOM killer ended the task process in map 3"));
  EXPECT_THAT(error.message(), HasSubstr("/sys/fs/cgroup/box may hold 67108864 bytes"));
  EXPECT_THAT(error.advice(), HasSubstr("--memory"));
}

TEST_F(TaskOutOfMemoryTest, OfTheMachine) {
  const v1::JobError error = ErrorOf("killed", "/proc/vmstat");
  EXPECT_EQ(error.code(), job_error::kOutOfMemory);
  EXPECT_THAT(error.message(), HasSubstr("the machine has no memory left"));
}

TEST_F(TaskOutOfMemoryTest, AKillThatTheKernelDoesNotCountIsACrash) {
  const v1::JobError error = ErrorOf("killed", "/none");
  EXPECT_EQ(error.code(), job_error::kTaskCrashed);
  EXPECT_THAT(error.message(), HasSubstr("SIGKILL"));
}

TEST_F(TaskOutOfMemoryTest, ACrashWhileOthersAreKilledIsACrash) {
  const v1::JobError error = ErrorOf("exit-3", "/sys/fs/cgroup/box/memory.events");
  EXPECT_EQ(error.code(), job_error::kTaskCrashed);
}

TEST_F(TaskSupervisorTest, SlowButSteadyIsLeftAlone) {
  TaskOptions options = MisbehavingTask("slow");
  options.liveness.silence = absl::Milliseconds(400);
  StartStep(options);
  AwaitResult(absl::Seconds(5));
  Stop(absl::Seconds(1));
}

// Each takes a second without a byte, five times as long as a task may be silent.
class TaskThatLivesTest : public TaskSupervisorTest,
                          public testing::WithParamInterface<std::string> {};

TEST_P(TaskThatLivesTest, IsLeftAlone) {
  TaskOptions options = MisbehavingTask(GetParam());
  options.liveness.silence = absl::Milliseconds(200);
  StartStep(options);
  AwaitResult(absl::Seconds(10));
  Stop(absl::Seconds(1));
}

INSTANTIATE_TEST_SUITE_P(Tasks, TaskThatLivesTest,
                         testing::Values("compute", "compute-in-child", "long-write"),
                         [](const testing::TestParamInfo<std::string>& row) {
                           std::string name = row.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(TaskSupervisorTest, IgnoresStop) {
  Start(MisbehavingTask("ignore-stop"));
  AwaitReady(kLong);
  Stop(absl::Seconds(1));
}

TEST_F(TaskSupervisorTest, IgnoresSigterm) {
  TaskOptions options = MisbehavingTask("stubborn");
  options.kill_grace = absl::Milliseconds(300);
  StartStep(options);
  // Give it time to set its handler.
  RunUntil(
      loop_, [] { return false; }, absl::Milliseconds(100));
  const MonoTime before = loop_.Now();
  Stop(absl::Seconds(1));
  EXPECT_GE(loop_.Now() - before, absl::Milliseconds(300)) << "SIGTERM was enough: nothing tested";
}

TEST_F(TaskSupervisorTest, LeavesItsGroup) {
  TaskOptions options = MisbehavingTask("leave-group");
  options.kill_grace = absl::Milliseconds(300);
  StartStep(options);
  const auto has_left = [&] {
    const auto progress = supervisor_->progress();
    return progress && progress->input_bytes_done == 1;
  };
  ASSERT_TRUE(RunUntil(loop_, has_left, absl::Seconds(3)));
  EXPECT_NE(getpgid(group_), group_);
  Stop(absl::Seconds(2));
}

TEST_F(TaskSupervisorTest, FloodsItsOutput) {
  StartStep(MisbehavingTask("flood"));
  AwaitResult(absl::Seconds(10));
  Stop(absl::Seconds(1));
  EXPECT_LE(Output().size(), 64u << 10);
  EXPECT_THAT(Output(), HasSubstr("xxx\nend of flood\nstopped in order\n"));
}

TEST_F(TaskSupervisorTest, LeavesAChildBehind) {
  StartStep(MisbehavingTask("child"));
  AwaitResult(kLong);
  EXPECT_EQ(ProcessesOfGroup(group_).size(), 2u);
  Stop(absl::Seconds(1));
}

class TaskThatDoesNotDieTest : public TaskSupervisorTest {
 protected:
  void AwaitFailure() {
    fds_ = &late_exits_;
    TaskOptions options = MisbehavingTask("sleep");
    options.liveness.silence = absl::Milliseconds(200);
    options.kill_grace = absl::Milliseconds(200);
    StartStep(options);
    ASSERT_TRUE(RunUntil(
        loop_, [&] { return failed_.has_value(); }, kLong))
        << "who ordered the step waits for ever";
    EXPECT_EQ(failed_->code(), job_error::kTaskHung);
    failed_.reset();
    EXPECT_FALSE(supervisor_->ended());
    EXPECT_FALSE(supervisor_->progress());
    EXPECT_TRUE(absl::IsFailedPrecondition(supervisor_->Run({})));
  }
};

TEST_F(TaskThatDoesNotDieTest, IsToldOfOnce) {
  AwaitFailure();
  late_exits_.Come();
  ASSERT_TRUE(RunUntil(
      loop_, [&] { return supervisor_->ended(); }, kLong));
  EXPECT_FALSE(failed_) << "told twice";
  ExpectNothingLeft();
}

TEST_F(TaskThatDoesNotDieTest, IsStoppedOnceItIsGone) {
  AwaitFailure();
  bool stopped = false;
  supervisor_->Stop([&stopped] { stopped = true; });
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return stopped; }, absl::Milliseconds(500)));
  late_exits_.Come();
  ASSERT_TRUE(RunUntil(
      loop_, [&] { return stopped; }, kLong));
  EXPECT_FALSE(failed_) << "told twice";
  ExpectNothingLeft();
}

TEST_F(TaskThatDoesNotDieTest, IsNotAwaitedWhereItsWorkerEnds) {
  AwaitFailure();
  const auto pid = static_cast<id_t>(supervisor_->pid());
  supervisor_.reset();
  siginfo_t info{};
  EXPECT_EQ(waitid(P_PID, pid, &info, WEXITED), 0) << "its end was awaited";
}

TEST_F(TaskThatDoesNotDieTest, IsNotAwaitedWhereItWasStoppedInVain) {
  fds_ = &late_exits_;
  TaskOptions options = MisbehavingTask("stubborn");
  options.kill_grace = absl::Milliseconds(100);
  StartStep(options);
  bool stopped = false;
  supervisor_->Stop([&stopped] { stopped = true; });
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return stopped; }, absl::Milliseconds(600)));
  const auto pid = static_cast<id_t>(supervisor_->pid());
  supervisor_.reset();
  siginfo_t info{};
  EXPECT_EQ(waitid(P_PID, pid, &info, WEXITED), 0) << "its end was awaited";
}

TEST_F(TaskSupervisorTest, OneStepAtATime) {
  StartStep(MisbehavingTask("slow"));
  EXPECT_THAT(std::string(supervisor_->Run({}).message()), HasSubstr("task runs map 3"));
  Stop(absl::Seconds(1));
  EXPECT_FALSE(result_);
}

TEST_F(TaskSupervisorTest, DestructionKillsWhatStillRuns) {
  StartStep(MisbehavingTask("stubborn"));
  supervisor_.reset();
  EXPECT_TRUE(GroupIsGone(group_));
  EXPECT_EQ(OpenDescriptors(), descriptors_before_);
}

}  // namespace
}  // namespace weir::worker
