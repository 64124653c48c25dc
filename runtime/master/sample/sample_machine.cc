#include "runtime/master/sample/sample_machine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/section_bytes.h"
#include "runtime/master/learning/data_seen.h"

namespace weir::master {
namespace {

// Of runtime/format, which the master must not include: each block of a section has such a header.
constexpr double kBlockHeaderBytes = 32;
constexpr double kBlockBytes = 1 << 20;
// Others' load is at most so much of a step: next to more, nothing of the step could be told.
constexpr double kWaitedPartMax = 0.98;
// The small sample is read so often over that the round is about as long as the large one.
constexpr int kAgainTimes = 4;
// Sub-buckets by weight, all together, and at most for one bucket.
constexpr double kFinerBuckets = 512;
constexpr int kFinerBucketsMax = 256;
// How far above its mean chi-square must be, in standard deviations, for keys to count as uneven.
constexpr double kUnevenDeviations = 5;

// Of what the section holds or names.
double NetBytes(const v1::RunSection& section) {
  const auto bytes = static_cast<double>(UnpackedBytes(section));
  const double blocks = bytes > 0 ? 1 + std::floor(bytes / (kBlockBytes + kBlockHeaderBytes)) : 0;
  return std::max(0.0, bytes - kBlockHeaderBytes * blocks);
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

int SampleMachine::LayerOf(std::size_t round) {
  return 1 + static_cast<int>((round - kFirstReduceRound) / kRoundsALayer);
}

bool SampleMachine::IsTiny(std::size_t round) {
  return round == kTinyRound ||
         (round >= kFirstReduceRound && (round - kFirstReduceRound) % kRoundsALayer == 0);
}

std::size_t SampleMachine::RoundBefore(std::size_t round) {
  if (LayerOf(round) > 1) return round - kRoundsALayer;
  return IsTiny(round) ? kTinyRound : kLargeRound;
}

bool SampleMachine::TellsOfCodecs(std::size_t round) {
  return round < kFirstReduceRound ? round == kLargeRound : !IsTiny(round);
}

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
    if (round_ >= kFirstReduceRound) {
      for (const v1::RunSection& section : rounds_[RoundBefore(round_)][w].run.sections())
        seen.input_bytes += static_cast<double>(UnpackedBytes(section));
    }
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
                         : round_ == kLargeRound ? design_.large
                                                 : design_.again;
    const int times = round_ == kAgainRound ? kAgainTimes : 1;
    for (int time = 0; time < times; ++time) {
      for (const v1::InputRange& range : ranges[worker]) *order.add_ranges() = range;
    }
    if (round_ == kSmallRound) ends = EvenEnds(kBuckets);
    if (round_ == kLargeRound || (round_ > kLargeRound && !scale_.combines)) ends = key_ends_;
  } else {
    order.set_kind(v1::STEP_KIND_REDUCE);
    order.set_layer(LayerOf(round_));
    const std::string name = absl::StrCat("reduce ", worker);
    order.set_label(order.layer() < 2 ? name : absl::StrCat("layer ", order.layer(), " ", name));
    const std::size_t before = RoundBefore(round_);
    AddInputs(before, worker, order);
  }
  order.set_no_codec_trials(scale_.same_host || !TellsOfCodecs(round_));
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

// Reducers of the job have an input from each mapper, and go about one otherwise than about several
// (combine_one_input.h). Where keys are combined, sections of neighbouring buckets are as good as
// one: no key is in two of them, and none has to be sorted.
void SampleMachine::AddInputs(std::size_t before, std::size_t worker, v1::StepOrder& order) const {
  const v1::RunInfo& run = rounds_[before][worker].run;
  const bool joins = scale_.combines && before == kLargeRound;
  const auto num_sections = static_cast<std::size_t>(run.sections_size());
  const std::size_t num_inputs =
      scale_.num_mappers > 0 ? static_cast<std::size_t>(scale_.num_mappers) : num_workers_;
  std::size_t part = num_inputs;  // of the last one
  std::int64_t end = 0;           // of its bytes
  for (std::size_t i = 0; i < num_sections; ++i) {
    const v1::RunSection& section = run.sections(static_cast<int>(i));
    if (section.bytes() == 0) continue;
    const std::size_t last_part = std::exchange(part, i * num_inputs / num_sections);
    const bool goes_on = joins && part == last_part && section.offset() == end;
    end = section.offset() + section.bytes();
    if (goes_on) {
      v1::StepInput& last = *order.mutable_inputs(order.inputs_size() - 1);
      last.set_bytes(last.bytes() + section.bytes());
      continue;
    }
    v1::StepInput& input = *order.add_inputs();
    input.set_producer_step(static_cast<std::int32_t>(before * num_workers_ + worker));
    input.set_run_id(run.run_id());
    input.set_place(v1::SECTION_PLACE_OWN_RUN);
    input.set_offset(section.offset());
    input.set_bytes(section.bytes());
  }
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
  const std::size_t worker = static_cast<std::size_t>(result.step()) % num_workers_;
  Seen& seen = rounds_[round_][worker];
  seen.done = true;
  TakeTimes(result, scale_.slots[worker], now_s, seen);
  seen.run = result.run();
  seen.keys = {static_cast<double>(result.input_records()),
               static_cast<double>(result.output_records())};
  seen.output_bytes = static_cast<double>(result.part().bytes());
  for (const v1::RunSection& section : seen.run.sections()) seen.output_bytes += NetBytes(section);
  const Round& round = rounds_[round_];
  if (!std::all_of(round.begin(), round.end(), [](const Seen& one) { return one.done; })) {
    return std::vector<SampleOrder>();
  }
  if (round_ == kSmallRound) ChooseBuckets();
  // Where keys come again, only all of the sample says how many there will be.
  alike_ = round_ == kSmallRound && scale_.known && !scale_.combines &&
           IsAlike(DataSeen(), *scale_.known);
  if (alike_) round_ = num_rounds_;
  if (finished()) return std::vector<SampleOrder>();
  ++round_;
  if (round_ == kOnceMoreRound && !AgainTells()) round_ = kFirstReduceRound;
  if (finished()) return std::vector<SampleOrder>();
  return StartRound(now_s);
}

void SampleMachine::TakeTimes(const v1::StepResult& result, int slots, double now_s,
                              Seen& seen) const {
  const double all_s = now_s - seen.began_s;
  seen.closing_s = std::min(std::min(result.closing_s(), result.run_s()), all_s);
  const double seconds = all_s - seen.closing_s;
  const double ran_s =
      result.run_s() > 0 ? std::min(result.run_s() - seen.closing_s, seconds) : seconds;
  seen.ran_s = ran_s;
  seen.cpu_s = std::min(result.cpu_s() / slots, ran_s);
  const double waited_s = std::min(result.waited_s() / slots, kWaitedPartMax * ran_s);
  // Of a report that is late, what is more than a step's overhead is others' load too.
  const double overhead_s =
      round_ < kFirstReduceRound ? scale_.map_overhead_s : scale_.reduce_overhead_s;
  seen.waited_s = waited_s;
  seen.seconds = ran_s - waited_s + std::min(seconds - ran_s, overhead_s);
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

std::vector<double> SampleMachine::KeyShares() const {
  std::vector<double> shares(kKeyShares, 0);
  double all = 0;
  for (const Seen& seen : rounds_[kSmallRound]) {
    for (const v1::RunSection& section : seen.run.sections()) {
      const int part = section.consumer_step() * kKeyShares / kBuckets;
      if (part < 0 || part >= kKeyShares) continue;
      shares[static_cast<std::size_t>(part)] += NetBytes(section);
      all += NetBytes(section);
    }
  }
  for (double& share : shares) share /= all;
  return all > 0 ? shares : std::vector<double>();
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
