#include "planner/tree/segments/list_schedule.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/model/tree_timing.h"

namespace weir::planner::tree {

namespace {

/// A start that is no later than that of any message it stands for, and the first segment of those.
using Place = std::pair<Seconds, std::int32_t>;

template <typename Value>
using LeastFirst = std::priority_queue<Value, std::vector<Value>, std::greater<>>;

/// What one machine has for another in messages of one size. All that are ready when the ports let
/// the first of them start would start then, the one of the first segment before the others: that
/// one stands for them, so that what waits for a busy port is not looked at again and again.
struct OpenMessages {
  MachineIndex sender = 0;
  MachineIndex receiver = 0;
  LeastFirst<Place> later;         // ready at that time, beyond the last start that was found
  LeastFirst<std::int32_t> ready;  // by segment
  std::optional<Place> place;      // of which its entry in the list of all is

  bool empty() const { return later.empty() && ready.empty(); }
};

/// Places messages one after another: always the one that can start first, ties by segment, then by
/// sender.
class ListScheduler {
 public:
  ListScheduler(const std::vector<std::vector<MachineIndex>>& trees, const LinkCosts& costs,
                PortModel ports, Schedule& schedule)
      : trees_(trees),
        costs_(costs),
        ports_(ports),
        schedule_(schedule),
        clock_(schedule.num_machines, static_cast<std::int32_t>(schedule.segment_units.size()),
               ports) {}

  void Run() {
    OpenLeaves();
    while (!entries_.empty()) {
      const auto [start_s, segment, sender, index] = entries_.top();
      entries_.pop();
      OpenMessages& open = open_[index];
      const Place place{start_s, segment};
      if (open.place != place) continue;  // it has another entry by now
      open.place.reset();
      // An entry is a lower bound: it is looked at again when it comes up.
      if (const Place first = FirstOf(open); first > place) {
        Enter(index, first);
        continue;
      }
      open.ready.pop();
      Send(open.sender, open.receiver, segment);
      if (!open.empty()) Enter(index, {start_s, 0});
    }
  }

 private:
  using Entry = std::tuple<Seconds, std::int32_t, MachineIndex, std::size_t>;

  const std::vector<MachineIndex>& ReceiversOf(std::int32_t segment) const {
    return trees_[static_cast<std::size_t>(segment) % trees_.size()];
  }

  Message MessageOf(MachineIndex sender, MachineIndex receiver, std::int32_t segment) const {
    return MakeMessage(schedule_, costs_, ports_, sender, receiver, segment, segment + 1);
  }

  void OpenLeaves() {
    const std::int32_t p = schedule_.num_machines;
    waiting_for_.resize(schedule_.segment_units.size());
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(waiting_for_.size()); ++j) {
      std::vector<std::int32_t>& waiting_for = waiting_for_[static_cast<std::size_t>(j)];
      waiting_for.assign(static_cast<std::size_t>(p), 0);
      for (MachineIndex i = 1; i < p; ++i) ++waiting_for[ReceiversOf(j)[i]];
      for (MachineIndex i = 1; i < p; ++i) {
        if (waiting_for[i] == 0) Open(i, j, 0);
      }
    }
  }

  void Open(MachineIndex sender, std::int32_t segment, Seconds ready_s) {
    const MachineIndex receiver = ReceiversOf(segment)[sender];
    const double units = schedule_.segment_units[static_cast<std::size_t>(segment)];
    const auto [found, is_new] = index_of_.try_emplace({sender, receiver, units}, open_.size());
    if (is_new) {
      open_.emplace_back();
      open_.back().sender = sender;
      open_.back().receiver = receiver;
    }
    OpenMessages& open = open_[found->second];
    const Place place{ready_s, segment};
    open.later.push(place);
    if (!open.place || place < *open.place) Enter(found->second, place);
  }

  void Enter(std::size_t index, Place place) {
    open_[index].place = place;
    entries_.emplace(place.first, place.second, open_[index].sender, index);
  }

  /// The first of what is open, which is then the first of `ready`.
  Place FirstOf(OpenMessages& open) const {
    const std::int32_t any = open.ready.empty() ? open.later.top().second : open.ready.top();
    const Seconds start_s = clock_.EarliestStart(MessageOf(open.sender, open.receiver, any));
    while (!open.later.empty() && open.later.top().first <= start_s) {
      open.ready.push(open.later.top().second);
      open.later.pop();
    }
    return {start_s, open.ready.top()};
  }

  void Send(MachineIndex sender, MachineIndex receiver, std::int32_t segment) {
    Message message = MessageOf(sender, receiver, segment);
    const Seconds end_s = clock_.Place(message);
    schedule_.messages.push_back(message);
    if (receiver == schedule_.root) {
      schedule_.makespan_s = std::max(schedule_.makespan_s, end_s);
    }
    const bool complete = --waiting_for_[static_cast<std::size_t>(segment)][receiver] == 0;
    if (complete && receiver != schedule_.root) Open(receiver, segment, end_s);
  }

  const std::vector<std::vector<MachineIndex>>& trees_;
  const LinkCosts& costs_;
  const PortModel ports_;
  Schedule& schedule_;
  PortClock clock_;
  std::vector<std::vector<std::int32_t>> waiting_for_;  // by segment and machine: for how many
  std::deque<OpenMessages> open_;                       // stay where they are
  std::map<std::tuple<MachineIndex, MachineIndex, double>, std::size_t> index_of_;
  LeastFirst<Entry> entries_;
};

}  // namespace

absl::Status CheckSegmented(std::int64_t num_machines, const std::vector<double>& units,
                            const LinkCosts& costs) {
  if (absl::Status status = CheckCount("p", num_machines, 1, kMessagesMax); !status.ok())
    return status;
  const auto q = static_cast<std::int64_t>(units.size());
  if (absl::Status status = CheckCount("number of segments", q, 1, kMessagesMax); !status.ok())
    return status;
  if (absl::Status status =
          CheckCount("(p - 1) * segments", (num_machines - 1) * q, 0, kMessagesMax);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckCosts("segments", units); !status.ok()) return status;
  if (absl::Status status = CheckCost("alpha", costs.alpha_s); !status.ok()) return status;
  if (absl::Status status = CheckCost("beta", costs.beta_s_per_unit); !status.ok()) return status;
  return CheckCost("gamma", costs.gamma_s_per_unit);
}

absl::StatusOr<Schedule> ListSchedule(std::string method,
                                      const std::vector<std::vector<MachineIndex>>& trees,
                                      std::vector<double> units, const LinkCosts& costs,
                                      PortModel ports) {
  const auto p = static_cast<std::int32_t>(trees.front().size());
  if (absl::Status status = CheckSegmented(p, units, costs); !status.ok()) return status;
  for (const auto& tree : trees) {
    if (auto order = SinkFirstOrder(tree); !order.ok()) return order.status();
  }
  Schedule schedule = EmptySchedule(std::move(method), p, std::move(units));
  const auto q = static_cast<std::int32_t>(schedule.segment_units.size());
  schedule.messages.reserve(static_cast<std::size_t>(p - 1) * static_cast<std::size_t>(q));
  ListScheduler(trees, costs, ports, schedule).Run();
  return schedule;
}

}  // namespace weir::planner::tree
