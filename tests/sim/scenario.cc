#include "tests/sim/scenario.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::sim {
namespace {

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

  /// Starts master and workers and hands in `num_jobs` jobs.
  void Build(int num_jobs) {
    world_ = std::make_unique<World>(seed_, options_, rates_, print_);
    world_->StartMaster();
    for (int w = 0; w < num_workers_; ++w) world_->StartWorker(Model(w));
    AddJobs(num_jobs);
  }
  void AddJobs(int num_jobs) {
    for (int j = 0; j < num_jobs; ++j) AddJob();
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

using Draft = void (*)(Builder&, Expectations&);

void Clean(Builder& b, Expectations& expected) {
  b.Build(static_cast<int>(b.draw().Between(1, 3)));
  expected.all_succeed = expected.as_predicted = true;
}

void CleanOnOneHost(Builder& b, Expectations& expected) {
  b.OneHost();
  b.Build(2);
  expected.all_succeed = expected.as_predicted = true;
}

void WorkerKilled(Builder& b, Expectations& expected) {
  b.AtLeastWorkers(2);
  b.Build(2);
  const absl::Duration when = b.DuringTheRun();
  const std::string victim = b.AnyWorker();
  b.world().After(when, [&w = b.world(), victim] { w.KillWorker(victim); });
  if (b.draw().Chance(0.5)) {
    const WorkerModel model = b.world().FindWorker(victim)->model();
    b.world().After(when + b.draw().Duration(absl::Seconds(1), absl::Seconds(9)),
                    [&w = b.world(), model] { w.StartWorker(model); });
  }
  MarkFatal(expected, when);
  expected.legal_codes = LossCodes();
}

void WorkerHangs(Builder& b, Expectations& expected) {
  b.AtLeastWorkers(2);
  b.Build(2);
  const absl::Duration when = b.DuringTheRun();
  b.world().After(when, [&w = b.world(), victim = b.AnyWorker()] {
    w.HangWorker(victim, absl::InfiniteDuration());
  });
  MarkFatal(expected, when);
  expected.legal_codes = LossCodes();
}

void WorkerPauses(Builder& b, Expectations& expected) {
  b.Build(1);
  b.world().After(b.DuringTheRun(), [&w = b.world(), victim = b.AnyWorker()] {
    w.HangWorker(victim, absl::Seconds(3));
  });
  // A pause of 3 s is not a death.
  expected.all_succeed = true;
}

void WorkerSlow(Builder& b, Expectations& expected) {
  b.Build(0);
  WorkerModel model = b.Model(b.num_workers());
  model.slowness = b.draw().Real(2, 8);
  b.world().StartWorker(model);
  b.AddJobs(2);
  expected.all_succeed = true;
}

void LossyNetwork(Builder& b, Expectations& expected) {
  b.Build(2);
  NetworkFaults faults;
  faults.drop = b.draw().Real(0, 0.2);
  faults.duplicate = b.draw().Real(0, 0.3);
  faults.delay_max = b.draw().Duration(absl::Milliseconds(1), absl::Milliseconds(300));
  b.world().network().SetFaults(faults);
  expected.legal_codes = LossCodes();
}

void WorkerDiskFull(Builder& b, Expectations& expected) {
  b.Build(1);
  b.world().After(b.DuringTheRun(), [&w = b.world(), victim = b.AnyWorker()] {
    w.Note("disk full");
    w.FindWorker(victim)->faults().disk_full = true;
  });
  expected.legal_codes = Codes({job_error::kDiskFull});
}

void OutputDiskFull(Builder& b, Expectations& expected) {
  b.Build(1);
  b.world().After(b.DuringTheRun(), [&w = b.world()] {
    w.Note("output disk full");
    w.storage().SetFull(true);
  });
  expected.legal_codes = Codes({job_error::kDiskFull});
}

void TaskCrashes(Builder& b, Expectations& expected) {
  b.Build(2);
  b.world().After(b.DuringTheRun(), [&w = b.world(), victim = b.AnyWorker()] {
    w.FindWorker(victim)->faults().task_crashes = true;
  });
  expected.legal_codes = Codes({job_error::kTaskCrashed});
}

void UserEndsIt(Builder& b, Expectations& expected) {
  b.Build(2);
  const absl::Duration when = b.DuringTheRun();
  if (b.draw().Chance(0.5)) {
    b.last_spec().set_deadline_ms(absl::ToInt64Milliseconds(when));
  } else {
    b.world().After(when, [&w = b.world()] { w.Cancel(0); });
    b.world().After(when + absl::Seconds(1), [&w = b.world()] { w.Cancel(1); });
  }
  expected.legal_codes = Codes({job_error::kCancelled, job_error::kDeadline});
}

void MasterRestarts(Builder& b, Expectations& expected) {
  b.Build(3);
  const absl::Duration pause = b.draw().Duration(absl::Milliseconds(10), absl::Seconds(12));
  b.world().After(b.DuringTheRun(), [&w = b.world(), pause] { w.RestartMaster(pause); });
  expected.legal_codes = Codes({job_error::kMasterRestarted, job_error::kNoWorkers});
}

void MasterDiesInStorage(Builder& b, Expectations& expected) {
  b.Build(2);
  for (UserJob& job : b.world().jobs()) job.spec.set_overwrite(b.draw().Chance(0.5));
  const absl::Duration pause = b.draw().Duration(absl::Milliseconds(10), absl::Seconds(3));
  b.world().After(absl::Seconds(2) - absl::Milliseconds(1),
                  [&w = b.world(), n = static_cast<int>(b.draw().Between(0, 60)), pause] {
                    w.CrashMasterInStorage(n, pause);
                  });
  expected.legal_codes = Codes({job_error::kMasterRestarted, job_error::kNoWorkers});
}

void JournalFull(Builder& b, Expectations& expected) {
  b.Build(2);
  b.world().After(b.DuringTheRun(), [&w = b.world()] {
    w.Note("journal full");
    w.journal().SetFull(true);
  });
  expected.legal_codes = Codes({job_error::kDiskFull});
}

void WorkerKilledWhileSampling(Builder& b, Expectations& expected) {
  b.AtLeastWorkers(2);
  b.AlwaysSample();
  b.Build(2);
  const absl::Duration when =
      absl::Seconds(2) + b.draw().Duration(absl::Milliseconds(1), absl::Milliseconds(150));
  // Not fatal where the sample still ran: the job is then planned for those that are left.
  b.world().After(when, [&w = b.world(), victim = b.AnyWorker()] { w.KillWorker(victim); });
  expected.legal_codes = LossCodes();
}

void TaskCrashesWhileSampling(Builder& b, Expectations& expected) {
  b.AlwaysSample();
  b.Build(1);
  const std::string victim = b.AnyWorker();
  const absl::Duration when =
      absl::Seconds(2) + b.draw().Duration(absl::Milliseconds(1), absl::Milliseconds(60));
  b.world().After(when,
                  [&w = b.world(), victim] { w.FindWorker(victim)->faults().task_crashes = true; });
  expected.legal_codes = Codes({job_error::kTaskCrashed});
}

struct Kind {
  const char* name;
  Draft draft;
};

constexpr Kind kKinds[kScenarioKinds] = {
    {"clean", Clean},
    {"clean on one host", CleanOnOneHost},
    {"worker killed", WorkerKilled},
    {"worker hangs", WorkerHangs},
    {"worker pauses 3 s", WorkerPauses},
    {"worker slow", WorkerSlow},
    {"lossy network", LossyNetwork},
    {"worker disk full", WorkerDiskFull},
    {"output disk full", OutputDiskFull},
    {"task crashes", TaskCrashes},
    {"user ends it", UserEndsIt},
    {"master restarts", MasterRestarts},
    {"master dies in a file operation", MasterDiesInStorage},
    {"journal full", JournalFull},
    {"worker killed while sampling", WorkerKilledWhileSampling},
    {"task crashes while sampling", TaskCrashesWhileSampling},
};

}  // namespace

Scenario DrawScenario(std::uint64_t seed, bool print) {
  const Kind& kind = kKinds[seed % kScenarioKinds];
  Scenario scenario;
  scenario.name = kind.name;
  Builder builder(seed, print);
  kind.draft(builder, scenario.expectations);
  scenario.world = builder.Take();
  return scenario;
}

}  // namespace weir::sim
