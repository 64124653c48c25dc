#include "runtime/master/job/job_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::master {
namespace {

// A task process without any records.
constexpr std::int64_t kTaskBytes = std::int64_t{16} << 20;
// Words counted in a table and rows grouped in memory took two to five times their bytes.
constexpr std::int64_t kMemoryPerInputByte = 4;
// Kept for each further job: a part of the memory, of which a small job needs no more than so much.
constexpr std::int64_t kKeptParts = 16;
constexpr std::int64_t kKeptBytesMax = std::int64_t{512} << 20;

}  // namespace

std::int64_t JobQueue::MemoryNeeded(std::int64_t input_bytes, std::int64_t num_workers) {
  return kTaskBytes + input_bytes / std::max<std::int64_t>(num_workers, 1) * kMemoryPerInputByte;
}

std::int64_t JobQueue::MemoryKept(const WorkerRoom& room) {
  return std::min(room.memory_bytes / kKeptParts, kKeptBytesMax);
}

void JobQueue::Add(std::string job, const JobWish& wish) {
  last_submitted_ms_ = std::max(last_submitted_ms_, wish.submitted_unix_ms);
  const std::int32_t priority = std::clamp(wish.priority, kPriorityMin, kPriorityMax);
  const std::int64_t turn_ms =
      wish.resumed ? std::numeric_limits<std::int64_t>::min()
                   : last_submitted_ms_ - priority * absl::ToInt64Milliseconds(kPriorityStep);
  // Behind all of the same moment: those came before.
  const auto behind = std::upper_bound(
      waiting_.begin(), waiting_.end(), turn_ms,
      [](std::int64_t moment, const Waiting& other) { return moment < other.turn_ms; });
  waiting_.insert(behind, Waiting{std::move(job), wish, turn_ms});
}

void JobQueue::Remove(const std::string& job) {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.job == job; });
  std::erase_if(running_, [&](const Running& one) { return one.job == job; });
}

bool JobQueue::IsSmall(const JobWish& wish, const WorkerRoom& room) {
  if (wish.input_bytes < 0 || wish.input_bytes > kSmallInputBytes) return false;
  // All of it may meet on one worker.
  return room.memory_bytes == 0 || MemoryNeeded(wish.input_bytes, 1) <= MemoryKept(room);
}

std::int64_t JobQueue::MemoryForLarge(const WorkerRoom& room) const {
  return room.memory_bytes - (running_max_ - 1) * MemoryKept(room);
}

double JobQueue::ShareAlone(const WorkerRoom& room) const {
  if (!room.limited || room.memory_bytes <= 0) return 1;
  return static_cast<double>(MemoryForLarge(room)) / static_cast<double>(room.memory_bytes);
}

std::optional<JobQueue::Found> JobQueue::FindNext(const WorkerRoom& room) const {
  const auto num_running = static_cast<std::int32_t>(running_.size());
  if (num_running >= running_max_) return std::nullopt;
  std::int32_t num_large = 0;
  std::int64_t held_bytes = 0;
  for (const Running& one : running_) {
    num_large += one.small ? 0 : 1;
    held_bytes += one.memory_bytes;
  }
  const std::int64_t for_large = MemoryForLarge(room);
  const bool place_for_large = num_large < std::max(1, running_max_ - 1);
  bool large_waits = false;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const Waiting& one = waiting_[i];
    Found found{i, Running{one.job}, 1};
    // Alone, even a small one gets what there is.
    if (num_running > 0 && IsSmall(one.wish, room)) {
      found.running.small = true;
      if (room.limited && room.memory_bytes > 0) {
        found.memory_share =
            static_cast<double>(MemoryKept(room)) / static_cast<double>(room.memory_bytes);
      }
      return found;
    }
    if (large_waits || !place_for_large) continue;
    if (room.memory_bytes > 0) {
      const bool all = room.limited || one.wish.input_bytes < 0;
      found.running.memory_bytes =
          all ? for_large : MemoryNeeded(one.wish.input_bytes, room.num_workers);
      const bool fits = held_bytes + found.running.memory_bytes <= for_large;
      large_waits = num_large > 0 && !fits;
      if (large_waits) continue;
      found.memory_share = ShareAlone(room);
    }
    return found;
  }
  return std::nullopt;
}

bool JobQueue::IsNext(const std::string& job, const WorkerRoom& room) const {
  const std::optional<Found> next = FindNext(room);
  return next && next->running.job == job;
}

std::optional<JobBegins> JobQueue::TakeNext(const WorkerRoom& room) {
  std::optional<Found> next = FindNext(room);
  if (!next) return std::nullopt;
  JobBegins begins{next->running.job, next->memory_share};
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next->index));
  if (!running_.empty()) {
    next->running.alone = false;
    for (Running& other : running_) other.alone = false;
  }
  running_.push_back(std::move(next->running));
  return begins;
}

std::vector<std::string> JobQueue::waiting() const {
  std::vector<std::string> jobs;
  for (const Waiting& one : waiting_) jobs.push_back(one.job);
  return jobs;
}

std::vector<std::string> JobQueue::running() const {
  std::vector<std::string> jobs;
  for (const Running& one : running_) jobs.push_back(one.job);
  return jobs;
}

std::int32_t JobQueue::PlaceOf(const std::string& job) const {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].job == job) return static_cast<std::int32_t>(i) + 1;
  }
  return 0;
}

std::vector<std::string> JobQueue::Beside(const std::string& job) const {
  std::vector<std::string> others = running();
  std::erase(others, job);
  return others;
}

bool JobQueue::RanAlone(const std::string& job) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const Running& one) { return one.job == job && one.alone; });
}

}  // namespace weir::master
