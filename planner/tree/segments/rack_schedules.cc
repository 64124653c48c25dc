#include "planner/tree/segments/rack_schedules.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"

namespace weir::planner::tree {

namespace {

std::size_t Index(std::int32_t i) { return static_cast<std::size_t>(i); }

std::int32_t NumMachines(const Racks& racks) {
  std::size_t count = 0;
  for (const std::vector<MachineIndex>& rack : racks) count += rack.size();
  return static_cast<std::int32_t>(count);
}

absl::Status CheckRacks(const Racks& racks, const RackCosts& costs) {
  const std::int32_t p = NumMachines(racks);
  std::vector<bool> met(Index(p), false);
  for (const std::vector<MachineIndex>& rack : racks) {
    if (rack.empty()) return absl::InvalidArgumentError("racks: one is empty");
    for (const MachineIndex machine : rack) {
      if (machine < 0 || machine >= p || met[Index(machine)]) {
        return absl::InvalidArgumentError(
            absl::StrCat("racks: machine ", machine, " is not one of ", p, ", or stands twice"));
      }
      met[Index(machine)] = true;
    }
  }
  if (p == 0 || costs.network.num_workers != p) {
    return absl::InvalidArgumentError(absl::StrCat("racks have ", p, " machines, the network ",
                                                   costs.network.num_workers, " workers"));
  }
  return absl::OkStatus();
}

absl::Status CheckParts(const Racks& racks, std::int32_t segments, std::int32_t parts) {
  if (absl::Status status = CheckCount("parts", parts, 1, kMessagesMax); !status.ok())
    return status;
  return CheckCount("p * segments", std::int64_t{NumMachines(racks)} * segments * parts, 1,
                    kRackCellsMax);
}

/// Two heads of a rack and the trees of its machines below them.
struct RackHeads {
  MachineIndex head = 0;   // of this tree
  MachineIndex other = 0;  // of the other tree; head where there is none
};

/// Hangs one of the two trees over `members` below `top`: half of them combine two messages each,
/// the others none. Halves change over from tree 0 to tree 1.
RackHeads HangHalf(const std::vector<MachineIndex>& members, int tree, MachineIndex top,
                   Receivers& receivers) {
  std::vector<MachineIndex> inner;
  std::vector<MachineIndex> leaves;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool is_inner = members.size() == 1 || static_cast<int>(i % 2) == tree;
    (is_inner ? inner : leaves).push_back(members[i]);
  }
  const MachineIndex head = inner.front();
  receivers[Index(head)] = top;
  if (leaves.empty()) return {head, head};
  // The head has one machine below it, and room for a message from another rack; the other tree's
  // head comes next, for the second such message.
  std::vector<MachineIndex> below = {leaves.front()};
  below.insert(below.end(), inner.begin() + std::min<std::ptrdiff_t>(2, std::ssize(inner)),
               inner.end());
  below.insert(below.end(), leaves.begin() + 1, leaves.end());
  std::size_t next = 0;
  if (inner.size() > 1) {
    receivers[Index(inner[1])] = head;
    for (std::size_t i = 1; i < inner.size(); ++i) {
      for (int slot = 0; slot < 2 && next < below.size(); ++slot)
        receivers[Index(below[next++])] = inner[i];
    }
  }
  while (next < below.size()) receivers[Index(below[next++])] = head;
  return {head, leaves.front()};
}

Receivers RackTwoTree(const Racks& racks, const Receivers& between, int tree) {
  Receivers receivers(Index(NumMachines(racks)), kNoMachine);
  const MachineIndex root = racks[0][0];
  // Heights of the racks' subtrees decide which of two goes to the head itself.
  std::vector<std::int32_t> height(racks.size(), 0);
  std::vector<std::vector<std::int32_t>> senders(racks.size());
  const std::function<std::int32_t(std::int32_t)> measure = [&](std::int32_t rack) {
    for (const std::int32_t sender : senders[Index(rack)])
      height[Index(rack)] = std::max(height[Index(rack)], measure(sender) + 1);
    return height[Index(rack)];
  };
  for (std::size_t r = 1; r < racks.size(); ++r)
    senders[Index(between[r])].push_back(static_cast<std::int32_t>(r));
  measure(0);

  std::vector<RackHeads> heads;
  for (std::size_t r = 0; r < racks.size(); ++r) {
    std::vector<MachineIndex> members = racks[r];
    if (r == 0) members.erase(members.begin());
    heads.push_back(members.empty()
                        ? RackHeads{root, root}
                        : HangHalf(members, tree, r == 0 ? root : kNoMachine, receivers));
  }
  for (std::size_t r = 0; r < racks.size(); ++r) {
    std::stable_sort(senders[r].begin(), senders[r].end(), [&](std::int32_t a, std::int32_t b) {
      return height[Index(a)] > height[Index(b)];
    });
    for (std::size_t i = 0; i < senders[r].size(); ++i) {
      receivers[Index(heads[Index(senders[r][i])].head)] = i == 0 ? heads[r].head : heads[r].other;
    }
  }
  return receivers;
}

/// Adds the messages of one tree for one segment: below every machine first, its senders in the
/// order in which `senders` has them.
void AddInPostOrder(const std::vector<std::vector<MachineIndex>>& senders, std::int32_t segment,
                    const RackCosts& costs, Schedule& schedule) {
  struct Visit {
    MachineIndex machine;
    std::size_t next;
  };
  std::vector<Visit> path = {{schedule.root, 0}};
  while (!path.empty()) {
    Visit& visit = path.back();
    if (visit.next < senders[Index(visit.machine)].size()) {
      const MachineIndex sender = senders[Index(visit.machine)][visit.next++];
      path.push_back({sender, 0});
      continue;
    }
    const MachineIndex done = visit.machine;
    path.pop_back();
    if (path.empty()) break;
    schedule.messages.push_back(MakeMessage(schedule, costs.link, costs.ports, done,
                                            path.back().machine, segment, segment + 1));
  }
}

/// Senders of every machine in rack order, which is rank order where racks are ranges. With
/// `lower_first` those of lower trees come first: they have less to wait for.
std::vector<std::vector<MachineIndex>> SendersOf(const Racks& racks, const Receivers& receivers,
                                                 bool lower_first) {
  std::vector<std::vector<MachineIndex>> senders(receivers.size());
  for (const MachineIndex machine : RackOrder(racks)) {
    const MachineIndex to = receivers[Index(machine)];
    if (to != kNoMachine) senders[Index(to)].push_back(machine);
  }
  if (!lower_first) return senders;
  std::vector<std::int32_t> height(receivers.size(), 0);
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    std::int32_t above = 0;
    for (MachineIndex at = receivers[i]; at != kNoMachine; at = receivers[Index(at)])
      height[Index(at)] = std::max(height[Index(at)], ++above);
  }
  for (std::vector<MachineIndex>& of_one : senders) {
    std::stable_sort(of_one.begin(), of_one.end(), [&](MachineIndex a, MachineIndex b) {
      return height[Index(a)] < height[Index(b)];
    });
  }
  return senders;
}

/// Repeats the messages of one part for all parts, each on its own segments.
Schedule InParts(Schedule schedule, std::int32_t parts) {
  const auto per_part = static_cast<std::int32_t>(schedule.segment_units.size());
  const std::vector<Message> of_one = schedule.messages;
  const std::vector<double> units = schedule.segment_units;
  for (std::int32_t part = 1; part < parts; ++part) {
    schedule.segment_units.insert(schedule.segment_units.end(), units.begin(), units.end());
    for (Message message : of_one) {
      message.segment_begin += part * per_part;
      message.segment_end += part * per_part;
      schedule.messages.push_back(message);
    }
  }
  return schedule;
}

void Rename(const std::vector<MachineIndex>& name, Schedule& schedule) {
  schedule.root = name[Index(schedule.root)];
  for (Message& message : schedule.messages) {
    message.sender = name[Index(message.sender)];
    message.receiver = name[Index(message.receiver)];
  }
}

/// One part of RackRailsSchedule in segments 0 to K - 1.
class RailsBuilder {
 public:
  RailsBuilder(const Racks& racks, std::int32_t rails, const RackCosts& costs, Schedule& schedule)
      : racks_(racks),
        width_(MostRails(racks)),
        per_rail_(width_ / rails),
        costs_(costs),
        schedule_(schedule) {}

  void Build() {
    for (const std::vector<MachineIndex>& rack : racks_) ScatterWithin(rack);
    for (const std::vector<MachineIndex>& rack : racks_) {
      for (std::int32_t bit = 1; bit < per_rail_; bit *= 2) Gather(rack, bit);
    }
    const Receivers between = BinomialShape(static_cast<std::int32_t>(racks_.size()));
    // Rounds of the binomial tree: the near racks first.
    for (std::size_t apart = 1; apart < racks_.size(); apart *= 2) {
      for (std::size_t r = apart; r < racks_.size(); r += 2 * apart) {
        for (std::int32_t c = 0; c < width_; c += per_rail_) {
          Send(Keeper(racks_[r], c), Keeper(racks_[Index(between[r])], c), c, c + per_rail_, true);
        }
      }
    }
    for (std::int32_t bit = per_rail_; bit < width_; bit *= 2) {
      for (std::int32_t c = bit; c < width_; c += 2 * bit)
        Send(Keeper(racks_[0], c), Keeper(racks_[0], c - bit), c, c + bit, false);
    }
  }

 private:
  void Send(MachineIndex from, MachineIndex to, std::int32_t begin, std::int32_t end,
            bool combines) {
    schedule_.messages.push_back(
        MakeMessage(schedule_, costs_.link, costs_.ports, from, to, begin, end, combines));
  }

  // As in rabenseifner.cc; a rack of more than twice the width sends the rest whole.
  void ScatterWithin(const std::vector<MachineIndex>& rack) {
    const auto size = static_cast<std::int32_t>(rack.size());
    for (std::int32_t extra = size - 1; extra >= std::min(size, 2 * width_); --extra)
      Send(rack[Index(extra)], rack[Index(extra % width_)], 0, width_, true);
    const std::int32_t half = width_ / 2;
    for (std::int32_t extra = width_; extra < std::min(size, 2 * width_); ++extra) {
      const MachineIndex from = rack[Index(extra)];
      const MachineIndex to = rack[Index(extra - width_)];
      if (half == 0) {
        Send(from, to, 0, 1, true);
        continue;
      }
      Send(from, to, 0, half, true);
      Send(to, from, half, width_, true);
      Send(from, to, half, width_, false);
    }
    for (std::int32_t bit = half; bit > 0; bit /= 2) {
      for (std::int32_t i = 0; i < width_; ++i) {
        const std::int32_t partner = i ^ bit;
        const std::int32_t kept = partner & ~(bit - 1);
        Send(rack[Index(i)], rack[Index(partner)], kept, kept + bit, true);
      }
    }
  }

  /// Who gathers the pieces from c on, c a multiple of per_rail_: each rail at another place of its
  /// group. Where routes go by destination, machines at equal distances would share one uplink.
  MachineIndex Keeper(const std::vector<MachineIndex>& rack, std::int32_t c) const {
    return rack[Index(c + c / per_rail_ % per_rail_)];
  }

  /// Ranges of one rail's group double towards its keeper.
  void Gather(const std::vector<MachineIndex>& rack, std::int32_t bit) {
    for (std::int32_t c = 0; c < width_; c += per_rail_) {
      const std::int32_t place = c / per_rail_ % per_rail_;
      for (std::int32_t i = bit; i < per_rail_; i += 2 * bit) {
        // Seen from the keeper, machine i of the group is the one at i ^ place; it holds the pieces
        // of those at (i .. i + bit - 1) ^ place, a range that starts at a multiple of bit.
        const std::int32_t begin = c + ((i ^ place) & ~(bit - 1));
        Send(rack[Index(c + (i ^ place))], rack[Index(c + ((i - bit) ^ place))], begin, begin + bit,
             false);
      }
    }
  }

  const Racks& racks_;
  std::int32_t width_;
  std::int32_t per_rail_;
  const RackCosts& costs_;
  Schedule& schedule_;
};

}  // namespace

const char* RackShapeName(RackShape shape) {
  switch (shape) {
    case RackShape::kBinomial:
      return "rack binomial";
    case RackShape::kPipeline:
      return "rack pipeline";
    case RackShape::kTwoTree:
      break;
  }
  return "rack two-tree";
}

std::vector<Receivers> RackTrees(const Racks& racks, RackShape shape) {
  const std::int32_t p = NumMachines(racks);
  Receivers receivers(Index(p), kNoMachine);
  if (shape == RackShape::kPipeline) {
    const std::vector<MachineIndex> order = RackOrder(racks);
    for (std::size_t i = 1; i < order.size(); ++i) receivers[Index(order[i])] = order[i - 1];
    return {receivers};
  }
  const auto num_racks = static_cast<std::int32_t>(racks.size());
  if (shape == RackShape::kTwoTree) {
    const auto [first, second] = TwoTreeShapes(num_racks);
    return {RackTwoTree(racks, first, 0), RackTwoTree(racks, second, 1)};
  }
  const Receivers between = BinomialShape(num_racks);
  for (std::size_t r = 0; r < racks.size(); ++r) {
    const std::vector<MachineIndex>& rack = racks[r];
    const Receivers within = BinomialShape(static_cast<std::int32_t>(rack.size()));
    for (std::size_t i = 1; i < rack.size(); ++i)
      receivers[Index(rack[i])] = rack[Index(within[i])];
    if (r > 0) receivers[Index(rack[0])] = racks[Index(between[r])][0];
  }
  return {receivers};
}

absl::StatusOr<Schedule> RackTreeSchedule(const Racks& racks, RackShape shape,
                                          std::vector<double> units, const RackCosts& costs) {
  const std::int32_t p = NumMachines(racks);
  if (absl::Status status = CheckRacks(racks, costs); !status.ok()) return status;
  if (absl::Status status = CheckSegmented(p, units, costs.link); !status.ok()) return status;
  const auto q = static_cast<std::int32_t>(units.size());
  if (absl::Status status = CheckParts(racks, q, 1); !status.ok()) return status;
  Schedule schedule = EmptySchedule(RackShapeName(shape), p, std::move(units));
  schedule.root = racks[0][0];
  std::vector<std::vector<std::vector<MachineIndex>>> senders;
  for (const Receivers& tree : RackTrees(racks, shape))
    senders.push_back(SendersOf(racks, tree, shape == RackShape::kTwoTree));
  for (std::int32_t j = 0; j < q; ++j)
    AddInPostOrder(senders[Index(j) % senders.size()], j, costs, schedule);
  return EarliestFirst(schedule, costs.ports, costs.network, costs.lanes_early_s,
                       /*keeps_receives=*/shape == RackShape::kTwoTree);
}

std::vector<MachineIndex> NearFirstNames(const Racks& racks) {
  const std::int32_t p = NumMachines(racks);
  const auto core = static_cast<std::int32_t>(std::int64_t{1} << FloorLog2(p));
  // Rabenseifner's rounds pair machines half of all apart first. With their numbers read backwards,
  // bit by bit, neighbours come first.
  const std::vector<MachineIndex> order = RackOrder(racks);
  std::vector<MachineIndex> name(Index(p));
  std::size_t next = 0;
  for (std::int32_t place = 0; place < core; ++place) {
    std::int32_t number = 0;
    for (std::int32_t bit = 1; bit < core; bit *= 2)
      number = 2 * number + ((place & bit) != 0 ? 1 : 0);
    name[Index(number)] = order[next++];
    if (number < p - core) name[Index(core + number)] = order[next++];
  }
  return name;
}

absl::StatusOr<Schedule> NearFirstSchedule(const Racks& racks, double units, std::int32_t parts,
                                           const RackCosts& costs) {
  if (absl::Status status = CheckRacks(racks, costs); !status.ok()) return status;
  const std::int32_t p = NumMachines(racks);
  const auto core = static_cast<std::int32_t>(std::int64_t{1} << FloorLog2(p));
  if (absl::Status status = CheckParts(racks, core, parts); !status.ok()) return status;
  absl::StatusOr<Schedule> one = RabenseifnerSchedule(p, units / parts, costs.link, costs.ports);
  if (!one.ok()) return one.status();
  Rename(NearFirstNames(racks), *one);
  one->method = "rabenseifner, near first";
  return EarliestFirst(InParts(*std::move(one), parts), costs.ports, costs.network,
                       costs.lanes_early_s);
}

std::int32_t MostRails(const Racks& racks) {
  std::size_t least = racks[0].size();
  for (const std::vector<MachineIndex>& rack : racks) least = std::min(least, rack.size());
  return static_cast<std::int32_t>(std::bit_floor(least));
}

absl::StatusOr<Schedule> RackRailsSchedule(const Racks& racks, double units, std::int32_t rails,
                                           std::int32_t parts, const RackCosts& costs) {
  if (absl::Status status = CheckRacks(racks, costs); !status.ok()) return status;
  const std::int32_t p = NumMachines(racks);
  if (absl::Status status = CheckSegmented(p, {units}, costs.link); !status.ok()) return status;
  const std::int32_t width = MostRails(racks);
  if (absl::Status status = CheckParts(racks, width, parts); !status.ok()) return status;
  if (absl::Status status = CheckCount("rails", rails, 1, width); !status.ok()) return status;
  if (!std::has_single_bit(static_cast<std::uint32_t>(rails))) {
    return absl::InvalidArgumentError(
        absl::StrCat("rails is ", rails, "; it must be a power of 2"));
  }
  Schedule schedule =
      EmptySchedule(absl::StrCat("rack rails, ", rails), p, EqualSegments(units / parts, width));
  schedule.root = racks[0][0];
  RailsBuilder(racks, rails, costs, schedule).Build();
  return EarliestFirst(InParts(std::move(schedule), parts), costs.ports, costs.network,
                       costs.lanes_early_s);
}

}  // namespace weir::planner::tree
