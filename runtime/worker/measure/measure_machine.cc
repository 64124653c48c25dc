#include "runtime/worker/measure/measure_machine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/task_frame.h"
#include "runtime/worker/measure/compute_kernel.h"
#include "runtime/worker/supervise/task_process.h"
#include "weir/v1/steps.pb.h"

namespace weir::worker {
namespace {

constexpr std::int64_t kDiskBlockBytes = 4 << 20;

// Counts down what several threads finish, and adds up what they found.
class Finishers {
 public:
  explicit Finishers(int left) : left_(left) {}
  void Finish(double rate) {
    const std::lock_guard lock(mutex_);
    sum_ += rate;
    if (--left_ == 0) all_.notify_all();
  }
  double WaitForSum() {
    std::unique_lock lock(mutex_);
    all_.wait(lock, [this] { return left_ == 0; });
    return sum_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  int left_;        // guarded by mutex_
  double sum_ = 0;  // guarded by mutex_
};

double KernelRate(const ComputeClocks& clocks, absl::Duration time) {
  ComputeKernel kernel;
  kernel.Pass();  // pages and table come in
  const MonoTime begin = clocks.wall();
  const MonoTime cpu_begin = clocks.thread_cpu();
  std::int64_t bytes = 0;
  // At least one pass: on a busy machine the time may be over before the first.
  do {
    bytes += kernel.Pass();
  } while (clocks.wall() - begin < time);
  const double seconds = absl::ToDoubleSeconds(clocks.thread_cpu() - cpu_begin);
  if (kernel.words() == 0 || seconds <= 0) return 0;
  return static_cast<double>(bytes) / seconds / kUnitKernelBytesPerS;
}

double RateOfSlots(env::WorkPool& pool, int slots, const ComputeClocks& clocks,
                   absl::Duration time) {
  Finishers finishers(slots);
  for (int i = 0; i < slots; ++i) {
    pool.Run([&] { finishers.Finish(KernelRate(clocks, time)); });
  }
  return finishers.WaitForSum();
}

// Moves blocks while there is time; returns bytes per second, and the bytes.
template <typename MoveBlock>
absl::StatusOr<double> Timed(const Clock& clock, std::int64_t bytes_max, std::int64_t& moved,
                             MoveBlock move_block) {
  const MonoTime begin = clock();
  moved = 0;
  while (moved < bytes_max && clock() - begin < limits::kDiskProbeTime) {
    absl::StatusOr<std::int64_t> bytes = move_block(moved);
    if (!bytes.ok()) return bytes.status();
    if (*bytes == 0) break;
    moved += *bytes;
  }
  const double seconds = absl::ToDoubleSeconds(clock() - begin);
  return seconds > 0 ? static_cast<double>(moved) / seconds : 0;
}

// Makes a file without a name, or with one that nobody can foresee and that goes at once: in a work
// directory which others may write to, a link by a fixed name would lead to a file of its user's.
absl::StatusOr<Fd> MakeProbe(const std::string& directory) {
  Fd nameless(::open(directory.c_str(), O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600));
  if (nameless.valid()) return nameless;
  // Not every file system can.
  std::string path = absl::StrCat(directory, "/disk-probe-XXXXXX");
  Fd named(::mkostemp(path.data(), O_CLOEXEC));
  if (!named.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make a file in ", directory));
  ::unlink(path.c_str());
  return named;
}

}  // namespace

void MeasureCompute(env::WorkPool& pool, int slots, double cores, const ComputeClocks& clocks,
                    absl::Duration each, MachineProfile& profile) {
  const double share = std::min(1.0, cores / slots);
  const double share_alone = std::min(1.0, cores);
  for (int turn = 0; turn < 2; ++turn) {
    profile.slot_compute_rate =
        std::max(profile.slot_compute_rate, share_alone * RateOfSlots(pool, 1, clocks, each));
    profile.compute_rate =
        slots == 1 ? profile.slot_compute_rate
                   : std::max(profile.compute_rate, share * RateOfSlots(pool, slots, clocks, each));
  }
}

absl::Status MeasureDisk(const std::string& directory, const Clock& clock,
                         MachineProfile& profile) {
  const absl::StatusOr<Fd> file = MakeProbe(directory);
  if (!file.ok()) return file.status();
  std::vector<char> block(static_cast<std::size_t>(kDiskBlockBytes));
  for (std::size_t i = 0; i < block.size(); ++i) {
    block[i] = static_cast<char>(i * 2654435761U >> 13);
  }
  std::int64_t written_bytes = 0;
  const auto write_block = [&](std::int64_t offset) -> absl::StatusOr<std::int64_t> {
    const ssize_t written = ::pwrite(file->get(), block.data(), block.size(), offset);
    if (written < 0 || ::fdatasync(file->get()) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot write a probe in ", directory));
    }
    return written;
  };
  absl::StatusOr<double> write_rate =
      Timed(clock, limits::kDiskProbeBytes, written_bytes, write_block);
  if (!write_rate.ok()) return write_rate.status();
  // Where the cache cannot be dropped, reading from it is what a run gets too.
  (void)::posix_fadvise(file->get(), 0, 0, POSIX_FADV_DONTNEED);
  std::int64_t read_bytes = 0;
  absl::StatusOr<double> read_rate = Timed(
      clock, written_bytes, read_bytes, [&](std::int64_t offset) -> absl::StatusOr<std::int64_t> {
        const ssize_t got = ::pread(file->get(), block.data(), block.size(), offset);
        if (got < 0) return ErrnoStatus(errno, absl::StrCat("cannot read a probe in ", directory));
        return got;
      });
  if (!read_rate.ok()) return read_rate.status();
  profile.disk_write_bytes_per_s = *write_rate;
  profile.disk_read_bytes_per_s = *read_rate;
  return absl::OkStatus();
}

absl::StatusOr<double> MeasureTaskStart(const TaskOptions& options, const std::string& directory,
                                        const std::string& job, const Clock& clock) {
  const MonoTime begin = clock();
  absl::StatusOr<TaskProcess> process = TaskProcess::Start(options, directory);
  if (!process.ok()) return process.status();
  v1::TaskCommand command;
  command.mutable_start()->set_job_id("start-up");
  command.mutable_start()->set_job(job);
  command.mutable_start()->set_slots(1);
  command.mutable_start()->set_work_dir(directory);
  std::string frame;
  if (absl::Status framed = AppendTaskFrame(command, frame); !framed.ok()) return framed;
  const int fd = process->socket().get();
  // A few bytes: they fit into an empty socket.
  if (::send(fd, frame.data(), frame.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(frame.size())) {
    return ErrnoStatus(errno, "cannot speak to the task process");
  }
  TaskFrameReader reader;
  while (true) {
    const absl::Duration left = options.start_timeout - (clock() - begin);
    pollfd wait{fd, POLLIN, 0};
    const int ready = left > absl::ZeroDuration()
                          ? ::poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1)
                          : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return absl::DeadlineExceededError(absl::StrCat("the task process did not say a word within ",
                                                      absl::FormatDuration(options.start_timeout)));
    }
    char bytes[4096];
    const ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return absl::UnavailableError("the task process ended before its first word");
    reader.Append({bytes, static_cast<std::size_t>(got)});
    v1::TaskEvent event;
    const absl::StatusOr<bool> whole = reader.Next(event);
    if (!whole.ok()) return whole.status();
    if (!*whole) continue;
    if (!event.has_ready()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the task process failed: ", event.failed().message()));
    }
    return absl::ToDoubleSeconds(clock() - begin);
  }
}

std::int64_t AvailableMemory(const std::string& meminfo, const std::optional<GroupMemory>& group) {
  for (const absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    std::int64_t kib = 0;
    if (words.size() >= 2 && words[0] == "MemAvailable:" && absl::SimpleAtoi(words[1], &kib)) {
      const std::int64_t bytes = kib << 10;
      return group ? std::min(bytes, group->available_bytes) : bytes;
    }
  }
  return group ? group->available_bytes : 0;
}

std::int64_t AvailableMemoryHere() {
  return AvailableMemory(ReadKernelFile("/proc/meminfo").value_or(""),
                         ControlGroupMemory(ReadKernelFile));
}

std::int64_t SpillAbove(std::int64_t available_bytes, double part) {
  constexpr double kSpillPart = 0.6;
  return std::llround(kSpillPart * std::clamp(part, 0.0, 1.0) *
                      static_cast<double>(available_bytes));
}

}  // namespace weir::worker
