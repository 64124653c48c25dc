#include "planner/tree/segments/bidirectional_greedy.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "planner/tree/model/input_checks.h"
#include "planner/tree/segments/list_schedule.h"

namespace weir::planner::tree {

namespace {

constexpr PortModel kBidirectional{true, false, true};

/// State of Algorithm 2: S, R and C of every machine, and who still holds which segment.
class GreedyRounds {
 public:
  GreedyRounds(Schedule& schedule, const LinkCosts& costs)
      : schedule_(schedule),
        costs_(costs),
        p_(schedule.num_machines),
        q_(static_cast<std::int32_t>(schedule.segment_units.size())),
        ports_(static_cast<std::size_t>(p_)),
        sent_(static_cast<std::size_t>(p_) * static_cast<std::size_t>(q_), false),
        ready_s_(sent_.size(), 0),
        holders_(static_cast<std::size_t>(q_), p_) {}

  void Run() {
    instants_.insert(0);
    while (!instants_.empty()) {
      const Seconds now_s = *instants_.begin();
      instants_.erase(instants_.begin());
      while (first_open_ < q_ && holders_[first_open_] == 1) ++first_open_;
      for (std::int32_t j = first_open_; j < q_; ++j) {
        if (holders_[j] > 1) PairSegment(j, now_s);
      }
    }
  }

 private:
  struct Ports {
    Seconds send_free_s = 0;
    Seconds receive_free_s = 0;
    Seconds combine_begin_s = -1;
    Seconds combine_end_s = -1;
  };

  std::size_t Cell(MachineIndex i, std::int32_t j) const {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(q_) + static_cast<std::size_t>(j);
  }

  // Sorts the machines that hold segment j into those that can only send, only receive, or both,
  // then evens them out.
  void PairSegment(std::int32_t j, Seconds now_s) {
    const Message model = MakeMessage(schedule_, costs_, kBidirectional, 1, 0, j, j + 1);
    std::vector<MachineIndex> senders;
    std::vector<MachineIndex> receivers;
    std::vector<MachineIndex> both;
    for (MachineIndex i = 0; i < p_; ++i) {
      const Ports& ports = ports_[i];
      if (sent_[Cell(i, j)] || ready_s_[Cell(i, j)] > now_s) continue;
      const bool combining = ports.combine_begin_s <= now_s && now_s < ports.combine_end_s;
      const bool soon =
          now_s < ports.combine_begin_s && now_s + model.port_s > ports.combine_begin_s;
      if (combining || soon) continue;
      const bool can_send = i != 0 && ports.send_free_s <= now_s;
      const bool can_receive =
          ports.receive_free_s <= now_s && ports.send_free_s <= now_s + model.port_s;
      if (can_send && can_receive) both.push_back(i);
      if (can_send && !can_receive) senders.push_back(i);
      if (!can_send && can_receive) receivers.push_back(i);
    }
    const std::size_t shortage = senders.size() < receivers.size()
                                     ? receivers.size() - senders.size()
                                     : senders.size() - receivers.size();
    const std::size_t fill = std::min(both.size(), shortage);
    const std::size_t split = (both.size() - fill) / 2;
    const bool senders_short = senders.size() < receivers.size();
    const std::size_t new_senders = split + (senders_short ? fill : 0);
    const std::size_t new_receivers = split + (senders_short ? 0 : fill);
    senders.insert(senders.end(), both.end() - static_cast<std::ptrdiff_t>(new_senders),
                   both.end());
    receivers.insert(receivers.end(), both.begin(),
                     both.begin() + static_cast<std::ptrdiff_t>(new_receivers));
    for (std::size_t k = 0; k < std::min(senders.size(), receivers.size()); ++k) {
      Send(senders[k], receivers[k], j, now_s);
    }
  }

  void Send(MachineIndex sender, MachineIndex receiver, std::int32_t j, Seconds now_s) {
    Message message = MakeMessage(schedule_, costs_, kBidirectional, sender, receiver, j, j + 1);
    message.start_s = now_s;
    schedule_.messages.push_back(message);
    const Seconds arrival_s = now_s + message.port_s;
    const Seconds end_s = arrival_s + message.combine_s;
    sent_[Cell(sender, j)] = true;
    ready_s_[Cell(receiver, j)] = end_s;
    ports_[sender].send_free_s = arrival_s;
    ports_[receiver].receive_free_s = end_s;
    ports_[receiver].combine_begin_s = arrival_s;
    ports_[receiver].combine_end_s = end_s;
    --holders_[j];
    schedule_.makespan_s = std::max(schedule_.makespan_s, end_s);
    for (Seconds instant_s : {arrival_s, end_s}) {
      if (instant_s > now_s) instants_.insert(instant_s);
    }
    if (end_s <= now_s) instants_.insert(now_s);  // all free of cost: look again at once
  }

  Schedule& schedule_;
  const LinkCosts& costs_;
  std::int32_t p_;
  std::int32_t q_;
  std::vector<Ports> ports_;
  std::vector<bool> sent_;
  std::vector<Seconds> ready_s_;
  std::vector<std::int32_t> holders_;
  std::set<Seconds> instants_;
  std::int32_t first_open_ = 0;
};

}  // namespace

absl::StatusOr<Schedule> BidirectionalGreedySchedule(std::int32_t p, std::vector<double> units,
                                                     const LinkCosts& costs) {
  if (absl::Status status = CheckSegmented(p, units, costs); !status.ok()) return status;
  const std::int64_t cells = std::int64_t{p} * static_cast<std::int64_t>(units.size());
  if (absl::Status status = CheckCount("p * segments", cells, 1, kBidirectionalCellsMax);
      !status.ok()) {
    return status;
  }
  Schedule schedule = EmptySchedule("bidirectional greedy", p, std::move(units));
  GreedyRounds(schedule, costs).Run();
  return schedule;
}

}  // namespace weir::planner::tree
