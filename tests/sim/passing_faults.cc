// What passes, or takes files with it: disks that get room again, work directories that are gone,
// machines that lose power, tasks that hang or are killed for memory. A job that is handed in when
// it is over succeeds.

#include <algorithm>
#include <iterator>

#include "runtime/base/job_errors.h"
#include "runtime/master/journal/journal_writer.h"
#include "tests/sim/fault_kinds.h"
#include "tests/sim/outcomes.h"

namespace weir::sim {
namespace {

void AsDrawn(Builder&) {}
void JobBesideJob(Builder& b) { b.AtLeastJobs(2); }
void WorkersAndJobs(Builder& b) {
  b.AtLeastWorkers(2);
  b.AtLeastJobs(2);
}

absl::Duration AWhile(Builder& b) {
  return b.draw().Duration(absl::Milliseconds(20), absl::Seconds(8));
}

std::vector<std::string> Names(World& world) {
  std::vector<std::string> names;
  for (const auto& [name, worker] : world.workers()) names.push_back(name);
  return names;
}

/// One worker, or all of them.
std::vector<std::string> OneOrAll(Builder& b) {
  if (b.draw().Chance(0.3)) return Names(b.world());
  return {b.AnyWorker()};
}

/// In some runs another master goes on with what was left.
void PerhapsRestartMaster(Builder& b, absl::Duration when, Expectations& expected) {
  if (!b.draw().Chance(0.4)) return;
  const absl::Duration pause = b.draw().Duration(absl::Milliseconds(10), absl::Seconds(5));
  b.world().After(when + b.draw().Duration(absl::ZeroDuration(), absl::Seconds(3)),
                  [&w = b.world(), pause] { w.RestartMaster(pause); });
  expected.legal_codes.emplace_back(job_error::kNoWorkers);
}

Struck DiskFullForAWhile(Builder& b, Expectations& expected) {
  expected.legal_where_none_is_sound = Codes({job_error::kDiskFull});
  const absl::Duration when = b.DuringTheRun();
  const absl::Duration until = when + AWhile(b);
  const std::vector<std::string> victims = OneOrAll(b);
  b.world().After(until, [&w = b.world(), victims] {
    for (const std::string& victim : victims) w.MakeRoom(victim);
  });
  b.AddJobWhenHealed(until);
  PerhapsRestartMaster(b, when, expected);
  return Strike(b, when, [victims](World& w) {
    for (const std::string& victim : victims) w.FillDisk(victim);
  });
}

Struck OutputFullForAWhile(Builder& b, Expectations& expected) {
  expected.legal_codes = Codes({job_error::kDiskFull});
  const absl::Duration when = b.DuringTheRun();
  const absl::Duration until = when + AWhile(b);
  b.world().After(until, [&w = b.world()] {
    w.Note("the output's disk has room again");
    w.storage().SetFull(false);
  });
  b.AddJobWhenHealed(until);
  PerhapsRestartMaster(b, when, expected);
  return Strike(b, when, [](World& w) {
    w.Note("the output's disk is full");
    w.storage().SetFull(true);
  });
}

// What could not be written meanwhile is written later, or is missing: a master that follows must
// know what to make of that. It follows once the ends of jobs are there: one that was told to a
// user and is owed to the journal goes with its master, and the next one goes on with the job.
Struck JournalFullForAWhile(Builder& b, Expectations& expected) {
  expected.legal_codes = Codes({job_error::kDiskFull});
  const absl::Duration when = b.DuringTheRun();
  const absl::Duration until = when + AWhile(b);
  b.world().After(until, [&w = b.world()] {
    w.Note("the journal has room again");
    w.journal().SetFull(false);
  });
  b.AddJobWhenHealed(until);
  PerhapsRestartMaster(b, until + master::kOwedRecordsPause + absl::Seconds(1), expected);
  return Strike(b, when, [](World& w) {
    w.Note("the journal is full");
    w.journal().SetFull(true);
  });
}

/// As a service manager does: not while one lives.
void StartByName(World& world, const std::string& name) {
  SimWorker* const worker = world.FindWorker(name);
  if (!worker->loop()->alive()) world.StartWorker(worker->model());
}

// Its runs are gone, and the master thinks that it has them.
Struck BackWithoutFiles(Builder& b, Expectations& expected) {
  expected.legal_codes = CodesOfLosses();
  const absl::Duration when = b.DuringTheRun();
  const std::vector<std::string> victims = OneOrAll(b);
  absl::Duration last = when;
  for (const std::string& victim : victims) {
    const absl::Duration back = when + b.draw().Duration(absl::Milliseconds(1), absl::Seconds(3));
    last = std::max(last, back);
    b.world().After(back, [&w = b.world(), victim] {
      w.LoseFiles(victim);
      StartByName(w, victim);
    });
  }
  b.AddJobWhenHealed(last);
  PerhapsRestartMaster(b, when - absl::Seconds(1), expected);
  return Strike(b, when, [victims](World& w) {
    for (const std::string& victim : victims) w.KillWorker(victim);
  });
}

// Machines come back without what was not synced, after a boot that takes its time.
Struck PowerCut(Builder& b, Expectations& expected) {
  expected.legal_codes = CodesOfLosses();
  const absl::Duration when = b.DuringTheRun();
  const std::vector<std::string> victims = OneOrAll(b);
  const bool silent = b.draw().Chance(0.5);
  absl::Duration last = when;
  for (const std::string& victim : victims) {
    const absl::Duration back =
        when + b.draw().Duration(absl::Milliseconds(1500), absl::Seconds(20));
    last = std::max(last, back);
    b.world().After(back, [&w = b.world(), victim] {
      w.ChangeCuts(absl::StrCat(victim, " has power again"),
                   [&](Cuts& cuts) { cuts.HealBoth(victim, kEverybody); });
      StartByName(w, victim);
    });
  }
  b.AddJobWhenHealed(last);
  // With all of the room, or by itself.
  PerhapsRestartMaster(b, when, expected);
  return Strike(b, when, [victims, silent](World& w) {
    for (const std::string& victim : victims) w.CutPower(victim, silent);
  });
}

/// Switches a fault of workers on and off again.
template <typename Switch>
Struck ForAWhile(Builder& b, std::string_view code, Expectations& expected, Switch set) {
  // Steps begin and end seldom: often from the first ones on, and for some of them.
  const absl::Duration when = b.draw().Chance(0.6) ? absl::Seconds(2) : b.DuringTheRun();
  const absl::Duration until = when + b.draw().Duration(absl::Seconds(2), absl::Seconds(20));
  const std::vector<std::string> victims = OneOrAll(b);
  b.world().After(until, [&w = b.world(), victims, set] {
    w.Note("tasks are well again");
    for (const std::string& victim : victims) {
      set(w.FindWorker(victim)->faults(), false);
      w.FindWorker(victim)->faults().healed = true;
    }
  });
  b.AddJobWhenHealed(until);
  PerhapsRestartMaster(b, when, expected);
  b.world().After(when, [&w = b.world(), victims, set] {
    w.Note("tasks are not well");
    for (const std::string& victim : victims) set(w.FindWorker(victim)->faults(), true);
  });
  return [code](World& w) {
    return std::any_of(w.jobs().begin(), w.jobs().end(), [code](const UserJob& job) {
      return job.status.losses_size() > 0 || job.status.error().code() == code;
    });
  };
}

Struck KilledForMemory(Builder& b, Expectations& expected) {
  // Of all workers: the same input ends tasks of two of them.
  expected.legal_where_none_is_sound = Codes({job_error::kOutOfMemory});
  return ForAWhile(b, job_error::kOutOfMemory, expected,
                   [](WorkerFaults& faults, bool on) { faults.task_is_killed_for_memory = on; });
}

// Half of them cannot be killed either, as what waits for a disk.
Struck TasksHang(Builder& b, Expectations& expected) {
  expected.legal_codes = Codes({job_error::kTaskHung});
  const absl::Duration outlives = b.draw().Chance(0.5)
                                      ? b.draw().Duration(absl::ZeroDuration(), absl::Seconds(8))
                                      : absl::ZeroDuration();
  return ForAWhile(b, job_error::kTaskHung, expected, [outlives](WorkerFaults& faults, bool on) {
    faults.task_hangs = on;
    if (on) faults.task_outlives_kill = outlives;
  });
}

constexpr Kind kPassingFaults[] = {
    {"worker disk full for a while", AsDrawn, DiskFullForAWhile},
    {"output disk full for a while", AsDrawn, OutputFullForAWhile},
    {"journal full for a while", JobBesideJob, JournalFullForAWhile},
    {"worker back without its files", WorkersAndJobs, BackWithoutFiles},
    {"power cut", WorkersAndJobs, PowerCut},
    {"tasks killed for memory", WorkersAndJobs, KilledForMemory},
    {"tasks hang", WorkersAndJobs, TasksHang},
};
static_assert(std::size(kPassingFaults) == kPassingFaultKinds);

}  // namespace

absl::Span<const Kind> PassingFaults() { return kPassingFaults; }

}  // namespace weir::sim
