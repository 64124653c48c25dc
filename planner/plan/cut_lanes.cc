#include "planner/plan/cut_lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir::planner {
namespace {

// A slow-down that is a ratio of two rates may be off by rounding, which must not cost a lane.
constexpr double kExact = 1 - 1e-9;
// Losses closer together than this part of a channel are the same.
constexpr double kSameLoss = 1e-9;

std::int32_t LanesAt(double slowdown, std::int32_t per_channel) {
  return std::max(1, static_cast<std::int32_t>(std::ceil(per_channel / slowdown * kExact)));
}

// Most of a channel that lies idle beside a transfer of any port.
double LossOf(const std::vector<double>& slowdowns, std::int32_t per_channel) {
  double loss = 0;
  for (const double slowdown : slowdowns) {
    const double taken = static_cast<double>(LanesAt(slowdown, per_channel)) / per_channel;
    loss = std::max(loss, taken - 1 / slowdown);
  }
  return loss;
}

std::int32_t LanesPerChannel(const std::vector<double>& slowdowns) {
  std::int32_t best = 1;
  double least_loss = std::numeric_limits<double>::infinity();
  for (std::int32_t per_channel = 1; per_channel <= kLanesMax; ++per_channel) {
    const double loss = LossOf(slowdowns, per_channel);
    if (loss >= least_loss - kSameLoss) continue;
    least_loss = loss;
    best = per_channel;
  }
  return best;
}

}  // namespace

CutLanes::CutLanes(const NetworkModel& network)
    : per_channel_(LanesPerChannel(network.port_slowdown)) {
  if (network.port_slowdown.empty()) {
    of_port_.assign(static_cast<std::size_t>(network.num_workers), per_channel_);
  }
  for (const double slowdown : network.port_slowdown) {
    of_port_.push_back(LanesAt(slowdown, per_channel_));
  }
  least_taken_ = per_channel_;
  for (const std::int32_t lanes : of_port_) least_taken_ = std::min(least_taken_, lanes);
}

}  // namespace weir::planner
