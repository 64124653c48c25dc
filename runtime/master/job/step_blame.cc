#include "runtime/master/job/step_blame.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"

namespace weir::master {
namespace {

// Steps that read files share what they both read. Of others the keys lie elsewhere in another
// plan: two of a kind are taken for the same.
bool SameInput(const StepInput& a, const StepInput& b) {
  if (a.kind != b.kind) return false;
  if (a.begin == a.end || b.begin == b.end) return true;
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

std::string DiskOf(const std::string& worker, absl::Span<const DiskRoom> alive) {
  const auto found = std::find_if(alive.begin(), alive.end(), [&worker](const DiskRoom& room) {
    return room.worker == worker;
  });
  return found == alive.end() ? "" : found->disk;
}

bool IsAlive(const std::string& worker, absl::Span<const DiskRoom> alive) {
  return std::any_of(alive.begin(), alive.end(),
                     [&worker](const DiskRoom& room) { return room.worker == worker; });
}

bool OneMachine(const std::string& disk, const std::string& other) {
  return !disk.empty() && disk == other;
}

// Another disk that will be found full as well: the same one, or one that has less and is to hold
// more than it has.
bool FullToo(const DiskRoom& full, const DiskRoom& other) {
  if (!full.disk.empty() && full.disk == other.disk) return true;
  return other.free_bytes > 0 && other.free_bytes <= full.free_bytes &&
         other.needed_bytes > other.free_bytes;
}

std::string RoomInWords(const DiskRoom& room) {
  if (room.free_bytes == 0) return absl::StrCat("worker ", room.worker, " is full");
  std::string words = absl::StrCat("worker ", room.worker, " has ", room.free_bytes, " bytes free");
  if (room.needed_bytes > 0) {
    absl::StrAppend(&words, " and needs about ", room.needed_bytes, " by the plan");
  }
  return words;
}

}  // namespace

StepBlame::Fault StepBlame::FaultOf(const v1::JobError& error) {
  const std::string& code = error.code();
  const bool of_worker = error.fault_of() == v1::FAULT_OF_WORKER;
  if (code == job_error::kTaskCrashed) return Fault::kCrash;
  if (code == job_error::kOutOfMemory && of_worker) return Fault::kCrash;
  if (code == job_error::kDiskFull && of_worker) return Fault::kFullDisk;
  if (of_worker || code == job_error::kWorkDirectoryLost) return Fault::kWorker;
  if (error.fault_of() == v1::FAULT_OF_EXCHANGE || code == job_error::kWorkerLost ||
      code == job_error::kTransferFailed) {
    return Fault::kExchange;
  }
  if (code == job_error::kUserError || code == job_error::kBadRecord) return Fault::kWord;
  return Fault::kJob;
}

bool StepBlame::HasNoRoom(const DiskRoom& room) const {
  const auto found = no_room_.find(room.worker);
  return found != no_room_.end() && found->second.epoch == room.epoch;
}

bool StepBlame::IsLeftOut(const DiskRoom& room) const {
  const auto found = left_out_.find(room.worker);
  return HasNoRoom(room) || (found != left_out_.end() && found->second == room.epoch);
}

bool StepBlame::AnyBeside(const std::string& worker, absl::Span<const DiskRoom> alive) const {
  return !given_plan_ && std::any_of(alive.begin(), alive.end(), [&](const DiskRoom& other) {
    return other.worker != worker && !IsLeftOut(other);
  });
}

bool StepBlame::AnyOnAnotherMachine(const std::string& worker,
                                    absl::Span<const DiskRoom> alive) const {
  const std::string disk = DiskOf(worker, alive);
  return !given_plan_ && std::any_of(alive.begin(), alive.end(), [&](const DiskRoom& other) {
    return other.worker != worker && !IsLeftOut(other) && !OneMachine(disk, other.disk);
  });
}

bool StepBlame::LeaveOut(const std::string& worker, absl::Span<const DiskRoom> alive) {
  if (!AnyBeside(worker, alive)) return false;
  for (const DiskRoom& room : alive) {
    if (room.worker == worker) left_out_[worker] = room.epoch;
  }
  return true;
}

BlameVerdict StepBlame::Failed(v1::JobError error, const StepInput& input,
                               absl::Span<const DiskRoom> alive, MonoTime now, StepMoves moves) {
  switch (FaultOf(error)) {
    case Fault::kFullDisk:
      return DiskFull(std::move(error), alive);
    case Fault::kCrash:
      return OfWorkerOrJob(std::move(error), input, alive, now, moves);
    case Fault::kWord:
      // Most often it is the job's: what is done is not done again for it, as a loop would be.
      if (moves == StepMoves::kNever || !AnyOnAnotherMachine(error.worker(), alive)) break;
      return OfWorkerOrJob(std::move(error), input, alive, now, moves);
    case Fault::kWorker:
      return OfWorker(std::move(error), alive, now);
    case Fault::kExchange:
      return {.plan_again = GoesOnAfterOneMore(now), .error = std::move(error)};
    case Fault::kJob:
      break;
  }
  return {.error = std::move(error)};
}

bool StepBlame::GoesOnAfterOneMore(MonoTime now) {
  std::erase_if(faults_, [&](MonoTime at) {
    return now - at >= kFaultForgotten && committed_ && *committed_ > at;
  });
  faults_.push_back(now);
  return faults_.size() <= std::size_t{limits::kWorkerFaultsMax};
}

BlameVerdict StepBlame::OfWorker(v1::JobError error, absl::Span<const DiskRoom> alive,
                                 MonoTime now) {
  // One that has lost its directory has a new one; what fails for another reason fails again.
  const bool passes = error.code() == job_error::kWorkDirectoryLost;
  const bool again = GoesOnAfterOneMore(now) && (LeaveOut(error.worker(), alive) || passes);
  return {.plan_again = again, .error = std::move(error)};
}

BlameVerdict StepBlame::DiskFull(v1::JobError error, absl::Span<const DiskRoom> alive) {
  const auto found = std::find_if(alive.begin(), alive.end(), [&](const DiskRoom& room) {
    return room.worker == error.worker();
  });
  // It is lost as well: who comes back, or is left, shall have the job.
  if (found == alive.end()) return {.plan_again = !given_plan_, .error = std::move(error)};
  BlameVerdict verdict;
  for (const DiskRoom& room : alive) {
    const bool full = &room == &*found || FullToo(*found, room);
    if (!full || HasNoRoom(room)) continue;
    no_room_[room.worker] = room;
    verdict.without_room.push_back(room.worker);
  }
  verdict.plan_again =
      !given_plan_ && std::any_of(alive.begin(), alive.end(),
                                  [&](const DiskRoom& room) { return !HasNoRoom(room); });
  verdict.error = verdict.plan_again ? std::move(error) : NoRoom(std::move(error));
  return verdict;
}

// Two of one machine that hear the same word of their code may both have it from that machine.
bool StepBlame::Confirms(const Ending& now, const Ending& before, bool nobody_else) {
  if (before.refuted) return false;
  if (now.worker == before.worker && !(nobody_else && now.died && before.died)) return false;
  if (!now.died && OneMachine(now.disk, before.disk)) return false;
  return SameInput(before.input, now.input);
}

BlameVerdict StepBlame::OfWorkerOrJob(v1::JobError error, const StepInput& input,
                                      absl::Span<const DiskRoom> alive, MonoTime now,
                                      StepMoves moves) {
  const Ending ending{.worker = error.worker(),
                      .disk = DiskOf(error.worker(), alive),
                      .step = error.step(),
                      .input = input,
                      .died = FaultOf(error) == Fault::kCrash};
  const bool nobody_else = !AnyBeside(ending.worker, alive);
  const auto before = std::find_if(endings_.begin(), endings_.end(), [&](const Ending& earlier) {
    return Confirms(ending, earlier, nobody_else);
  });
  if (before != endings_.end()) {
    if (ending.died && before->died) {
      error.set_message(absl::StrCat(error.message(), "; so did ",
                                     before->worker == ending.worker
                                         ? "another one"
                                         : absl::StrCat("that of worker ", before->worker),
                                     " before, of the same input"));
    }
    return {.error = std::move(error)};
  }
  const bool first_there =
      std::none_of(endings_.begin(), endings_.end(),
                   [&ending](const Ending& earlier) { return earlier.worker == ending.worker; });
  endings_.push_back(ending);
  if (!GoesOnAfterOneMore(now)) return {.error = std::move(error)};
  if (moves == StepMoves::kAlone && first_there && !nobody_else) {
    return {.plan_again = true, .elsewhere = true, .error = std::move(error)};
  }
  if (nobody_else && ending.died && !given_plan_ && IsAlive(ending.worker, alive)) {
    return {.plan_again = true, .once_more = moves != StepMoves::kNever, .error = std::move(error)};
  }
  const bool again = LeaveOut(error.worker(), alive);
  return {.plan_again = again, .error = std::move(error)};
}

std::vector<std::string> StepBlame::Refuted(const std::string& step, const StepInput& input,
                                            const std::string& worker) {
  std::vector<std::string> to_blame;
  for (Ending& ending : endings_) {
    const bool of_this = ending.step == step && ending.input.kind == input.kind &&
                         ending.input.begin == input.begin && ending.input.end == input.end;
    if (!of_this || ending.died || ending.refuted || ending.worker == worker) continue;
    ending.refuted = true;
    to_blame.push_back(ending.worker);
  }
  return to_blame;
}

std::vector<std::string> StepBlame::LeftOut(absl::Span<const DiskRoom> alive) const {
  std::vector<std::string> full;
  std::vector<std::string> all;
  for (const DiskRoom& room : alive) {
    if (HasNoRoom(room)) full.push_back(room.worker);
    if (IsLeftOut(room)) all.push_back(room.worker);
  }
  return all.size() < alive.size() ? all : full;
}

v1::JobError StepBlame::NoRoom(v1::JobError error) const {
  constexpr std::size_t kNamedMax = 8;
  std::vector<std::string> rooms;
  for (const auto& [worker, room] : no_room_) {
    if (rooms.size() < kNamedMax) rooms.push_back(RoomInWords(room));
  }
  if (no_room_.size() > kNamedMax) {
    rooms.push_back(absl::StrCat("nor have ", no_room_.size() - kNamedMax, " others"));
  }
  if (error.code().empty()) {
    error = MakeJobError(job_error::kDiskFull, "no worker alive has room for the job",
                         "free space in the work directories of the workers, or add workers");
  }
  error.set_message(absl::StrCat(error.message(), "; room of the workers that the job has tried: ",
                                 absl::StrJoin(rooms, ", ")));
  return error;
}

}  // namespace weir::master
