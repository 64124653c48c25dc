#pragma once

// Clusters, jobs and what is done to them: what kinds of faults are made of. Upstream: scenario.cc
// (what happens to processes, disks and tasks), ground_faults.cc (to networks, clocks and
// machines), passing_faults.cc (what ends again). Downstream: World.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/master/job/job_machine.h"
#include "tests/sim/scenario.h"

namespace weir::sim {

inline constexpr char kSlowWorker[] = "worker-slow";

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
    // One after the other, and up to four at once.
    options_.running_jobs_max = 1 + static_cast<std::int32_t>(seed / kScenarioKinds % 4);
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
  void Slots(int n) { slots_ = n; }
  /// Processors that limit the jobs more than the network does.
  void SlowProcessors(double slowness) {
    rates_.map_seconds_per_byte *= slowness;
    for (LayerRates& layer : rates_.layers) layer.reduce_seconds_per_byte *= slowness;
  }
  void Workers(int n) { num_workers_ = n; }
  /// The first `half` workers are one rack, and the ways into and out of it carry `channels`
  /// transfers at once; the worker `slow` has a port that is `slowness` times slower than others.
  void Racks(int half, std::int32_t channels, int slow, double slowness) {
    options_.bisection_channels = 0;
    options_.network_origin = planner::Origin::kFlag;
    master::NetworkSpec& network = options_.network;
    network.channel_bytes_per_s = 1 / options_.channel_seconds_per_byte;
    network.latency_s = options_.latency_s;
    master::CutSide rack;
    for (int w = 0; w < half; ++w) rack.workers.push_back(absl::StrCat("worker-", w));
    const master::CutSide rest{master::CutSide::Kind::kRest, {}};
    network.cuts = {{"rack a up", rack, rest, channels}, {"rack a down", rest, rack, channels}};
    slow_port_ = slow;
    port_slowness_ = slowness;
    network.port_bytes_per_s[absl::StrCat("worker-", slow)] =
        network.channel_bytes_per_s / slowness;
  }

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
    model.slots = slots_;
    model.handover_domain = handover_domain_;
    model.map_seconds_per_byte = rates_.map_seconds_per_byte;
    model.map_output_ratio = rates_.map_output_ratio;
    model.reduce_seconds_per_byte = rates_.layers[0].reduce_seconds_per_byte;
    model.output_ratio = rates_.layers[0].output_ratio;
    model.channel_seconds_per_byte =
        options_.channel_seconds_per_byte * (w == slow_port_ ? port_slowness_ : 1);
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
  /// A job that is handed in when all is well again.
  void AddJobWhenHealed(absl::Duration when) {
    const std::size_t j = world_->jobs().size();
    v1::JobSpec spec;
    spec.set_job("simjob");
    spec.set_output(absl::StrCat("/out/job-", j));
    const std::string path = absl::StrCat("/in/healed-", j);
    world_->storage().WriteSized(path, 50'000'000).IgnoreError();
    spec.add_inputs(path);
    world_->Submit(when + kHealed, std::move(spec));
    world_->jobs().back().must_succeed = true;
  }
  v1::JobSpec& last_spec() { return world_->jobs().back().spec; }

 private:
  // Leases have ended by then, and all have registered again.
  static constexpr absl::Duration kHealed = absl::Seconds(20);

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
  int slots_ = 1;
  int slow_port_ = -1;
  double port_slowness_ = 1;
  double slowness_ = 1;
  std::string handover_domain_;
  std::int64_t bytes_of_first_job_ = 0;
  std::unique_ptr<World> world_;
};

inline std::vector<std::string> Codes(std::initializer_list<std::string_view> codes) {
  return {codes.begin(), codes.end()};
}

inline void MarkFatal(Expectations& expected, absl::Duration at) {
  expected.fatal_moments.push_back(MonoTime::FromNanos(1'000'000'000) + at);
}

inline bool AnyUnderWay(World& world) {
  return std::any_of(world.jobs().begin(), world.jobs().end(), [](const UserJob& job) {
    return !job.id.empty() && job.status.state() != v1::JOB_STATE_UNSPECIFIED &&
           !master::IsTerminal(job.status.state());
  });
}

inline bool AnyEndedWith(World& world, std::initializer_list<std::string_view> codes) {
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

/// The same for one that workers may have: jobs end by it, or are planned again.
template <typename Fault>
std::function<bool(World&)> StrikeWorkers(Builder& b, absl::Duration when, Fault fault,
                                          std::string_view code) {
  auto met = Strike(b, when, std::move(fault));
  return [met = std::move(met), code](World& w) {
    const bool planned_again =
        std::any_of(w.jobs().begin(), w.jobs().end(),
                    [](const UserJob& job) { return job.status.losses_size() > 0; });
    return met(w) && (planned_again || AnyEndedWith(w, {code}));
  };
}

/// Tells, when the run is over, whether a fault struck.
using Struck = std::function<bool(World&)>;

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

/// What happens to the ground: networks, clocks, disks, the machines themselves.
absl::Span<const Kind> GroundFaults();
/// What passes, or takes files with it.
absl::Span<const Kind> PassingFaults();

}  // namespace weir::sim
