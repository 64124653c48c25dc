#include "runtime/task/step_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/task/slot_threads.h"
#include "runtime/task/step_activity.h"
#include "runtime/task/step_runner.h"

namespace weir::task {

struct StepThread::State {
  State(JobProgram& job_program, const v1::TaskCommand::Start& start,
        const TaskEnvironment& environment)
      : program(job_program),
        room(RoomOf(start)),
        skip_bad(start.skip_bad()),
        checks_operation(!start.no_check_operation()),
        now(environment.now) {}

  void Loop() {
    while (true) {
      v1::TaskCommand::Run run;
      {
        std::unique_lock lock(mutex);
        work_or_stop.wait(lock, [this] { return stopping || !waiting.empty(); });
        if (stopping) return;
        run = std::move(waiting.front());
        waiting.pop_front();
        activity = std::make_shared<StepActivity>(skip_bad, checks_operation);
        step = run.order().step();
      }
      v1::StepResult result = RunStep(BuiltInSteps(), program, run, *slots, room, *activity, now);
      const std::lock_guard lock(mutex);
      activity = nullptr;
      results.push_back(std::move(result));
      Signal();
    }
  }

  void Signal() const {
    // The counter cannot overflow; a failed write could only delay a result until the next poll.
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(result_fd.get(), &one, sizeof one);
  }

  JobProgram& program;
  const StepRoom room;
  const std::int64_t skip_bad;
  const bool checks_operation;
  const std::function<MonoTime()> now;
  Fd result_fd;
  std::unique_ptr<SlotThreads> slots;  // the thread's, once it runs

  std::mutex mutex;  // guards all below
  std::condition_variable work_or_stop;
  std::condition_variable loop_ended;
  bool stopping = false;
  bool gone = false;
  std::deque<v1::TaskCommand::Run> waiting;
  std::shared_ptr<StepActivity> activity;  // of the running step
  int step = 0;
  std::vector<v1::StepResult> results;
};

absl::StatusOr<std::unique_ptr<StepThread>> StepThread::Start(JobProgram& program,
                                                              const v1::TaskCommand::Start& start,
                                                              const TaskEnvironment& environment) {
  auto state = std::make_shared<State>(program, start, environment);
  state->result_fd = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->result_fd.valid()) return ErrnoStatus(errno, "cannot make an eventfd");
  const int num_slots = std::max(1, start.slots());
  // Here and not in the thread, where nobody could be told that there are too few.
  try {
    state->slots = std::make_unique<SlotThreads>(num_slots, environment);
    environment.start_thread([state] {
      state->Loop();
      state->slots.reset();
      const std::lock_guard lock(state->mutex);
      state->gone = true;
      state->loop_ended.notify_one();
    });
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(),
                       absl::StrCat("cannot start the threads of ", num_slots, " slots"));
  }
  return std::unique_ptr<StepThread>(new StepThread(std::move(state)));
}

StepThread::~StepThread() {
  Cancel();
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->work_or_stop.notify_one();
  state_->loop_ended.wait(lock, [this] { return state_->gone; });
}

void StepThread::Add(v1::TaskCommand::Run run) {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.push_back(std::move(run));
  state_->work_or_stop.notify_one();
}

void StepThread::Cancel() {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.clear();
  if (state_->activity != nullptr) state_->activity->Cancel();
}

bool StepThread::busy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->activity != nullptr || !state_->waiting.empty();
}

int StepThread::result_fd() const { return state_->result_fd.get(); }

std::vector<v1::StepResult> StepThread::TakeResults() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t cleared = ::read(state_->result_fd.get(), &count, sizeof count);
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->results, {});
}

std::optional<v1::TaskEvent::Progress> StepThread::progress() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->activity == nullptr) return std::nullopt;
  v1::TaskEvent::Progress progress;
  progress.set_step(state_->step);
  progress.set_input_bytes_done(state_->activity->input_bytes());
  progress.set_output_bytes_done(state_->activity->output_bytes());
  progress.set_io_under_way(state_->activity->io_under_way());
  progress.set_status(state_->activity->status());
  return progress;
}

}  // namespace weir::task
