#include "planner/instances/solvers/shared_fields.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/segments/list_schedule.h"

namespace weir::planner::tree {

ElementCosts ReadElementCosts(InstanceFields& fields) {
  return {fields.Number("d"), fields.Number("c")};
}

LinkCosts ReadLinkCosts(InstanceFields& fields) {
  return {fields.Number("alpha"), fields.Number("beta"), fields.Number("gamma")};
}

std::int32_t ReadMachines(InstanceFields& fields, const char* field) {
  const std::int64_t n = fields.Integer(field);
  fields.Note(fields.Locate(CheckCount(field, n, 1, kBuiltMachinesMax)));
  return fields.status().ok() ? static_cast<std::int32_t>(n) : 1;
}

std::vector<double> ReadSegments(InstanceFields& fields) {
  if (fields.Has("segments")) return fields.Numbers("segments");
  const std::int64_t q = fields.IntegerOr("q", 1);
  fields.Note(fields.Locate(CheckCount("q", q, 1, kMessagesMax)));
  if (!fields.status().ok()) return {1};
  return EqualSegments(fields.NumberOr("units", static_cast<double>(q)),
                       static_cast<std::int32_t>(q));
}

PortModel ReadPorts(InstanceFields& fields) {
  const std::string ports = fields.TextOr("ports", "overlap");
  if (ports == "half_duplex") return {false, false, true};
  if (ports == "full_duplex") return {true, false, true};
  if (ports == "overlap") return {true, true, true};
  if (ports == "latency_free") return {true, true, false};
  fields.Note(fields.Error(
      "ports", absl::StrCat("is \"", ports,
                            "\"; it must be half_duplex, full_duplex, overlap or latency_free")));
  return {};
}

std::vector<Cut> ReadRackCuts(InstanceFields& fields, std::int32_t num_machines) {
  if (!fields.Has("rack")) return {};
  const std::int64_t rack = fields.Integer("rack");
  const std::int64_t channels = fields.IntegerOr("channels", 1);
  fields.Note(fields.Locate(CheckCount("rack", rack, 1, kBuiltMachinesMax)));
  fields.Note(fields.Locate(CheckCount("channels", channels, 1, kBuiltMachinesMax)));
  if (!fields.status().ok()) return {};
  const std::int64_t num_racks = (num_machines + rack - 1) / rack;
  fields.Note(fields.Locate(CheckCount("racks", num_racks, 1, kRacksMax)));
  if (!fields.status().ok() || num_racks < 2) return {};
  std::vector<Cut> cuts;
  for (std::int64_t r = 0; r < num_racks; ++r) {
    std::vector<bool> inside(static_cast<std::size_t>(num_machines), false);
    for (std::int64_t i = r * rack; i < std::min<std::int64_t>(num_machines, (r + 1) * rack); ++i)
      inside[static_cast<std::size_t>(i)] = true;
    std::vector<bool> outside = inside;
    outside.flip();
    const auto lanes = static_cast<std::int32_t>(channels);
    cuts.push_back({absl::StrCat("rack ", r, " up"), inside, outside, lanes});
    cuts.push_back({absl::StrCat("rack ", r, " down"), outside, inside, lanes});
  }
  return cuts;
}

std::vector<MachineIndex> ReadReceivers(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const std::vector<std::int64_t> child = fields.Integers("child");
  std::vector<MachineIndex> receiver = {kNoMachine};
  if (!fields.status().ok()) return receiver;
  if (static_cast<std::int64_t>(child.size()) != n - 1) {
    fields.Note(fields.Error(
        "child", absl::StrCat("has ", child.size(), " entries; n = ", n, " needs ", n - 1)));
    return receiver;
  }
  for (std::size_t i = 0; i < child.size(); ++i) {
    if (child[i] < 1 || child[i] > n) {
      fields.Note(fields.Error(
          "child", absl::StrCat("entry ", i, " is ", child[i], "; it must lie in 1..", n)));
      return receiver;
    }
    receiver.push_back(static_cast<MachineIndex>(child[i] - 1));
  }
  return receiver;
}

void SayHeuristic(const absl::Status& why, std::string_view instead, ResultJson* result) {
  (*result)["exact"] = false;
  (*result)["note"] =
      absl::StrCat(why.message(), "; ", absl::string_view(instead.data(), instead.size()));
}

}  // namespace weir::planner::tree
