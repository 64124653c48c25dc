#include "planner/plan/order_by_slack.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/plan/assignment.h"
#include "planner/plan/order_bound.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/transfer_orders.h"

namespace weir::planner {
namespace {

// Prices of cuts are found by halving this often.
constexpr int kHalvings = 14;
constexpr double kEmpty = 1e-9;
// A piece below this part of its transfer goes with the piece before or after it. At a twentieth,
// random sections between two racks end 3 % later.
constexpr double kPieceShareMin = 0.005;
// A plan this near to the bound is not worth another try.
constexpr double kNearBound = 1.005;

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

/// How one try weighs and cuts.
struct Tuning {
  double scale = 0.05;        // of slack, in shuffle bounds
  double quantum = 1.0 / 24;  // time between decisions, in shuffle bounds
  double staying = 0.1;       // bonus of a transfer that goes on, in its own weight
};

/// A piece of a transfer as scheduled.
struct Piece {
  TransferIndex transfer = 0;
  Seconds start_s = 0;
  Seconds duration_s = 0;
};

/// One shuffle under way: what is left of each transfer, and when its producer is ready.
class Shuffle {
 public:
  Shuffle(const Plan& plan, std::vector<TransferIndex> transfers,
          const std::vector<Seconds>& step_finish_s, const Tuning& tuning)
      : plan_(plan), transfers_(std::move(transfers)), tuning_(tuning) {
    const auto workers = At(plan.network.num_workers);
    loads_.resize(2 * workers + plan.network.cuts.size());
    capacity_.assign(2 * workers, 1);
    for (const Cut& cut : plan.network.cuts) capacity_.push_back(cut.channels);
    tail_s_.assign(loads_.size(), 0);
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      const Transfer& transfer = plan.transfers[At(transfers_[i])];
      left_s_.push_back(static_cast<double>(transfer.bytes) *
                        plan.network.SecondsPerByte(transfer.sender, transfer.receiver));
      ready_s_.push_back(step_finish_s[At(transfer.producer)]);
      resources_.push_back({At(transfer.sender), workers + At(transfer.receiver)});
      for (const std::int32_t cut : CutsCrossed(plan.network, transfer.sender, transfer.receiver)) {
        resources_.back().push_back(2 * workers + At(cut));
      }
      for (const std::size_t resource : resources_.back()) loads_[resource].push_back(i);
      Seconds& tail_s = tail_s_[workers + At(transfer.receiver)];
      tail_s = std::max(tail_s, plan.steps[At(transfer.consumer)].duration_s);
    }
    for (auto& load : loads_) {
      std::stable_sort(load.begin(), load.end(),
                       [this](std::size_t a, std::size_t b) { return ready_s_[a] > ready_s_[b]; });
    }
    running_since_s_.assign(transfers_.size(), -1);
  }

  std::vector<Piece> Run() {
    now_s_ = transfers_.empty() ? 0 : *std::min_element(ready_s_.begin(), ready_s_.end());
    bound_s_ = 0;
    for (std::size_t r = 0; r < loads_.size(); ++r) bound_s_ = std::max(bound_s_, EndOf(r));
    span_s_ = std::max(bound_s_ - now_s_, 1e-12);
    // Each step finishes a transfer, passes a release or takes a quantum: the count is bounded.
    const int steps_max = 20 * static_cast<int>(transfers_.size()) + 2000;
    for (int step = 0; step < steps_max && AnyLeft(); ++step) {
      Decide();
      Advance();
    }
    for (std::size_t i = 0; i < transfers_.size(); ++i) Stop(i);
    return std::move(pieces_);
  }

 private:
  bool AnyLeft() const {
    return std::any_of(left_s_.begin(), left_s_.end(), [](Seconds s) { return s > kEmpty; });
  }
  bool Released(std::size_t i) const { return ready_s_[i] <= now_s_ + kEmpty; }
  bool Running(std::size_t i) const { return running_since_s_[i] >= 0; }

  /// When the resource ends at the earliest, tail included.
  Seconds EndOf(std::size_t resource) const {
    Seconds volume_s = 0, end_s = 0;
    for (const std::size_t i : loads_[resource]) {  // latest release first
      if (left_s_[i] <= kEmpty) continue;
      volume_s += left_s_[i];
      end_s = std::max(end_s, std::max(ready_s_[i], now_s_) + volume_s / capacity_[resource]);
    }
    return end_s + (end_s > 0 ? tail_s_[resource] : 0);
  }

  double WeightOf(std::size_t i, const std::vector<double>& urgency) const {
    double weight = 0;
    for (const std::size_t resource : resources_[i]) weight += urgency[resource];
    // A little unevenness, so that prices of cuts part equal transfers one by one.
    weight *= 1 + 1e-3 * static_cast<double>((i * 7919) % 101) / 101;
    return Running(i) ? weight * (1 + tuning_.staying) : weight;
  }

  /// Assigns senders to receivers under the prices of the cuts.
  std::vector<std::size_t> Match(const std::vector<double>& weight,
                                 const std::vector<double>& price) const {
    const auto workers = At(plan_.network.num_workers);
    std::vector<std::vector<double>> table(workers, std::vector<double>(workers, 0));
    std::vector<std::vector<std::size_t>> which(workers, std::vector<std::size_t>(workers, 0));
    for (std::size_t i = 0; i < weight.size(); ++i) {
      if (weight[i] <= 0) continue;
      double net = weight[i];
      for (std::size_t k = 2; k < resources_[i].size(); ++k) {
        net -= price[resources_[i][k] - 2 * workers];
      }
      const std::size_t sender = resources_[i][0], receiver = resources_[i][1] - workers;
      if (net <= table[sender][receiver]) continue;
      table[sender][receiver] = net;
      which[sender][receiver] = i;
    }
    std::vector<std::size_t> chosen;
    const std::vector<std::int32_t> receiver_of = MaxWeightAssignment(table);
    for (std::size_t sender = 0; sender < workers; ++sender) {
      if (receiver_of[sender] >= 0) chosen.push_back(which[sender][At(receiver_of[sender])]);
    }
    return chosen;
  }

  std::int32_t Crossing(const std::vector<std::size_t>& chosen, std::size_t cut) const {
    const std::size_t resource = 2 * At(plan_.network.num_workers) + cut;
    std::int32_t count = 0;
    for (const std::size_t i : chosen) {
      count += static_cast<std::int32_t>(
          std::count(resources_[i].begin() + 2, resources_[i].end(), resource));
    }
    return count;
  }

  /// Chooses what runs from now on.
  void Decide() {
    std::vector<double> urgency(loads_.size());
    for (std::size_t r = 0; r < loads_.size(); ++r) {
      urgency[r] = std::exp(-std::max(0.0, bound_s_ - EndOf(r)) / (tuning_.scale * span_s_));
    }
    std::vector<double> weight(transfers_.size(), 0);
    double heaviest = 0;
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      if (left_s_[i] <= kEmpty || !Released(i)) continue;
      weight[i] = WeightOf(i, urgency) + 1e-6;
      heaviest = std::max(heaviest, weight[i]);
    }
    std::vector<double> price(plan_.network.cuts.size(), 0);
    std::vector<std::size_t> chosen = Match(weight, price);
    for (std::size_t cut = 0; cut < price.size(); ++cut) {
      const std::int32_t channels = plan_.network.cuts[cut].channels;
      if (Crossing(chosen, cut) <= channels) continue;
      double low = 0, high = 2 * heaviest;
      for (int i = 0; i < kHalvings; ++i) {
        price[cut] = (low + high) / 2;
        (Crossing(Match(weight, price), cut) > channels ? low : high) = price[cut];
      }
      price[cut] = high;
      chosen = Match(weight, price);
    }
    Settle(std::move(chosen), weight);
  }

  /// Drops what still exceeds a cut, adds what fits, and starts and stops accordingly.
  void Settle(std::vector<std::size_t> chosen, const std::vector<double>& weight) {
    std::vector<std::size_t> rest(transfers_.size());
    std::iota(rest.begin(), rest.end(), 0);
    std::stable_sort(rest.begin(), rest.end(),
                     [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
    chosen.insert(chosen.end(), rest.begin(), rest.end());
    std::vector<double> used(loads_.size(), 0);
    std::vector<bool> runs(transfers_.size(), false);
    for (const std::size_t i : chosen) {
      if (weight[i] <= 0 || runs[i]) continue;
      const bool fits = std::all_of(
          resources_[i].begin(), resources_[i].end(),
          [&](std::size_t resource) { return used[resource] + 1 <= capacity_[resource]; });
      if (!fits) continue;
      runs[i] = true;
      for (const std::size_t resource : resources_[i]) ++used[resource];
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]) Stop(i);
      if (runs[i] && !Running(i)) running_since_s_[i] = now_s_;
    }
  }

  void Stop(std::size_t i) {
    if (!Running(i)) return;
    if (now_s_ > running_since_s_[i]) {
      pieces_.push_back({transfers_[i], running_since_s_[i], now_s_ - running_since_s_[i]});
    }
    running_since_s_[i] = -1;
  }

  /// Goes to the next moment at which something should be decided anew.
  void Advance() {
    const Seconds quantum_s = tuning_.quantum * span_s_;
    Seconds step_s = quantum_s;
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      if (left_s_[i] <= kEmpty) continue;
      if (Running(i)) step_s = std::min(step_s, left_s_[i]);
      if (!Released(i)) step_s = std::min(step_s, ready_s_[i] - now_s_);
    }
    now_s_ += step_s;
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      if (!Running(i)) continue;
      left_s_[i] -= step_s;
      if (left_s_[i] <= kEmpty) Stop(i);
    }
  }

  const Plan& plan_;
  const std::vector<TransferIndex> transfers_;
  const Tuning tuning_;
  std::vector<Seconds> left_s_, ready_s_;            // by position in transfers_
  std::vector<std::vector<std::size_t>> resources_;  // by position: send, receive, cuts
  std::vector<Seconds> running_since_s_;             // by position; negative: does not run
  std::vector<std::vector<std::size_t>> loads_;      // by resource: positions, latest ready first
  std::vector<double> capacity_;                     // by resource
  std::vector<Seconds> tail_s_;                      // by resource
  std::vector<Piece> pieces_;
  Seconds now_s_ = 0, bound_s_ = 0, span_s_ = 0;
};

/// Earliest finish of the steps of one layer, given when their inputs are there.
void FinishSteps(const Plan& plan, std::int32_t layer, std::vector<Seconds>& ready_s,
                 std::vector<Seconds>& finish_s) {
  for (const std::vector<StepIndex>& order : plan.compute_order) {
    Seconds free_s = 0;
    for (const StepIndex index : order) {
      const ComputeStep& step = plan.steps[At(index)];
      if (step.layer == layer) {
        Seconds start_s = std::max({free_s, step.release_s, ready_s[At(index)]});
        for (const StepIndex before : step.after_steps) {
          start_s = std::max(start_s, finish_s[At(before)]);
        }
        finish_s[At(index)] = start_s + step.duration_s;
      }
      if (step.layer <= layer) free_s = std::max(free_s, finish_s[At(index)]);
    }
  }
}

/// All pieces of all layers, in no order.
std::vector<Piece> ScheduleLayers(const Plan& plan, const Tuning& tuning) {
  std::int32_t last_layer = 0;
  for (const ComputeStep& step : plan.steps) last_layer = std::max(last_layer, step.layer);
  std::vector<Seconds> input_s(plan.steps.size(), 0), finish_s(plan.steps.size(), 0);
  std::vector<Piece> pieces;
  for (std::int32_t layer = 0; layer <= last_layer; ++layer) {
    FinishSteps(plan, layer, input_s, finish_s);
    std::vector<TransferIndex> transfers;
    for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
      if (plan.steps[At(plan.transfers[t].producer)].layer == layer) {
        transfers.push_back(static_cast<TransferIndex>(t));
      }
    }
    for (const Piece& piece : Shuffle(plan, std::move(transfers), finish_s, tuning).Run()) {
      Seconds& there_s = input_s[At(plan.transfers[At(piece.transfer)].consumer)];
      there_s = std::max(there_s, piece.start_s + piece.duration_s);
      pieces.push_back(piece);
    }
  }
  return pieces;
}

/// Joins pieces of one transfer that are too small to be worth a grant; in order of their starts.
std::vector<Piece> JoinSmallPieces(std::vector<Piece> pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.start_s < b.start_s; });
  Seconds all_s = 0;
  for (const Piece& piece : pieces) all_s += piece.duration_s;
  std::vector<Piece> joined;
  for (const Piece& piece : pieces) {
    const bool small = piece.duration_s < kPieceShareMin * all_s ||
                       (!joined.empty() && joined.back().duration_s < kPieceShareMin * all_s);
    if (small && !joined.empty()) {
      joined.back().duration_s += piece.duration_s;
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

/// Replaces the transfers of the plan by these pieces of them; a transfer without one stays whole.
void CutTransfers(const std::vector<Piece>& pieces, Plan* plan) {
  std::vector<std::vector<Piece>> by_transfer(plan->transfers.size());
  for (const Piece& piece : pieces) by_transfer[At(piece.transfer)].push_back(piece);
  const std::vector<Transfer> whole = std::exchange(plan->transfers, {});
  for (ComputeStep& step : plan->steps) step.after_transfers.clear();
  for (std::size_t t = 0; t < whole.size(); ++t) {
    std::vector<Piece> own = JoinSmallPieces(std::move(by_transfer[t]));
    if (own.empty()) own.push_back({static_cast<TransferIndex>(t), whole[t].start_s, 1});
    Seconds all_s = 0;
    for (const Piece& piece : own) all_s += piece.duration_s;
    Seconds before_s = 0;
    Bytes offset = 0;
    for (std::size_t p = 0; p < own.size(); ++p) {
      before_s += own[p].duration_s;
      const Bytes end = p + 1 == own.size()
                            ? whole[t].bytes
                            : static_cast<Bytes>(std::llround(static_cast<double>(whole[t].bytes) *
                                                              before_s / all_s));
      if (end == offset && own.size() > 1 && !(p + 1 == own.size() && offset == 0)) continue;
      Transfer transfer = whole[t];
      transfer.offset += offset;
      transfer.bytes = end - offset;
      transfer.start_s = own[p].start_s;
      offset = end;
      plan->steps[At(transfer.consumer)].after_transfers.push_back(
          static_cast<TransferIndex>(plan->transfers.size()));
      plan->transfers.push_back(transfer);
    }
  }
}

}  // namespace

absl::Status OrderBySlack(Plan* plan) {
  if (absl::Status status = CheckItems(*plan); !status.ok()) return status;
  const Plan whole = *plan;
  if (absl::Status status = OrderByPriority(plan); !status.ok()) return status;
  if (whole.transfers.size() > static_cast<std::size_t>(kSlackTransfersMax)) {
    return absl::OkStatus();
  }
  const absl::StatusOr<Seconds> bound_s = OrderBound(whole);
  if (!bound_s.ok()) return bound_s.status();
  for (const double scale : {0.1, 0.02, 0.4}) {
    for (const double quantum : {1.0 / 48, 1.0 / 12}) {
      for (const double staying : {0.05, 0.5}) {
        if (plan->summary.makespan_s <= kNearBound * *bound_s) return absl::OkStatus();
        Plan tried = whole;
        CutTransfers(ScheduleLayers(whole, Tuning{scale, quantum, staying}), &tried);
        if (absl::Status status = OrderByStart(&tried); !status.ok()) return status;
        if (tried.summary.makespan_s < plan->summary.makespan_s) *plan = std::move(tried);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::planner
