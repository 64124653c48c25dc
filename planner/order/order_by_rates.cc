#include "planner/order/order_by_rates.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/predict/fair_sharing.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

constexpr int kDoublingsMax = 200;
constexpr double kEndRounding = 1e-13;

/// What one transfer of a layer has to fit in.
struct Span {
  TransferIndex transfer = kNoIndex;
  Seconds flows_from_s = 0;  // its run is there, and the latency over
  Seconds before_end_s = 0;  // how long its consumer lasts
};

/// What is done where there is not room for kSlowestRateBytesPerS each.
enum class NoRoom { kIsRefused, kMakesSlower };

class LayerRates {
 public:
  LayerRates(Plan* plan, const SharingProblem& resources, NoRoom no_room, std::vector<Span> spans)
      : plan_(*plan),
        resources_(resources),
        no_room_(no_room),
        spans_(std::move(spans)),
        num_users_(resources.capacity.size(), 0) {
    for (const Span& span : spans_) {
      ForEachUse(span, [this](std::size_t use) { ++num_users_[use]; });
    }
  }

  /// Sets the rates for the earliest end; false: not even the slowest fit.
  bool Set() {
    Seconds earliest_s = 0;
    for (const Span& span : spans_) {
      earliest_s = std::max(earliest_s, span.flows_from_s + span.before_end_s);
    }
    Seconds step_s = LongestSeconds();
    for (int i = 0; i < kDoublingsMax && !Fits(earliest_s + step_s); ++i) step_s *= 2;
    Seconds fits_s = earliest_s + step_s;
    if (!Fits(fits_s)) return false;
    Seconds fails_s = earliest_s;
    while (fits_s - fails_s > kEndRounding * fits_s) {
      const Seconds middle_s = fails_s + (fits_s - fails_s) / 2;
      if (middle_s <= fails_s || middle_s >= fits_s) break;
      (Fits(middle_s) ? fits_s : fails_s) = middle_s;
    }
    for (const Span& span : spans_) TransferOf(span).rate_bytes_per_s = RateFor(span, fits_s);
    return true;
  }

 private:
  Transfer& TransferOf(const Span& span) { return plan_.transfers[At(span.transfer)]; }

  double RateFor(const Span& span, Seconds end_s) {
    const Transfer& transfer = TransferOf(span);
    const Seconds flows_s = end_s - span.before_end_s - span.flows_from_s;
    double slowest = kSlowestRateBytesPerS;
    ForEachUse(span, [&](std::size_t use) {
      const double users = no_room_ == NoRoom::kMakesSlower ? 2 * num_users_[use] : 1;
      slowest = std::min(slowest, resources_.capacity[use] / users);
    });
    if (transfer.bytes == 0) return slowest;
    return std::max(static_cast<double>(transfer.bytes) / flows_s, slowest);
  }

  template <typename Visit>
  void ForEachUse(const Span& span, const Visit& visit) const {
    const std::size_t end = resources_.resource_begin[At(span.transfer) + 1];
    for (auto i = resources_.resource_begin[At(span.transfer)]; i < end; ++i) {
      visit(At(resources_.resources[i]));
    }
  }

  /// Of the ports and cuts: the longest that one takes for its bytes.
  Seconds LongestSeconds() {
    std::vector<Seconds> busy_s(resources_.capacity.size(), 0);
    for (const Span& span : spans_) {
      const auto bytes = static_cast<double>(std::max<Bytes>(1, TransferOf(span).bytes));
      ForEachUse(span, [&](std::size_t use) { busy_s[use] += bytes / resources_.capacity[use]; });
    }
    return *std::max_element(busy_s.begin(), busy_s.end());
  }

  bool Fits(Seconds end_s) {
    std::vector<double> together(resources_.capacity.size(), 0);
    for (const Span& span : spans_) {
      if (end_s <= span.flows_from_s + span.before_end_s) return false;
      const double rate = RateFor(span, end_s);
      ForEachUse(span, [&](std::size_t use) { together[use] += rate; });
    }
    for (std::size_t use = 0; use < together.size(); ++use) {
      if (together[use] > resources_.capacity[use]) return false;
    }
    return true;
  }

  Plan& plan_;
  const SharingProblem& resources_;
  const NoRoom no_room_;
  const std::vector<Span> spans_;
  std::vector<double> num_users_;  // by port or cut
};

/// By layer of the consumers, in order: the transfers that get a rate.
std::map<std::int32_t, std::vector<Span>> SpansByLayer(const Plan& plan,
                                                       std::size_t num_under_way) {
  std::map<std::int32_t, std::vector<Span>> layers;
  for (std::size_t t = num_under_way; t < plan.transfers.size(); ++t) {
    const ComputeStep& consumer = plan.steps[At(plan.transfers[t].consumer)];
    layers[consumer.layer].push_back(
        {static_cast<TransferIndex>(t), plan.network.latency_s, consumer.duration_s});
  }
  return layers;
}

absl::Status TooMany(std::int32_t layer) {
  return absl::FailedPreconditionError(absl::StrCat("Too many transfers at once into layer ", layer,
                                                    ": a port or cut has not ",
                                                    kSlowestRateBytesPerS, " bytes/s for each"));
}

absl::Status Order(NoRoom no_room, std::size_t num_under_way, Plan* plan) {
  if (plan->network.seconds_per_byte <= 0) {
    return absl::FailedPreconditionError(
        "Rates need a network whose rate is known; its seconds per byte are 0");
  }
  plan->transfer_order = TransferOrder::kRates;
  plan->fetch_limit = 0;
  // Whatever fits until a layer has its own; wrong indices must not be followed.
  for (std::size_t t = num_under_way; t < plan->transfers.size(); ++t) {
    plan->transfers[t].rate_bytes_per_s = kPlanValueMin;
  }
  if (absl::Status status = CheckItems(*plan); !status.ok()) return status;
  ListUnordered(plan);
  const SharingProblem resources = PacedResources(*plan);
  const auto layers = SpansByLayer(*plan, num_under_way);
  // As if all runs were there at once, so that every layer can be predicted.
  for (const auto& [layer, spans] : layers) {
    if (!LayerRates(plan, resources, no_room, spans).Set()) return TooMany(layer);
  }
  for (auto [layer, spans] : layers) {
    const absl::StatusOr<Prediction> prediction = Predict(*plan);
    if (!prediction.ok()) return prediction.status();
    for (Span& span : spans) {
      const StepIndex producer = plan->transfers[At(span.transfer)].producer;
      span.flows_from_s += prediction->steps[At(producer)].finish_s;
    }
    if (!LayerRates(plan, resources, no_room, std::move(spans)).Set()) return TooMany(layer);
  }
  return AdoptPrediction(plan);
}

}  // namespace

absl::Status OrderByRates(Plan* plan) { return Order(NoRoom::kIsRefused, 0, plan); }

absl::Status OrderRestByRates(std::size_t num_under_way, Plan* plan) {
  return Order(NoRoom::kMakesSlower, num_under_way, plan);
}

}  // namespace weir::planner
