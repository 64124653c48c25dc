#include "runtime/master/planning/plan_request.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/job/map_chunks.h"
#include "runtime/master/learning/learned_shape.h"
#include "runtime/master/planning/cluster_profile.h"
#include "runtime/master/planning/codec_choice.h"
#include "runtime/master/planning/write_mode.h"

namespace weir::master {
namespace {

planner::Known Default(double value) { return {value, planner::Origin::kDefault}; }

planner::ElementShape MakeElement(const ElementInfo& info) {
  planner::ElementShape element;
  switch (info.kind) {
    case ElementKind::kNone:
      return element;
    case ElementKind::kTable:
      element.kind = planner::ElementShape::Kind::kTable;
      break;
    case ElementKind::kVector:
      element.kind = planner::ElementShape::Kind::kVector;
      element.place_bytes = info.place_bytes;
      break;
  }
  element.places = info.places;
  element.commutative = info.commutative;
  element.splits = info.splits;
  element.combine_seconds_per_byte = Default(info.combine_seconds_per_byte);
  return element;
}

/// Returns seconds per byte of map work with a job's own rates. The first files of each mapper are
/// in what a step takes at any size; the others are taken to lie evenly in the bytes.
double DefaultMapRate(const JobInfo& info, const InputList& input, double mappers) {
  const double further = static_cast<double>(input.files.size()) - kFirstFiles * mappers;
  if (further <= 0 || input.total_bytes == 0) return info.rates.map_seconds_per_byte;
  return info.rates.map_seconds_per_byte +
         further * kFurtherFileSeconds / static_cast<double>(input.total_bytes);
}

/// A job's own rates of keys that come again, for chunks of that size.
void ApplyGrowth(const OutputGrowth& growth, double chunk_bytes, planner::JobShape& shape) {
  if (!(growth.at_bytes > 0)) return;
  shape.map_output_growth = Default(growth.power);
  shape.map_output_at_bytes = static_cast<planner::Bytes>(growth.at_bytes);
  shape.map_seconds_per_byte.value +=
      growth.seconds_per_output_byte * planner::MapOutputRatio(shape, chunk_bytes);
}

planner::JobShape MakeShape(const v1::JobSpec& spec, const JobInfo& info, const InputList& input,
                            double mappers, const MasterOptions& options) {
  planner::JobShape shape;
  shape.job = info.name;
  shape.input_bytes = input.total_bytes;
  shape.uncut = UncutRanges(input);
  shape.uncut_are_gzip = PacksGzipWhole(input);
  shape.map_seconds_per_byte = Default(DefaultMapRate(info, input, mappers));
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

/// The system gives the tasks of a worker equal parts of its processors. Ports count as the job's
/// own: which job's transfers go first is decided while they run, and the smaller job's do.
void ShareWorkers(const std::vector<std::string>& jobs_beside, PlanRequest& request) {
  if (jobs_beside.empty()) return;
  const std::size_t num_jobs = jobs_beside.size() + 1;
  for (planner::WorkerProfile& worker : request.cluster.workers) {
    worker.compute_rate /= static_cast<double>(num_jobs);
  }
  request.notes.push_back(absl::StrCat(
      "Planned beside ", absl::StrJoin(jobs_beside, ", "), ": predicted as if it had 1/", num_jobs,
      " of each worker's processors, and ports of its own; jobs that end give theirs back."));
}

}  // namespace

std::vector<ElementInfo> ElementsOf(const v1::JobSpec& spec, const JobDefinition& job) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const v1::JobParameter& parameter : spec.parameters()) {
    given.emplace_back(parameter.name(), parameter.value());
  }
  const absl::StatusOr<ParameterValues> values = CheckParameters(job.info(), given);
  if (!values.ok()) return {};
  std::vector<ElementInfo> elements;
  for (std::size_t p = 0; p < job.info().rates.layers.size(); ++p) {
    elements.push_back(job.Element(*values, static_cast<int>(p) + 1));
  }
  return elements;
}

bool MayWaitForOutput(const planner::JobShape& shape, std::size_t num_workers) {
  if (shape.layers.empty() || shape.loop || num_workers == 0 ||
      shape.map_output_ratio.origin == planner::Origin::kDefault ||
      shape.layers.back().reduce_seconds_per_byte.origin == planner::Origin::kHistory) {
    return false;
  }
  const auto mappers = static_cast<double>(num_workers);
  double bytes =
      mappers * planner::MapOutputBytes(shape, static_cast<double>(shape.input_bytes) / mappers);
  for (const planner::LayerShape& layer : shape.layers) bytes *= layer.output_ratio.value;
  return bytes >= kMeasuredOutputBytes;
}

PlanRequest MakePlanRequest(const v1::JobSpec& spec, const JobInfo& info, const InputList& input,
                            absl::Span<const RegisteredWorker> workers,
                            const planner::PlanningOptions& plan_options,
                            const MasterOptions& options, const PlanKnowledge& knowledge) {
  PlanRequest request;
  const double mappers =
      spec.num_mappers() > 0 ? spec.num_mappers() : static_cast<double>(workers.size());
  request.shape = MakeShape(spec, info, input, mappers, options);
  const std::size_t known = std::min(knowledge.elements.size(), request.shape.layers.size());
  for (std::size_t p = 0; p < known; ++p) {
    planner::LayerShape& layer = request.shape.layers[p];
    layer.element = MakeElement(knowledge.elements[p]);
    if (knowledge.elements[p].one_reducer && layer.num_reducers == 0) layer.num_reducers = 1;
  }
  request.shape.store = ParseWriteMode(spec.write_mode()).value_or(planner::StoreShape());
  request.shape.codec = ParseCodecChoice(spec.codec()).value_or(std::nullopt);
  const double chunk_bytes = std::max(static_cast<double>(input.total_bytes) / mappers,
                                      static_cast<double>(planner::LargestUncut(request.shape)));
  ApplyGrowth(info.rates.output_growth, chunk_bytes, request.shape);
  if (knowledge.history != nullptr) {
    ApplyShape(*knowledge.history, planner::Origin::kHistory, chunk_bytes, request.shape);
  }
  if (knowledge.sample != nullptr) {
    ApplyShape(*knowledge.sample, planner::Origin::kSampled, chunk_bytes, request.shape);
  }
  for (const RegisteredWorker& worker : workers) {
    request.handover_domains.push_back(worker.identity.handover_domain());
  }
  if (!knowledge.note.empty()) request.notes.push_back(knowledge.note);
  request.cluster = MakeClusterProfile(workers, options);
  for (std::size_t w = 0; w < workers.size(); ++w) {
    request.cluster.workers[w].spill_above_bytes =
        SpillAbove(workers[w].profile, knowledge.memory_share);
  }
  request.shape.store.seconds_per_byte =
      SameHost(workers) ? Default(options.local_store_seconds_per_byte)
                        : planner::Known{request.cluster.network.seconds_per_byte,
                                         request.cluster.network_origin};
  if (knowledge.workers != nullptr) {
    ApplyLearnedRates(*knowledge.workers, workers, request.cluster);
  }
  ShareWorkers(knowledge.jobs_beside, request);
  request.options = plan_options;
  return request;
}

}  // namespace weir::master
