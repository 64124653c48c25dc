// What happens to the ground that a cluster stands on: parted networks, faulty calls, damaged
// bytes, full disks, jumping clocks, slow processors and ports, many machines.

#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "runtime/base/job_errors.h"
#include "tests/sim/fault_kinds.h"
#include "tests/sim/outcomes.h"

namespace weir::sim {
namespace {

void AnyCluster(Builder&) {}
void ThreeWorkers(Builder& b) { b.AtLeastWorkers(3); }
void ThreeWorkersTwoJobs(Builder& b) {
  b.AtLeastWorkers(3);
  b.AtLeastJobs(2);
}
void ManySlots(Builder& b) {
  b.Slots(static_cast<int>(b.draw().Between(2, 4)));
  b.AtLeastJobs(2);
}
void TwoRacks(Builder& b) {
  b.AtLeastWorkers(4);
  b.AtLeastJobs(2);
  const int workers = b.num_workers();
  const auto half = static_cast<int>(b.draw().Between(1, workers - 1));
  const auto channels = static_cast<std::int32_t>(b.draw().Between(1, 3));
  const auto slow = static_cast<int>(b.draw().Between(0, workers - 1));
  b.Racks(half, channels, slow, b.draw().Real(2, 10));
}
// Where more processors help, those that join get something to do.
void SlowProcessors(Builder& b) { b.SlowProcessors(5); }
// As many small clusters as large ones.
void ManyMachines(Builder& b) {
  b.Workers(static_cast<int>(std::lround(std::exp(b.draw().Real(std::log(3), std::log(200))))));
}

Struck Met(Builder& b, absl::Duration when) {
  return Strike(b, when, [](World&) {});
}

/// Parts hosts at `when` and heals them after a while, or never; a healed cluster must work.
template <typename Cut>
Struck Parted(Builder& b, bool heals, Cut cut) {
  const absl::Duration when = b.DuringTheRun();
  b.world().After(when, [&w = b.world(), cut] { w.ChangeCuts("hosts are parted", cut); });
  if (heals) {
    const absl::Duration healed =
        when + b.draw().Duration(absl::Milliseconds(200), absl::Seconds(15));
    b.world().After(healed, [&w = b.world()] {
      w.ChangeCuts("hosts are joined again", [](Cuts& cuts) { cuts.Heal(); });
    });
    b.AddJobWhenHealed(healed);
  }
  return [](World& w) { return w.network().lost_in_cuts() > 0; };
}

Struck CutOff(Builder& b, Expectations& expected) {
  const std::string worker = b.AnyWorker();
  expected.legal_codes = CodesOfLosses();
  return Parted(b, b.draw().Chance(0.7),
                [worker](Cuts& cuts) { cuts.CutBoth(worker, kEverybody); });
}

Struck CutOneWay(Builder& b, Expectations& expected) {
  const std::string worker = b.AnyWorker();
  const bool out = b.draw().Chance(0.5);
  // Its heartbeats may come although it hears no orders.
  expected.legal_codes = CodesOfSilence();
  return Parted(b, b.draw().Chance(0.7), [worker, out](Cuts& cuts) {
    if (out) {
      cuts.Cut(worker, kEverybody);
    } else {
      cuts.Cut(kEverybody, worker);
    }
  });
}

// Both reach the master, not each other.
Struck CutPair(Builder& b, Expectations& expected) {
  const std::int64_t a = b.draw().Between(0, b.num_workers() - 2);
  const std::int64_t c = b.draw().Between(a + 1, b.num_workers() - 1);
  const bool heals = b.draw().Chance(0.7);
  const absl::Duration when = b.DuringTheRun();
  expected.legal_codes = CodesOfSilence();
  const std::string one = absl::StrCat("worker-", a);
  const std::string other = absl::StrCat("worker-", c);
  b.world().After(when, [&w = b.world(), one, other] {
    w.ChangeCuts("two are parted", [&](Cuts& cuts) { cuts.CutBoth(one, other); });
  });
  if (heals) {
    const absl::Duration healed = when + b.draw().Duration(absl::Seconds(1), absl::Seconds(15));
    b.world().After(healed, [&w = b.world()] {
      w.ChangeCuts("the two are joined again", [](Cuts& cuts) { cuts.Heal(); });
    });
    b.AddJobWhenHealed(healed);
  }
  // Nothing but bytes goes between them.
  return [](World& w) { return w.data_plane().stalled_in_cuts() > 0; };
}

// Links stop one by one and come back in another order.
Struck Swizzle(Builder& b, Expectations& expected) {
  std::vector<std::string> hosts;
  for (int w = 0; w < b.num_workers(); ++w) hosts.push_back(absl::StrCat("worker-", w));
  absl::Duration when = b.DuringTheRun();
  const absl::Duration most = b.draw().Duration(absl::Milliseconds(50), absl::Seconds(4));
  for (const std::string& host : hosts) {
    b.world().After(when, [&w = b.world(), host] {
      w.ChangeCuts(absl::StrCat(host, " is unplugged"),
                   [&](Cuts& cuts) { cuts.CutBoth(host, kEverybody); });
    });
    when += b.draw().Duration(absl::ZeroDuration(), most);
  }
  while (!hosts.empty()) {
    const auto place =
        static_cast<std::size_t>(b.draw().Between(0, static_cast<std::int64_t>(hosts.size()) - 1));
    const std::string host = hosts[place];
    hosts.erase(hosts.begin() + static_cast<std::ptrdiff_t>(place));
    when += b.draw().Duration(absl::ZeroDuration(), most);
    b.world().After(when, [&w = b.world(), host] {
      w.ChangeCuts(absl::StrCat(host, " is plugged in"),
                   [&](Cuts& cuts) { cuts.HealBoth(host, kEverybody); });
    });
  }
  b.AddJobWhenHealed(when);
  expected.legal_codes = CodesOfLosses();
  return [](World& w) { return w.network().lost_in_cuts() > 0; };
}

Struck FaultyCalls(Builder& b, Expectations& expected) {
  CallFaults& faults = b.world().network().call_faults();
  for (const CallFault fault : kCallFaults) faults.SetForAll(fault, b.draw().Real(0, 0.05));
  expected.legal_codes = CodesOfLosses();
  return [](World& w) { return w.network().call_faults().struck() > 0; };
}

Struck DamagedFrames(Builder& b, Expectations&) {
  // No end: what was damaged on its way is fetched again.
  b.world().data_plane().SetDamage(b.draw().Real(0.02, 0.3));
  return [](World& w) { return w.data_plane().damaged() > 0; };
}

Struck DamagedRuns(Builder& b, Expectations& expected) {
  expected.planned_once = true;
  b.world().contents().SetDamage(b.draw().Real(0.02, 0.3));
  b.world().contents().SetReceivedDamage(b.draw().Real(0, 0.1));
  expected.legal_codes = Codes({job_error::kDataLoss});
  return [](World& w) { return w.contents().damage_found() > 0; };
}

Struck AllDisksFull(Builder& b, Expectations& expected) {
  expected.legal_where_none_is_sound = Codes({job_error::kDiskFull});
  return StrikeThatEnds(
      b, b.DuringTheRun(),
      [](World& w) {
        w.Note("all disks are full");
        for (const auto& [name, worker] : w.workers()) worker->faults().disk_full = true;
      },
      job_error::kDiskFull);
}

// By up to a day, to and fro, or faster than anybody would set it.
Struck ClockJumps(Builder& b, Expectations&) {
  absl::Duration when = absl::Seconds(2);
  const bool strobes = b.draw().Chance(0.5);
  for (int jump = 0; jump < 12; ++jump) {
    const absl::Duration by = strobes ? absl::Seconds(jump % 2 == 0 ? 288 : -288)
                                      : b.draw().Duration(absl::Hours(-24), absl::Hours(24));
    b.world().After(when, [&w = b.world(), by] { w.wall_clock().Jump(by); });
    when += b.draw().Duration(absl::Milliseconds(10), absl::Seconds(2));
  }
  return Met(b, b.DuringTheRun());
}

Struck ProcessorSlows(Builder& b, Expectations&) {
  return Strike(b, b.DuringTheRun(),
                [victim = b.AnyWorker(), factor = b.draw().Real(2, 10)](World& w) {
                  w.FindWorker(victim)->faults().cpu_slowness = factor;
                });
}

Struck PortSlows(Builder& b, Expectations&) {
  return Strike(b, b.DuringTheRun(),
                [victim = b.AnyWorker(), factor = b.draw().Real(2, 10)](World& w) {
                  w.FindWorker(victim)->faults().network_slowness = factor;
                });
}

// Plans and edits take so long that a second worker dies while one is made.
Struck KilledWhilePlanned(Builder& b, Expectations& expected) {
  b.world().After(
      absl::Seconds(2) - absl::Milliseconds(1),
      [&w = b.world(), at_most = b.draw().Duration(absl::Milliseconds(200), absl::Seconds(4))] {
        w.SlowPlanning(at_most);
      });
  expected.legal_codes = CodesOfLosses();
  const absl::Duration when = b.DuringTheRun();
  const std::string first = b.AnyWorker();
  const std::string second = b.AnyWorker();
  Struck struck = Strike(b, when, [first](World& w) { w.KillWorker(first); });
  b.world().After(when + b.draw().Duration(absl::ZeroDuration(), absl::Seconds(5)),
                  [&w = b.world(), second] { w.KillWorker(second); });
  if (b.draw().Chance(0.5)) {
    b.world().After(
        when + b.draw().Duration(absl::Seconds(1), absl::Seconds(9)),
        [&w = b.world(), model = b.world().FindWorker(first)->model()] { w.StartWorker(model); });
  }
  return struck;
}

Struck WorkersRestart(Builder& b, Expectations& expected) {
  expected.planned_once = true;
  expected.legal_codes = CodesOfLosses();
  absl::Duration when = b.DuringTheRun();
  Struck struck = Met(b, when);
  for (int w = 0; w < b.num_workers(); ++w) {
    const WorkerModel model = b.Model(w);
    b.world().After(when, [&world = b.world(), name = model.name] { world.KillWorker(name); });
    when += b.draw().Duration(absl::Milliseconds(100), absl::Seconds(2));
    b.world().After(when, [&world = b.world(), model] { world.StartWorker(model); });
    when += b.draw().Duration(absl::Milliseconds(100), absl::Seconds(2));
  }
  b.AddJobWhenHealed(when);
  return struck;
}

/// Whether a step was done by a worker that the job's first plan did not know.
bool NewOneWorked(World& world) {
  std::map<std::string, std::set<std::string>> planned_for;  // by job
  for (const v1::JournalRecord& record : world.journal().records()) {
    if (record.has_job_planned() && record.job_planned().plan_edit() == 0) {
      const auto& names = record.job_planned().plan().worker_names();
      planned_for[record.job_id()] = {names.begin(), names.end()};
    }
    if (record.has_step_committed() &&
        !planned_for[record.job_id()].contains(record.step_committed().worker())) {
      return true;
    }
  }
  return false;
}

// To a job with work that waits, of which they get a part; then they may go like all others.
Struck WorkersJoin(Builder& b, Expectations&) {
  for (UserJob& job : b.world().jobs()) {
    job.spec.set_num_mappers(static_cast<std::int32_t>(b.draw().Between(3, 6) * b.num_workers()));
    job.spec.set_num_reducers(static_cast<std::int32_t>(b.draw().Between(1, 3) * b.num_workers()));
  }
  const absl::Duration when = absl::Seconds(2) + 0.4 * (b.DuringTheRun() - absl::Seconds(2));
  for (std::int64_t more = b.draw().Between(1, 3); more > 0; --more) {
    WorkerModel model = b.Model(0);
    model.name = absl::StrCat("joined-", more);
    b.world().After(when + b.draw().Duration(absl::ZeroDuration(), absl::Seconds(2)),
                    [&w = b.world(), model] { w.StartWorker(model); });
    if (b.draw().Chance(0.7)) continue;
    b.world().After(when + b.draw().Duration(absl::Seconds(2), absl::Seconds(8)),
                    [&w = b.world(), name = model.name] { w.KillWorker(name); });
  }
  return NewOneWorked;
}

Struck MasterDiesInJournal(Builder& b, Expectations& expected) {
  const absl::Duration pause = b.draw().Duration(absl::Milliseconds(10), absl::Seconds(3));
  const auto writes = static_cast<int>(b.draw().Between(0, 30));
  const bool written = b.draw().Chance(0.5);
  b.world().After(
      absl::Seconds(2) - absl::Milliseconds(1),
      [&w = b.world(), writes, written, pause] { w.CrashMasterInJournal(writes, written, pause); });
  expected.legal_codes = Codes({job_error::kNoWorkers});
  return [](World& w) { return w.num_masters() > 1; };
}

Struck ManyRun(Builder& b, Expectations&) {
  // Of each run every reducer gets a section: few of them, or a run takes minutes.
  for (UserJob& job : b.world().jobs()) {
    job.spec.set_num_reducers(static_cast<std::int32_t>(b.draw().Between(1, 8)));
    job.spec.clear_num_mappers();
    job.spec.clear_write_mode();
  }
  return [](World& w) { return w.workers().size() > 8; };
}

Struck Always(Builder&, Expectations&) {
  return [](World&) { return true; };
}

constexpr Kind kGroundFaults[] = {
    {"cut off", ThreeWorkers, CutOff},
    {"cut one way", ThreeWorkers, CutOneWay},
    {"two cut from each other", ThreeWorkersTwoJobs, CutPair},
    {"unplugged one by one", ThreeWorkers, Swizzle},
    {"calls of all methods", ThreeWorkersTwoJobs, FaultyCalls},
    {"frames damaged", ThreeWorkersTwoJobs, DamagedFrames},
    {"runs damaged", ThreeWorkersTwoJobs, DamagedRuns},
    {"all disks full", AnyCluster, AllDisksFull, false, true},
    {"wall clock jumps", AnyCluster, ClockJumps, true},
    {"processor slows", ThreeWorkers, ProcessorSlows, true, true},
    {"port slows", ThreeWorkers, PortSlows, true, true},
    {"killed while planned", ThreeWorkers, KilledWhilePlanned},
    {"workers restart one by one", ThreeWorkers, WorkersRestart},
    {"workers join", SlowProcessors, WorkersJoin, true, true},
    {"master dies in a journal write", ThreeWorkersTwoJobs, MasterDiesInJournal},
    {"several slots", ManySlots, Always, true},
    {"racks with a slow port", TwoRacks, Always, true},
    {"3 to 200 workers", ManyMachines, ManyRun, true},
};
static_assert(std::size(kGroundFaults) == kGroundFaultKinds);

}  // namespace

absl::Span<const Kind> GroundFaults() { return kGroundFaults; }

}  // namespace weir::sim
