#include "planner/load/layer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace weir::planner::load {
namespace {

// L D_q > q by less than this is a rounding of L D_q = q (equal fractions) and adds no cut.
constexpr double kCutTolerance = 1e-12;

absl::Status OutOfRange(const char* field, double value, const char* legal) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; legal: ", legal));
}

absl::Status CheckFractions(const std::vector<double>& fractions) {
  if (fractions.empty()) return OutOfRange("r (receivers)", 0, ">= 1");
  if (fractions.size() > static_cast<std::size_t>(kLayerWidthMax)) {
    return OutOfRange("r (receivers)", static_cast<double>(fractions.size()), "1 to 100000");
  }
  double sum = 0;
  for (std::size_t k = 0; k < fractions.size(); ++k) {
    if (!std::isfinite(fractions[k]) || fractions[k] < 0) {
      return OutOfRange(absl::StrCat("delta_next[", k, "]").c_str(), fractions[k],
                        "finite and >= 0");
    }
    sum += fractions[k];
  }
  if (std::abs(sum - 1) > kFractionSumTolerance) {
    return absl::InvalidArgumentError(
        absl::StrCat("delta_next sums to ", sum, "; legal: 1 within ", kFractionSumTolerance));
  }
  return absl::OkStatus();
}

}  // namespace

const char* LayerKindName(LayerKind kind) {
  return kind == LayerKind::kMapper ? "mapper" : "reducer";
}

absl::Status CheckLayer(const Layer& layer) {
  if (layer.num_senders < 1 || layer.num_senders > kLayerWidthMax) {
    return OutOfRange("n (senders)", layer.num_senders, "1 to 100000");
  }
  if (layer.channels < 1) return OutOfRange("l (channels)", layer.channels, ">= 1");
  if (!std::isfinite(layer.load_bytes) || layer.load_bytes <= 0 ||
      layer.load_bytes > kLoadBytesMax) {
    return OutOfRange("V (load in bytes)", layer.load_bytes, "> 0 and <= 1e17");
  }
  if (!std::isfinite(layer.channel_seconds_per_byte) || layer.channel_seconds_per_byte <= 0) {
    return OutOfRange("C (channel, s/B)", layer.channel_seconds_per_byte, "finite and > 0");
  }
  if (!std::isfinite(layer.output_ratio) || layer.output_ratio < 0) {
    return OutOfRange("g (output ratio)", layer.output_ratio, "finite and >= 0");
  }
  if (!std::isfinite(layer.mapper_startup_s) || layer.mapper_startup_s < 0) {
    return OutOfRange("S (mapper start-up, s)", layer.mapper_startup_s, "finite and >= 0");
  }
  if (absl::Status status = layer.compute.Check(); !status.ok()) return status;
  if (layer.kind == LayerKind::kMapper &&
      (layer.compute.smooth() || layer.compute.lines().size() != 1)) {
    return absl::InvalidArgumentError(
        "compute function of a mapper layer is not linear; legal: A * x (004, section 3)");
  }
  return CheckFractions(layer.next_fractions);
}

double ScaledLayer::FinishTime(std::int32_t k, double share) const {
  return (kind == LayerKind::kMapper ? (k + 1) * startup : 0.0) + compute.Value(share);
}

absl::StatusOr<ScaledLayer> ScaleLayer(const Layer& layer) {
  if (absl::Status status = CheckLayer(layer); !status.ok()) return status;
  ScaledLayer scaled;
  scaled.kind = layer.kind;
  scaled.n = layer.num_senders;
  scaled.r = static_cast<std::int32_t>(layer.next_fractions.size());
  scaled.l = layer.channels;
  scaled.width = std::min(scaled.l, scaled.r);
  scaled.load_bytes = layer.load_bytes;
  scaled.fractions = layer.next_fractions;

  const bool mapper = layer.kind == LayerKind::kMapper;
  const Seconds send_all_s = layer.channel_seconds_per_byte * layer.output_ratio * layer.load_bytes;
  const Seconds startup_s = mapper ? layer.mapper_startup_s : 0;
  scaled.time_unit_s = layer.compute.Value(layer.load_bytes / scaled.n) + scaled.n * startup_s +
                       send_all_s / std::min(scaled.width, scaled.n);
  if (!std::isfinite(scaled.time_unit_s) || !(scaled.time_unit_s > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "characteristic time F(V/n) + n S + C g V / min(l, n, r) is ", scaled.time_unit_s,
        " s; legal: finite and > 0 (lower V, C, g or the compute rate)"));
  }
  scaled.send_all = send_all_s / scaled.time_unit_s;
  scaled.startup = startup_s / scaled.time_unit_s;
  scaled.compute = layer.compute.Scaled(layer.load_bytes, scaled.time_unit_s);

  std::vector<double> sorted = layer.next_fractions;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  scaled.top_fractions.assign(static_cast<std::size_t>(scaled.width) + 1, 0);
  std::partial_sum(sorted.begin(), sorted.begin() + scaled.width, scaled.top_fractions.begin() + 1);
  scaled.top_fractions.back() = 1;
  // L D_q - q is concave and zero at both ends, so the first q without a cut ends the list.
  for (std::int32_t q = 1; q < scaled.width; ++q) {
    if (!(scaled.top_fractions[static_cast<std::size_t>(q)] * scaled.width >
          q * (1 + kCutTolerance)))
      break;
    scaled.cut_widths.push_back(q);
  }
  scaled.cut_widths.push_back(scaled.width);
  return scaled;
}

}  // namespace weir::planner::load
