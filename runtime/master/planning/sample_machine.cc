#include "runtime/master/planning/sample_machine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/master/learning/codec_trials.h"

namespace weir::master {
namespace {

constexpr std::size_t kTinyRound = 0;
constexpr std::size_t kSmallRound = 1;
constexpr std::size_t kLargeRound = 2;
// Of each layer two: the tiny sample's run, and the large one's.
constexpr std::size_t kFirstReduceRound = 3;
constexpr std::size_t kRoundsALayer = 2;
// Of runtime/format, which the master must not include: each block of a section has such a header.
constexpr double kBlockHeaderBytes = 32;
constexpr double kBlockBytes = 1 << 20;
// Steps of less than this many overheads say nothing about rates: what the overhead hides is then
// as large as what is measured. One size alone must say more than the difference of two.
constexpr double kTellingSteps = 1;
constexpr double kTellingStepsAlone = 4;
constexpr double kGrowthMin = 0.05;
// What is taken for the start is at most so much of a step that did more than start.
constexpr double kStartPartMax = 0.9;
// Output that is found this much less often in the larger sample tells what it costs.
constexpr double kSteadyPart = 0.05;
constexpr double kInputPartMin = 0.25;
// Sub-buckets by weight, all together, and at most for one bucket.
constexpr double kFinerBuckets = 512;
constexpr int kFinerBucketsMax = 256;
// How far above its mean chi-square must be, in standard deviations, for keys to count as uneven.
constexpr double kUnevenDeviations = 5;

double NetBytes(const v1::RunSection& section) {
  const auto bytes = static_cast<double>(section.bytes());
  const double blocks = bytes > 0 ? 1 + std::floor(bytes / (kBlockBytes + kBlockHeaderBytes)) : 0;
  return std::max(0.0, bytes - kBlockHeaderBytes * blocks);
}

// All map steps of one size: bytes read and made, each over the rate of its worker, and the time
// beyond the overheads.
struct MapSums {
  double work = 0;
  double made = 0;
  double seconds = 0;
};

struct MapCost {
  double seconds_per_byte = 0;
  double seconds_per_output_byte = 0;
};

// Solves A work + B made = seconds for both sizes. Where a larger input makes as much output a
// byte, or costs as much, B is 0 and A is what more input took, at most `all` (overheads included).
// A is at least kInputPartMin of that: the first steps of a process are slow for other reasons than
// keys.
MapCost FitMapCost(const MapSums& small, const MapSums& large, double all) {
  const double more_work = large.work - small.work;
  const double marginal = std::min((large.seconds - small.seconds) / more_work, all);
  const double found_less = small.made / small.work - large.made / large.work;
  const double cost_less = small.seconds / small.work - large.seconds / large.work;
  if (found_less <= kSteadyPart * large.made / large.work || cost_less <= 0) return {marginal, 0};
  const double of_output = cost_less / found_less;
  const double of_input = (large.seconds - of_output * large.made) / large.work;
  const double least = kInputPartMin * marginal;
  if (of_input >= least) return {of_input, of_output};
  return {least, std::max(0.0, large.seconds - least * large.work) / large.made};
}

// 0 where a step takes about as long as usual.
double BeyondUsual(double seconds, double usual_s) {
  return seconds >= SampleMachine::kStartTells * usual_s ? seconds - usual_s : 0;
}

// 1 and up.
int LayerOf(std::size_t round) {
  return 1 + static_cast<int>((round - kFirstReduceRound) / kRoundsALayer);
}

bool IsTiny(std::size_t round) {
  return round == kTinyRound ||
         (round >= kFirstReduceRound && (round - kFirstReduceRound) % kRoundsALayer == 0);
}

// That made what a reduce round reads.
std::size_t RoundBefore(std::size_t round) {
  if (LayerOf(round) > 1) return round - kRoundsALayer;
  return IsTiny(round) ? kTinyRound : kLargeRound;
}

double FilesOf(const v1::StepOrder& order) {
  double files = 0;
  const std::string* last = nullptr;
  for (const v1::InputRange& range : order.ranges()) {
    if (last == nullptr || *last != range.path()) ++files;
    last = &range.path();
  }
  return files;
}

std::vector<double> EvenEnds(std::size_t buckets) {
  std::vector<double> ends;
  for (std::size_t i = 1; i <= buckets; ++i)
    ends.push_back(static_cast<double>(i) / static_cast<double>(buckets));
  return ends;
}

}  // namespace

SampleMachine::SampleMachine(SampleDesign design, SampleScale scale)
    : design_(std::move(design)),
      scale_(std::move(scale)),
      num_workers_(design_.small.size()),
      num_rounds_(kFirstReduceRound + kRoundsALayer * static_cast<std::size_t>(scale_.num_layers)),
      rounds_(num_rounds_, Round(num_workers_)) {}

std::vector<SampleOrder> SampleMachine::Begin(double now_s) { return StartRound(now_s); }

bool SampleMachine::under_way(int step) const {
  const std::size_t index = static_cast<std::size_t>(step) % num_workers_;
  return step >= 0 && !finished() && static_cast<std::size_t>(step) / num_workers_ == round_ &&
         !rounds_[round_][index].done;
}

std::vector<SampleOrder> SampleMachine::StartRound(double now_s) {
  std::vector<SampleOrder> orders;
  for (std::size_t w = 0; w < num_workers_; ++w) {
    Seen& seen = rounds_[round_][w];
    seen.began_s = now_s;
    orders.push_back({w, BuildOrder(w)});
    for (const v1::InputRange& range : orders.back().order.ranges())
      seen.input_bytes += static_cast<double>(range.end() - range.begin());
    for (const v1::StepInput& input : orders.back().order.inputs())
      seen.input_bytes += static_cast<double>(input.bytes());
    seen.files_a_slot = FilesPerSlot(FilesOf(orders.back().order), scale_.slots[w]);
  }
  return orders;
}

v1::StepOrder SampleMachine::BuildOrder(std::size_t worker) const {
  v1::StepOrder order;
  order.set_step(static_cast<std::int32_t>(round_ * num_workers_ + worker));
  order.set_index_in_layer(static_cast<std::int32_t>(worker));
  std::vector<double> ends = EvenEnds(num_workers_);
  if (round_ < kFirstReduceRound) {
    order.set_kind(v1::STEP_KIND_MAP);
    order.set_label(absl::StrCat("map ", worker));
    const auto& ranges = round_ == kTinyRound    ? design_.tiny
                         : round_ == kSmallRound ? design_.small
                                                 : design_.large;
    for (const v1::InputRange& range : ranges[worker]) *order.add_ranges() = range;
    if (round_ == kSmallRound) ends = EvenEnds(kBuckets);
    if (round_ == kLargeRound) ends = key_ends_;
  } else {
    order.set_kind(v1::STEP_KIND_REDUCE);
    order.set_layer(LayerOf(round_));
    const std::string name = absl::StrCat("reduce ", worker);
    order.set_label(order.layer() < 2 ? name : absl::StrCat("layer ", order.layer(), " ", name));
    const std::size_t before = RoundBefore(round_);
    const v1::RunInfo& run = rounds_[before][worker].run;
    for (const v1::RunSection& section : run.sections()) {
      if (section.bytes() == 0) continue;
      v1::StepInput& input = *order.add_inputs();
      input.set_producer_step(static_cast<std::int32_t>(before * num_workers_ + worker));
      input.set_run_id(run.run_id());
      input.set_place(v1::SECTION_PLACE_OWN_RUN);
      input.set_offset(section.offset());
      input.set_bytes(section.bytes());
    }
  }
  if (round_ + kRoundsALayer >= num_rounds_) {
    order.set_part_path(absl::StrCat("sample-", order.step()));
  } else {
    // Nobody reads these runs but this machine: buckets of keys stand for their consumers.
    double begin = 0;
    for (std::size_t bucket = 0; bucket < ends.size(); ++bucket) {
      v1::StepConsumer& consumer = *order.add_consumers();
      consumer.set_step(static_cast<std::int32_t>(bucket));
      consumer.mutable_keys()->set_begin(begin);
      consumer.mutable_keys()->set_end(ends[bucket]);
      begin = ends[bucket];
    }
  }
  return order;
}

absl::StatusOr<std::vector<SampleOrder>> SampleMachine::StepDone(const v1::StepResult& result,
                                                                 double now_s) {
  if (!under_way(result.step())) {
    return absl::AbortedError(
        absl::StrCat("step ", result.step(), " of the sample is not under way"));
  }
  const bool last_layer = round_ + kRoundsALayer >= num_rounds_;
  if (result.has_part() != last_layer) {
    return absl::InternalError(absl::StrCat("step ", result.step(), " of the sample reported ",
                                            last_layer ? "no part" : "no run"));
  }
  Seen& seen = rounds_[round_][static_cast<std::size_t>(result.step()) % num_workers_];
  seen.done = true;
  seen.seconds = now_s - seen.began_s;
  seen.run = result.run();
  seen.output_bytes = static_cast<double>(result.part().bytes());
  for (const v1::RunSection& section : seen.run.sections()) seen.output_bytes += NetBytes(section);
  const Round& round = rounds_[round_];
  if (!std::all_of(round.begin(), round.end(), [](const Seen& one) { return one.done; })) {
    return std::vector<SampleOrder>();
  }
  if (round_ == kSmallRound) ChooseBuckets();
  ++round_;
  if (finished()) return std::vector<SampleOrder>();
  return StartRound(now_s);
}

void SampleMachine::ChooseBuckets() {
  std::vector<double> records(kBuckets, 0);
  std::vector<double> bytes(kBuckets, 0);
  double all_records = 0;
  double all_bytes = 0;
  for (const Seen& seen : rounds_[kSmallRound]) {
    for (const v1::RunSection& section : seen.run.sections()) {
      const auto bucket = static_cast<std::size_t>(section.consumer_step());
      if (bucket >= records.size()) continue;
      records[bucket] += static_cast<double>(section.records());
      bytes[bucket] += NetBytes(section);
      all_records += static_cast<double>(section.records());
      all_bytes += NetBytes(section);
    }
  }
  key_ends_ = EvenEnds(num_workers_);
  // Every worker may count the same key once: chance spreads records in lumps of that size.
  const double expected = all_records / kBuckets;
  double chi_square = 0;
  for (const double count : records) chi_square += (count - expected) * (count - expected);
  if (expected > 0) chi_square /= expected * static_cast<double>(num_workers_);
  uneven_ = chi_square > kBuckets + kUnevenDeviations * std::sqrt(2.0 * kBuckets);
  if (!uneven_ || all_bytes <= 0) return;
  key_ends_.clear();
  for (int i = 0; i < kBuckets; ++i) {
    const double share = bytes[static_cast<std::size_t>(i)] / all_bytes;
    const int finer =
        std::clamp(static_cast<int>(std::ceil(share * kFinerBuckets)), 1, kFinerBucketsMax);
    for (int j = 1; j <= finer; ++j)
      key_ends_.push_back((i + static_cast<double>(j) / finer) / kBuckets);
  }
  key_ends_.back() = 1;
}

template <typename Of>
double SampleMachine::Sum(std::size_t round, Of of) const {
  double sum = 0;
  for (std::size_t w = 0; w < num_workers_; ++w) sum += of(rounds_[round][w], w);
  return sum;
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
  shape.set_map_seconds_per_byte(seconds / work);
  shape.set_map_output_ratio(output / input);
  return shape;
}

v1::JobShapeLearned SampleMachine::Shape() const {
  v1::JobShapeLearned shape;
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
  const double more_s = large_s - Sum(kSmallRound, seconds);
  if (BeyondUsual(TinySeconds(kTinyRound), scale_.map_overhead_s) > 0) {
    FitMapWithStart(shape);
  } else if (large_work > 0 && more_s > kTellingSteps * overhead_s) {
    const auto made = [this](const Seen& seen, std::size_t w) {
      return seen.output_bytes / scale_.compute_rates[w];
    };
    const MapCost cost = FitMapCost(
        {Sum(kSmallRound, work), Sum(kSmallRound, made), Sum(kSmallRound, seconds) - overhead_s},
        {large_work, Sum(kLargeRound, made), large_s - overhead_s}, large_s / large_work);
    shape.set_map_seconds_per_byte(cost.seconds_per_byte);
    shape.set_map_seconds_per_output_byte(cost.seconds_per_output_byte);
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
    shape.set_map_seconds_per_byte(of_input);
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
    layer.set_reduce_seconds_per_byte((beyond_start_s - overhead_s) / work);
  }
  if (input > 0) {
    // Each worker reduced its own run only; the real reducers find the keys of all mappers again.
    const double again = index == 0 && shape.has_map_output_growth()
                             ? std::pow(steps, shape.map_output_growth() - 1)
                             : 1;
    layer.set_output_ratio(output / input * again);
  }
  CodecTrials trials;
  for (const Seen& seen : rounds_[RoundBefore(round)]) trials.Add(index, v1::CODEC_NONE, seen.run);
  trials.Teach(index, layer);
  if (index == 0 && uneven_) WeighKeys(layer);
}

void SampleMachine::WeighKeys(v1::JobShapeLearned::Layer& layer) const {
  std::vector<double> bytes(key_ends_.size(), 0);
  double all = 0;
  for (const Seen& seen : rounds_[kLargeRound]) {
    for (const v1::RunSection& section : seen.run.sections()) {
      const auto bucket = static_cast<std::size_t>(section.consumer_step());
      if (bucket >= bytes.size()) continue;
      bytes[bucket] += NetBytes(section);
      all += NetBytes(section);
    }
  }
  if (all <= 0) return;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    layer.add_key_end(key_ends_[i]);
    layer.add_key_share(bytes[i] / all);
  }
}

}  // namespace weir::master
