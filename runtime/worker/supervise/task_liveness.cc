#include "runtime/worker/supervise/task_liveness.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::worker {
namespace {

// Less than this part of a processor is what code uses that asks again and again.
constexpr double kMuchOfAProcessor = 0.1;

}  // namespace

std::optional<HungTask> TaskLiveness::Look(const TaskSign& sign, MonoTime now) {
  const absl::Duration since = TimeLooked(now);
  const bool progress = sign.input_bytes > input_bytes_ || sign.output_bytes > output_bytes_;
  input_bytes_ = sign.input_bytes;
  output_bytes_ = sign.output_bytes;
  const Computed computed = NoteThreads(sign, progress, since);
  const bool io = sign.io_under_way || std::any_of(sign.threads.begin(), sign.threads.end(),
                                                   [](const auto& thread) { return thread.in_io; });
  if (progress || computed == Computed::kMuch) worked_ = now;
  if (progress || computed != Computed::kNot || io) lived_ = now;
  return Judge(now);
}

std::optional<HungTask> TaskLiveness::Judge(MonoTime now) const {
  const std::string after = absl::StrCat(" after ", input_bytes_, " input bytes");
  for (const auto& [id, thread] : threads_) {
    if (thread.cpu - thread.cpu_at_progress < bounds_.loop_cpu) continue;
    return HungTask{absl::StrCat("used a processor for ", absl::FormatDuration(bounds_.loop_cpu),
                                 " without reading or writing anything", after),
                    "look for an endless loop in the job's code, or split the record that takes "
                    "that long"};
  }
  if (now - lived_ >= bounds_.silence) {
    return HungTask{
        absl::StrCat("neither read, wrote nor computed for ", absl::FormatDuration(bounds_.silence),
                     after),
        "look for code of the job that sleeps, or waits for a lock, a process or the network"};
  }
  if (now - worked_ >= bounds_.stall) {
    return HungTask{
        absl::StrCat("read and wrote nothing, and hardly computed, for ",
                     absl::FormatDuration(bounds_.stall), after),
        "see that the file systems of input, work directory and output answer, or look for code of "
        "the job that asks again and again"};
  }
  return std::nullopt;
}

// Time since the last look; less when the daemon stood still, which moves everything on.
absl::Duration TaskLiveness::TimeLooked(MonoTime now) {
  const absl::Duration since = now - looked_;
  looked_ = now;
  if (since <= 2 * bounds_.look()) return since;
  const absl::Duration skipped = since - bounds_.look();
  worked_ = worked_ + skipped;
  lived_ = lived_ + skipped;
  return bounds_.look();
}

TaskLiveness::Computed TaskLiveness::NoteThreads(const TaskSign& sign, bool progress,
                                                 absl::Duration since) {
  Computed computed = Computed::kNot;
  absl::btree_map<int, Thread> seen;
  for (const ThreadSign& sign_now : sign.threads) {
    const auto before = threads_.find(sign_now.id);
    // One that is new has used all of its time since the last look; what the first look finds may
    // have been used for the step before.
    Thread thread;
    if (before != threads_.end() && before->second.cpu <= sign_now.cpu) {
      thread = before->second;
    } else if (!threads_known_) {
      thread = {.cpu_at_progress = sign_now.cpu, .cpu = sign_now.cpu, .runnable = false};
    }
    const absl::Duration used = sign_now.cpu - thread.cpu;
    const bool waited_for_processor = thread.runnable && sign_now.runnable;
    if (waited_for_processor ||
        (used > absl::ZeroDuration() && used >= kMuchOfAProcessor * since)) {
      computed = Computed::kMuch;
    } else if ((used > absl::ZeroDuration() || sign_now.runnable) && computed == Computed::kNot) {
      computed = Computed::kHardly;
    }
    thread.cpu = sign_now.cpu;
    thread.runnable = sign_now.runnable;
    if (progress) thread.cpu_at_progress = sign_now.cpu;
    seen[sign_now.id] = thread;
  }
  threads_known_ = true;
  threads_ = std::move(seen);
  return computed;
}

}  // namespace weir::worker
