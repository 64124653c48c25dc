#include "runtime/worker/supervise/task_supervisor.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/worker/supervise/task_channel.h"
#include "runtime/worker/supervise/task_process.h"
#include "runtime/worker/supervise/thread_signs.h"

namespace weir::worker {
namespace {

// An idle task leaves by itself on Stop, which lets it run its exit handlers; a busy one would not
// read it in time.
constexpr absl::Duration kStopGrace = absl::Milliseconds(300);
// A task that ends closes its socket a moment before it can be collected.
constexpr absl::Duration kExitAfterCloseGrace = absl::Milliseconds(500);
constexpr int kLooksAtStart = 8;
constexpr std::size_t kOutputReadBytes = 64 << 10;

constexpr char kCrashAdvice[] = "see the task's last output (of a cluster's job: weir logs)";

}  // namespace

// What exists as long as the process does. Watches are declared, and so destroyed, around the
// descriptors that they watch.
struct TaskSupervisor::Parts {
  explicit Parts(TaskProcess p) : process(std::move(p)) {}
  TaskProcess process;
  std::unique_ptr<env::FdWatch> exit_watch;
  std::unique_ptr<env::FdWatch> output_watch;
  std::unique_ptr<TaskChannel> channel;
};

TaskSupervisor::TaskSupervisor(TaskOptions options, env::EventLoop& loop, env::FdWatcher& fds,
                               Listener listener, std::shared_ptr<TaskGroups> groups)
    : options_(std::move(options)),
      loop_(loop),
      fds_(fds),
      listener_(std::move(listener)),
      groups_(groups ? std::move(groups) : std::make_shared<TaskGroups>()),
      output_(static_cast<std::size_t>(limits::kTaskOutputTailBytes)) {}

TaskSupervisor::~TaskSupervisor() {
  groups_->erase(pid());
  Disarm();
  // What waits for a disk may do so for ever, and whoever waits for its end as well.
  if (parts_ && killed_in_vain_) parts_->process.Abandon();
}

absl::Status TaskSupervisor::Start(const std::string& directory,
                                   const v1::TaskCommand::Start& start) {
  absl::StatusOr<TaskProcess> process = TaskProcess::Start(options_, directory);
  if (!process.ok()) return process.status();
  auto parts = std::make_unique<Parts>(*std::move(process));
  absl::StatusOr<std::unique_ptr<env::FdWatch>> exit = fds_.Watch(parts->process.pidfd().get());
  if (!exit.ok()) return exit.status();
  parts->exit_watch = *std::move(exit);
  absl::StatusOr<std::unique_ptr<env::FdWatch>> output = fds_.Watch(parts->process.output().get());
  if (!output.ok()) return output.status();
  parts->output_watch = *std::move(output);
  absl::StatusOr<std::unique_ptr<env::FdWatch>> socket = fds_.Watch(parts->process.socket().get());
  if (!socket.ok()) return socket.status();
  parts->channel = std::make_unique<TaskChannel>(
      parts->process.socket().get(), *std::move(socket),
      [this](v1::TaskEvent event) { OnEvent(std::move(event)); },
      [this](const absl::Status& status) { OnChannelEnd(status); });
  v1::TaskCommand command;
  *command.mutable_start() = start;
  if (absl::Status status = parts->channel->Send(command); !status.ok()) return status;

  parts_ = std::move(parts);
  groups_->insert(pid());
  oom_kills_before_ = CountOomKills(options_.read_kernel_file);
  state_ = State::kStarting;
  WatchExit();
  WatchOutput();
  const absl::Duration timeout =
      options_.start_timeout +
      (start.archives().empty() ? absl::ZeroDuration() : limits::kUnpackMax);
  AwaitReady(timeout, kLooksAtStart);
  return absl::OkStatus();
}

// In several looks: time in which the daemon itself stood still, as its task may have, is one of
// them.
void TaskSupervisor::AwaitReady(absl::Duration timeout, int looks_left) {
  // What the task said while nobody looked is still unread.
  if (looks_left < kLooksAtStart) parts_->channel->Drain();
  if (state_ != State::kStarting || cause_) return;
  if (looks_left > 0) {
    return Arm(timeout / kLooksAtStart,
               [this, timeout, looks_left] { AwaitReady(timeout, looks_left - 1); });
  }
  Condemn(MakeJobError(
      job_error::kTaskHung,
      absl::StrCat("task process did not come up within ", absl::FormatDuration(timeout)),
      "the machine may be overloaded; see the task's last output"));
}

absl::Status TaskSupervisor::Run(v1::TaskCommand::Run run) {
  if (state_ == State::kRunning) {
    return absl::FailedPreconditionError(absl::StrCat(
        "task runs ", order_.label(), "; ", run.order().label(), " must wait for its result"));
  }
  if (state_ != State::kIdle || cause_) {
    return absl::FailedPreconditionError("task process is not ready for a step");
  }
  order_ = run.order();
  progress_ = Progress{order_.step(), 0, ""};
  output_bytes_done_ = 0;
  v1::TaskCommand command;
  *command.mutable_run() = std::move(run);
  if (absl::Status status = parts_->channel->Send(command); !status.ok()) return status;
  state_ = State::kRunning;
  io_said_ = false;
  liveness_.emplace(options_.liveness, loop_.Now());
  Arm(options_.liveness.look(), [this] { LookAtStep(); });
  return absl::OkStatus();
}

void TaskSupervisor::Stop(env::Task done) {
  if (state_ == State::kNew || state_ == State::kGone) {
    state_ = State::kGone;
    loop_.Post(std::move(done));
    return;
  }
  const bool idle = state_ == State::kIdle && !cause_;
  state_ = State::kStopping;
  stopped_ = std::move(done);
  v1::TaskCommand command;
  command.mutable_stop();
  // A Stop that cannot be sent is followed by signals that can.
  if (absl::Status status = parts_->channel->Send(command); !status.ok()) {
    LogWarning("Stop not sent to a task", {{"error", status.message()}});
  }
  Arm(idle ? kStopGrace : absl::ZeroDuration(), [this] {
    parts_->process.SignalGroup(SIGTERM);
    Arm(options_.kill_grace, [this] {
      parts_->process.SignalGroup(SIGKILL);
      Arm(options_.kill_grace, [this] { killed_in_vain_ = true; });
    });
  });
}

std::optional<TaskSupervisor::Progress> TaskSupervisor::progress() const {
  if (state_ != State::kRunning) return std::nullopt;
  return progress_;
}

int TaskSupervisor::pid() const { return parts_ ? parts_->process.pid() : -1; }

void TaskSupervisor::OnEvent(v1::TaskEvent event) {
  // What a process says after its end was decided no longer counts.
  if (cause_ || state_ == State::kStopping || state_ == State::kGone) return;
  switch (event.event_case()) {
    case v1::TaskEvent::kReady:
      return OnReady();
    case v1::TaskEvent::kProgress:
      return OnProgress(event.progress());
    case v1::TaskEvent::kResult:
      return OnResult(std::move(*event.mutable_result()));
    case v1::TaskEvent::kFailed:
      return Condemn(std::move(*event.mutable_failed()));
    case v1::TaskEvent::EVENT_NOT_SET:
      break;
  }
  Condemn(MakeJobError(job_error::kInternal, "task process sent an event of no known kind"));
}

void TaskSupervisor::OnReady() {
  if (state_ != State::kStarting) {
    return Condemn(MakeJobError(job_error::kInternal, "task process said Ready twice"));
  }
  Disarm();
  state_ = State::kIdle;
  listener_.on_ready();
}

void TaskSupervisor::OnProgress(const v1::TaskEvent::Progress& progress) {
  // A last progress may cross the order to run the next step.
  if (state_ != State::kRunning || progress.step() != progress_.step) return;
  progress_.input_bytes_done = progress.input_bytes_done();
  // The task runs user code, which may send what it likes.
  progress_.status = OneLine(progress.status(), limits::kStatusBytesMax);
  output_bytes_done_ = progress.output_bytes_done();
  io_said_ = io_said_ || progress.io_under_way();
}

void TaskSupervisor::OnResult(v1::StepResult result) {
  if (state_ != State::kRunning || result.step() != order_.step()) {
    return Condemn(
        MakeJobError(job_error::kInternal, absl::StrCat("task process sent the result of step ",
                                                        result.step(), ", which it does not run")));
  }
  Disarm();
  state_ = State::kIdle;
  listener_.on_result(std::move(result));
}

void TaskSupervisor::LookAtStep() {
  // If the daemon itself was stopped for a while, what the task said meanwhile is still unread.
  parts_->channel->Drain();
  if (state_ != State::kRunning || cause_) return;
  const TaskSign sign = {.input_bytes = progress_.input_bytes_done,
                         .output_bytes = output_bytes_done_,
                         .io_under_way = std::exchange(io_said_, false),
                         .threads = ReadThreadSigns(pid())};
  std::optional<HungTask> hung = liveness_->Look(sign, loop_.Now());
  if (!hung) return Arm(options_.liveness.look(), [this] { LookAtStep(); });
  Condemn(MakeJobError(job_error::kTaskHung, absl::StrCat(order_.label(), " ", hung->what),
                       hung->advice));
}

void TaskSupervisor::OnChannelEnd(const absl::Status& status) {
  if (state_ == State::kStopping || state_ == State::kGone || cause_) return;
  if (!status.ok()) {
    return Condemn(MakeJobError(job_error::kInternal,
                                absl::StrCat("task process sent garbage: ", status.message())));
  }
  Arm(kExitAfterCloseGrace, [this] {
    Condemn(MakeJobError(job_error::kTaskCrashed,
                         "task process closed its socket to the daemon but went on running",
                         kCrashAdvice));
  });
}

void TaskSupervisor::Condemn(v1::JobError cause) {
  cause_ = std::move(cause);
  Disarm();
  parts_->process.SignalGroup(SIGKILL);
  // One that waits for a disk dies once that answers, which may be never: nobody shall wait for it.
  Arm(options_.kill_grace, [this] {
    LogWarning("A task that was killed does not end; it may wait for a disk", {{"pid", pid()}});
    state_ = State::kLingering;
    killed_in_vain_ = true;
    listener_.on_failed(CauseOf({}));
  });
}

void TaskSupervisor::WatchExit() {
  parts_->exit_watch->OnceReadable([this] { OnExit(); });
}

void TaskSupervisor::OnExit() {
  // A watch may wake for nothing, as that of a task does which follows one that has crashed.
  if (!parts_->process.ended()) return WatchExit();
  parts_->channel->Drain();
  groups_->erase(pid());
  const ProcessEnd end = parts_->process.Reap();
  // With the group dead, nobody fills the pipe any more: this is all there is, within reason.
  constexpr int kTurnsMax = 64;
  ReadOutput(kTurnsMax);
  Disarm();
  const bool stopping = state_ == State::kStopping;
  const bool told = state_ == State::kLingering;
  v1::JobError cause = CauseOf(end);
  state_ = State::kGone;
  // This runs inside a callback of a watch that it is about to destroy.
  loop_.Post([parts = std::move(parts_)] {});
  if (stopping) {
    stopped_();
  } else if (!told) {
    listener_.on_failed(std::move(cause));
  }
}

v1::JobError TaskSupervisor::CauseOf(const ProcessEnd& end) const {
  v1::JobError cause;
  if (cause_) {
    cause = *cause_;
  } else {
    std::string when = " between steps";
    if (state_ == State::kStarting) when = " before it was ready";
    if (state_ == State::kRunning) when = absl::StrCat(" in ", order_.label());
    cause = OutOfMemory(when, end).value_or(MakeJobError(
        job_error::kTaskCrashed, absl::StrCat("task process ended", when, " with ", end.Describe()),
        kCrashAdvice));
  }
  if (cause.stderr_tail().empty()) {
    cause.set_stderr_tail(
        ValidUtf8(output_.Last(static_cast<std::size_t>(limits::kStderrTailBytes))));
  }
  return cause;
}

// The kernel says nobody why it killed; but it counts.
std::optional<v1::JobError> TaskSupervisor::OutOfMemory(const std::string& when,
                                                        const ProcessEnd& end) const {
  if (end.signal != SIGKILL) return std::nullopt;
  const OomKills kills = CountOomKills(options_.read_kernel_file);
  const bool in_group = kills.in_group > oom_kills_before_.in_group;
  if (!in_group && kills.on_machine <= oom_kills_before_.on_machine) return std::nullopt;
  const std::optional<GroupMemory> memory = ControlGroupMemory(options_.read_kernel_file);
  const std::string limit = in_group && memory
                                ? absl::StrCat("control group ", memory->group, " may hold ",
                                               memory->limit_bytes, " bytes")
                                : "the machine has no memory left";
  v1::JobError error = MakeJobError(
      job_error::kOutOfMemory,
      absl::StrCat("the kernel's OOM killer ended the task process", when, ": ", limit),
      in_group
          ? "give the worker's control group (container) more memory, or the task less to hold: "
            "more --mappers and --reducers, more workers, fewer --slots; with --memory below "
            "the limit a step puts on disk what it can, and else says what fills it"
          : "run fewer workers on the machine, or give the task less to hold: more --mappers "
            "and --reducers, fewer --slots, or a limit by --memory");
  // Others may have more.
  error.set_fault_of(v1::FAULT_OF_WORKER);
  return error;
}

void TaskSupervisor::WatchOutput() {
  parts_->output_watch->OnceReadable([this] {
    // The watch outlives the process by one turn (OnExit).
    if (!parts_) return;
    ReadOutput(1);
    // At the end of the stream there is nothing more to wait for.
    if (parts_->output_watch) WatchOutput();
  });
}

void TaskSupervisor::ReadOutput(int turns_max) {
  std::array<char, kOutputReadBytes> bytes;
  for (int turn = 0; turn < turns_max; ++turn) {
    const ssize_t n = read(parts_->process.output().get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      loop_.Post([watch = std::move(parts_->output_watch)] {});
      return;
    }
    output_.Append(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
  }
}

void TaskSupervisor::Arm(absl::Duration delay, env::Task task) {
  Disarm();
  timer_ = loop_.RunAt(loop_.Now() + delay, [this, run = std::move(task)]() mutable {
    timer_.reset();
    run();
  });
}

void TaskSupervisor::Disarm() {
  if (timer_) loop_.CancelTimer(*timer_);
  timer_.reset();
}

}  // namespace weir::worker
