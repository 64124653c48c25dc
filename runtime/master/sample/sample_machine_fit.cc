// What the rounds of a sample say of the job: fits to their times, sizes and keys.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/base/section_bytes.h"
#include "runtime/master/learning/key_growth.h"
#include "runtime/master/sample/map_cost.h"
#include "runtime/master/sample/sample_machine.h"

namespace weir::master {
namespace {

// Steps of less than this many overheads say nothing about rates: what the overhead hides is then
// as large as what is measured.
constexpr double kTellingSteps = 1;
// Small files and places far apart keep a disk busy for longer than their bytes do in a job: this
// power of the time that is none of the processors' counts.
constexpr double kOwnStretch = 0.25;
constexpr double kGrowthMin = 0.05;
// How much the density of records may differ where they are independent draws: beside chance, by
// the borders of places.
constexpr double kSameDensity = 0.02;
constexpr double kChanceDeviations = 4;
// What is taken for the start is at most so much of a step that did more than start.
constexpr double kStartPartMax = 0.9;
// What is taken for a start took so many times the usual of processors, or of time alone. Jobs that
// combine run no scripts, and lose most by a start that is none: there time alone tells.
constexpr double kStartCpu = 2;
constexpr double kStartAlone = 10;
// Parts of the input whose costs differ by no more are not told apart: so much differs by chance.
constexpr double kAlikeCost = 1.1;
// Input costs at least so much of the mean, for being read, whatever is in it.
constexpr double kWeightMin = 0.1;
// Keys that come again less often tell nothing of what finding them costs.
constexpr double kAgainPartMin = 0.05;
// A sample that has no more than so many times the keys of another one has nearly all that there
// are.
constexpr double kAllKeys = 1.1;
// A mapper's table of so many keys becomes sparse in the job, which finds them sooner, but not in
// the few megabytes of a sample (combine_table.h): 10 000 stations took 0.8 of what they took
// there.
constexpr double kSparseKeysMin = 1024;
constexpr double kSparseKeysMax = 16'384;
constexpr double kFoundInSparseTable = 0.8;

// Of the mean worker that has any.
double MeanPlaces(const std::vector<std::vector<v1::InputRange>>& ranges) {
  double places = 0;
  double workers = 0;
  for (const auto& of_worker : ranges) {
    places += static_cast<double>(of_worker.size());
    if (!of_worker.empty()) ++workers;
  }
  return workers > 0 ? places / workers : 0;
}

// 0 where a step takes about as long as usual, or is long by chance: what starts something takes
// the processors for it, or so long that chance is out of the question.
double BeyondUsual(double seconds, double cpu_s, double usual_s, bool seldom) {
  const bool started =
      cpu_s <= 0 || (!seldom && cpu_s >= kStartCpu * usual_s) || seconds >= kStartAlone * usual_s;
  return started && seconds >= SampleMachine::kStartTells * usual_s ? seconds - usual_s : 0;
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
  if (TinyBeyondUsual(kTinyRound, 0, scale_.map_overhead_s) > 0) return false;
  return !scale_.combines || (MeanKeys(kSmallRound).records > 0 && !MostlyNew(kSmallRound));
}

bool SampleMachine::KnowsAllKeys() const {
  if (!scale_.combines || !rounds_[kAgainRound].front().done) return false;
  const double keys = MeanKeys(kLargeRound).keys;
  return keys > 0 && keys <= kAllKeys * MeanKeys(kOnceMoreRound).keys;
}

double SampleMachine::FoundLater() const {
  const double keys = MeanKeys(kLargeRound).keys;
  return keys > kSparseKeysMin && keys <= kSparseKeysMax ? kFoundInSparseTable : 1;
}

double SampleMachine::LeastOfTiny(std::size_t tiny_round, double Seen::*number) const {
  std::optional<double> least;
  for (std::size_t w = 0; w < num_workers_; ++w) {
    if (rounds_[kTinyRound][w].input_bytes <= 0) continue;
    const double one = rounds_[tiny_round][w].*number;
    least = std::min(least.value_or(one), one);
  }
  return least.value_or(0);
}

double SampleMachine::TinyBeyondUsual(std::size_t tiny_round, double work_s, double usual_s) const {
  return BeyondUsual(LeastOfTiny(tiny_round, &Seen::seconds) - work_s,
                     LeastOfTiny(tiny_round, &Seen::cpu_s), usual_s, scale_.combines);
}

double SampleMachine::StartAtMost(double seconds, double overhead_s, double starts) {
  return std::max(0.0, kStartPartMax * (seconds - overhead_s) / starts);
}

// Of one file.
double SampleMachine::MapStart() const {
  const double start_s = TinyBeyondUsual(kTinyRound, 0, scale_.map_overhead_s);
  const double starts =
      Sum(kSmallRound, [](const Seen& seen, std::size_t) { return seen.files_a_slot; });
  const double seconds = SecondsOf(kSmallRound);
  if (starts <= 0) return 0;
  const double overhead_s = static_cast<double>(num_workers_) * scale_.map_overhead_s;
  return std::clamp(start_s, 0.0, StartAtMost(seconds, overhead_s, starts));
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
  FitLayers(shape);
  return shape;
}

bool SampleMachine::KnowsCpu() const {
  for (const Round& round : rounds_) {
    for (const Seen& seen : round) {
      if (seen.done && !(seen.cpu_s > 0)) return false;
    }
  }
  return true;
}

double SampleMachine::FloorCpu() const {
  double floor_s = scale_.map_overhead_s;
  for (std::size_t round = 0; round < num_rounds_; ++round) {
    for (const Seen& seen : rounds_[round]) {
      if (seen.done && IsTiny(round)) floor_s = std::min(floor_s, seen.cpu_s);
    }
  }
  return floor_s;
}

double SampleMachine::IdleOfTiny(std::size_t tiny_round) const {
  double least = scale_.map_overhead_s;
  for (const Seen& seen : rounds_[tiny_round]) {
    if (seen.done) least = std::min(least, seen.ran_s - seen.waited_s - seen.cpu_s);
  }
  return std::max(least, 0.0);
}

double SampleMachine::OthersLoad() const {
  std::vector<double> loads;
  for (std::size_t round = kLargeRound; round < num_rounds_; ++round) {
    for (std::size_t w = 0; w < num_workers_; ++w) {
      const Seen& seen = rounds_[round][w];
      if (!seen.done || IsTiny(round) || seen.ran_s <= seen.waited_s) continue;
      loads.push_back(seen.ran_s / (seen.ran_s - seen.waited_s) / scale_.slots_a_core[w]);
    }
  }
  if (loads.empty()) return 1;
  std::sort(loads.begin(), loads.end());
  return std::max(1.0, (loads[(loads.size() - 1) / 2] + loads[loads.size() / 2]) / 2);
}

double SampleMachine::Stretch(std::size_t round) const {
  const double floor_s = FloorCpu();
  const double idle_s = IdleOfTiny(round < kFirstReduceRound ? kTinyRound : kFirstReduceRound);
  double least = std::numeric_limits<double>::infinity();
  for (const Seen& seen : rounds_[round]) {
    if (!seen.done || seen.input_bytes <= 0 || seen.cpu_s <= floor_s) continue;
    const double beside_s = seen.ran_s - seen.waited_s - seen.cpu_s - idle_s;
    least = std::min(least, beside_s / (seen.cpu_s - floor_s));
  }
  const double own = std::isfinite(least) ? 1 + std::max(0.0, least) : 1;
  return OthersLoad() * std::pow(own, kOwnStretch);
}

double SampleMachine::ProcessorWork(double bytes, std::size_t worker) const {
  return bytes / (scale_.compute_rates[worker] * scale_.slots_a_core[worker]);
}

void SampleMachine::FitMapRate(v1::JobShapeLearned& shape) const {
  const bool by_cpu = KnowsCpu();
  const auto work_of = [&](double bytes, std::size_t w) {
    return by_cpu ? ProcessorWork(bytes, w) : bytes / scale_.compute_rates[w];
  };
  const auto work = [&](const Seen& seen, std::size_t w) { return work_of(seen.input_bytes, w); };
  const auto made = [&](const Seen& seen, std::size_t w) { return work_of(seen.output_bytes, w); };
  const double floor_s = by_cpu ? FloorCpu() : scale_.map_overhead_s;
  const auto seconds = [&](const Seen& seen, std::size_t) {
    return (by_cpu ? seen.cpu_s : seen.seconds) - floor_s;
  };
  const auto sums_of = [&](std::size_t round) {
    return MapSums{Sum(round, work), Sum(round, made), Sum(round, seconds)};
  };
  std::vector<MapSums> sums;
  for (const std::size_t round : {kLargeRound, kOnceMoreRound, kAgainRound}) {
    if (rounds_[round].front().done) sums.push_back(sums_of(round));
  }
  const double telling_s =
      (by_cpu ? kTellingCpu : kTellingSteps) * static_cast<double>(num_workers_) * floor_s;
  if (!(sums.front().work > 0) || sums.front().seconds <= telling_s) return;
  const MapCost cost =
      KnowsAllKeys()
          ? FitMapCostOfKnownKeys(sums, FoundLater())
          : FitMapCost(sums, scale_.combines && (sums.size() > 1 || MostlyNew(kSmallRound)));
  const std::vector<PartOfInput> parts = PartsOfInput(cost);
  const double stretch = by_cpu ? Stretch(kLargeRound) : SlowedBy();
  PartOfInput charged;
  if (scale_.cut_anywhere && !CostAlike(parts)) {
    for (const PartOfInput& part : parts) shape.add_input_weights(part.weight);
  } else if (!parts.empty()) {
    charged = *std::max_element(
        parts.begin(), parts.end(),
        [](const PartOfInput& a, const PartOfInput& b) { return a.weight < b.weight; });
  }
  const double pairs =
      Sum(kLargeRound, [](const Seen& seen, std::size_t) { return seen.output_bytes; });
  const double beyond_caches = PairsBeyondCaches(pairs) / sums.front().work;
  shape.set_map_seconds_per_byte(stretch *
                                 (charged.of_input * cost.seconds_per_byte + beyond_caches));
  shape.set_map_seconds_per_output_byte(stretch * charged.of_output * cost.seconds_per_output_byte);
  double overhead_s = FirstMapStep(shape.map_seconds_per_byte());
  if (!scale_.combines && sums.size() == 3) {
    const StepBeginnings all = BeginningsOfSteps(sums_of(kSmallRound), sums, cost.seconds_per_byte);
    const double a_step = stretch / static_cast<double>(num_workers_);
    overhead_s = std::max(overhead_s, scale_.map_overhead_s + a_step * all.each_s) +
                 a_step * all.new_memory_s;
  }
  if (overhead_s > kTellingOverhead * scale_.map_overhead_s) shape.set_map_overhead_s(overhead_s);
}

double SampleMachine::PairsBeyondCaches(double pairs) const {
  const double input =
      Sum(kLargeRound, [](const Seen& seen, std::size_t) { return seen.input_bytes; });
  if (scale_.combines || !(input > 0) || RefersToInput()) return 0;
  const double steps = static_cast<double>(num_workers_);
  return pairs * BeyondCaches(pairs / steps, scale_.input_bytes * pairs / input / steps);
}

bool SampleMachine::RefersToInput() const {
  std::int64_t held = 0;
  std::int64_t named = 0;
  for (const Seen& seen : rounds_[kLargeRound]) {
    for (const v1::RunSection& section : seen.run.sections()) {
      held += section.bytes();
      named += UnpackedBytes(section);
    }
  }
  return held < named;
}

double SampleMachine::FirstMapStep(double seconds_per_byte) const {
  const double of_bytes = seconds_per_byte * LeastOfTiny(kTinyRound, &Seen::input_bytes);
  return std::clamp(LeastOfTiny(kTinyRound, &Seen::seconds) - of_bytes, scale_.map_overhead_s,
                    kStartTells * scale_.map_overhead_s);
}

std::vector<SampleMachine::PartOfInput> SampleMachine::PartsOfInput(const MapCost& cost) const {
  double input = 0;
  double output = 0;
  double records = 0;
  for (const Seen& seen : rounds_[kLargeRound]) {
    input += seen.input_bytes;
    output += seen.output_bytes;
    records += seen.keys.records;
  }
  const double mean = cost.seconds_per_byte + cost.seconds_per_output_byte * output / input;
  if (!scale_.combines || records <= 0 || output <= 0 || mean <= 0) return {};
  std::vector<PartOfInput> parts;
  for (const Seen& seen : rounds_[kLargeRound]) {
    if (seen.input_bytes <= 0) return {};
    PartOfInput& part = parts.emplace_back();
    part.of_input = seen.keys.records / seen.input_bytes * input / records;
    part.of_output = seen.output_bytes / seen.input_bytes * input / output;
    part.weight =
        std::max(kWeightMin, (cost.seconds_per_byte * part.of_input +
                              cost.seconds_per_output_byte * output / input * part.of_output) /
                                 mean);
  }
  return parts;
}

bool SampleMachine::CostAlike(const std::vector<PartOfInput>& parts) {
  const auto [least, most] = std::minmax_element(
      parts.begin(), parts.end(),
      [](const PartOfInput& a, const PartOfInput& b) { return a.weight < b.weight; });
  return parts.empty() || most->weight <= kAlikeCost * least->weight;
}

void SampleMachine::FitMap(v1::JobShapeLearned& shape) const {
  const auto input = [](const Seen& seen, std::size_t) { return seen.input_bytes; };
  const auto output = [](const Seen& seen, std::size_t) { return seen.output_bytes; };
  const double steps = static_cast<double>(num_workers_);
  if (TinyBeyondUsual(kTinyRound, 0, scale_.map_overhead_s) > 0) {
    FitMapWithStart(shape);
  } else {
    FitMapRate(shape);
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
  if (scale_.combines || output <= 0) return data;
  const std::vector<double> shares = KeyShares();
  data.mutable_key_share()->Assign(shares.begin(), shares.end());
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

bool SampleMachine::LooksIndependent() const {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  double fewest = std::numeric_limits<double>::infinity();
  for (const std::size_t round : {kSmallRound, kLargeRound}) {
    for (const Seen& seen : rounds_[round]) {
      if (seen.input_bytes <= 0 || seen.keys.records <= 0) continue;
      const double records_a_byte = seen.keys.records / seen.input_bytes;
      least = std::min(least, records_a_byte);
      most = std::max(most, records_a_byte);
      fewest = std::min(fewest, seen.keys.records);
    }
  }
  return most <= least * (1 + kSameDensity + kChanceDeviations / std::sqrt(fewest));
}

void SampleMachine::FitKeys(v1::JobShapeLearned& shape) const {
  const KeyCount tiny = MeanKeys(kTinyRound);
  const KeyCount small = MeanKeys(kSmallRound);
  const KeyCount large = MeanKeys(kLargeRound);
  if (!scale_.combines) return;
  if (!LooksIndependent()) return;
  const KeyCount few = MeanKeys(kOnceMoreRound);
  const double part = PartInFewPlaces(few, small, shape.map_output_growth());
  if (part < kLocalPart) {
    const auto local = FitLocalKeys({{tiny, 1},
                                     {small, MeanPlaces(design_.small)},
                                     {few, MeanPlaces(design_.again)},
                                     {large, MeanPlaces(design_.large)}});
    if (!local) return;
    const double from_here = local->a_record * large.records / large.keys;
    shape.set_map_output_ratio(shape.map_output_ratio() * from_here);
    shape.set_map_output_growth(1);
    return;
  }
  if (std::abs(part - 1) > kSameKeys) return;
  const std::optional<KeyLaw> law = FitKeyLaw(tiny, small, large);
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
    const double work = WorkOf(round);
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
  const double large_work = WorkOf(kLargeRound);
  if (start_s > 0) {
    shape.set_map_overhead_s(scale_.map_overhead_s + start_s * scale_.files_per_slot);
  }
  if (of_input * large_work > kTellingSteps * overhead_s) {
    shape.set_map_seconds_per_byte(SlowedBy() * of_input);
    shape.set_map_seconds_per_output_byte(0);
  }
}

}  // namespace weir::master
