#include "runtime/master/planning/plan_request.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/explain/explain.h"
#include "planner/job/map_chunks.h"
#include "planner/plan/check_plan.h"
#include "planner/wire/plan_wire.h"
#include "runtime/master/learning/learned_shape.h"
#include "runtime/master/planning/codec_choice.h"
#include "runtime/master/planning/disk_need.h"
#include "runtime/master/planning/write_mode.h"

namespace weir::master {
namespace {

planner::Known Default(double value) { return {value, planner::Origin::kDefault}; }

planner::JobShape MakeShape(const v1::JobSpec& spec, const JobInfo& info, const InputList& input,
                            const MasterOptions& options) {
  planner::JobShape shape;
  shape.job = info.name;
  shape.input_bytes = input.total_bytes;
  shape.uncut = UncutRanges(input);
  shape.map_seconds_per_byte = Default(info.rates.map_seconds_per_byte);
  shape.map_startup_s = Default(options.map_startup_s);
  shape.map_overhead_s = Default(options.map_overhead_s);
  shape.map_output_ratio = Default(info.rates.map_output_ratio);
  shape.num_mappers = spec.num_mappers();
  for (std::size_t p = 0; p < info.rates.layers.size(); ++p) {
    const LayerRates& rates = info.rates.layers[p];
    planner::LayerShape layer;
    layer.reduce_seconds_per_byte = Default(rates.reduce_seconds_per_byte);
    layer.startup_s = Default(options.reduce_startup_s);
    layer.output_ratio = Default(rates.output_ratio);
    layer.num_reducers = spec.layer_reducers().empty() ? spec.num_reducers()
                                                       : spec.layer_reducers(static_cast<int>(p));
    shape.layers.push_back(layer);
  }
  return shape;
}

planner::NetworkModel MakeNetwork(absl::Span<const RegisteredWorker> workers,
                                  const MasterOptions& options) {
  const bool handover = SameHost(workers);
  const double rate =
      handover ? options.handover_seconds_per_byte : options.channel_seconds_per_byte;
  const auto num_workers = static_cast<std::int32_t>(workers.size());
  planner::NetworkModel network;
  if (options.bisection_channels > 0) {
    network = planner::LimitedTotal(num_workers, rate, options.bisection_channels);
  } else {
    network.num_workers = num_workers;
    network.seconds_per_byte = rate;
  }
  network.latency_s = handover ? options.handover_latency_s : options.latency_s;
  if (!handover) {
    std::vector<std::string> names;
    for (const RegisteredWorker& worker : workers) names.push_back(worker.identity.name());
    ApplyNetworkSpec(KnownNetwork(options), names, network);
  }
  return network;
}

// Measured rates of equal machines differ by noise; planned for, it would only make every plan an
// unequal one. Within this factor of each other all workers count as their mean.
constexpr double kEqualRates = 1.15;

void LevelEqualWorkers(std::vector<planner::WorkerProfile>& workers) {
  double least = workers[0].compute_rate;
  double most = least;
  double sum = 0;
  for (const planner::WorkerProfile& worker : workers) {
    least = std::min(least, worker.compute_rate);
    most = std::max(most, worker.compute_rate);
    sum += worker.compute_rate;
  }
  if (most > kEqualRates * least) return;
  for (planner::WorkerProfile& worker : workers) {
    worker.compute_rate = sum / static_cast<double>(workers.size());
  }
}

planner::WorkerProfile MakeWorker(const RegisteredWorker& worker) {
  planner::WorkerProfile profile;
  profile.name = worker.identity.name();
  profile.slots = std::max(1, worker.profile.slots());
  profile.compute_rate = ComputeRate(worker);
  if (worker.profile.compute_rate() > 0) profile.compute_rate_origin = planner::Origin::kMeasured;
  profile.memory_bytes = worker.profile.memory_bytes();
  profile.free_disk_bytes = worker.profile.free_disk_bytes();
  return profile;
}

}  // namespace

planner::Origin OriginOfNetwork(absl::Span<const RegisteredWorker> workers,
                                const MasterOptions& options) {
  const bool measured = !SameHost(workers) && options.network.channel_bytes_per_s <= 0 &&
                        options.measured.channel_bytes_per_s > 0;
  return measured ? planner::Origin::kMeasured : options.network_origin;
}

bool SameHost(absl::Span<const RegisteredWorker> workers) {
  const std::string& domain = workers.front().identity.handover_domain();
  return !domain.empty() &&
         std::all_of(workers.begin(), workers.end(), [&](const RegisteredWorker& worker) {
           return worker.identity.handover_domain() == domain;
         });
}

double ComputeRate(const RegisteredWorker& worker) {
  if (worker.profile.compute_rate() > 0) return worker.profile.compute_rate();
  return std::max(1, worker.profile.slots());
}

NetworkSpec KnownNetwork(const MasterOptions& options) {
  NetworkSpec measured = options.measured;
  if (options.bisection_channels > 0) measured.cuts.clear();
  return Overlay(options.network, measured);
}

PlanRequest MakePlanRequest(const v1::JobSpec& spec, const JobInfo& info, const InputList& input,
                            absl::Span<const RegisteredWorker> workers,
                            const planner::PlanningOptions& plan_options,
                            const MasterOptions& options, const PlanKnowledge& knowledge) {
  PlanRequest request;
  request.shape = MakeShape(spec, info, input, options);
  request.shape.store = ParseWriteMode(spec.write_mode()).value_or(planner::StoreShape());
  request.shape.codec = ParseCodecChoice(spec.codec()).value_or(std::nullopt);
  const double mappers =
      spec.num_mappers() > 0 ? spec.num_mappers() : static_cast<double>(workers.size());
  const double chunk_bytes = std::max(static_cast<double>(input.total_bytes) / mappers,
                                      static_cast<double>(planner::LargestUncut(request.shape)));
  if (knowledge.history != nullptr) {
    ApplyShape(*knowledge.history, planner::Origin::kHistory, chunk_bytes, request.shape);
  }
  if (knowledge.sample != nullptr) {
    ApplyShape(*knowledge.sample, planner::Origin::kSampled, chunk_bytes, request.shape);
  }
  for (const RegisteredWorker& worker : workers) {
    request.cluster.workers.push_back(MakeWorker(worker));
    request.handover_domains.push_back(worker.identity.handover_domain());
  }
  LevelEqualWorkers(request.cluster.workers);
  for (planner::WorkerProfile& profile : request.cluster.workers) {
    const double speed =
        knowledge.workers != nullptr ? knowledge.workers->SpeedOf(profile.name) : 1;
    if (speed != 1) {
      profile.compute_rate *= speed;
      profile.compute_rate_origin = planner::Origin::kHistory;
    }
  }
  if (!knowledge.note.empty()) request.notes.push_back(knowledge.note);
  request.cluster.network = MakeNetwork(workers, options);
  request.cluster.network_origin = OriginOfNetwork(workers, options);
  request.shape.store.seconds_per_byte =
      SameHost(workers) ? Default(options.local_store_seconds_per_byte)
                        : planner::Known{request.cluster.network.seconds_per_byte,
                                         request.cluster.network_origin};
  if (request.cluster.network_origin != planner::Origin::kDefault && !SameHost(workers)) {
    request.cluster.network.pacing_fraction = options.pacing_fraction;
    request.cluster.network.sharing_fraction = options.sharing_fraction;
  }
  if (knowledge.workers != nullptr && request.cluster.network_origin == planner::Origin::kDefault &&
      !SameHost(workers) && knowledge.workers->channel_seconds_per_byte()) {
    request.cluster.network.seconds_per_byte = *knowledge.workers->channel_seconds_per_byte();
    request.cluster.network_origin = planner::Origin::kHistory;
  }
  request.options = plan_options;
  return request;
}

absl::StatusOr<PlannedJob> MakePlannedJob(const PlanRequest& request) {
  absl::StatusOr<planner::Plan> plan =
      planner::PlanJob(request.shape, request.cluster, request.options);
  if (!plan.ok()) return plan.status();
  if (absl::Status fits = CheckDisk(request, *plan); !fits.ok()) return fits;
  for (const std::string& note : request.notes) plan->summary.notes.push_back(note);
  std::vector<std::string> names;
  for (const planner::WorkerProfile& worker : request.cluster.workers) names.push_back(worker.name);
  absl::StatusOr<PlannedJob> planned =
      FinishPlannedJob(*std::move(plan), std::move(names), request.shape.job);
  if (!planned.ok()) return planned;
  // A rate that runs taught is not one to pace at: runs that are paced would teach a lower one.
  planned->network_known = request.cluster.network_origin != planner::Origin::kDefault &&
                           request.cluster.network_origin != planner::Origin::kHistory;
  planned->shape = request.shape;
  planned->cluster = request.cluster;
  return planned;
}

absl::StatusOr<PlannedJob> FinishPlannedJob(planner::Plan plan,
                                            std::vector<std::string> worker_names,
                                            const std::string& job) {
  PlannedJob planned;
  planned.plan = std::move(plan);
  planned.worker_names = std::move(worker_names);
  if (absl::Status feasible = planner::CheckPlan(planned.plan); !feasible.ok()) {
    return absl::InternalError(
        absl::StrCat("the planner made a plan that does not hold: ", feasible.message()));
  }
  absl::StatusOr<planner::Prediction> prediction = planner::Predict(planned.plan);
  if (!prediction.ok()) {
    return absl::InternalError(
        absl::StrCat("the plan cannot be predicted: ", prediction.status().message()));
  }
  planned.prediction = *std::move(prediction);
  planned.message = planner::PlanToProto(planned.plan, planned.worker_names);
  planned.plan_id = planned.message.plan_id();
  planner::ExplainOptions explain;
  explain.title = job;
  explain.worker_names = planned.worker_names;
  planned.plan_text = planner::ExplainText(planned.plan, planned.prediction, nullptr, explain);
  return planned;
}

}  // namespace weir::master
