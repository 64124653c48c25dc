#include "planner/order/order_by_rates.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/plan_structure.h"
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

  /// Sets the rates for the earliest end and returns it; nothing: not even the slowest fit.
  std::optional<Seconds> Set() {
    // The slowest rates, which no later end lowers.
    if (!Fits(std::numeric_limits<Seconds>::infinity())) return std::nullopt;
    Seconds earliest_s = 0;
    for (const Span& span : spans_) {
      earliest_s = std::max(earliest_s, span.flows_from_s + span.before_end_s);
    }
    Seconds step_s = LongestSeconds();
    for (int i = 0; i < kDoublingsMax && !Fits(earliest_s + step_s); ++i) step_s *= 2;
    Seconds fits_s = earliest_s + step_s;
    if (!Fits(fits_s)) return std::nullopt;
    Seconds fails_s = earliest_s;
    while (fits_s - fails_s > kEndRounding * fits_s) {
      const Seconds middle_s = fails_s + (fits_s - fails_s) / 2;
      if (middle_s <= fails_s || middle_s >= fits_s) break;
      (Fits(middle_s) ? fits_s : fails_s) = middle_s;
    }
    for (const Span& span : spans_) TransferOf(span).rate_bytes_per_s = RateFor(span, fits_s);
    return fits_s;
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

/// The transfers that get a rate: by layer of the consumers, and there by window.
using WindowsByLayer = std::map<std::int32_t, std::map<std::int32_t, std::vector<TransferIndex>>>;

WindowsByLayer WindowsOf(const Plan& plan, std::size_t num_under_way,
                         const std::vector<std::int32_t>& window_of) {
  WindowsByLayer layers;
  for (std::size_t t = num_under_way; t < plan.transfers.size(); ++t) {
    const ComputeStep& consumer = plan.steps[At(plan.transfers[t].consumer)];
    const std::int32_t window = window_of.empty() ? 0 : window_of[t];
    layers[consumer.layer][window].push_back(static_cast<TransferIndex>(t));
  }
  return layers;
}

/// Gives rates to the windows of one layer, one after the other. `ready_s`: when the run of each
/// step is there. False: not even the slowest fit.
bool RateLayer(const WindowsByLayer::mapped_type& windows, const std::vector<Seconds>& ready_s,
               const SharingProblem& resources, NoRoom no_room, Plan* plan) {
  Seconds begin_s = 0;
  for (const auto& [window, transfers] : windows) {
    const bool last = window == windows.rbegin()->first;
    std::vector<Span> spans;
    for (const TransferIndex t : transfers) {
      const Transfer& transfer = plan->transfers[At(t)];
      const Seconds before_end_s = plan->steps[At(transfer.consumer)].duration_s;
      spans.push_back({t, StartSeconds(*plan) + std::max(begin_s, ready_s[At(transfer.producer)]),
                       last ? before_end_s : 0});
    }
    const std::optional<Seconds> end_s =
        LayerRates(plan, resources, no_room, std::move(spans)).Set();
    if (!end_s) return false;
    begin_s = *end_s;
  }
  return true;
}

absl::Status TooMany(std::int32_t layer) {
  return absl::FailedPreconditionError(absl::StrCat("Too many transfers at once into layer ", layer,
                                                    ": a port or cut has not ",
                                                    kSlowestRateBytesPerS, " bytes/s for each"));
}

/// Makes it a kRates plan whose transfers but the first `num_under_way` have yet to get their
/// rates.
absl::Status MakeUnrated(std::size_t num_under_way, Plan* plan) {
  if (plan->network.seconds_per_byte <= 0) {
    return absl::FailedPreconditionError(
        "Rates need a network whose rate is known; its seconds per byte are 0");
  }
  plan->transfer_order = TransferOrder::kRates;
  plan->fetch_limit = 0;
  plan->rates_over_time = false;
  // Whatever fits until a layer has its own; wrong indices must not be followed.
  for (std::size_t t = num_under_way; t < plan->transfers.size(); ++t) {
    plan->transfers[t].rate_bytes_per_s = kPlanValueMin;
    plan->transfers[t].rate_changes.clear();
  }
  if (absl::Status status = CheckItems(*plan); !status.ok()) return status;
  ListUnordered(plan);
  return absl::OkStatus();
}

}  // namespace

absl::Status RateWindows(NoRoom no_room, std::size_t num_under_way,
                         const std::vector<std::int32_t>& window_of, Plan* plan) {
  if (absl::Status status = MakeUnrated(num_under_way, plan); !status.ok()) return status;
  const SharingProblem resources = PacedResources(*plan);
  const WindowsByLayer layers = WindowsOf(*plan, num_under_way, window_of);
  // As if all runs were there at once, so that every layer can be predicted.
  std::vector<Seconds> ready_s(plan->steps.size(), 0);
  for (const auto& [layer, windows] : layers) {
    if (!RateLayer(windows, ready_s, resources, no_room, plan)) return TooMany(layer);
  }
  for (const auto& [layer, windows] : layers) {
    const absl::StatusOr<Prediction> prediction = Predict(*plan);
    if (!prediction.ok()) return prediction.status();
    for (std::size_t s = 0; s < ready_s.size(); ++s) ready_s[s] = prediction->steps[s].finish_s;
    if (!RateLayer(windows, ready_s, resources, no_room, plan)) return TooMany(layer);
  }
  return AdoptPrediction(plan);
}

absl::Status OrderByRates(Plan* plan) {
  plan->port_lanes = 0;
  return RateWindows(NoRoom::kIsRefused, 0, {}, plan);
}

absl::Status OrderByRatesOverTime(Plan* plan) {
  if (plan->transfers.size() > kOverTimeTransfersMax) {
    return absl::FailedPreconditionError(
        absl::StrCat("Rates over time are planned for ", kOverTimeTransfersMax,
                     " transfers at most; these are ", plan->transfers.size()));
  }
  plan->port_lanes = 0;
  if (absl::Status status = MakeUnrated(0, plan); !status.ok()) return status;
  plan->rates_over_time = true;
  return AdoptPrediction(plan);
}

absl::Status OrderRestByRates(std::size_t num_under_way, Plan* plan) {
  plan->port_lanes = 0;
  return RateWindows(NoRoom::kMakesSlower, num_under_way, {}, plan);
}

}  // namespace weir::planner
