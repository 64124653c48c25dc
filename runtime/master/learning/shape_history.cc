#include "runtime/master/learning/shape_history.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "runtime/master/learning/data_seen.h"
#include "runtime/master/learning/learned_shape.h"

namespace weir::master {
namespace {

// Within this of 1, a worker's speed is noise, not a slower machine.
constexpr double kSpeedTolerance = 0.1;
constexpr double kSpeedMax = 10;

std::string KindOf(const std::string& job,
                   const google::protobuf::RepeatedPtrField<v1::JobParameter>& parameters,
                   std::int32_t num_workers) {
  std::vector<std::string> values;
  for (const v1::JobParameter& parameter : parameters)
    values.push_back(absl::StrCat(parameter.name(), "=", parameter.value()));
  std::sort(values.begin(), values.end());
  std::string kind = job;
  for (const std::string& value : values) absl::StrAppend(&kind, std::string(1, '\0'), value);
  absl::StrAppend(&kind, std::string(1, '\0'), num_workers, std::string(1, '\0'));
  return kind;
}

int SizeClass(std::int64_t input_bytes) {
  return static_cast<int>(std::log2(std::max<double>(1, static_cast<double>(input_bytes))) /
                          std::log2(ShapeHistory::kSimilarSize));
}

// How many times as large the larger one is.
double SizeRatio(std::int64_t one, std::int64_t other) {
  return std::exp(std::abs(std::log(std::max<double>(1, static_cast<double>(one)) /
                                    std::max<double>(1, static_cast<double>(other)))));
}

}  // namespace

void ShapeHistory::Take(const v1::JobShapeLearned& shape) {
  for (const v1::JobShapeLearned::WorkerRate& rate : shape.workers()) {
    if (!(rate.speed() > 0) || !std::isfinite(rate.speed())) continue;
    double& speed = speeds_.emplace(rate.worker(), 1.0).first->second;
    speed = std::clamp(speed * std::pow(rate.speed(), kWorkerAlpha), 1 / kSpeedMax, kSpeedMax);
    if (static_cast<std::int64_t>(speeds_.size()) > 2 * limits::kWorkersMax) {
      speeds_.erase(speeds_.begin());
    }
  }
  if (shape.channel_seconds_per_byte() > 0) {
    const double seen = shape.channel_seconds_per_byte();
    const double before = channel_seconds_per_byte_.value_or(seen);
    channel_seconds_per_byte_ = before + kLearningAlpha * (seen - before);
  }
  const std::string kind = absl::StrCat(
      KindOf(shape.job(), shape.parameters(), shape.num_workers()), SizeClass(shape.input_bytes()));
  std::vector<Kept>& of_data = kinds_[kind];
  const auto same_kind = [&shape](const Kept& kept) { return IsSameKindOfData(kept.shape, shape); };
  const auto same_files = [&shape](const Kept& kept) {
    return shape.input_fingerprint() != 0 &&
           kept.shape.input_fingerprint() == shape.input_fingerprint();
  };
  // Likeness is no equivalence: of several that are like it, its own files, else the last.
  auto before = std::find_if(of_data.rbegin(), of_data.rend(), same_files);
  if (before == of_data.rend()) before = std::find_if(of_data.rbegin(), of_data.rend(), same_kind);
  if (before != of_data.rend()) {
    of_data.erase(std::next(before).base());
    --num_kept_;
  }
  of_data.push_back(Kept{shape, ++taken_});
  ++num_kept_;
  if (of_data.size() > kDataKindsMax) {
    of_data.erase(of_data.begin());
    --num_kept_;
  }
  if (num_kept_ > kKindsMax) DropOldest();
}

void ShapeHistory::DropOldest() {
  const auto oldest = std::min_element(
      kinds_.begin(), kinds_.end(),
      [](const auto& a, const auto& b) { return a.second.front().order < b.second.front().order; });
  oldest->second.erase(oldest->second.begin());
  if (oldest->second.empty()) kinds_.erase(oldest);
  --num_kept_;
}

const v1::JobShapeLearned* ShapeHistory::Find(const v1::JobSpec& spec, const InputSeen& input,
                                              std::int32_t num_workers) const {
  const auto all = FindAll(spec, input, num_workers);
  return all.empty() ? nullptr : all.front();
}

std::vector<const v1::JobShapeLearned*> ShapeHistory::FindAll(const v1::JobSpec& spec,
                                                              const InputSeen& input,
                                                              std::int32_t num_workers) const {
  const std::string kind = KindOf(spec.job(), spec.parameters(), num_workers);
  // Less is nearer: the data first, then the size, then how long ago. Of data that is not told to
  // be alike, the last run of a size comes before all others.
  using Distance = std::tuple<int, bool, double, std::int64_t>;
  std::vector<std::pair<Distance, const v1::JobShapeLearned*>> similar;
  const int size_class = SizeClass(input.bytes);
  for (int near = size_class - 1; near <= size_class + 1; ++near) {
    const auto it = kinds_.find(absl::StrCat(kind, near));
    if (it == kinds_.end()) continue;
    bool has_last = false;
    for (auto kept = it->second.rbegin(); kept != it->second.rend(); ++kept) {
      const double ratio = SizeRatio(input.bytes, kept->shape.input_bytes());
      if (ratio > kSimilarSize) continue;
      const DataNearness nearness = NearnessOf(kept->shape, input);
      const bool earlier = nearness == DataNearness::kNotTold && std::exchange(has_last, true);
      similar.push_back(
          {{-static_cast<int>(nearness), earlier, ratio, -kept->order}, &kept->shape});
    }
  }
  std::sort(similar.begin(), similar.end());
  std::vector<const v1::JobShapeLearned*> found;
  for (const auto& [distance, shape] : similar) found.push_back(shape);
  return found;
}

std::vector<const v1::JobShapeLearned*> ShapeHistory::All() const {
  std::vector<std::pair<std::int64_t, const v1::JobShapeLearned*>> kept;
  for (const auto& [kind, of_data] : kinds_) {
    for (const Kept& one : of_data) kept.emplace_back(one.order, &one.shape);
  }
  std::sort(kept.begin(), kept.end());
  std::vector<const v1::JobShapeLearned*> all;
  for (const auto& [order, shape] : kept) all.push_back(shape);
  return all;
}

double ShapeHistory::SpeedOf(const std::string& worker) const {
  const auto it = speeds_.find(worker);
  if (it == speeds_.end() || std::abs(it->second - 1) <= kSpeedTolerance) return 1;
  return it->second;
}

}  // namespace weir::master
