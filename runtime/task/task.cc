#include "runtime/task/task.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/task_frame.h"
#include "runtime/task/spill_files.h"
#include "runtime/task/start/module_library.h"
#include "runtime/task/start/shipped_files.h"
#include "runtime/task/start/worker_fault.h"
#include "runtime/task/step_runner.h"
#include "runtime/task/step_thread.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {
namespace {

// What one look at the socket or one command leads to.
enum class Next { kGoOn, kEnd, kFail };

class Task {
 public:
  Task(int fd, const JobCatalog& catalog, const TaskEnvironment& environment)
      : fd_(fd), catalog_(catalog), environment_(environment) {}

  int Serve() {
    next_progress_ = environment_.now() + limits::kTaskProgress;
    // Asked before each wait: a stop that finds no step running ends the process at once.
    while (!stopping_ || Busy()) {
      const absl::StatusOr<bool> readable = Wait();
      if (!readable.ok()) return Fail(readable.status());
      if (!SendResults() || !SendProgress()) return EndOfStream();
      if (!*readable) continue;
      switch (Receive()) {
        case Next::kGoOn:
          break;
        case Next::kEnd:
          return EndOfStream();
        case Next::kFail:
          return 1;
      }
    }
    return 0;
  }

 private:
  bool Busy() const { return steps_ != nullptr && steps_->busy(); }

  // True when the daemon has something to say.
  absl::StatusOr<bool> Wait() {
    pollfd fds[2] = {{fd_, POLLIN, 0}, {steps_ ? steps_->result_fd() : -1, POLLIN, 0}};
    const absl::Duration left = next_progress_ - environment_.now();
    const auto timeout_ms = std::clamp<std::int64_t>(
        absl::ToInt64Milliseconds(left), 1, absl::ToInt64Milliseconds(limits::kTaskProgress));
    if (::poll(fds, 2, static_cast<int>(timeout_ms)) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "cannot wait for the daemon");
    }
    return fds[0].revents != 0;
  }

  bool SendResults() {
    if (steps_ == nullptr) return true;
    for (v1::StepResult& result : steps_->TakeResults()) {
      v1::TaskEvent event;
      *event.mutable_result() = std::move(result);
      if (!Send(event)) return false;
    }
    return true;
  }

  bool SendProgress() {
    if (environment_.now() < next_progress_) return true;
    next_progress_ = environment_.now() + limits::kTaskProgress;
    if (steps_ == nullptr) return true;
    std::optional<v1::TaskEvent::Progress> progress = steps_->progress();
    if (!progress) return true;
    v1::TaskEvent event;
    *event.mutable_progress() = *std::move(progress);
    return Send(event);
  }

  Next Receive() {
    char bytes[64 << 10];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) return Next::kGoOn;
    if (got <= 0) return Next::kEnd;
    reader_.Append({bytes, static_cast<std::size_t>(got)});
    while (true) {
      v1::TaskCommand command;
      const absl::StatusOr<bool> whole = reader_.Next(command);
      if (!whole.ok()) {
        Fail(whole.status());
        return Next::kFail;
      }
      if (!*whole) return Next::kGoOn;
      const absl::Status handled = Handle(std::move(command));
      if (!handled.ok()) {
        Fail(handled);
        return Next::kFail;
      }
    }
  }

  absl::Status Handle(v1::TaskCommand command) {
    switch (command.command_case()) {
      case v1::TaskCommand::kStart:
        return Start(command.start());
      case v1::TaskCommand::kRun:
        if (steps_ == nullptr) return absl::FailedPreconditionError("step before the task's start");
        if (!stopping_) steps_->Add(std::move(*command.mutable_run()));
        return absl::OkStatus();
      case v1::TaskCommand::kStop:
        stopping_ = true;
        if (steps_ != nullptr) steps_->Cancel();
        return absl::OkStatus();
      case v1::TaskCommand::COMMAND_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("the daemon sent a command that this task does not know");
  }

  absl::Status Start(const v1::TaskCommand::Start& start) {
    if (steps_ != nullptr) return absl::FailedPreconditionError("the task was started already");
    RemoveSpills(start.work_dir());
    if (absl::Status placed = PlaceShippedFiles(start); !placed.ok()) return placed;
    const absl::StatusOr<const JobCatalog*> jobs = JobsOf(start, catalog_, module_);
    if (!jobs.ok()) return OfWorker(jobs.status(), "the job's module cannot be loaded");
    absl::StatusOr<std::unique_ptr<JobProgram>> program = MakeProgram(start, **jobs);
    if (!program.ok()) return program.status();
    program_ = *std::move(program);
    auto steps = StepThread::Start(*program_, start, environment_);
    if (!steps.ok()) return OfWorker(steps.status(), "the task cannot start");
    steps_ = *std::move(steps);
    v1::TaskEvent ready;
    ready.mutable_ready();
    Send(ready);
    return absl::OkStatus();
  }

  int Fail(const absl::Status& status) {
    v1::TaskEvent event;
    *event.mutable_failed() = JobErrorFromStatus(status);
    Send(event);
    return 1;
  }

  int EndOfStream() const {
    if (Busy()) ::_exit(kExitOrphaned);
    return 0;
  }

  // False when the daemon is gone.
  bool Send(const v1::TaskEvent& event) {
    std::string frame;
    const absl::Status appended = AppendTaskFrame(event, frame);
    if (!appended.ok()) return SendTooLong(event, appended);
    std::string_view left = frame;
    while (!left.empty()) {
      const ssize_t sent = ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return false;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Only counters and user text can make an event that long.
  bool SendTooLong(const v1::TaskEvent& event, const absl::Status& why) {
    v1::TaskEvent short_event;
    short_event.mutable_result()->set_step(event.result().step());
    *short_event.mutable_result()->mutable_error() = JobErrorFromStatus(why);
    return Send(short_event);
  }

  const int fd_;
  const JobCatalog& catalog_;
  const TaskEnvironment& environment_;
  TaskFrameReader reader_;
  MonoTime next_progress_;
  bool stopping_ = false;
  JobCatalog module_;  // of this job, where it has one
  std::unique_ptr<JobProgram> program_;
  std::unique_ptr<StepThread> steps_;  // uses program_
};

}  // namespace

int RunTask(int fd, const JobCatalog& catalog, const TaskEnvironment& environment) {
  return Task(fd, catalog, environment).Serve();
}

}  // namespace weir::task
