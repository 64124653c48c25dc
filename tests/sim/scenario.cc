#include "tests/sim/scenario.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "tests/sim/fault_kinds.h"
#include "tests/sim/outcomes.h"

namespace weir::sim {
namespace {

// What each kind needs before the cluster is built, then what it does to it.

void Nothing(Builder&) {}
void OnOneHost(Builder& b) {
  b.OneHost();
  b.AtLeastJobs(2);
}
void OneToThreeJobs(Builder& b) { b.AtLeastJobs(static_cast<int>(b.draw().Between(1, 3))); }
void TwoJobs(Builder& b) { b.AtLeastJobs(2); }
void ThreeJobs(Builder& b) { b.AtLeastJobs(3); }
void TwoWorkersAndJobs(Builder& b) {
  b.AtLeastWorkers(2);
  b.AtLeastJobs(2);
}
void ASlowWorker(Builder& b) {
  b.SlowWorker(b.draw().Real(2, 8));
  b.AtLeastJobs(2);
}
void SampledOnTwo(Builder& b) {
  TwoWorkersAndJobs(b);
  b.AlwaysSample();
}
void Sampled(Builder& b) { b.AlwaysSample(); }

Struck Clean(Builder& b, Expectations& expected) {
  // A job that another one joins later takes longer than was foreseen.
  expected.as_predicted = b.world().options().running_jobs_max == 1;
  return [](World&) { return true; };
}

/// As a service manager does: not while one lives, which has the port. Two faults may meet here.
void StartAgain(World& world, const WorkerModel& model) {
  if (!world.FindWorker(model.name)->loop()->alive()) world.StartWorker(model);
}

Struck WorkerKilled(Builder& b, Expectations& expected) {
  const absl::Duration when = b.DuringTheRun();
  const std::string victim = b.AnyWorker();
  Struck struck = Strike(b, when, [victim](World& w) { w.KillWorker(victim); });
  if (b.draw().Chance(0.5)) {
    const WorkerModel model = b.world().FindWorker(victim)->model();
    // Missed by then, or not yet.
    b.world().After(when + b.draw().Duration(absl::Milliseconds(1), absl::Seconds(3)),
                    [&w = b.world(), model] { StartAgain(w, model); });
  }
  expected.legal_codes = CodesOfLosses();
  return struck;
}

Struck WorkerHangs(Builder& b, Expectations& expected) {
  // Half of them go on, and have to find out that they were given up.
  const absl::Duration pause = b.draw().Chance(0.5)
                                   ? b.draw().Duration(absl::Seconds(7), absl::Seconds(60))
                                   : absl::InfiniteDuration();
  expected.legal_codes = CodesOfLosses();
  return Strike(b, b.DuringTheRun(),
                [victim = b.AnyWorker(), pause](World& w) { w.HangWorker(victim, pause); });
}

/// Workers from `next` on leave and come back, each before the following one goes.
void UpgradeFrom(World& world, int next, int num_workers, absl::Duration at_most) {
  if (next == num_workers) return;
  world.UpgradeWorker(absl::StrCat("worker-", next), at_most, absl::Seconds(1),
                      [&world, next, num_workers, at_most] {
                        // It has registered by then.
                        world.After(absl::Seconds(2), [&world, next, num_workers, at_most] {
                          UpgradeFrom(world, next + 1, num_workers, at_most);
                        });
                      });
}

// Half of them have the time that a service manager gives them; the others go in the middle of it.
Struck WorkersUpgraded(Builder& b, Expectations&) {
  const absl::Duration at_most = b.draw().Chance(0.5)
                                     ? absl::Seconds(30)
                                     : b.draw().Duration(absl::Milliseconds(100), absl::Seconds(3));
  return Strike(b, b.DuringTheRun(), [workers = b.num_workers(), at_most](World& w) {
    UpgradeFrom(w, 0, workers, at_most);
  });
}

Struck AllWorkersKilled(Builder& b, Expectations& expected) {
  const absl::Duration when = b.DuringTheRun();
  std::vector<std::string> names;
  for (const auto& [name, worker] : b.world().workers()) names.push_back(name);
  Struck struck = Strike(b, when, [names](World& w) {
    for (const std::string& name : names) w.KillWorker(name);
  });
  if (b.draw().Chance(0.5)) {
    const absl::Duration back = when + b.draw().Duration(absl::Seconds(2), absl::Seconds(20));
    for (const std::string& name : names) {
      b.world().After(
          back + b.draw().Duration(absl::ZeroDuration(), absl::Seconds(2)),
          [&w = b.world(), model = b.world().FindWorker(name)->model()] { w.StartWorker(model); });
    }
  } else {
    MarkFatal(expected, when);
  }
  expected.legal_codes = CodesOfLosses();
  return struck;
}

// A pause of 3 s is not a death.
Struck WorkerPauses(Builder& b, Expectations&) {
  return Strike(b, b.DuringTheRun(),
                [victim = b.AnyWorker()](World& w) { w.HangWorker(victim, absl::Seconds(3)); });
}

Struck WorkerSlow(Builder&, Expectations&) {
  return [](World& w) {
    const auto& records = w.journal().records();
    return std::any_of(records.begin(), records.end(), [](const v1::JournalRecord& record) {
      return record.has_step_committed() && record.step_committed().worker() == kSlowWorker;
    });
  };
}

Struck LossyNetwork(Builder& b, Expectations& expected) {
  expected.may_come_too_early = true;  // who is not heard at once asks again seconds later
  NetworkFaults faults;
  faults.drop = b.draw().Real(0, 0.2);
  faults.duplicate = b.draw().Real(0, 0.3);
  faults.delay_max = b.draw().Duration(absl::Milliseconds(1), absl::Milliseconds(300));
  b.world().network().SetFaults(faults);
  return [](World& w) { return w.network().lost() > 0; };
}

Struck WorkerDiskFull(Builder& b, Expectations& expected) {
  expected.planned_once = true;
  expected.legal_where_none_is_sound = Codes({job_error::kDiskFull});
  return StrikeWorkers(
      b, b.DuringTheRun(), [victim = b.AnyWorker()](World& w) { w.FillDisk(victim); },
      job_error::kDiskFull);
}

Struck OutputDiskFull(Builder& b, Expectations& expected) {
  expected.legal_codes = Codes({job_error::kDiskFull});
  return StrikeThatEnds(
      b, b.DuringTheRun(),
      [](World& w) {
        w.Note("output disk full");
        w.storage().SetFull(true);
      },
      job_error::kDiskFull);
}

// On one worker, for whatever reason, or on all: then it is the job's code.
Struck TaskCrashes(Builder& b, Expectations& expected) {
  expected.planned_once = true;
  const std::string victim = b.draw().Chance(0.5) ? b.AnyWorker() : "";
  // The same input on two workers is enough, whoever joins later.
  (victim.empty() ? expected.legal_codes : expected.legal_where_none_is_sound) =
      Codes({job_error::kTaskCrashed});
  return StrikeWorkers(
      b, b.DuringTheRun(),
      [victim](World& w) {
        w.Note("tasks crash");
        for (const auto& [name, worker] : w.workers()) {
          if (victim.empty() || name == victim) worker->faults().task_crashes = true;
        }
      },
      job_error::kTaskCrashed);
}

Struck UserEndsIt(Builder& b, Expectations& expected) {
  const absl::Duration when = b.DuringTheRun();
  if (b.draw().Chance(0.5)) {
    b.last_spec().set_deadline_ms(absl::ToInt64Milliseconds(when));
  } else {
    b.world().After(when, [&w = b.world()] { w.Cancel(0); });
    b.world().After(when + absl::Seconds(1), [&w = b.world()] { w.Cancel(1); });
  }
  expected.legal_codes = Codes({job_error::kCancelled, job_error::kDeadline});
  return [](World& w) { return AnyEndedWith(w, {job_error::kCancelled, job_error::kDeadline}); };
}

Struck MasterRestarts(Builder& b, Expectations& expected) {
  const absl::Duration pause = b.draw().Duration(absl::Milliseconds(10), absl::Seconds(12));
  // Jobs that it met go on; one that begins again may find too few workers back.
  expected.legal_codes = Codes({job_error::kNoWorkers});
  expected.maps_are_kept = true;
  const absl::Duration when = b.DuringTheRun();
  // With all of their machines: workers come back from what they have written down.
  if (b.draw().Chance(0.3)) {
    for (const auto& [name, worker] : b.world().workers()) {
      b.world().After(when, [&w = b.world(), name = name] { w.KillWorker(name); });
      b.world().After(when + b.draw().Duration(absl::Milliseconds(1), pause),
                      [&w = b.world(), model = worker->model()] { StartAgain(w, model); });
    }
  }
  return Strike(b, when, [pause](World& w) { w.RestartMaster(pause); });
}

// As when somebody stops it, or its machine is moved: beyond every lease and patience. Half of the
// time orders get lost as well, so that some are under way then.
Struck MasterStandsStill(Builder& b, Expectations&) {
  if (b.draw().Chance(0.5)) {
    CallFaults& faults = b.world().network().call_faults();
    for (const char* order : {"StartStep", "GrantTransfer", "PrepareJob"}) {
      faults.Set(absl::StrCat("weir.v1.WorkerService.", order), CallFault::kRequestLost,
                 b.draw().Real(0, 0.3));
    }
  }
  const absl::Duration pause = b.draw().Chance(0.5)
                                   ? b.draw().Duration(absl::Milliseconds(100), absl::Seconds(10))
                                   : b.draw().Duration(absl::Seconds(10), absl::Seconds(90));
  return Strike(b, b.DuringTheRun(), [pause](World& w) { w.HangMaster(pause); });
}

Struck MasterDiesInStorage(Builder& b, Expectations& expected) {
  for (UserJob& job : b.world().jobs()) job.spec.set_overwrite(b.draw().Chance(0.5));
  const absl::Duration pause = b.draw().Duration(absl::Milliseconds(10), absl::Seconds(3));
  b.world().After(absl::Seconds(2) - absl::Milliseconds(1),
                  [&w = b.world(), n = static_cast<int>(b.draw().Between(0, 60)), pause] {
                    w.CrashMasterInStorage(n, pause);
                  });
  expected.legal_codes = Codes({job_error::kNoWorkers});
  return [](World& w) {
    const auto& records = w.journal().records();
    return std::count_if(records.begin(), records.end(), [](const v1::JournalRecord& record) {
             return record.has_master_started();
           }) > 1;
  };
}

Struck JournalFull(Builder& b, Expectations& expected) {
  expected.legal_codes = Codes({job_error::kDiskFull});
  return StrikeThatEnds(
      b, b.DuringTheRun(),
      [](World& w) {
        w.Note("journal full");
        w.journal().SetFull(true);
      },
      job_error::kDiskFull);
}

Struck WorkerKilledWhileSampling(Builder& b, Expectations& expected) {
  const absl::Duration when =
      absl::Seconds(2) + b.draw().Duration(absl::Milliseconds(1), absl::Milliseconds(150));
  expected.legal_codes = CodesOfLosses();
  auto met = std::make_shared<bool>(false);
  b.world().After(when, [&w = b.world(), met, victim = b.AnyWorker()] {
    *met = true;  // a job was handed in at 2 s; whether its state was seen yet is chance
    w.KillWorker(victim);
  });
  return [met](World&) { return *met; };
}

Struck TaskCrashesWhileSampling(Builder& b, Expectations& expected) {
  const std::string victim = b.AnyWorker();
  const absl::Duration when =
      absl::Seconds(2) + b.draw().Duration(absl::Milliseconds(1), absl::Milliseconds(60));
  expected.legal_where_none_is_sound = Codes({job_error::kTaskCrashed});
  auto met = std::make_shared<bool>(false);
  b.world().After(when, [&w = b.world(), met, victim] {
    *met = true;
    w.FindWorker(victim)->faults().task_crashes = true;
  });
  return [met](World&) { return *met; };
}

constexpr Kind kProcessFaults[] = {
    {"clean", OneToThreeJobs, Clean, true},
    {"clean on one host", OnOneHost, Clean, true},
    {"worker killed", TwoWorkersAndJobs, WorkerKilled, false, true},
    {"worker hangs", TwoWorkersAndJobs, WorkerHangs, false, true},
    {"workers upgraded one by one", TwoWorkersAndJobs, WorkersUpgraded, true},
    {"all workers killed", Nothing, AllWorkersKilled},
    {"worker pauses 3 s", Nothing, WorkerPauses, true, true},
    {"worker slow", ASlowWorker, WorkerSlow, true, true},
    {"lossy network", TwoJobs, LossyNetwork, true},
    {"worker disk full", Nothing, WorkerDiskFull, false, true},
    {"output disk full", Nothing, OutputDiskFull},
    {"task crashes", TwoJobs, TaskCrashes, false, true},
    {"user ends it", TwoJobs, UserEndsIt, false, true},
    {"master restarts", ThreeJobs, MasterRestarts, false, true},
    {"master stands still", TwoJobs, MasterStandsStill, true, true},
    {"master dies in a file operation", TwoJobs, MasterDiesInStorage},
    {"journal full", TwoJobs, JournalFull},
    {"worker killed while sampling", SampledOnTwo, WorkerKilledWhileSampling},
    {"task crashes while sampling", Sampled, TaskCrashesWhileSampling},
};

static_assert(std::size(kProcessFaults) == kProcessFaultKinds);

const std::vector<const Kind*>& AllKinds() {
  static const std::vector<const Kind*> all = [] {
    std::vector<const Kind*> kinds;
    for (const Kind& kind : kProcessFaults) kinds.push_back(&kind);
    for (const Kind& kind : GroundFaults()) kinds.push_back(&kind);
    for (const Kind& kind : PassingFaults()) kinds.push_back(&kind);
    return kinds;
  }();
  return all;
}

/// The kind of the seed, and for every second round of seeds up to two more that may join it.
std::vector<const Kind*> DrawKinds(std::uint64_t seed, SeededRandom& draw) {
  const std::vector<const Kind*>& all = AllKinds();
  std::vector<const Kind*> kinds = {all[seed % all.size()]};
  if (seed / all.size() % 2 == 0 || !kinds[0]->joins) return kinds;
  const std::int64_t more = draw.Between(1, 2);
  while (static_cast<std::int64_t>(kinds.size()) <= more) {
    const Kind* other =
        all[static_cast<std::size_t>(draw.Between(0, static_cast<std::int64_t>(all.size()) - 1))];
    if (other->joins && std::find(kinds.begin(), kinds.end(), other) == kinds.end()) {
      kinds.push_back(other);
    }
  }
  return kinds;
}

}  // namespace

Scenario DrawScenario(std::uint64_t seed, bool print) {
  Builder builder(seed, print);
  const std::vector<const Kind*> kinds = DrawKinds(seed, builder.draw());
  for (const Kind* kind : kinds) kind->prepare(builder);
  builder.Build();
  Scenario scenario;
  Expectations& all = scenario.expectations;
  all.all_succeed = true;
  for (const Kind* kind : kinds) {
    Expectations one;
    scenario.faults.push_back({kind->name, kind->strike(builder, one)});
    absl::StrAppend(&scenario.name, scenario.name.empty() ? "" : ", ", kind->name);
    all.all_succeed = all.all_succeed && kind->harmless;
    all.may_come_too_early = all.may_come_too_early || one.may_come_too_early;
    all.as_predicted = one.as_predicted;  // clean ones come alone
    all.legal_codes.insert(all.legal_codes.end(), one.legal_codes.begin(), one.legal_codes.end());
    all.legal_where_none_is_sound.insert(all.legal_where_none_is_sound.end(),
                                         one.legal_where_none_is_sound.begin(),
                                         one.legal_where_none_is_sound.end());
    // How soon an end follows is promised for one loss alone.
    if (kinds.size() == 1) all.fatal_moments = one.fatal_moments;
    all.planned_once = kinds.size() == 1 && one.planned_once;
    all.maps_are_kept = one.maps_are_kept && kinds.size() == 1;
  }
  scenario.world = builder.Take();
  return scenario;
}

}  // namespace weir::sim
