#include "planner/order/slack_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/order/assignment.h"
#include "planner/order/order_bound.h"
#include "planner/order/unevenness.h"
#include "planner/plan/cut_lanes.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

// Prices of cuts are found by halving this often.
constexpr int kHalvings = 14;
constexpr double kEmpty = 1e-9;
// What one match costs however few match, in steps of an assignment.
constexpr std::int64_t kMatchWork = 500;

/// One shuffle under way: what is left of each transfer, and when its producer is ready.
class Shuffle {
 public:
  Shuffle(const Plan& plan, std::vector<TransferIndex> transfers,
          const std::vector<Seconds>& step_finish_s, const SlackTuning& tuning)
      : plan_(plan), transfers_(std::move(transfers)), tuning_(tuning) {
    const auto workers = At(plan.network.num_workers);
    const CutLanes lanes(plan.network);
    channel_ = lanes.per_channel();
    loads_.resize(2 * workers + plan.network.cuts.size());
    capacity_.assign(2 * workers, 1);
    for (const Cut& cut : plan.network.cuts) {
      capacity_.push_back(static_cast<double>(lanes.Of(cut)));
    }
    tail_s_.assign(loads_.size(), 0);
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      const Transfer& transfer = plan.transfers[At(transfers_[i])];
      left_s_.push_back(static_cast<double>(transfer.bytes) *
                        plan.network.SecondsPerByte(transfer.sender, transfer.receiver));
      ready_s_.push_back(step_finish_s[At(transfer.producer)]);
      lanes_.push_back(lanes.Taken(transfer.sender, transfer.receiver));
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
    unevenness_.reserve(transfers_.size());
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      unevenness_.push_back(1 + tuning_.noise * Unevenness(tuning_.seed, i));
    }
    left_.resize(transfers_.size());
    std::iota(left_.begin(), left_.end(), 0);
    weight_.resize(transfers_.size());
    runs_.assign(transfers_.size(), 0);
    ForgetDone();
    table_.resize(workers);
    which_.resize(workers * workers);
  }

  SlackSchedule Run() {
    now_s_ = transfers_.empty() ? 0 : *std::min_element(ready_s_.begin(), ready_s_.end());
    bound_s_ = 0;
    for (std::size_t r = 0; r < loads_.size(); ++r) bound_s_ = std::max(bound_s_, EndOf(r));
    span_s_ = std::max(bound_s_ - now_s_, 1e-12);
    // Each step finishes a transfer, passes a release or takes a quantum: the count is bounded.
    const int steps_max = 20 * static_cast<int>(transfers_.size()) + 2000;
    for (int step = 0; step < steps_max && !left_.empty(); ++step) {
      Decide();
      Advance();
    }
    for (const std::size_t i : left_) Stop(i);
    return {std::move(pieces_), work_};
  }

 private:
  /// Drops what is done from the lists that every decision goes through.
  void ForgetDone() {
    const auto done = [this](std::size_t i) { return left_s_[i] <= kEmpty; };
    if (std::erase_if(left_, done) == 0) return;
    for (std::vector<std::size_t>& load : loads_) std::erase_if(load, done);
  }
  bool Released(std::size_t i) const { return ready_s_[i] <= now_s_ + kEmpty; }
  bool Running(std::size_t i) const { return running_since_s_[i] >= 0; }

  /// What the transfer takes of the capacity of one of its resources: a whole port, lanes of a cut.
  double Takes(std::size_t i, std::size_t resource) const {
    return resource < 2 * At(plan_.network.num_workers) ? 1 : lanes_[i];
  }

  /// When the resource ends at the earliest, tail included.
  Seconds EndOf(std::size_t resource) const {
    Seconds volume_s = 0, end_s = 0;
    for (const std::size_t i : loads_[resource]) {  // latest release first
      volume_s += left_s_[i] * Takes(i, resource);
      end_s = std::max(end_s, std::max(ready_s_[i], now_s_) + volume_s / capacity_[resource]);
    }
    return end_s + (end_s > 0 ? tail_s_[resource] : 0);
  }

  double WeightOf(std::size_t i, const std::vector<double>& urgency) const {
    double weight = 0;
    for (const std::size_t resource : resources_[i]) weight += urgency[resource];
    weight *= unevenness_[i];
    return Running(i) ? weight * (1 + tuning_.staying) : weight;
  }

  /// Assigns senders to receivers under the prices of the cuts.
  void Match(const std::vector<double>& price) {
    const auto workers = At(plan_.network.num_workers);
    work_ +=
        static_cast<std::int64_t>(workers * workers * workers + 4 * transfers_.size()) + kMatchWork;
    for (auto& row : table_) row.assign(workers, 0);
    for (const std::size_t i : open_) {
      double net = weight_[i];
      for (std::size_t k = 2; k < resources_[i].size(); ++k) {
        net -= lanes_[i] * price[resources_[i][k] - 2 * workers];
      }
      const std::size_t sender = resources_[i][0], receiver = resources_[i][1] - workers;
      if (net <= table_[sender][receiver]) continue;
      table_[sender][receiver] = net;
      which_[sender * workers + receiver] = i;
    }
    chosen_.clear();
    const std::vector<std::int32_t>& receiver_of = assignment_.Solve(table_);
    for (std::size_t sender = 0; sender < workers; ++sender) {
      if (receiver_of[sender] >= 0)
        chosen_.push_back(which_[sender * workers + At(receiver_of[sender])]);
    }
  }

  /// Lanes of the cut that the chosen ones take together.
  double LanesTaken(std::size_t resource) const {
    double taken = 0;
    for (const std::size_t i : chosen_) {
      taken += static_cast<double>(
                   std::count(resources_[i].begin() + 2, resources_[i].end(), resource)) *
               lanes_[i];
    }
    return taken;
  }

  /// Chooses what runs from now on.
  void Decide() {
    urgency_.resize(loads_.size());
    for (std::size_t r = 0; r < loads_.size(); ++r) {
      urgency_[r] = std::exp(-std::max(0.0, bound_s_ - EndOf(r)) / (tuning_.scale * span_s_));
    }
    open_.clear();
    double heaviest = 0;
    for (const std::size_t i : left_) {
      if (!Released(i)) continue;
      weight_[i] = WeightOf(i, urgency_) + 1e-6;
      heaviest = std::max(heaviest, weight_[i]);
      open_.push_back(i);
    }
    std::vector<double> price(plan_.network.cuts.size(), 0);
    Match(price);
    for (std::size_t cut = 0; cut < price.size(); ++cut) {
      const std::size_t resource = 2 * At(plan_.network.num_workers) + cut;
      double low = 0, high = 2 * heaviest;
      double left = capacity_[resource] - LanesTaken(resource);
      if (left >= 0) continue;
      // A price at which no whole channel is left, and none is lacking, is as good as any.
      for (int i = 0; i < kHalvings && (left < 0 || left >= channel_); ++i) {
        price[cut] = (low + high) / 2;
        Match(price);
        left = capacity_[resource] - LanesTaken(resource);
        (left < 0 ? low : high) = price[cut];
      }
      if (left >= 0) continue;
      price[cut] = high;
      Match(price);
    }
    Settle();
  }

  /// Drops what still exceeds a cut, adds what fits, and starts and stops accordingly.
  void Settle() {
    // The numbers of transfers of equal weight rise: a stable order without a buffer.
    std::sort(open_.begin(), open_.end(), [this](std::size_t a, std::size_t b) {
      return weight_[a] != weight_[b] ? weight_[a] > weight_[b] : a < b;
    });
    used_.assign(loads_.size(), 0);
    const auto start_what_fits = [this](const std::vector<std::size_t>& some, bool running) {
      for (const std::size_t i : some) {
        if (runs_[i] != 0 || (tuning_.whole && Running(i) != running)) continue;
        const bool fits =
            std::all_of(resources_[i].begin(), resources_[i].end(), [&](std::size_t resource) {
              return used_[resource] + Takes(i, resource) <= capacity_[resource];
            });
        if (!fits) continue;
        runs_[i] = 1;
        for (const std::size_t resource : resources_[i]) used_[resource] += Takes(i, resource);
      }
    };
    // Where transfers stay whole, those under way go before all others.
    for (const bool running : {true, false}) {
      start_what_fits(chosen_, running);
      start_what_fits(open_, running);
      if (!tuning_.whole) break;
    }
    for (const std::size_t i : left_) {
      if (runs_[i] == 0) Stop(i);
      if (runs_[i] != 0 && !Running(i)) running_since_s_[i] = now_s_;
      runs_[i] = 0;
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
    Seconds step_s =
        tuning_.whole ? std::numeric_limits<Seconds>::infinity() : tuning_.quantum * span_s_;
    for (const std::size_t i : left_) {
      if (Running(i)) step_s = std::min(step_s, left_s_[i]);
      if (!Released(i)) step_s = std::min(step_s, ready_s_[i] - now_s_);
    }
    now_s_ += step_s;
    for (const std::size_t i : left_) {
      if (!Running(i)) continue;
      left_s_[i] -= step_s;
      if (left_s_[i] <= kEmpty) Stop(i);
    }
    ForgetDone();
  }

  const Plan& plan_;
  const std::vector<TransferIndex> transfers_;
  const SlackTuning tuning_;
  std::vector<Seconds> left_s_, ready_s_;            // by position in transfers_
  std::vector<double> lanes_;                        // by position: taken of each cut crossed
  std::vector<std::vector<std::size_t>> resources_;  // by position: send, receive, cuts
  std::vector<Seconds> running_since_s_;             // by position; negative: does not run
  std::vector<double> unevenness_;                   // by position: factor of its weight
  // What is not done: positions, and the same by resource, latest ready first.
  std::vector<std::size_t> left_;
  std::vector<std::vector<std::size_t>> loads_;
  std::vector<double> capacity_;  // by resource; of cuts in lanes
  double channel_ = 1;            // lanes of one
  std::vector<Seconds> tail_s_;   // by resource
  std::vector<ScheduledPiece> pieces_;
  Seconds now_s_ = 0, bound_s_ = 0, span_s_ = 0;
  std::int64_t work_ = 0;
  // Of one decision; kept, because there are thousands of them.
  std::vector<double> urgency_;      // by resource
  std::vector<double> used_;         // by resource
  std::vector<std::size_t> open_;    // positions that may run now
  std::vector<double> weight_;       // by position, of those
  std::vector<std::size_t> chosen_;  // positions
  std::vector<char> runs_;           // by position: from now on; as bool, all 0 between decisions
  Assignment assignment_;
  std::vector<std::vector<double>> table_;
  std::vector<std::size_t> which_;  // by sender and receiver
};

}  // namespace

SlackSchedule ScheduleBySlack(const Plan& plan, std::vector<TransferIndex> transfers,
                              const std::vector<Seconds>& step_finish_s,
                              const SlackTuning& tuning) {
  return Shuffle(plan, std::move(transfers), step_finish_s, tuning).Run();
}

}  // namespace weir::planner
