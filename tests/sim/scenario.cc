#include "tests/sim/scenario.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/job/job_machine.h"

namespace weir::sim {
namespace {

constexpr char kSlowWorker[] = "worker-slow";

/// A cluster and its jobs before anything goes wrong.
class Builder {
 public:
  Builder(std::uint64_t seed, bool print) : draw_(seed * 2 + 1), seed_(seed), print_(print) {
    options_.latency_s = 4e-4;
    // Order and report travel; a simulated step costs nothing beside its bytes.
    options_.map_overhead_s = 5e-4;
    options_.reduce_startup_s = 5e-4;
    options_.sampling.enabled = draw_.Chance(0.5);
    options_.handover_latency_s = 4e-4;
    options_.channel_seconds_per_byte = draw_.Real(1 / 1.25e9, 1 / 1.25e7);
    if (draw_.Chance(0.6)) {
      options_.bisection_channels = static_cast<std::int32_t>(draw_.Between(1, 4));
    }
    // The simulated data plane does not slow down transfers that meet on a port.
    options_.sharing_fraction = 0;
    // Known rates: senders are paced, and grants come ahead.
    if (draw_.Chance(0.5)) options_.network_origin = planner::Origin::kFlag;
    rates_.map_seconds_per_byte = draw_.Real(2e-9, 2e-8);
    rates_.map_output_ratio = draw_.Real(0.02, 0.8);
    LayerRates layer;
    layer.reduce_seconds_per_byte = draw_.Real(5e-9, 5e-8);
    layer.output_ratio = draw_.Real(0.2, 1);
    num_workers_ = static_cast<int>(draw_.Between(1, 7));
    rates_.layers.assign(draw_.Chance(0.5) ? 1 : static_cast<std::size_t>(draw_.Between(2, 4)),
                         layer);
  }

  SeededRandom& draw() { return draw_; }
  World& world() { return *world_; }
  int num_workers() const { return num_workers_; }
  void AtLeastWorkers(int n) { num_workers_ = std::max(num_workers_, n); }
  void AlwaysSample() { options_.sampling.enabled = true; }
  void OneHost() { handover_domain_ = "host"; }
  void AtLeastJobs(int n) { num_jobs_ = std::max(num_jobs_, n); }
  void SlowWorker(double slowness) { slowness_ = slowness; }

  /// Starts master and workers and hands in the jobs.
  void Build() {
    world_ = std::make_unique<World>(seed_, options_, rates_, print_);
    world_->StartMaster();
    for (int w = 0; w < num_workers_; ++w) world_->StartWorker(Model(w));
    if (slowness_ > 1) {
      WorkerModel model = Model(num_workers_);
      model.name = kSlowWorker;
      model.slowness = slowness_;
      world_->StartWorker(model);
    }
    for (int j = 0; j < num_jobs_; ++j) AddJob();
  }
  std::unique_ptr<World> Take() { return std::move(world_); }

  std::string AnyWorker() { return absl::StrCat("worker-", draw_.Between(0, num_workers_ - 1)); }
  WorkerModel Model(int w) {
    WorkerModel model;
    model.name = absl::StrCat("worker-", w);
    model.slots = 1;
    model.handover_domain = handover_domain_;
    model.map_seconds_per_byte = rates_.map_seconds_per_byte;
    model.map_output_ratio = rates_.map_output_ratio;
    model.reduce_seconds_per_byte = rates_.layers[0].reduce_seconds_per_byte;
    model.output_ratio = rates_.layers[0].output_ratio;
    model.channel_seconds_per_byte = options_.channel_seconds_per_byte;
    model.store_seconds_per_byte = handover_domain_.empty() ? options_.channel_seconds_per_byte
                                                            : options_.local_store_seconds_per_byte;
    return model;
  }
  /// A moment while the first job runs, probably.
  absl::Duration DuringTheRun() {
    const double seconds =
        static_cast<double>(bytes_of_first_job_) * rates_.map_seconds_per_byte / num_workers_;
    return absl::Seconds(2) + absl::Seconds(draw_.Real(0, 1.5 * seconds));
  }
  v1::JobSpec& last_spec() { return world_->jobs().back().spec; }

 private:
  void AddJob() {
    const std::size_t j = world_->jobs().size();
    v1::JobSpec spec;
    spec.set_job("simjob");
    spec.set_output(absl::StrCat("/out/job-", j));
    spec.set_num_reducers(static_cast<std::int32_t>(draw_.Between(0, 2 * num_workers_)));
    if (draw_.Chance(0.3)) {
      spec.set_num_mappers(static_cast<std::int32_t>(draw_.Between(1, 3 * num_workers_)));
    }
    static constexpr const char* kWriteModes[] = {"",         "",    "parts",     "one",
                                                  "parallel", "one", "parallel:2"};
    spec.set_write_mode(kWriteModes[draw_.Between(0, 6)]);
    std::int64_t total = 0;
    const std::int64_t num_files = draw_.Between(1, 5);
    for (std::int64_t f = 0; f < num_files; ++f) {
      // One in four cannot be cut.
      const std::string path = absl::StrCat("/in/", j, "-", f, draw_.Chance(0.25) ? ".gz" : "");
      const std::int64_t bytes = draw_.Chance(0.1) ? 0 : draw_.Between(1, 2'000'000'000);
      world_->storage().WriteSized(path, bytes).IgnoreError();
      spec.add_inputs(path);
      total += bytes;
    }
    if (j == 0) bytes_of_first_job_ = total;
    world_->Submit(absl::Seconds(2) + absl::Seconds(j), std::move(spec));
  }

  SeededRandom draw_;
  const std::uint64_t seed_;
  const bool print_;
  master::MasterOptions options_;
  JobRates rates_;
  int num_workers_ = 1;
  int num_jobs_ = 1;
  double slowness_ = 1;
  std::string handover_domain_;
  std::int64_t bytes_of_first_job_ = 0;
  std::unique_ptr<World> world_;
};

std::vector<std::string> Codes(std::initializer_list<std::string_view> codes) {
  return {codes.begin(), codes.end()};
}

const std::vector<std::string>& LossCodes() {
  static const std::vector<std::string> codes =
      Codes({job_error::kWorkerLost, job_error::kWorkerUnreachable, job_error::kTransferFailed,
             job_error::kNoWorkers});
  return codes;
}

void MarkFatal(Expectations& expected, absl::Duration at) {
  expected.fatal_moments.push_back(MonoTime::FromNanos(1'000'000'000) + at);
}

bool AnyUnderWay(World& world) {
  return std::any_of(world.jobs().begin(), world.jobs().end(), [](const UserJob& job) {
    return !job.id.empty() && job.status.state() != v1::JOB_STATE_UNSPECIFIED &&
           !master::IsTerminal(job.status.state());
  });
}

bool AnyEndedWith(World& world, std::initializer_list<std::string_view> codes) {
  return std::any_of(world.jobs().begin(), world.jobs().end(), [&](const UserJob& job) {
    return std::find(codes.begin(), codes.end(), job.status.error().code()) != codes.end();
  });
}

/// Lets a fault happen and tells afterwards whether it met a job that was under way.
template <typename Fault>
std::function<bool(World&)> Strike(Builder& b, absl::Duration when, Fault fault) {
  auto met = std::make_shared<bool>(false);
  b.world().After(when, [&w = b.world(), met, fault = std::move(fault)]() mutable {
    *met = AnyUnderWay(w);
    fault(w);
  });
  return [met](World&) { return *met; };
}

/// The same for a fault that shows in how jobs end.
template <typename Fault>
std::function<bool(World&)> StrikeThatEnds(Builder& b, absl::Duration when, Fault fault,
                                           std::string_view code) {
  auto met = Strike(b, when, std::move(fault));
  return [met = std::move(met), code](World& w) { return met(w) && AnyEndedWith(w, {code}); };
}

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

using Struck = std::function<bool(World&)>;

Struck Clean(Builder&, Expectations& expected) {
  expected.as_predicted = true;
  return [](World&) { return true; };
}

Struck WorkerKilled(Builder& b, Expectations& expected) {
  const absl::Duration when = b.DuringTheRun();
  const std::string victim = b.AnyWorker();
  Struck struck = Strike(b, when, [victim](World& w) { w.KillWorker(victim); });
  if (b.draw().Chance(0.5)) {
    const WorkerModel model = b.world().FindWorker(victim)->model();
    b.world().After(when + b.draw().Duration(absl::Seconds(1), absl::Seconds(9)),
                    [&w = b.world(), model] { w.StartWorker(model); });
  }
  MarkFatal(expected, when);
  expected.legal_codes = LossCodes();
  return struck;
}

Struck WorkerHangs(Builder& b, Expectations& expected) {
  const absl::Duration when = b.DuringTheRun();
  MarkFatal(expected, when);
  expected.legal_codes = LossCodes();
  return Strike(b, when, [victim = b.AnyWorker()](World& w) {
    w.HangWorker(victim, absl::InfiniteDuration());
  });
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
  NetworkFaults faults;
  faults.drop = b.draw().Real(0, 0.2);
  faults.duplicate = b.draw().Real(0, 0.3);
  faults.delay_max = b.draw().Duration(absl::Milliseconds(1), absl::Milliseconds(300));
  b.world().network().SetFaults(faults);
  expected.legal_codes = LossCodes();
  return [](World& w) { return w.network().lost() > 0; };
}

Struck WorkerDiskFull(Builder& b, Expectations& expected) {
  expected.legal_codes = Codes({job_error::kDiskFull});
  return StrikeThatEnds(
      b, b.DuringTheRun(),
      [victim = b.AnyWorker()](World& w) {
        w.Note("disk full");
        w.FindWorker(victim)->faults().disk_full = true;
      },
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

Struck TaskCrashes(Builder& b, Expectations& expected) {
  expected.legal_codes = Codes({job_error::kTaskCrashed});
  return StrikeThatEnds(
      b, b.DuringTheRun(),
      [victim = b.AnyWorker()](World& w) { w.FindWorker(victim)->faults().task_crashes = true; },
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
  expected.legal_codes = Codes({job_error::kMasterRestarted, job_error::kNoWorkers});
  return Strike(b, b.DuringTheRun(), [pause](World& w) { w.RestartMaster(pause); });
}

Struck MasterDiesInStorage(Builder& b, Expectations& expected) {
  for (UserJob& job : b.world().jobs()) job.spec.set_overwrite(b.draw().Chance(0.5));
  const absl::Duration pause = b.draw().Duration(absl::Milliseconds(10), absl::Seconds(3));
  b.world().After(absl::Seconds(2) - absl::Milliseconds(1),
                  [&w = b.world(), n = static_cast<int>(b.draw().Between(0, 60)), pause] {
                    w.CrashMasterInStorage(n, pause);
                  });
  expected.legal_codes = Codes({job_error::kMasterRestarted, job_error::kNoWorkers});
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
  // Not fatal where the sample still ran: the job is then planned for those that are left.
  expected.legal_codes = LossCodes();
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
  b.world().After(when,
                  [&w = b.world(), victim] { w.FindWorker(victim)->faults().task_crashes = true; });
  expected.legal_codes = Codes({job_error::kTaskCrashed});
  return [](World& w) { return AnyEndedWith(w, {job_error::kTaskCrashed}); };
}

struct Kind {
  const char* name;
  void (*prepare)(Builder&);
  Struck (*strike)(Builder&, Expectations&);
  /// Jobs succeed all the same.
  bool harmless = false;
  /// May come beside another fault. Those that may not promise a time (predicted or noticed) that
  /// another fault moves, or need the first moments for themselves.
  bool joins = false;
};

constexpr Kind kKinds[kScenarioKinds] = {
    {"clean", OneToThreeJobs, Clean, true},
    {"clean on one host", OnOneHost, Clean, true},
    {"worker killed", TwoWorkersAndJobs, WorkerKilled, false, true},
    {"worker hangs", TwoWorkersAndJobs, WorkerHangs, false, true},
    {"worker pauses 3 s", Nothing, WorkerPauses, true, true},
    {"worker slow", ASlowWorker, WorkerSlow, true, true},
    {"lossy network", TwoJobs, LossyNetwork},
    {"worker disk full", Nothing, WorkerDiskFull, false, true},
    {"output disk full", Nothing, OutputDiskFull},
    {"task crashes", TwoJobs, TaskCrashes, false, true},
    {"user ends it", TwoJobs, UserEndsIt, false, true},
    {"master restarts", ThreeJobs, MasterRestarts, false, true},
    {"master dies in a file operation", TwoJobs, MasterDiesInStorage},
    {"journal full", TwoJobs, JournalFull},
    {"worker killed while sampling", SampledOnTwo, WorkerKilledWhileSampling},
    {"task crashes while sampling", Sampled, TaskCrashesWhileSampling},
};

/// The kind of the seed, and for every second round of seeds up to two more that may join it.
std::vector<const Kind*> DrawKinds(std::uint64_t seed, SeededRandom& draw) {
  std::vector<const Kind*> kinds = {&kKinds[seed % kScenarioKinds]};
  if (seed / kScenarioKinds % 2 == 0 || !kinds[0]->joins) return kinds;
  const std::int64_t more = draw.Between(1, 2);
  while (static_cast<std::int64_t>(kinds.size()) <= more) {
    const Kind* other = &kKinds[draw.Between(0, kScenarioKinds - 1)];
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
    all.as_predicted = one.as_predicted;  // clean ones come alone
    all.legal_codes.insert(all.legal_codes.end(), one.legal_codes.begin(), one.legal_codes.end());
    // How soon an end follows is promised for one loss alone.
    if (kinds.size() == 1) all.fatal_moments = one.fatal_moments;
  }
  scenario.world = builder.Take();
  return scenario;
}

}  // namespace weir::sim
