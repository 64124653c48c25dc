#include "planner/load/longest_remaining.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "planner/load/matching_schedule.h"

namespace weir::planner::load {
namespace {

constexpr double kEmpty = 1e-13;
// How many pairs are looked at when a channel falls free.
constexpr int kLooksMax = 2048;

/// Free ports of one side, those with most left first.
using FreePorts = std::set<std::pair<double, std::int32_t>, std::greater<>>;

class ListSchedule {
 public:
  ListSchedule(const ShuffleDemand& demand, double piece_max)
      : demand_(demand),
        piece_max_(piece_max),
        left_(demand.send_time),
        sender_left_(left_.size(), 0),
        receiver_left_(static_cast<std::size_t>(demand.num_receivers()), 0) {
    for (std::size_t j = 0; j < left_.size(); ++j) {
      for (std::size_t k = 0; k < receiver_left_.size(); ++k) {
        sender_left_[j] += left_[j][k];
        receiver_left_[k] += left_[j][k];
      }
    }
    for (std::size_t k = 0; k < receiver_left_.size(); ++k)
      Free(k, receiver_left_, free_receivers_);
  }

  /// Runs until the last release; pieces under way are cut there.
  void RunUntilLastRelease() {
    const double last = demand_.release.back();
    std::size_t released = 0;
    double now = demand_.release.front();
    while (now < last - kEmpty) {
      for (; released < left_.size() && demand_.release[released] <= now + kEmpty; ++released) {
        Free(released, sender_left_, free_senders_);
      }
      while (!busy_.empty() && busy_.top().first <= now + kEmpty) FinishFirst();
      StartPieces(now, last);
      const double next_release = released < left_.size() ? demand_.release[released] : last;
      now = busy_.empty() ? next_release : std::min(next_release, busy_.top().first);
    }
    while (!busy_.empty()) FinishFirst();
  }

  const std::vector<std::vector<double>>& left() const { return left_; }
  std::vector<Piece>& pieces() { return pieces_; }

 private:
  static void Free(std::size_t port, const std::vector<double>& port_left, FreePorts& ports) {
    if (port_left[port] > kEmpty) ports.insert({port_left[port], static_cast<std::int32_t>(port)});
  }

  void FinishFirst() {
    const Piece& piece = pieces_[busy_.top().second];
    busy_.pop();
    const auto j = static_cast<std::size_t>(piece.sender);
    const auto k = static_cast<std::size_t>(piece.receiver);
    const double sent = piece.end - piece.begin;
    left_[j][k] -= sent;
    if (left_[j][k] < kEmpty) left_[j][k] = 0;
    sender_left_[j] -= sent;
    receiver_left_[k] -= sent;
    Free(j, sender_left_, free_senders_);
    Free(k, receiver_left_, free_receivers_);
  }

  /// Lets free ports choose, most left first, while channels are free. The search is bounded: a
  /// channel that finds no pair among the first looks idles until the next event.
  void StartPieces(double now, double last) {
    auto sender = free_senders_.begin();
    auto receiver = free_receivers_.begin();
    int looks = kLooksMax;
    while (static_cast<std::int32_t>(busy_.size()) < demand_.channels && looks > 0 &&
           sender != free_senders_.end() && receiver != free_receivers_.end()) {
      const bool sender_chooses = sender->first >= receiver->first;
      const auto chooser = sender_chooses ? sender++ : receiver++;
      const FreePorts& others = sender_chooses ? free_receivers_ : free_senders_;
      const auto partner = FindPartner(chooser->second, others, sender_chooses, looks);
      if (partner == others.end()) continue;
      const auto sending = sender_chooses ? chooser : partner;
      const auto receiving = sender_chooses ? partner : chooser;
      if (sending == sender) ++sender;
      if (receiving == receiver) ++receiver;
      Start(sending->second, receiving->second, now, last);
      free_senders_.erase(sending);
      free_receivers_.erase(receiving);
    }
  }

  FreePorts::const_iterator FindPartner(std::int32_t chooser, const FreePorts& others,
                                        bool sender_chooses, int& looks) const {
    for (auto other = others.begin(); other != others.end() && looks > 0; ++other, --looks) {
      const double left =
          sender_chooses ? Left(chooser, other->second) : Left(other->second, chooser);
      if (left > kEmpty) return other;
    }
    return others.end();
  }

  double Left(std::int32_t sender, std::int32_t receiver) const {
    return left_[static_cast<std::size_t>(sender)][static_cast<std::size_t>(receiver)];
  }

  void Start(std::int32_t sender, std::int32_t receiver, double now, double last) {
    const double end = std::min(now + std::min(Left(sender, receiver), piece_max_), last);
    busy_.push({end, pieces_.size()});
    pieces_.push_back({sender, receiver, now, end});
  }

  const ShuffleDemand& demand_;
  const double piece_max_;
  std::vector<std::vector<double>> left_;
  std::vector<double> sender_left_, receiver_left_;
  FreePorts free_senders_, free_receivers_;
  /// Ends of the pieces under way.
  std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>,
                      std::greater<>>
      busy_;
  std::vector<Piece> pieces_;
};

}  // namespace

absl::StatusOr<LongestRemainingResult> LongestRemainingFirst(const ShuffleDemand& demand,
                                                             double piece_max) {
  ListSchedule schedule(demand, piece_max);
  const double last = demand.release.back();
  schedule.RunUntilLastRelease();
  const double rest = WindowNeeded(schedule.left(), demand.channels);
  LongestRemainingResult result;
  result.makespan = last + rest;
  result.pieces = std::move(schedule.pieces());
  absl::StatusOr<std::vector<Piece>> tail =
      MatchingSchedule(schedule.left(), last, rest, demand.channels);
  if (!tail.ok()) return tail.status();
  result.pieces.insert(result.pieces.end(), tail->begin(), tail->end());
  return result;
}

}  // namespace weir::planner::load
