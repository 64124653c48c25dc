// What the rounds of a sample say of the job's reduce layers. The maps: sample_machine_fit.cc.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "runtime/master/learning/codec_trials.h"
#include "runtime/master/learning/key_growth.h"
#include "runtime/master/learning/learned_shape.h"
#include "runtime/master/sample/layer_keys.h"
#include "runtime/master/sample/map_cost.h"
#include "runtime/master/sample/sample_machine.h"

namespace weir::master {
namespace {

// Steps of less than this many overheads say nothing about rates: one size alone must say more than
// the difference of two, which maps have.
constexpr double kTellingStepsAlone = 4;

}  // namespace

double SampleMachine::RecordBytes(std::size_t round) const {
  const double bytes = Sum(round, [](const Seen& seen, std::size_t) { return seen.output_bytes; });
  const double records = Sum(round, [](const Seen& seen, std::size_t) { return seen.keys.keys; });
  return records > 0 ? bytes / records : 0;
}

FirstLayerInput SampleMachine::FirstLayer(const v1::JobShapeLearned& shape) const {
  const double steps = static_cast<double>(num_workers_);
  FirstLayerInput first;
  first.reducers = steps;
  const double record_bytes = RecordBytes(kLargeRound);
  const double chunk_bytes = scale_.input_bytes / steps;
  if (!(record_bytes > 0 && chunk_bytes >= 1)) return first;
  first.records = steps * MapOutputBytes(shape, chunk_bytes, scale_.input_bytes) / record_bytes;
  first.keys = first.records;
  if (!scale_.combines) return first;
  if (shape.has_map_keys()) {
    const v1::JobShapeLearned::KeyLaw& keys = shape.map_keys();
    first.keys =
        DistinctKeys({keys.exponent(), keys.keys()}, keys.records_per_byte() * scale_.input_bytes);
  } else if (shape.has_map_output_growth()) {
    first.keys *= std::pow(steps, shape.map_output_growth() - 1);
  }
  return first;
}

void SampleMachine::FitLayers(v1::JobShapeLearned& shape) const {
  std::vector<SampledLayer> layers;
  for (std::size_t p = 0; p < static_cast<std::size_t>(scale_.num_layers); ++p) {
    const std::size_t tiny_round = kFirstReduceRound + kRoundsALayer * p;
    layers.push_back({MeanKeys(tiny_round), MeanKeys(tiny_round + 1)});
  }
  const std::vector<LayerLeft> left = LeftOfLayers(FirstLayer(shape), layers);
  for (std::size_t p = 0; p < layers.size(); ++p) FitLayer(static_cast<int>(p), left[p], shape);
}

double SampleMachine::SecondsOf(std::size_t round) const {
  return Sum(round, [](const Seen& seen, std::size_t) { return seen.seconds; });
}

double SampleMachine::WorkOf(std::size_t round) const {
  return Sum(round, [this](const Seen& seen, std::size_t w) {
    return seen.input_bytes / scale_.compute_rates[w];
  });
}

double SampleMachine::ReduceStart(std::size_t tiny_round) const {
  const std::size_t round = tiny_round + 1;
  const double steps = static_cast<double>(num_workers_);
  const double seconds = SecondsOf(round);
  const double work = WorkOf(round);
  const double tiny_s = LeastOfTiny(tiny_round, &Seen::seconds);
  const double tiny_work = WorkOf(tiny_round);
  // The tiny sample may have grown on its way.
  const double of_tiny_s =
      work > tiny_work ? std::max(0.0, seconds / steps - tiny_s) * tiny_work / (work - tiny_work)
                       : 0;
  return std::min(TinyBeyondUsual(tiny_round, of_tiny_s, scale_.reduce_overhead_s),
                  StartAtMost(seconds, steps * scale_.reduce_overhead_s, steps));
}

double SampleMachine::ClosingStep(std::size_t tiny_round) const {
  const double closing_s =
      Sum(tiny_round + 1, [](const Seen& seen, std::size_t) { return seen.closing_s; });
  if (!(closing_s > 0)) return 0;
  return LeastOfTiny(tiny_round, &Seen::seconds) + closing_s / static_cast<double>(num_workers_);
}

std::optional<double> SampleMachine::ReduceRate(std::size_t round, double start_s,
                                                double beyond_s) const {
  const double work = WorkOf(round);
  if (!(work > 0)) return std::nullopt;
  const double steps = static_cast<double>(num_workers_);
  if (KnowsCpu() && start_s <= 0) {
    const double floor_s = FloorCpu();
    const double cpu_s =
        Sum(round, [&](const Seen& seen, std::size_t) { return seen.cpu_s - floor_s; });
    if (!(cpu_s > kTellingCpu * steps * floor_s)) return std::nullopt;
    const double processor_work = Sum(round, [this](const Seen& seen, std::size_t w) {
      return ProcessorWork(seen.input_bytes, w);
    });
    return Stretch(round) * (cpu_s + beyond_s) / processor_work;
  }
  const double overhead_s = steps * scale_.reduce_overhead_s;
  const double beyond_start_s = SecondsOf(round) - steps * start_s;
  if (!(beyond_start_s > kTellingStepsAlone * overhead_s)) return std::nullopt;
  return SlowedBy() * (beyond_start_s - overhead_s + beyond_s) / work;
}

void SampleMachine::FitLayer(int index, const LayerLeft& left, v1::JobShapeLearned& shape) const {
  v1::JobShapeLearned::Layer& layer = *shape.add_layers();
  const std::size_t tiny_round =
      kFirstReduceRound + kRoundsALayer * static_cast<std::size_t>(index);
  const std::size_t round = tiny_round + 1;
  layer.set_record_bytes(RecordBytes(RoundBefore(round)));
  const double start_s = ReduceStart(tiny_round);
  const double startup_s = std::max(scale_.reduce_overhead_s + start_s, ClosingStep(tiny_round));
  if (startup_s > kTellingOverhead * scale_.reduce_overhead_s) layer.set_startup_s(startup_s);
  const double input = Sum(round, [](const Seen& seen, std::size_t) { return seen.input_bytes; });
  std::optional<double> rate =
      ReduceRate(round, start_s, index == 0 ? PairsBeyondCaches(input) : 0);
  const double output = Sum(round, [](const Seen& seen, std::size_t) { return seen.output_bytes; });
  if (input > 0) {
    // Each worker reduced its own run only; the real reducers find the keys of all makers again.
    // Of the first layer that is reckoned where the law of its keys is (ApplyShape).
    const double again = index == 0 && shape.has_map_keys() ? 1 : left.met;
    layer.set_output_ratio(output / input * again * left.behind);
    const double part =
        ReducePartOf(left.behind) * (scale_.combines || index > 0 ? ReducePartOf(again) : 1);
    if (rate) *rate *= part;
  }
  if (rate) layer.set_reduce_seconds_per_byte(*rate);
  CodecTrials trials;
  for (const Seen& seen : rounds_[RoundBefore(round)]) trials.Add(index, v1::CODEC_NONE, seen.run);
  trials.Teach(index, layer);
  if (index == 0 && uneven_) WeighKeys(layer);
}

}  // namespace weir::master
