#include "tests/unit/planner_tree/plan_families.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "planner/tree/choice/operand_order.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/model/tree_timing.h"
#include "planner/tree/segments/bidirectional_greedy.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/named_trees.h"
#include "planner/tree/single/release_dates.h"
#include "planner/tree/speeds/class_dp.h"
#include "planner/tree/speeds/earliest_possible.h"
#include "planner/tree/speeds/pair_costs.h"
#include "planner/tree/speeds/sequence_search.h"
#include "planner/tree/speeds/slot_search.h"
#include "tests/unit/planner_tree/port_models.h"

namespace weir::planner::tree {

namespace {

constexpr PortModel kHalfOverlap{false, true, true};
constexpr PortModel kFreeLatency{true, true, false};  // 001
constexpr double kSegmentUnits = 2;

FamilySchedule Made(Schedule schedule) {
  FamilySchedule made;
  const double units =
      std::accumulate(schedule.segment_units.begin(), schedule.segment_units.end(), 0.0);
  made.num_places = static_cast<std::int64_t>(units);
  made.schedule = std::move(schedule);
  return made;
}

std::vector<double> Segments(const FamilyInput& in) {
  return std::vector<double>(static_cast<std::size_t>(in.num_segments), kSegmentUnits);
}

// Costs of a whole element of kSegmentUnits.
ElementCosts TreeCosts(const FamilyInput& in) {
  return {in.costs.alpha_s + in.costs.beta_s_per_unit * kSegmentUnits,
          in.costs.gamma_s_per_unit * kSegmentUnits};
}

FamilySchedule MadeTree(const FamilyInput& in, const TimedTree& tree) {
  return Made(FromTree("tree", tree, TreeCosts(in), kSegmentUnits));
}

using Shapes = std::function<std::vector<Receivers>(std::int32_t)>;

Family Listed(std::string name, PortModel ports, bool keeps_order, Shapes shapes) {
  return {std::move(name), ports, keeps_order, [ports, shapes](const FamilyInput& in) {
            Schedule schedule =
                *ListSchedule("listed", shapes(in.num_machines), Segments(in), in.costs, ports);
            const auto messages = static_cast<double>(schedule.messages.size());
            FamilySchedule made = Made(std::move(schedule));
            // A plan's latency holds the ports.
            if (!ports.latency_holds_ports) made.longer_s = in.costs.alpha_s * messages;
            // A transfer that the timetable holds back waits for the combine step under way.
            if (!ports.full_duplex && ports.overlaps_compute) {
              made.longer_s = in.costs.gamma_s_per_unit * kSegmentUnits * messages;
            }
            return made;
          }};
}

void AddHomogeneousTrees(std::vector<Family>& families) {
  families.push_back({"greedy tree", kOverlap, false, [](const FamilyInput& in) {
                        return MadeTree(in, *GreedyTree(in.num_machines, TreeCosts(in)));
                      }});
  families.push_back(
      {"limited transfers", kOverlap, false, [](const FamilyInput& in) {
         FamilySchedule made =
             MadeTree(in, *GreedyTreeLimitedTransfers(in.num_machines, in.limit, TreeCosts(in)));
         made.channels = static_cast<std::int32_t>(in.limit);
         return made;
       }});
  families.push_back(
      {"limited reducers", kOverlap, false, [](const FamilyInput& in) {
         return MadeTree(in, *GreedyTreeLimitedReducers(in.num_machines, in.limit, TreeCosts(in)));
       }});
  families.push_back({"binomial strategy", kOverlap, false, [](const FamilyInput& in) {
                        return MadeTree(in, *BinomialStrategy(in.num_machines, TreeCosts(in)));
                      }});
  families.push_back({"fibonacci strategy", kOverlap, false, [](const FamilyInput& in) {
                        return MadeTree(in, *FibonacciStrategy(in.num_machines, TreeCosts(in)));
                      }});
  // Preorder numbers: the root holds the lowest rank, whichever the others hold.
  families.push_back(
      {"tree by preorder", kOverlap, true, [](const FamilyInput& in) {
         const TimedTree tree = *GreedyTree(in.num_machines, TreeCosts(in));
         const OperandPlacement placement = *PlaceOperands(tree);
         FamilySchedule made = MadeTree(in, tree);
         RenameMachines({placement.rank.begin(), placement.rank.end()}, made.schedule);
         return made;
       }});
  for (const bool limited : {false, true}) {
    families.push_back({limited ? "release dates with a limit" : "release dates", kOverlap, false,
                        [limited](const FamilyInput& in) {
                          const std::int64_t limit = limited ? in.limit : kNoTransferLimit;
                          FamilySchedule made =
                              MadeTree(in, *ReleaseDateTree(in.ready_s, TreeCosts(in), limit));
                          made.ready_s = in.ready_s;
                          if (limited) made.channels = static_cast<std::int32_t>(in.limit);
                          // Machines of a plan receive before their own element is ready.
                          made.shorter_s = made.schedule.makespan_s;
                          return made;
                        }});
  }
}

void AddStandardTrees(std::vector<Family>& families) {
  const std::vector<std::pair<std::string, PortModel>> models = {{"overlap", kOverlap},
                                                                 {"full duplex", kBidirectional},
                                                                 {"half duplex", kUnidirectional},
                                                                 {"half overlap", kHalfOverlap}};
  for (const auto& [model, ports] : models) {
    const auto add = [&, ports = ports, model = model](const std::string& name, bool keeps_order,
                                                       Shapes shapes) {
      families.push_back(Listed(name + ", " + model, ports, keeps_order, std::move(shapes)));
    };
    add("binomial", false, [](std::int32_t p) { return std::vector<Receivers>{BinomialShape(p)}; });
    add("ordered pipeline", true,
        [](std::int32_t p) { return std::vector<Receivers>{PipelineShape(p)}; });
    add("binary", false, [](std::int32_t p) { return std::vector<Receivers>{BinaryShape(p)}; });
    add("two-tree", false, [](std::int32_t p) {
      auto [first, second] = TwoTreeShapes(p);
      return std::vector<Receivers>{first, second};
    });
    add("ordered two-tree", true, [](std::int32_t p) {
      auto [first, second] = OrderedTwoTreeShapes(p);
      return std::vector<Receivers>{first, second};
    });
  }
  families.push_back(Listed("rotating centres", kFreeLatency, false, [](std::int32_t p) {
    return p == 1 ? std::vector<Receivers>{StarShape(p)} : RotatingCentreShapes(p);
  }));
}

void AddSegmented(std::vector<Family>& families) {
  families.push_back({"unidirectional greedy", kUnidirectional, false, [](const FamilyInput& in) {
                        std::vector<double> units = Segments(in);
                        units.front() = 3;
                        units.back() = 1;
                        return Made(
                            *UnidirectionalGreedySchedule(in.num_machines, units, in.costs));
                      }});
  families.push_back({"bidirectional greedy", kBidirectional, false, [](const FamilyInput& in) {
                        std::vector<double> units = Segments(in);
                        units.front() = 3;
                        units.back() = 1;
                        return Made(*BidirectionalGreedySchedule(in.num_machines, units, in.costs));
                      }});
  const std::vector<std::pair<std::string, PortModel>> models = {{"overlap", kOverlap},
                                                                 {"full duplex", kBidirectional}};
  for (const auto& [model, ports] : models) {
    families.push_back(
        {"circulant, " + model, ports, false, [ports = ports](const FamilyInput& in) {
           return Made(*CirculantSchedule(in.num_machines, Segments(in), in.costs, ports));
         }});
    families.push_back(
        {"interleaved, " + model, ports, false, [ports = ports](const FamilyInput& in) {
           return Made(*InterleavedSchedule(in.num_machines, Segments(in), in.costs, ports));
         }});
    families.push_back(
        {"rabenseifner, " + model, ports, false, [ports = ports](const FamilyInput& in) {
           const double units =
               kSegmentUnits * static_cast<double>(std::int64_t{1} << FloorLog2(in.num_machines));
           return Made(*RabenseifnerSchedule(in.num_machines, units, in.costs, ports));
         }});
    families.push_back({"reduce-scatter and gather, " + model, ports, false,
                        [ports = ports](const FamilyInput& in) {
                          FamilySchedule made = Made(*ReduceScatterSchedule(
                              in.num_machines, kSegmentUnits * in.num_machines, in.costs, ports));
                          // A range that wraps around travels as two transfers, each with the
                          // latency. Machines that do not overlap then fall out of step (1.29 times
                          // at most, measured).
                          made.longer_s =
                              in.costs.alpha_s * static_cast<double>(CeilLog2(in.num_machines));
                          if (!ports.overlaps_compute && in.costs.alpha_s > 0) {
                            made.longer_s += 0.3 * made.schedule.makespan_s;
                          }
                          return made;
                        }});
  }
}

// Machine 0 is the destination; sender i is machine i + 1.
FamilySchedule MadeSenders(const FamilyInput& in, const SenderSchedule& senders,
                           const std::vector<Seconds>& times) {
  FamilySchedule made = Made(FromSenders("senders", senders, times, kSegmentUnits));
  made.port_slowdown = in.slowdown;
  // 003 counts the sender alone, a plan the slower port.
  bool receiver_slower = false;
  for (const Message& message : made.schedule.messages) {
    receiver_slower = receiver_slower || in.slowdown[static_cast<std::size_t>(message.receiver)] >
                                             in.slowdown[static_cast<std::size_t>(message.sender)];
  }
  const auto [least, most] = std::minmax_element(in.slowdown.begin(), in.slowdown.end());
  if (receiver_slower) made.longer_s = (*most / *least - 1) * made.schedule.makespan_s;
  return made;
}

std::vector<Seconds> SenderTimes(const FamilyInput& in) {
  std::vector<Seconds> times;
  for (std::size_t i = 1; i < in.slowdown.size(); ++i) {
    times.push_back(in.costs.alpha_s + in.costs.beta_s_per_unit * kSegmentUnits * in.slowdown[i]);
  }
  return times;
}

// EP in a starting order that names times only.
FamilySchedule MadeOrdered(const FamilyInput& in, const std::vector<Seconds>& ordered) {
  const std::vector<Seconds> times = SenderTimes(in);
  std::vector<bool> used(times.size(), false);
  std::vector<std::int32_t> sequence;
  for (const Seconds time_s : ordered) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (used[i] || times[i] != time_s) continue;
      used[i] = true;
      sequence.push_back(static_cast<std::int32_t>(i));
      break;
    }
  }
  return MadeSenders(in, *EarliestPossible(times, sequence), times);
}

FamilySchedule MadePairCosts(const FamilyInput& in) {
  std::vector<Seconds> costs;
  for (const double slowdown : in.slowdown) {
    costs.push_back(in.costs.beta_s_per_unit * kSegmentUnits * slowdown / 2);
  }
  const TimedTree tree = *PairCostTree(costs, costs, 50);
  FamilySchedule made = MadeTree(in, tree);
  for (Message& message : made.schedule.messages) {
    message.port_s = costs[static_cast<std::size_t>(message.sender)] +
                     costs[static_cast<std::size_t>(message.receiver)];
    message.combine_s = 0;
  }
  made.port_slowdown = in.slowdown;
  // Half of each machine's cost against the whole of the slower one's, and the plan's latency.
  made.longer_s = made.schedule.makespan_s +
                  in.costs.alpha_s * static_cast<double>(made.schedule.messages.size());
  return made;
}

void AddHeterogeneous(std::vector<Family>& families) {
  families.push_back({"slowest node first", kUnidirectional, false, [](const FamilyInput& in) {
                        const std::vector<Seconds> times = SenderTimes(in);
                        return MadeSenders(in, *SlowestNodeFirst(times), times);
                      }});
  families.push_back(
      {"slowest node first with a limit", kUnidirectional, false, [](const FamilyInput& given) {
         // Slow transfers take a part of a channel only: compared at one speed.
         FamilyInput in = given;
         std::fill(in.slowdown.begin(), in.slowdown.end(), 1.0);
         const std::vector<Seconds> times = SenderTimes(in);
         FamilySchedule made = MadeSenders(in, *SlowestNodeFirst(times, in.limit), times);
         made.channels = static_cast<std::int32_t>(in.limit);
         return made;
       }});
  families.push_back({"local search", kUnidirectional, false, [](const FamilyInput& in) {
                        return MadeOrdered(
                            in,
                            ImproveSequence(SenderTimes(in), kNoTransferLimit, 50)->ordered_times);
                      }});
  families.push_back({"slot search", kUnidirectional, false, [](const FamilyInput& in) {
                        return MadeOrdered(in, SearchSlots(SenderTimes(in))->ordered_times);
                      }});
  families.push_back({"class table", kUnidirectional, false, [](const FamilyInput& in) {
                        std::vector<Seconds> times = SenderTimes(in);
                        std::sort(times.begin(), times.end());
                        std::vector<Seconds> classes = times;
                        classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
                        std::vector<std::int64_t> counts;
                        for (const Seconds time_s : classes) {
                          counts.push_back(std::count(times.begin(), times.end(), time_s));
                        }
                        if (classes.empty()) return MadeOrdered(in, {});
                        return MadeOrdered(in, ClassOptimumByDp(classes, counts)->ordered_times);
                      }});
  families.push_back({"sender and receiver costs", kUnidirectional, false, MadePairCosts});
}

}  // namespace

std::string CamelCase(const std::string& name) {
  std::string word;
  bool upper = true;
  for (const char c : name) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    const int cased = upper ? std::toupper(static_cast<unsigned char>(c)) : c;
    if (letter) word += static_cast<char>(cased);
    upper = !letter;
  }
  return word;
}

std::vector<Family> AllFamilies() {
  std::vector<Family> families;
  AddHomogeneousTrees(families);
  AddStandardTrees(families);
  AddSegmented(families);
  AddHeterogeneous(families);
  return families;
}

}  // namespace weir::planner::tree
