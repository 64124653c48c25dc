// What the rounds of a sample say of the job: fits to their times, sizes and keys.

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/master/learning/codec_trials.h"
#include "runtime/master/learning/key_growth.h"
#include "runtime/master/sample/map_cost.h"
#include "runtime/master/sample/sample_machine.h"

namespace weir::master {
namespace {

// Steps of less than this many overheads say nothing about rates: what the overhead hides is then
// as large as what is measured. One size alone must say more than the difference of two.
constexpr double kTellingSteps = 1;
constexpr double kTellingStepsAlone = 4;
constexpr double kGrowthMin = 0.05;
// What is taken for the start is at most so much of a step that did more than start.
constexpr double kStartPartMax = 0.9;
// Keys that come again less often tell nothing of what finding them costs.
constexpr double kAgainPartMin = 0.05;

// 0 where a step takes about as long as usual.
double BeyondUsual(double seconds, double usual_s) {
  return seconds >= SampleMachine::kStartTells * usual_s ? seconds - usual_s : 0;
}

}  // namespace

double SampleMachine::SlowedBy() const {
  double alone_s = 0;
  double waited_s = 0;
  for (const Round& round : rounds_) {
    for (const Seen& seen : round) {
      if (!seen.done) continue;
      alone_s += seen.seconds;
      waited_s += seen.waited_s;
    }
  }
  return alone_s > 0 ? 1 + waited_s / alone_s : 1;
}

bool SampleMachine::MostlyNew(std::size_t round) const {
  const KeyCount count = MeanKeys(round);
  return count.records > 0 && count.keys >= (1 - kAgainPartMin) * count.records;
}

bool SampleMachine::AgainTells() const {
  return scale_.combines && MeanKeys(kSmallRound).records > 0 && !MostlyNew(kSmallRound) &&
         BeyondUsual(TinySeconds(kTinyRound), scale_.map_overhead_s) <= 0;
}

// What a step of the tiny sample took: the least of all workers, because what else goes on there
// only adds to it. 0: there was none.
double SampleMachine::TinySeconds(std::size_t tiny_round) const {
  std::optional<double> least_s;
  for (std::size_t w = 0; w < num_workers_; ++w) {
    if (rounds_[kTinyRound][w].input_bytes <= 0) continue;
    const double seconds = rounds_[tiny_round][w].seconds;
    least_s = std::min(least_s.value_or(seconds), seconds);
  }
  return least_s.value_or(0);
}

// Of one file.
double SampleMachine::MapStart() const {
  const double start_s = BeyondUsual(TinySeconds(kTinyRound), scale_.map_overhead_s);
  const double starts =
      Sum(kSmallRound, [](const Seen& seen, std::size_t) { return seen.files_a_slot; });
  const double seconds =
      Sum(kSmallRound, [](const Seen& seen, std::size_t) { return seen.seconds; });
  if (starts <= 0) return 0;
  const double overhead_s = static_cast<double>(num_workers_) * scale_.map_overhead_s;
  return std::clamp(start_s, 0.0, std::max(0.0, kStartPartMax * (seconds - overhead_s) / starts));
}

std::optional<v1::JobShapeLearned> SampleMachine::ShapeSoFar() const {
  if (round_ <= kSmallRound) return std::nullopt;
  const double start_s = MapStart();
  double seconds = 0;
  double work = 0;
  double input = 0;
  double output = 0;
  for (std::size_t w = 0; w < num_workers_; ++w) {
    const Seen& seen = rounds_[kSmallRound][w];
    seconds += seen.seconds - scale_.map_overhead_s - start_s * seen.files_a_slot;
    work += seen.input_bytes / scale_.compute_rates[w];
    input += seen.input_bytes;
    output += seen.output_bytes;
  }
  if (seconds <= 0 || work <= 0) return std::nullopt;
  v1::JobShapeLearned shape;
  if (start_s > 0) {
    shape.set_map_overhead_s(scale_.map_overhead_s + start_s * scale_.files_per_slot);
  }
  shape.set_map_seconds_per_byte(SlowedBy() * seconds / work);
  shape.set_map_output_ratio(output / input);
  return shape;
}

v1::JobShapeLearned SampleMachine::Shape() const {
  v1::JobShapeLearned shape;
  *shape.mutable_seen() = DataSeen();
  if (alike_) return shape;
  FitMap(shape);
  for (int layer = 0; layer < scale_.num_layers; ++layer) FitLayer(layer, shape);
  return shape;
}

void SampleMachine::FitMap(v1::JobShapeLearned& shape) const {
  const auto input = [](const Seen& seen, std::size_t) { return seen.input_bytes; };
  const auto output = [](const Seen& seen, std::size_t) { return seen.output_bytes; };
  const auto work = [this](const Seen& seen, std::size_t w) {
    return seen.input_bytes / scale_.compute_rates[w];
  };
  const double steps = static_cast<double>(num_workers_);
  const double overhead_s = steps * scale_.map_overhead_s;
  const auto seconds = [](const Seen& seen, std::size_t) { return seen.seconds; };
  const double large_s = Sum(kLargeRound, seconds);
  const double large_work = Sum(kLargeRound, work);
  const bool again = rounds_[kAgainRound].front().done;
  // Two rounds of one size say more than the difference of two sizes.
  const double telling_s = large_s - (again ? overhead_s : Sum(kSmallRound, seconds));
  if (BeyondUsual(TinySeconds(kTinyRound), scale_.map_overhead_s) > 0) {
    FitMapWithStart(shape);
  } else if (large_work > 0 && telling_s > kTellingSteps * overhead_s) {
    const auto made = [this](const Seen& seen, std::size_t w) {
      return seen.output_bytes / scale_.compute_rates[w];
    };
    const auto sums = [&](std::size_t round) {
      return MapSums{Sum(round, work), Sum(round, made), Sum(round, seconds) - overhead_s};
    };
    const MapCost cost = FitMapCost(sums(kSmallRound), again ? sums(kAgainRound) : MapSums{},
                                    sums(kLargeRound), scale_.combines && MostlyNew(kSmallRound));
    shape.set_map_seconds_per_byte(SlowedBy() * cost.seconds_per_byte);
    shape.set_map_seconds_per_output_byte(SlowedBy() * cost.seconds_per_output_byte);
  }
  const double large_in = Sum(kLargeRound, input);
  const double large_out = Sum(kLargeRound, output);
  if (large_in <= 0) return;
  shape.set_map_output_ratio(large_out / large_in);
  const double small_in = Sum(kSmallRound, input);
  const double small_out = Sum(kSmallRound, output);
  if (small_out <= 0 || large_out <= 0) return;
  const double growth = std::log(large_out / small_out) / std::log(large_in / small_in);
  shape.set_map_output_growth(std::clamp(growth, kGrowthMin, 1.0));
  shape.set_map_output_at_bytes(static_cast<std::int64_t>(large_in / steps));
  FitKeys(shape);
}

v1::JobShapeLearned::DataSeen SampleMachine::DataSeen() const {
  double input = 0;
  double records = 0;
  double output = 0;
  for (const Seen& seen : rounds_[kSmallRound]) {
    input += seen.input_bytes;
    records += seen.keys.records;
    output += seen.output_bytes;
  }
  v1::JobShapeLearned::DataSeen data;
  if (input <= 0) return data;
  data.set_records_per_byte(records / input);
  data.set_output_ratio(output / input);
  data.set_at_bytes(static_cast<std::int64_t>(input / static_cast<double>(num_workers_)));
  return data;
}

KeyCount SampleMachine::MeanKeys(std::size_t round) const {
  KeyCount mean;
  double workers = 0;
  for (const Seen& seen : rounds_[round]) {
    if (seen.input_bytes <= 0) continue;
    mean.records += seen.keys.records;
    mean.keys += seen.keys.keys;
    ++workers;
  }
  if (workers > 0) mean = {mean.records / workers, mean.keys / workers};
  return mean;
}

void SampleMachine::FitKeys(v1::JobShapeLearned& shape) const {
  const KeyCount large = MeanKeys(kLargeRound);
  if (!scale_.combines) return;
  const std::optional<KeyLaw> law = FitKeyLaw(MeanKeys(kTinyRound), MeanKeys(kSmallRound), large);
  const double at_bytes = static_cast<double>(shape.map_output_at_bytes());
  if (!law || at_bytes <= 0) return;
  v1::JobShapeLearned::KeyLaw& keys = *shape.mutable_map_keys();
  keys.set_exponent(law->exponent);
  keys.set_keys(law->keys);
  keys.set_records_per_byte(large.records / at_bytes);
}

// Solves s files + A work = seconds beyond the overheads for all three sizes at once, by least
// squares: next to a start, one difference of two sizes is as good as noise.
void SampleMachine::FitMapWithStart(v1::JobShapeLearned& shape) const {
  double files_files = 0;
  double files_work = 0;
  double work_work = 0;
  double files_seconds = 0;
  double work_seconds = 0;
  for (const std::size_t round : {kTinyRound, kSmallRound, kLargeRound}) {
    const double files =
        Sum(round, [](const Seen& seen, std::size_t) { return seen.files_a_slot; });
    const double work = Sum(round, [this](const Seen& seen, std::size_t w) {
      return seen.input_bytes / scale_.compute_rates[w];
    });
    const double seconds = Sum(round, [this](const Seen& seen, std::size_t) {
      return seen.seconds - scale_.map_overhead_s;
    });
    files_files += files * files;
    files_work += files * work;
    work_work += work * work;
    files_seconds += files * seconds;
    work_seconds += work * seconds;
  }
  const double determinant = files_files * work_work - files_work * files_work;
  if (!(determinant > 0)) return;
  const double start_s = (files_seconds * work_work - work_seconds * files_work) / determinant;
  const double of_input = (work_seconds * files_files - files_seconds * files_work) / determinant;
  const double overhead_s = static_cast<double>(num_workers_) * scale_.map_overhead_s;
  const double large_work = Sum(kLargeRound, [this](const Seen& seen, std::size_t w) {
    return seen.input_bytes / scale_.compute_rates[w];
  });
  if (start_s > 0) {
    shape.set_map_overhead_s(scale_.map_overhead_s + start_s * scale_.files_per_slot);
  }
  if (of_input * large_work > kTellingSteps * overhead_s) {
    shape.set_map_seconds_per_byte(SlowedBy() * of_input);
    shape.set_map_seconds_per_output_byte(0);
  }
}

void SampleMachine::FitLayer(int index, v1::JobShapeLearned& shape) const {
  v1::JobShapeLearned::Layer& layer = *shape.add_layers();
  const std::size_t tiny_round =
      kFirstReduceRound + kRoundsALayer * static_cast<std::size_t>(index);
  const std::size_t round = tiny_round + 1;
  const double steps = static_cast<double>(num_workers_);
  const double seconds = Sum(round, [](const Seen& seen, std::size_t) { return seen.seconds; });
  const double input = Sum(round, [](const Seen& seen, std::size_t) { return seen.input_bytes; });
  const double output = Sum(round, [](const Seen& seen, std::size_t) { return seen.output_bytes; });
  const double work = Sum(round, [this](const Seen& seen, std::size_t w) {
    return seen.input_bytes / scale_.compute_rates[w];
  });
  const double overhead_s = steps * scale_.reduce_overhead_s;
  const double tiny_s = TinySeconds(tiny_round);
  const double tiny_work = Sum(tiny_round, [this](const Seen& seen, std::size_t w) {
    return seen.input_bytes / scale_.compute_rates[w];
  });
  // The tiny sample may have grown on its way.
  const double of_tiny_s =
      work > tiny_work ? std::max(0.0, seconds / steps - tiny_s) * tiny_work / (work - tiny_work)
                       : 0;
  const double start_s = std::min(BeyondUsual(tiny_s - of_tiny_s, scale_.reduce_overhead_s),
                                  std::max(0.0, kStartPartMax * (seconds - overhead_s) / steps));
  if (start_s > 0) layer.set_startup_s(scale_.reduce_overhead_s + start_s);
  const double beyond_start_s = seconds - steps * start_s;
  if (work > 0 && beyond_start_s > kTellingStepsAlone * overhead_s) {
    layer.set_reduce_seconds_per_byte(SlowedBy() * (beyond_start_s - overhead_s) / work);
  }
  if (input > 0) {
    // Each worker reduced its own run only; the real reducers find the keys of all mappers again.
    const double again = index == 0 && shape.has_map_output_growth() && !shape.has_map_keys()
                             ? std::pow(steps, shape.map_output_growth() - 1)
                             : 1;
    layer.set_output_ratio(output / input * again);
    if (scale_.combines && again < 1 && layer.has_reduce_seconds_per_byte()) {
      layer.set_reduce_seconds_per_byte(layer.reduce_seconds_per_byte() * ReducePartOf(again));
    }
  }
  CodecTrials trials;
  for (const Seen& seen : rounds_[RoundBefore(round)]) trials.Add(index, v1::CODEC_NONE, seen.run);
  trials.Teach(index, layer);
  if (index == 0 && uneven_) WeighKeys(layer);
}

}  // namespace weir::master
