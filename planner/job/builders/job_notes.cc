#include "planner/job/builders/job_notes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "planner/explain/plan_limits.h"
#include "planner/explain/readable.h"
#include "planner/job/job_drafts.h"
#include "planner/job/map_chunks.h"

namespace weir::planner {
namespace {

std::string WorkerLabel(const ClusterProfile& cluster, WorkerIndex worker) {
  const std::string& name = cluster.workers[static_cast<std::size_t>(worker)].name;
  return name.empty() ? absl::StrCat("worker ", worker) : name;
}

std::string LimitNote(const JobShape& shape, const ClusterProfile& cluster, const Plan& plan) {
  const PlanLimits limits = FindLimits(plan);
  const Seconds makespan_s = plan.summary.makespan_s;
  if (makespan_s <= 0) return "Nothing takes time: the job has no input or no costs.";
  const std::string part =
      absl::StrCat(ReadableSeconds(limits.limit_s), " of ", ReadableSeconds(makespan_s), " (",
                   ReadablePercent(limits.limit_s / makespan_s), ")");
  switch (limits.limit) {
    case Limit::kMap:
      if (InputDiskLimits(shape, cluster, plan)) {
        return absl::StrCat("Map limits: the disk of the input is read for ", part,
                            "; a faster disk, or input that is in memory, helps, workers do not.");
      }
      return absl::StrCat("Map limits: the busiest worker maps for ", part,
                          LargestChunkIsUncut(shape, plan)
                              ? "; faster workers or smaller files help, more workers do not."
                              : "; more or faster workers help, a faster network does not.");
    case Limit::kReduce:
      return absl::StrCat("Reduce limits: the busiest worker reduces for ", part,
                          "; more reducers or faster workers help.");
    case Limit::kStore:
      return absl::StrCat("Storing limits: writing the output takes ", part,
                          "; a faster output file system, or --write parts, helps.");
    case Limit::kChannel:
      return absl::StrCat("Channel limits: ", WorkerLabel(cluster, limits.port_worker),
                          limits.port_receives ? " receives " : " sends ",
                          ReadableBytes(static_cast<double>(limits.port_bytes)), " for ", part,
                          "; faster links, or the load on more workers, help.");
    case Limit::kBisection: {
      const Cut& cut = plan.network.cuts[static_cast<std::size_t>(limits.cut)];
      return absl::StrCat(
          "Bisection limits: ", ReadableBytes(static_cast<double>(limits.cut_bytes)), " cross '",
          cut.name, "' through ", cut.channels, cut.channels == 1 ? " channel" : " channels",
          " for ", part, "; more channels, or a combiner that shrinks the map output, help.");
    }
  }
  return "";
}

std::string InPlaceNote(const Plan& plan) {
  double all_bytes = 0;
  double moved_bytes = 0;
  for (const Section& section : plan.sections) all_bytes += static_cast<double>(section.bytes);
  for (const Transfer& transfer : plan.transfers) {
    moved_bytes += static_cast<double>(transfer.bytes);
  }
  if (all_bytes <= 0) return "";
  return absl::StrCat(ReadableBytes(moved_bytes), " move between workers; ",
                      ReadablePercent(1 - moved_bytes / all_bytes),
                      " of the intermediate data stays where it is made.");
}

std::string UncutNote(const JobShape& shape, const ClusterProfile& cluster, const Plan& plan) {
  const std::size_t num_workers = cluster.workers.size();
  const std::vector<Bytes> even = EvenChunks(shape, static_cast<std::int32_t>(num_workers));
  if (shape.uncut.empty() || even.size() >= num_workers) return "";
  std::set<WorkerIndex> mapping;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->reads_input() && step.input_bytes > 0) mapping.insert(step.worker);
  }
  const bool one = shape.uncut.size() == 1;
  const char* what = shape.uncut_are_gzip
                         ? (one ? " gzip file" : " gzip files")
                         : (one ? " packed file" : " packed files, or parts of them,");
  return absl::StrCat(shape.uncut.size(), what, " cannot be cut: ", mapping.size(), " of ",
                      num_workers, " workers ", mapping.size() == 1 ? "maps." : "map.");
}

std::string InputPartsNote(const JobShape& shape, const Plan& plan) {
  if (plan.input_part_ends.empty()) return "";
  const auto [least, most] =
      std::minmax_element(shape.input_weights.begin(), shape.input_weights.end());
  return absl::StrCat("A byte of the dearest of ", shape.input_weights.size(),
                      " equal parts of the input costs ", absl::StrFormat("%.1f", *most / *least),
                      " times what one of the cheapest does to map: chunks are cut by cost, and "
                      "their bytes are counted so.");
}

std::string IdleWorkersNote(const ClusterProfile& cluster, const Plan& plan) {
  std::vector<std::string> idle;
  for (std::size_t worker = 0; worker < plan.compute_order.size(); ++worker) {
    if (plan.compute_order[worker].empty()) {
      idle.push_back(WorkerLabel(cluster, static_cast<WorkerIndex>(worker)));
    }
  }
  if (idle.empty()) return "";
  constexpr std::size_t kNamesMax = 5;
  const std::size_t more = idle.size() - std::min(idle.size(), kNamesMax);
  idle.resize(idle.size() - more);
  return absl::StrCat("Left out, having neither map nor reduce step: ", absl::StrJoin(idle, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "",
                      "; ask for more mappers or reducers to use them.");
}

std::string StoreNote(const ClusterProfile& cluster, const Plan& plan) {
  std::int64_t writes = 0;
  const ComputeStep* last = nullptr;
  for (const ComputeStep& step : plan.steps) {
    if (!step.kind->stores) continue;
    ++writes;
    last = &step;
  }
  if (last == nullptr) return "";
  if (writes == 1) {
    return absl::StrCat("Output is one file of about ",
                        ReadableBytes(static_cast<double>(last->output_bytes)), ", written by ",
                        WorkerLabel(cluster, last->worker), ".");
  }
  if (plan.store_channels == 0) {
    return absl::StrCat("Output is ", writes, " parts, written at once; the network has no limit",
                        " for all pairs that would say how many.");
  }
  return absl::StrCat("Output is ", writes, " parts, at most ", plan.store_channels,
                      " written at a time.");
}

// Steps of one kind and layer that put something on disk.
struct Spilling {
  std::size_t steps = 0;  // of that kind and layer, all of them
  std::size_t spilling = 0;
  Bytes most_bytes = 0;
  Bytes least_bytes = std::numeric_limits<Bytes>::max();
  Seconds most_s = 0;
  std::set<WorkerIndex> workers;  // theirs
};

std::string SpillingText(const ClusterProfile& cluster, const std::string& kind,
                         const Spilling& some) {
  const bool one = some.spilling == 1;
  std::string who = some.steps == 1 ? absl::StrCat("the ", kind, " step puts")
                    : some.spilling == some.steps
                        ? absl::StrCat("each of ", some.steps, " ", kind, " steps puts")
                        : absl::StrCat(some.spilling, " of ", some.steps, " ", kind, " steps",
                                       one ? " puts" : " put");
  if (some.workers.size() == 1 && cluster.workers.size() > 1) {
    absl::StrAppend(&who, " on worker ", WorkerLabel(cluster, *some.workers.begin()));
  }
  const bool alike =
      static_cast<double>(some.most_bytes) < 1.1 * static_cast<double>(some.least_bytes);
  return absl::StrCat(who, alike ? " about " : " up to ",
                      ReadableBytes(static_cast<double>(some.most_bytes)), " on disk, ",
                      ReadableSeconds(some.most_s));
}

std::string SpillNote(const ClusterProfile& cluster, const Plan& plan) {
  std::map<std::pair<std::int32_t, bool>, Spilling> layers;
  std::int32_t last_layer = 0;
  for (const ComputeStep& step : plan.steps) {
    const bool reads_input = step.kind->reads_input();
    if (!reads_input && !step.kind->splits_keys()) continue;
    last_layer = std::max(last_layer, step.layer);
    Spilling& some = layers[{step.layer, !reads_input}];
    ++some.steps;
    if (step.spilled_bytes == 0) continue;
    ++some.spilling;
    some.most_bytes = std::max(some.most_bytes, step.spilled_bytes);
    some.least_bytes = std::min(some.least_bytes, step.spilled_bytes);
    some.most_s = std::max(some.most_s, step.spill_s);
    some.workers.insert(step.worker);
  }
  std::vector<std::string> texts;
  for (const auto& [which, some] : layers) {
    if (some.spilling == 0) continue;
    const std::string kind = !which.second    ? "map"
                             : last_layer > 1 ? absl::StrCat("layer ", which.first, " reduce")
                                              : "reduce";
    texts.push_back(SpillingText(cluster, kind, some));
  }
  if (texts.empty()) return "";
  return absl::StrCat("Memory does not hold all: ", absl::StrJoin(texts, "; "),
                      ". Workers with more --memory, or more of them, help.");
}

std::string BoundNote(const Plan& plan) {
  const PlanSummary& summary = plan.summary;
  if (summary.lower_bound_s <= 0) return "";
  const bool any_split = summary.method == "load";
  const bool tree = summary.method == "tree";
  return absl::StrCat(
      tree        ? "By computing alone, no reduction tree takes less than "
      : any_split ? "No split of the load and no transfer order takes less than "
                  : "With these chunks and load fractions no transfer order takes less than ",
      ReadableSeconds(summary.lower_bound_s), "; this plan is ",
      ReadablePercent(std::max(0.0, summary.makespan_s / summary.lower_bound_s - 1)),
      " above that.");
}

std::string GuessedNote(const JobShape& shape, const ClusterProfile& cluster, bool by_tree) {
  std::vector<std::string> guessed;
  const auto add = [&guessed](const Known& known, const char* name) {
    if (known.origin == Origin::kDefault) guessed.push_back(name);
  };
  add(shape.map_seconds_per_byte, "map rate");
  if (!MakesVectors(shape)) add(shape.map_output_ratio, "map output ratio");
  const bool reduce_guessed =
      std::any_of(shape.layers.begin(), shape.layers.end(), [](const LayerShape& layer) {
        return layer.reduce_seconds_per_byte.origin == Origin::kDefault;
      });
  if (reduce_guessed) guessed.push_back("reduce rate");
  if (cluster.network_origin == Origin::kDefault) guessed.push_back("network rate");
  const bool combined =
      by_tree && std::any_of(shape.layers.begin(), shape.layers.end(), [](const LayerShape& layer) {
        return layer.element.combines() &&
               layer.element.combine_seconds_per_byte.origin == Origin::kDefault;
      });
  if (combined) guessed.push_back("combine rate");
  if (guessed.empty()) return "";
  return absl::StrCat("Guessed, not measured: ", absl::StrJoin(guessed, ", "),
                      ". Predicted times are rough until they are known.");
}

PlanNumber NumberOf(std::string name, const Known& known, const char* unit) {
  return {std::move(name), known.value, unit, OriginName(known.origin)};
}

/// How uneven the keys are: the share of the heaviest hundredth of the key space.
double HeaviestHundredth(const KeyWeights& weights) {
  double heaviest = 0;
  for (int i = 0; i < 100; ++i) {
    heaviest =
        std::max(heaviest, ShareBelow(weights, (i + 1) / 100.0) - ShareBelow(weights, i / 100.0));
  }
  return heaviest;
}

/// What says how much is put on disk; nothing where nothing is.
std::vector<PlanNumber> SpillNumbers(const JobShape& shape, const ClusterProfile& cluster,
                                     const Plan& plan) {
  const auto spilling = std::max_element(
      plan.steps.begin(), plan.steps.end(),
      [](const auto& a, const auto& b) { return a.spilled_bytes < b.spilled_bytes; });
  if (spilling == plan.steps.end() || spilling->spilled_bytes == 0) return {};
  const WorkerProfile& worker = cluster.workers[static_cast<std::size_t>(spilling->worker)];
  std::vector<PlanNumber> numbers = {{absl::StrCat("memory of a step of ", worker.name),
                                      static_cast<double>(worker.spill_above_bytes), "bytes",
                                      OriginName(Origin::kMeasured)}};
  for (std::size_t p = 0; p < shape.layers.size(); ++p) {
    if (!(shape.layers[p].record_bytes.value > 0)) continue;
    numbers.push_back(NumberOf(p == 0 ? std::string("map output record")
                                      : absl::StrCat("layer ", p, " reduce output record"),
                               shape.layers[p].record_bytes, "bytes"));
  }
  if (const DiskProfile& disk = worker.disk; disk.write_bytes_per_s > 0) {
    const char* origin = OriginName(Origin::kMeasured);
    numbers.push_back(
        {absl::StrCat("disk writes of ", worker.name), disk.write_bytes_per_s, "bytes/s", origin});
    numbers.push_back(
        {absl::StrCat("disk reads of ", worker.name), disk.read_bytes_per_s, "bytes/s", origin});
  }
  return numbers;
}

void AddMapNumbers(const JobShape& shape, std::vector<PlanNumber>& numbers) {
  numbers.push_back(NumberOf("map time", shape.map_seconds_per_byte, "s/byte"));
  numbers.push_back(NumberOf("map start-up", shape.map_startup_s, "s"));
  numbers.push_back(NumberOf("map step overhead", shape.map_overhead_s, "s"));
  if (shape.input_disk_seconds_per_byte > 0) {
    numbers.push_back({"input disk time", shape.input_disk_seconds_per_byte, "s/byte",
                       OriginName(Origin::kMeasured)});
  }
  if (MakesVectors(shape)) {
    numbers.push_back({"map output of each mapper", ElementBytes(shape, 0, 0), "bytes", "job"});
  } else {
    numbers.push_back(NumberOf("map output", shape.map_output_ratio, "bytes/byte"));
  }
  if (shape.map_output_at_bytes > 0 && !MakesVectors(shape)) {
    numbers.push_back(NumberOf("map output growth", shape.map_output_growth, ""));
    numbers.push_back({"map output measured at", static_cast<double>(shape.map_output_at_bytes),
                       "bytes", OriginName(shape.map_output_ratio.origin)});
  }
}

void AddLayerNumbers(const JobShape& shape, std::size_t p, std::vector<PlanNumber>& numbers) {
  const LayerShape& layer = shape.layers[p];
  const std::string name =
      shape.layers.size() > 1 ? absl::StrCat("layer ", p + 1, " reduce") : "reduce";
  numbers.push_back(NumberOf(name + " time", layer.reduce_seconds_per_byte, "s/byte"));
  if (const load::GrowthCurve& growth = layer.reduce_growth; growth.known()) {
    const char* origin = OriginName(layer.reduce_growth_origin);
    numbers.push_back({name + " time that grows", growth.seconds_per_byte, "s/byte", origin});
    numbers.push_back({name + " time measured at", growth.at_bytes, "bytes", origin});
    numbers.push_back({name + (growth.exponent == 1 ? " time grows as x log x" : " time grows by"),
                       growth.exponent, "", origin});
  }
  numbers.push_back(NumberOf(name + " step overhead", layer.startup_s, "s"));
  numbers.push_back(NumberOf(name + " output", layer.output_ratio, "bytes/byte"));
  for (const PackedBytes& packed : layer.packed) {
    const std::string how = packed.codec == Codec::kNone
                                ? " output with records by reference"
                                : absl::StrCat(" output packed by ", CodecName(packed.codec));
    numbers.push_back(
        NumberOf(absl::StrCat(p == 0 ? "map" : absl::StrCat("layer ", p, " reduce"), how),
                 packed.ratio, "bytes/byte"));
  }
  numbers.push_back({name + " heaviest 1 % of keys", HeaviestHundredth(layer.key_weights), "",
                     OriginName(layer.key_weights_origin)});
}

void AddStoreNumbers(const JobShape& shape, std::vector<PlanNumber>& numbers) {
  if (shape.store.write != FinalWrite::kParts) {
    numbers.push_back(NumberOf("output write time", shape.store.seconds_per_byte, "s/byte"));
  } else if (shape.store.disk_seconds_per_byte > 0) {
    numbers.push_back({"output disk time", shape.store.disk_seconds_per_byte, "s/byte",
                       OriginName(Origin::kMeasured)});
  }
}

void AddNetworkNumbers(const ClusterProfile& cluster, std::vector<PlanNumber>& numbers) {
  numbers.push_back({"channel time", cluster.network.seconds_per_byte, "s/byte",
                     OriginName(cluster.network_origin)});
  numbers.push_back(
      {"transfer latency", cluster.network.latency_s, "s", OriginName(cluster.network_origin)});
  // What nobody has measured or given is not worth a line.
  if (cluster.gap_origin != Origin::kDefault) {
    numbers.push_back({"gap between transfers", cluster.network.transfer_gap_s, "s",
                       OriginName(cluster.gap_origin)});
  }
  if (cluster.sharing_origin != Origin::kDefault) {
    const char* origin = OriginName(cluster.sharing_origin);
    numbers.push_back(
        {"share of ports without order", cluster.network.sharing_fraction, "", origin});
    numbers.push_back({"share of cuts without order", cluster.network.CutSharing(), "", origin});
    numbers.push_back(
        {"segments sent again without order", cluster.network.sharing_resent_fraction, "", origin});
  }
}

}  // namespace

std::vector<PlanNumber> JobNumbers(const JobShape& shape, const ClusterProfile& cluster,
                                   const Plan& plan) {
  std::vector<PlanNumber> numbers;
  AddMapNumbers(shape, numbers);
  for (std::size_t p = 0; p < shape.layers.size(); ++p) AddLayerNumbers(shape, p, numbers);
  AddStoreNumbers(shape, numbers);
  AddNetworkNumbers(cluster, numbers);
  for (PlanNumber& number : SpillNumbers(shape, cluster, plan))
    numbers.push_back(std::move(number));
  for (const WorkerProfile& worker : cluster.workers) {
    numbers.push_back({absl::StrCat("compute rate of ", worker.name), worker.compute_rate, "",
                       OriginName(worker.compute_rate_origin)});
  }
  return numbers;
}

std::vector<std::string> JobNotes(const JobShape& shape, const ClusterProfile& cluster,
                                  const Plan& plan) {
  std::vector<std::string> notes = {LimitNote(shape, cluster, plan),
                                    InPlaceNote(plan),
                                    StoreNote(cluster, plan),
                                    UncutNote(shape, cluster, plan),
                                    InputPartsNote(shape, plan),
                                    IdleWorkersNote(cluster, plan),
                                    SpillNote(cluster, plan),
                                    BoundNote(plan),
                                    GuessedNote(shape, cluster, plan.summary.method == "tree")};
  notes.erase(std::remove(notes.begin(), notes.end(), std::string()), notes.end());
  return notes;
}

}  // namespace weir::planner
