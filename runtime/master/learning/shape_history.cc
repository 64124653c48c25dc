#include "runtime/master/learning/shape_history.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
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
  kinds_[kind] = Kept{shape, ++taken_};
  if (kinds_.size() <= kKindsMax) return;
  kinds_.erase(std::min_element(kinds_.begin(), kinds_.end(), [](const auto& a, const auto& b) {
    return a.second.order < b.second.order;
  }));
}

const v1::JobShapeLearned* ShapeHistory::Find(const v1::JobSpec& spec, std::int64_t input_bytes,
                                              std::int32_t num_workers) const {
  const std::string kind = KindOf(spec.job(), spec.parameters(), num_workers);
  const v1::JobShapeLearned* nearest = nullptr;
  double nearest_ratio = kSimilarSize;
  const int size_class = SizeClass(input_bytes);
  for (int near = size_class - 1; near <= size_class + 1; ++near) {
    const auto it = kinds_.find(absl::StrCat(kind, near));
    if (it == kinds_.end()) continue;
    const double ratio = std::exp(std::abs(
        std::log(std::max<double>(1, static_cast<double>(input_bytes)) /
                 std::max<double>(1, static_cast<double>(it->second.shape.input_bytes())))));
    if (ratio > nearest_ratio) continue;
    nearest_ratio = ratio;
    nearest = &it->second.shape;
  }
  return nearest;
}

double ShapeHistory::SpeedOf(const std::string& worker) const {
  const auto it = speeds_.find(worker);
  if (it == speeds_.end() || std::abs(it->second - 1) <= kSpeedTolerance) return 1;
  return it->second;
}

}  // namespace weir::master
