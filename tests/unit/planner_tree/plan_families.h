#pragma once

// Every family of planner/tree as a schedule for given machines: one list for all tests of plans.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "planner/plan/network_model.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// What a family is asked for. Costs are whole numbers so that plans and schedules can be compared
/// to the last digit.
struct FamilyInput {
  std::int32_t num_machines = 1;
  std::int32_t num_segments = 1;
  LinkCosts costs;
  /// K of the families that have one, 1 to num_machines.
  std::int64_t limit = 1;
  /// One entry a machine.
  std::vector<Seconds> ready_s;
  std::vector<double> slowdown;
};

/// A family's schedule. Sizes are in places: one unit of LinkCosts is one place.
struct FamilySchedule {
  Schedule schedule;
  std::int64_t num_places = 1;
  /// Network that the family reckons with, beside its costs.
  std::vector<double> port_slowdown;
  std::int32_t channels = 0;  // of one cut over all pairs; 0 = no cut
  std::vector<Seconds> ready_s;
  /// A plan on that network may be predicted shorter or longer than the schedule by this much, for
  /// the reason that the family's row gives.
  Seconds shorter_s = 0;
  Seconds longer_s = 0;
};

struct Family {
  std::string name;
  PortModel ports;
  bool keeps_order = false;
  std::function<FamilySchedule(const FamilyInput&)> build;

  friend std::ostream& operator<<(std::ostream& out, const Family& family) {
    return out << family.name;
  }
};

/// The name as one word, for the names of tests: "two-tree, overlap" -> "TwoTreeOverlap".
std::string CamelCase(const std::string& name);

/// All families, in the order of docs/planner-trees.md.
std::vector<Family> AllFamilies();

}  // namespace weir::planner::tree
