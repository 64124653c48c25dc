#include "planner/load/longest_remaining.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/load/matching_schedule.h"

namespace weir::planner::load {
namespace {

constexpr double kEmpty = 1e-13;

class Quanta {
 public:
  explicit Quanta(const ShuffleDemand& demand)
      : demand_(demand),
        left_(demand.send_time),
        sender_left_(left_.size(), 0),
        receiver_left_(static_cast<std::size_t>(demand.num_receivers()), 0),
        receiver_of_(left_.size(), -1),
        sender_of_(receiver_left_.size(), -1) {
    for (std::size_t j = 0; j < left_.size(); ++j) {
      for (std::size_t k = 0; k < receiver_left_.size(); ++k) {
        sender_left_[j] += left_[j][k];
        receiver_left_[k] += left_[j][k];
      }
    }
  }

  /// Runs until the last release in quanta of at most `quantum`.
  void RunUntilLastRelease(double quantum) {
    double now = demand_.release.front();
    std::size_t released = 0;
    while (true) {
      while (released < demand_.release.size() && demand_.release[released] <= now + kEmpty)
        ++released;
      if (released == demand_.release.size()) break;
      const double next_release = demand_.release[released];
      if (!Match(released)) {
        now = next_release;
        continue;
      }
      now += Advance(now, std::min(quantum, next_release - now), quantum, released);
    }
  }

  const std::vector<std::vector<double>>& left() const { return left_; }
  std::vector<Piece>& pieces() { return pieces_; }

 private:
  /// Pairs free ports, those with most left first; false when nothing can be sent.
  bool Match(std::size_t released) {
    std::fill(receiver_of_.begin(), receiver_of_.end(), -1);
    std::fill(sender_of_.begin(), sender_of_.end(), -1);
    senders_.clear();
    receivers_.clear();
    for (std::size_t j = 0; j < released; ++j) {
      if (sender_left_[j] > kEmpty) senders_.push_back(j);
    }
    for (std::size_t k = 0; k < receiver_left_.size(); ++k) {
      if (receiver_left_[k] > kEmpty) receivers_.push_back(k);
    }
    std::stable_sort(senders_.begin(), senders_.end(), [&](std::size_t a, std::size_t b) {
      return sender_left_[a] > sender_left_[b];
    });
    std::stable_sort(receivers_.begin(), receivers_.end(), [&](std::size_t a, std::size_t b) {
      return receiver_left_[a] > receiver_left_[b];
    });
    std::int32_t pairs = 0;
    std::size_t next_sender = 0, next_receiver = 0;
    while (pairs < demand_.channels &&
           (next_sender < senders_.size() || next_receiver < receivers_.size())) {
      const bool sender_chooses =
          next_receiver >= receivers_.size() ||
          (next_sender < senders_.size() &&
           sender_left_[senders_[next_sender]] >= receiver_left_[receivers_[next_receiver]]);
      pairs += sender_chooses ? ChooseReceiver(senders_[next_sender++])
                              : ChooseSender(receivers_[next_receiver++]);
    }
    return pairs > 0;
  }

  std::int32_t ChooseReceiver(std::size_t j) {
    if (receiver_of_[j] >= 0) return 0;
    for (const std::size_t k : receivers_) {
      if (sender_of_[k] < 0 && left_[j][k] > kEmpty) return Pair(j, k);
    }
    return 0;
  }

  std::int32_t ChooseSender(std::size_t k) {
    if (sender_of_[k] >= 0) return 0;
    for (const std::size_t j : senders_) {
      if (receiver_of_[j] < 0 && left_[j][k] > kEmpty) return Pair(j, k);
    }
    return 0;
  }

  std::int32_t Pair(std::size_t j, std::size_t k) {
    receiver_of_[j] = static_cast<std::int32_t>(k);
    sender_of_[k] = static_cast<std::int32_t>(j);
    return 1;
  }

  /// Lets the matched pairs send and returns for how long: to the first that is done, but not below
  /// a quarter quantum.
  double Advance(double now, double limit, double quantum, std::size_t released) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (std::size_t j = 0; j < released; ++j) {
      if (receiver_of_[j] < 0) continue;
      const double rest = left_[j][static_cast<std::size_t>(receiver_of_[j])];
      least = std::min(least, rest);
      most = std::max(most, rest);
    }
    const double step = std::min({limit, std::max(least, 0.25 * quantum), most});
    for (std::size_t j = 0; j < released; ++j) {
      if (receiver_of_[j] < 0) continue;
      const auto k = static_cast<std::size_t>(receiver_of_[j]);
      const double sent = std::min(step, left_[j][k]);
      pieces_.push_back({static_cast<std::int32_t>(j), receiver_of_[j], now, now + sent});
      left_[j][k] -= sent;
      sender_left_[j] -= sent;
      receiver_left_[k] -= sent;
    }
    return step;
  }

  const ShuffleDemand& demand_;
  std::vector<std::vector<double>> left_;
  std::vector<double> sender_left_, receiver_left_;
  std::vector<std::int32_t> receiver_of_, sender_of_;
  std::vector<std::size_t> senders_, receivers_;
  std::vector<Piece> pieces_;
};

}  // namespace

absl::StatusOr<LongestRemainingResult> LongestRemainingFirst(const ShuffleDemand& demand,
                                                             double horizon,
                                                             std::int32_t num_quanta) {
  Quanta quanta(demand);
  const double first = demand.release.front();
  const double last = demand.release.back();
  if (last > first) quanta.RunUntilLastRelease((horizon - first) / num_quanta);
  const double rest = WindowNeeded(quanta.left(), demand.channels);
  LongestRemainingResult result;
  result.makespan = last + rest;
  result.pieces = std::move(quanta.pieces());
  absl::StatusOr<std::vector<Piece>> tail =
      MatchingSchedule(quanta.left(), last, rest, demand.channels);
  if (!tail.ok()) return tail.status();
  result.pieces.insert(result.pieces.end(), tail->begin(), tail->end());
  return result;
}

}  // namespace weir::planner::load
