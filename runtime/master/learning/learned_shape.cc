#include "runtime/master/learning/learned_shape.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "planner/job/packed_shape.h"
#include "planner/job/step_spill.h"
#include "planner/plan/units.h"
#include "planner/wire/plan_wire.h"
#include "runtime/master/learning/key_growth.h"
#include "runtime/master/learning/reduce_points.h"

namespace weir::master {

using planner::At;

namespace {

using planner::ComputeStep;
using planner::KeyWeights;

// Part of a step's time that its overhead may take at most, when the step was faster than planned.
constexpr double kOverheadPartMax = 0.8;
constexpr double kWorkPartMin = 0.1;
// A step that took longer met something that the next run need not meet.
constexpr double kLongestMax = 1.25;
constexpr double kKeyTolerance = 0.1;
constexpr std::size_t kKeyBucketsMax = 4096;
constexpr double kTransferBytesMin = 1 << 20;
constexpr double kGrowthMin = 0.05;

void Set(bool known, double value, planner::Origin origin, planner::Known& number) {
  if (known && value >= 0 && std::isfinite(value)) number = {value, origin};
}

/// Sums over the steps of one layer.
struct LayerSums {
  double steps = 0;
  double seconds = 0;
  double work = 0;  // bytes / rate
  double input_bytes = 0;
  double output_bytes = 0;
  double packing_s = 0;
  double spill_s = 0;
  double longest_s = 0;
  double longest_work = 0;  // of the step that took that

  double MeanSeconds() const { return steps > 0 ? seconds / steps : 0; }
  /// Overhead of a step, when `planned` is what it was taken for.
  double Overhead(double planned) const {
    return std::min(planned, kOverheadPartMax * MeanSeconds());
  }
  double Rate(double overhead_s) const {
    return std::max(seconds - steps * overhead_s - packing_s - spill_s, kWorkPartMin * seconds) /
           work;
  }
  /// The same of the longest step: the next layer begins, and the job ends, when that is done.
  double RateOfLongest(double overhead_s) const {
    const double expected_s = seconds * longest_work / work;
    return Rate(overhead_s) *
           (expected_s > 0 ? std::clamp(longest_s / expected_s, 1.0, kLongestMax) : 1.0);
  }
};

bool Ran(const planner::Interval& interval) { return interval.finish_s >= interval.start_s; }

planner::Codec CodecRead(const planner::Plan& plan, std::int32_t layer) {
  return layer == 0 ? planner::Codec::kNone : planner::CodecOfLayer(plan.run_codec, layer - 1);
}

/// Packed bytes per byte of what each layer made; 1 where nothing was packed.
std::vector<double> PackedRatios(const ObservedRun& run) {
  std::vector<double> packed(run.shape.layers.size() + 1, 0);
  std::vector<double> unpacked(packed.size(), 0);
  for (std::size_t s = 0; s < run.plan.steps.size(); ++s) {
    const ComputeStep& step = run.plan.steps[s];
    const std::size_t layer = At(step.kind->layer_made(step.layer));
    if (layer >= packed.size()) continue;
    packed[layer] += static_cast<double>(run.actual.step_output_bytes[s]);
    if (s < run.actual.step_unpacked_output_bytes.size())
      unpacked[layer] += static_cast<double>(run.actual.step_unpacked_output_bytes[s]);
  }
  for (std::size_t layer = 0; layer < packed.size(); ++layer)
    packed[layer] = unpacked[layer] > 0 ? packed[layer] / unpacked[layer] : 1;
  return packed;
}

/// What a step read, not packed.
double InputOf(const ObservedRun& run, std::size_t s, const std::vector<double>& packed) {
  const std::size_t layer = At(run.plan.steps[s].layer);
  const auto bytes = static_cast<double>(run.actual.step_input_bytes[s]);
  return layer == 0 ? bytes : bytes / packed[layer - 1];
}

/// What a step took for what it put on disk: as planned, in proportion, or by the model where that
/// said nothing of it.
double SpillSeconds(const ObservedRun& run, std::size_t s) {
  if (s >= run.actual.step_spilled_bytes.size()) return 0;
  const ComputeStep& step = run.plan.steps[s];
  const auto bytes = static_cast<double>(run.actual.step_spilled_bytes[s]);
  if (step.spilled_bytes > 0) return step.spill_s * bytes / static_cast<double>(step.spilled_bytes);
  return SpillComputeSeconds(run.shape, At(step.layer), bytes) /
         run.cluster.workers[At(step.worker)].compute_rate;
}

std::vector<LayerSums> SumLayers(const ObservedRun& run, const std::vector<double>& packed) {
  std::vector<LayerSums> layers(run.shape.layers.size() + 1);
  for (std::size_t s = 0; s < run.plan.steps.size(); ++s) {
    const ComputeStep& step = run.plan.steps[s];
    if (!step.kind->carries_layer() || At(step.layer) >= layers.size() || !Ran(run.actual.steps[s]))
      continue;
    // It wrote what some lacked of what its input makes.
    if (step.is_rerun) continue;
    LayerSums& sums = layers[At(step.layer)];
    const double input = InputOf(run, s, packed);
    const double output =
        static_cast<double>(run.actual.step_output_bytes[s]) / packed[At(step.layer)];
    const double rate = run.cluster.workers[At(step.worker)].compute_rate;
    const planner::CodecCost of_input = CostOf(CodecRead(run.plan, step.layer), run.cluster);
    const planner::CodecCost of_output =
        CostOf(planner::CodecOfLayer(run.plan.run_codec, step.layer), run.cluster);
    sums.packing_s +=
        (input * of_input.unpack_seconds_per_byte + output * of_output.pack_seconds_per_byte) /
        rate;
    sums.spill_s += SpillSeconds(run, s);
    sums.steps += 1;
    const double took_s = run.actual.steps[s].finish_s - run.actual.steps[s].start_s;
    sums.seconds += took_s;
    sums.work += input / rate;
    if (took_s > sums.longest_s) {
      sums.longest_s = took_s;
      sums.longest_work = input / rate;
    }
    sums.input_bytes += input;
    sums.output_bytes += output;
  }
  if (layers.back().output_bytes == 0)
    layers.back().output_bytes = static_cast<double>(run.part_bytes);
  // What was combined on the way came in as the layer before made it.
  for (const ComputeStep& step : run.plan.steps) {
    const std::size_t layer = At(step.layer);
    if (step.kind->combines && layer < layers.size() && layers[layer].input_bytes > 0) {
      layers[layer].input_bytes = layers[layer - 1].output_bytes;
    }
  }
  return layers;
}

/// Mixes an observation with what was known; names it when it is far off.
double Mix(const std::string& name, bool known, double before, double seen,
           v1::JobShapeLearned& shape) {
  if (!known || before <= 0) return seen;
  const bool outlier = seen > before * kOutlierFactor || seen < before / kOutlierFactor;
  if (outlier) shape.add_outliers(absl::StrCat(name, ": ", seen, ", expected ", before));
  const double alpha = outlier ? kOutlierAlpha : kLearningAlpha;
  return before + alpha * (seen - before);
}

/// Share of a layer's bytes that each reducer read, beside its keys.
struct ReadKeys {
  double begin = 0;
  double end = 0;
  double share = 0;
};

std::vector<ReadKeys> KeysOfLayer(const ObservedRun& run, std::int32_t layer) {
  std::vector<ReadKeys> keys;
  double bytes = 0;
  for (std::size_t s = 0; s < run.plan.steps.size(); ++s) {
    const ComputeStep& step = run.plan.steps[s];
    if (!step.kind->splits_keys() || step.layer != layer) continue;
    keys.push_back(
        {step.key_begin, step.key_end, static_cast<double>(run.actual.step_input_bytes[s])});
    bytes += keys.back().share;
  }
  for (ReadKeys& one : keys) one.share /= bytes;
  std::sort(keys.begin(), keys.end(),
            [](const ReadKeys& a, const ReadKeys& b) { return a.end < b.end; });
  return keys;
}

/// The weights scaled so that each reducer's keys hold what it really read.
KeyWeights Reweigh(const KeyWeights& weights, const std::vector<ReadKeys>& keys) {
  absl::btree_set<double> ends(weights.ends.begin(), weights.ends.end());
  for (const ReadKeys& one : keys) ends.insert(one.end);
  ends.insert(1);
  ends.erase(ends.begin(), ends.upper_bound(0));
  KeyWeights scaled;
  double begin = 0;
  double sum = 0;
  std::size_t reducer = 0;
  for (const double end : ends) {
    while (reducer + 1 < keys.size() && keys[reducer].end <= begin) ++reducer;
    const ReadKeys& of = keys[reducer];
    const double planned = ShareBelow(weights, of.end) - ShareBelow(weights, of.begin);
    const double inside = ShareBelow(weights, end) - ShareBelow(weights, begin);
    const double share =
        planned > 0 ? inside * of.share / planned : of.share * (end - begin) / (of.end - of.begin);
    scaled.ends.push_back(end);
    scaled.shares.push_back(std::max(0.0, share));
    sum += scaled.shares.back();
    begin = end;
  }
  if (!(sum > 0)) return weights;
  for (double& share : scaled.shares) share /= sum;
  return scaled;
}

void LearnKeys(const ObservedRun& run, std::int32_t layer, v1::JobShapeLearned::Layer& learned) {
  KeyWeights weights = run.shape.layers[At(layer) - 1].key_weights;
  const std::vector<ReadKeys> keys = KeysOfLayer(run, layer);
  const bool off = std::any_of(keys.begin(), keys.end(), [&weights](const ReadKeys& one) {
    const double planned = ShareBelow(weights, one.end) - ShareBelow(weights, one.begin);
    return std::abs(one.share - planned) > kKeyTolerance * std::max(planned, one.share);
  });
  if (off && weights.ends.size() + keys.size() <= kKeyBucketsMax) weights = Reweigh(weights, keys);
  if (!CheckKeyWeights(weights).ok()) return;
  learned.mutable_key_end()->Assign(weights.ends.begin(), weights.ends.end());
  learned.mutable_key_share()->Assign(weights.shares.begin(), weights.shares.end());
}

/// How fast each worker was, to what its rate made expect.
void LearnWorkers(const ObservedRun& run, const std::vector<LayerSums>& layers,
                  const std::vector<double>& overhead_s, const std::vector<double>& packed,
                  v1::JobShapeLearned& shape) {
  std::vector<double> expected_s(run.cluster.workers.size(), 0);
  std::vector<double> seconds(run.cluster.workers.size(), 0);
  double all_expected_s = 0;
  double all_seconds = 0;
  for (std::size_t s = 0; s < run.plan.steps.size(); ++s) {
    const ComputeStep& step = run.plan.steps[s];
    if (At(step.layer) >= layers.size() || !Ran(run.actual.steps[s])) continue;
    const LayerSums& layer = layers[At(step.layer)];
    if (layer.work <= 0 || !step.kind->carries_layer()) continue;
    const std::size_t w = At(step.worker);
    const double rate_s = layer.Rate(overhead_s[At(step.layer)]);
    const double expected = overhead_s[At(step.layer)] +
                            rate_s * InputOf(run, s, packed) / run.cluster.workers[w].compute_rate;
    const double took =
        run.actual.steps[s].finish_s - run.actual.steps[s].start_s - SpillSeconds(run, s);
    expected_s[w] += expected;
    seconds[w] += took;
    all_expected_s += expected;
    all_seconds += took;
  }
  for (std::size_t w = 0; w < seconds.size(); ++w) {
    if (seconds[w] <= 0 || all_seconds <= 0) continue;
    v1::JobShapeLearned::WorkerRate& rate = *shape.add_workers();
    rate.set_worker(run.cluster.workers[w].name);
    rate.set_speed((expected_s[w] / seconds[w]) / (all_expected_s / all_seconds));
    if (rate.speed() > kOutlierFactor || rate.speed() < 1 / kOutlierFactor) {
      shape.add_outliers(absl::StrCat("worker ", rate.worker(), ": ", rate.speed(),
                                      " times as fast as its rate says"));
    }
  }
}

/// Whether the run of the one became the other's without moving.
bool HandedOver(const ObservedRun& run, const planner::Transfer& transfer) {
  const std::size_t sender = At(transfer.sender);
  const std::size_t receiver = At(transfer.receiver);
  const auto& domains = run.handover_domains;
  return std::max(sender, receiver) < domains.size() && !domains[sender].empty() &&
         domains[sender] == domains[receiver];
}

void LearnChannel(const ObservedRun& run, v1::JobShapeLearned& shape) {
  // What shares ports says nothing of what a channel carries.
  if (!planner::IsOrdered(run.plan.transfer_order)) return;
  double seconds = 0;
  double bytes = 0;
  for (std::size_t t = 0; t < run.plan.transfers.size(); ++t) {
    const planner::Transfer& transfer = run.plan.transfers[t];
    if (!Ran(run.actual.transfers[t]) || HandedOver(run, transfer)) continue;
    const double slow = run.plan.network.seconds_per_byte > 0
                            ? run.plan.network.SecondsPerByte(transfer.sender, transfer.receiver) /
                                  run.plan.network.seconds_per_byte
                            : 1;
    const double took = run.actual.transfers[t].finish_s - run.actual.transfers[t].start_s;
    seconds += std::max(0.0, took - planner::StartSeconds(run.plan)) / slow;
    bytes +=
        static_cast<double>(run.actual.transfer_bytes[t] - run.actual.transfer_in_flight_bytes[t]);
  }
  if (bytes >= kTransferBytesMin && seconds > 0)
    shape.set_channel_seconds_per_byte(seconds / bytes);
}

// What parts of the input make, by the law of their keys: halves, quarters, and so on.
void AddOutputPoints(const std::function<double(double)>& keys, double key_bytes,
                     double input_bytes, planner::JobShape& shape) {
  constexpr int kPoints = 20;
  shape.map_output_points.clear();
  for (int k = kPoints - 1; k >= 0; --k) {
    const double bytes = std::ldexp(input_bytes, -k);
    const planner::OutputPoint point{bytes, key_bytes * keys(bytes)};
    if (bytes < 1 || !(point.output_bytes > 0)) continue;
    shape.map_output_points.push_back(point);
  }
}

void TakeOutputPoints(const v1::JobShapeLearned& known, planner::JobShape& shape) {
  std::vector<planner::OutputPoint> points;
  for (const v1::JobShapeLearned::OutputPoint& point : known.map_output_points()) {
    const planner::OutputPoint before = points.empty() ? planner::OutputPoint() : points.back();
    if (!(point.input_bytes() > before.input_bytes && point.output_bytes() > 0 &&
          point.output_bytes() >= before.output_bytes && std::isfinite(point.output_bytes()))) {
      return;
    }
    points.push_back({point.input_bytes(), point.output_bytes()});
  }
  shape.map_output_points = std::move(points);
}

void TakeInputWeights(const v1::JobShapeLearned& known, planner::JobShape& shape) {
  const auto& weights = known.input_weights();
  const bool valid = std::all_of(weights.begin(), weights.end(),
                                 [](double weight) { return weight > 0 && std::isfinite(weight); });
  if (valid) shape.input_weights.assign(weights.begin(), weights.end());
}

// What chunks of that size make, by the law of their keys, with the power by which it grows there.
// Returns how much of the mappers' output is left once the same keys have met; nothing: no law is
// known.
std::optional<double> ApplyKeyLaw(const v1::JobShapeLearned& known, planner::Origin origin,
                                  double chunk_bytes, planner::JobShape& shape) {
  const KeyLaw law{known.map_keys().exponent(), known.map_keys().keys()};
  const double records_per_byte = known.map_keys().records_per_byte();
  const double at_bytes = static_cast<double>(known.map_output_at_bytes());
  if (!known.has_map_keys() || !IsKeyLaw(law) || !(records_per_byte > 0) || at_bytes <= 0 ||
      chunk_bytes < 1) {
    return std::nullopt;
  }
  const auto keys = [&](double bytes) { return DistinctKeys(law, records_per_byte * bytes); };
  const double of_chunk = keys(chunk_bytes);
  const double growth = std::log(keys(2 * chunk_bytes) / keys(chunk_bytes / 2)) / std::log(4.0);
  shape.map_output_ratio = {
      known.map_output_ratio() * (of_chunk / chunk_bytes) / (keys(at_bytes) / at_bytes), origin};
  shape.map_output_growth = {std::clamp(growth, kGrowthMin, 1.0), origin};
  shape.map_output_at_bytes = static_cast<planner::Bytes>(chunk_bytes);
  const double input_bytes = std::max(chunk_bytes, static_cast<double>(shape.input_bytes));
  AddOutputPoints(keys, known.map_output_ratio() * at_bytes / keys(at_bytes), input_bytes, shape);
  return keys(input_bytes) / (of_chunk * input_bytes / chunk_bytes);
}

void ApplyCodecs(const v1::JobShapeLearned::Layer& from, planner::Origin origin,
                 planner::LayerShape& layer) {
  if (!from.codecs().empty()) layer.packed.clear();
  for (const v1::JobShapeLearned::CodecRatio& one : from.codecs()) {
    const absl::StatusOr<planner::Codec> codec = planner::CodecFromProto(one.codec());
    if (!codec.ok() || !(one.ratio() > 0)) continue;
    layer.packed.push_back(
        {*codec, {std::clamp(one.ratio(), planner::PackedBytes::kRatioMin, 1.0), origin}});
  }
}

}  // namespace

void ApplyShape(const v1::JobShapeLearned& known, planner::Origin origin, double chunk_bytes,
                planner::JobShape& shape) {
  Set(known.has_map_overhead_s(), known.map_overhead_s(), origin, shape.map_overhead_s);
  Set(known.has_map_output_ratio(), known.map_output_ratio(), origin, shape.map_output_ratio);
  if (known.map_output_growth() > 0 && known.map_output_growth() <= 1 &&
      known.map_output_at_bytes() > 0) {
    shape.map_output_growth = {known.map_output_growth(), origin};
    shape.map_output_at_bytes = known.map_output_at_bytes();
  } else if (known.has_map_output_ratio() &&
             shape.map_output_growth.origin == planner::Origin::kDefault) {
    // The job's own growth is of its own ratio.
    shape.map_output_growth = {1, origin};
    shape.map_output_at_bytes = 0;
  }
  TakeOutputPoints(known, shape);
  TakeInputWeights(known, shape);
  const std::optional<double> found_once = ApplyKeyLaw(known, origin, chunk_bytes, shape);
  const double output_ratio = planner::MapOutputRatio(shape, chunk_bytes);
  const bool of_keys = known.map_seconds_per_output_byte() > 0 && known.map_output_at_bytes() > 0;
  const double sampled_bytes =
      known.map_output_ratio() * static_cast<double>(known.map_output_at_bytes());
  const double grown = output_ratio * chunk_bytes / std::max(sampled_bytes, kCachedBytes);
  const bool one_producer = chunk_bytes >= static_cast<double>(shape.input_bytes);
  const double larger = !of_keys       ? 1
                        : one_producer ? LargerSortCost(grown)
                                       : LargerTableCost(grown);
  Set(known.map_seconds_per_byte() > 0,
      known.map_seconds_per_byte() + known.map_seconds_per_output_byte() * output_ratio, origin,
      shape.map_seconds_per_byte);
  const std::size_t layers =
      std::min(shape.layers.size(), static_cast<std::size_t>(known.layers_size()));
  for (std::size_t p = 0; p < layers; ++p) {
    const v1::JobShapeLearned::Layer& from = known.layers(static_cast<int>(p));
    planner::LayerShape& layer = shape.layers[p];
    const double left = p == 0 ? found_once.value_or(1) : 1;
    const double part = p == 0 && found_once ? ReducePartOf(left) : 1;
    Set(from.has_reduce_seconds_per_byte(),
        from.reduce_seconds_per_byte() * part * (p == 0 ? larger : 1), origin,
        layer.reduce_seconds_per_byte);
    if (std::optional<planner::load::GrowthCurve> growth = FitReduceGrowth(from)) {
      growth->seconds_per_byte *= part * (p == 0 ? larger : 1);
      layer.reduce_growth = *growth;
      layer.reduce_growth_origin = origin;
      layer.reduce_seconds_per_byte = {0, origin};
    }
    Set(from.has_startup_s(), from.startup_s(), origin, layer.startup_s);
    Set(from.has_output_ratio(), from.output_ratio() * left, origin, layer.output_ratio);
    Set(from.record_bytes() > 0, from.record_bytes(), origin, layer.record_bytes);
    ApplyCodecs(from, origin, layer);
    KeyWeights weights{{from.key_end().begin(), from.key_end().end()},
                       {from.key_share().begin(), from.key_share().end()}};
    if (!CheckKeyWeights(weights).ok()) continue;
    layer.key_weights = std::move(weights);
    layer.key_weights_origin = origin;
  }
}

double MapOutputBytes(const v1::JobShapeLearned& known, double chunk_bytes, double input_bytes) {
  planner::JobShape shape;
  shape.input_bytes = static_cast<planner::Bytes>(input_bytes);
  ApplyShape(known, planner::Origin::kHistory, chunk_bytes, shape);
  return planner::MapOutputBytes(shape, chunk_bytes);
}

v1::JobShapeLearned LearnFrom(const ObservedRun& run, const v1::JobShapeLearned* before) {
  static const v1::JobShapeLearned kNothing;
  const v1::JobShapeLearned& old = before != nullptr ? *before : kNothing;
  v1::JobShapeLearned shape;
  shape.set_runs(old.runs() + 1);
  const std::vector<double> packed = PackedRatios(run);
  const std::vector<LayerSums> layers = SumLayers(run, packed);
  std::vector<double> overhead_s = {layers[0].Overhead(run.shape.map_overhead_s.value)};
  const LayerSums& map = layers[0];
  if (map.work > 0) {
    shape.set_map_overhead_s(overhead_s[0]);
    shape.set_map_seconds_per_byte(Mix("map seconds per byte", old.has_map_seconds_per_byte(),
                                       old.map_seconds_per_byte(), map.RateOfLongest(overhead_s[0]),
                                       shape));
    shape.set_map_output_ratio(map.output_bytes / map.input_bytes);
    shape.set_map_output_growth(run.shape.map_output_growth.value);
    shape.set_map_output_at_bytes(
        std::max<std::int64_t>(1, static_cast<std::int64_t>(map.input_bytes / map.steps)));
    shape.mutable_input_weights()->Assign(run.shape.input_weights.begin(),
                                          run.shape.input_weights.end());
    // The form is that of the sample, its size what this run made.
    const double said = planner::PartOutputBytes(run.shape, map.input_bytes / map.steps);
    const double scale = said > 0 ? map.output_bytes / map.steps / said : 1;
    for (const planner::OutputPoint& point : run.shape.map_output_points) {
      v1::JobShapeLearned::OutputPoint& kept = *shape.add_map_output_points();
      kept.set_input_bytes(point.input_bytes);
      kept.set_output_bytes(scale * point.output_bytes);
    }
  }
  for (std::size_t p = 1; p < layers.size(); ++p) {
    const LayerSums& sums = layers[p];
    overhead_s.push_back(sums.Overhead(run.shape.layers[p - 1].startup_s.value));
    v1::JobShapeLearned::Layer& layer = *shape.add_layers();
    run.codec_trials.Teach(static_cast<std::int32_t>(p) - 1, layer);
    layer.set_record_bytes(run.shape.layers[p - 1].record_bytes.value);
    if (sums.work <= 0) continue;
    const bool known = old.layers_size() >= static_cast<int>(p) &&
                       old.layers(static_cast<int>(p) - 1).has_reduce_seconds_per_byte();
    layer.set_startup_s(overhead_s[p]);
    layer.set_reduce_seconds_per_byte(
        Mix(absl::StrCat("layer ", p, " reduce seconds per byte"), known,
            known ? old.layers(static_cast<int>(p) - 1).reduce_seconds_per_byte() : 0,
            sums.RateOfLongest(overhead_s[p]), shape));
    LearnReducePoint(known ? &old.layers(static_cast<int>(p) - 1) : nullptr,
                     sums.input_bytes / sums.steps, sums.Rate(overhead_s[p]), layer);
    layer.set_output_ratio(sums.output_bytes / sums.input_bytes);
    LearnKeys(run, static_cast<std::int32_t>(p), layer);
  }
  LearnWorkers(run, layers, overhead_s, packed, shape);
  LearnChannel(run, shape);
  return shape;
}

}  // namespace weir::master
