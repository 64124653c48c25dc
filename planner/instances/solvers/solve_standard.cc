#include <algorithm>
#include <utility>

#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/hosts/racks.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/rack_schedules.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "planner/tree/segments/segment_sizes.h"
#include "planner/tree/segments/tree_shapes.h"

namespace weir::planner::tree {

namespace {

absl::StatusOr<Collective> PlanShapes(InstanceFields& fields, const char* method,
                                      std::vector<Receivers> (*shapes)(std::int32_t p)) {
  const std::int32_t p = ReadMachines(fields, "p");
  const std::vector<double> segments = ReadSegments(fields);
  const LinkCosts costs = ReadLinkCosts(fields);
  const PortModel ports = ReadPorts(fields);
  if (!fields.status().ok()) return fields.status();
  auto schedule = ListSchedule(method, shapes(p), segments, costs, ports);
  if (!schedule.ok()) return schedule.status();
  return Collective{*std::move(schedule), ports, {}, kNoTransferLimit, {}};
}

absl::StatusOr<Collective> PlanBinomial(InstanceFields& fields) {
  return PlanShapes(fields, "binomial",
                    [](std::int32_t p) { return std::vector<Receivers>{BinomialShape(p)}; });
}

absl::StatusOr<Collective> PlanPipeline(InstanceFields& fields) {
  return PlanShapes(fields, "pipeline",
                    [](std::int32_t p) { return std::vector<Receivers>{PipelineShape(p)}; });
}

absl::StatusOr<Collective> PlanBinary(InstanceFields& fields) {
  return PlanShapes(fields, "binary",
                    [](std::int32_t p) { return std::vector<Receivers>{BinaryShape(p)}; });
}

absl::StatusOr<Collective> PlanStar(InstanceFields& fields) {
  return PlanShapes(fields, "star",
                    [](std::int32_t p) { return std::vector<Receivers>{StarShape(p)}; });
}

absl::StatusOr<Collective> PlanTwoTree(InstanceFields& fields) {
  return PlanShapes(fields, "two-tree", [](std::int32_t p) {
    auto [first, second] = TwoTreeShapes(p);
    return std::vector<Receivers>{std::move(first), std::move(second)};
  });
}

using PartsBuilder = absl::StatusOr<Schedule> (*)(std::int32_t, double, const LinkCosts&,
                                                  PortModel);

absl::StatusOr<Collective> PlanParts(InstanceFields& fields, PartsBuilder build) {
  const std::int32_t p = ReadMachines(fields, "p");
  const double units = fields.NumberOr("units", 1);
  const LinkCosts costs = ReadLinkCosts(fields);
  const PortModel ports = ReadPorts(fields);
  if (!fields.status().ok()) return fields.status();
  auto schedule = build(p, units, costs, ports);
  if (!schedule.ok()) return schedule.status();
  return Collective{*std::move(schedule), ports, {}, kNoTransferLimit, {}};
}

absl::StatusOr<Collective> PlanRabenseifner(InstanceFields& fields) {
  return PlanParts(fields, RabenseifnerSchedule);
}

absl::StatusOr<Collective> PlanReduceScatter(InstanceFields& fields) {
  return PlanParts(fields, ReduceScatterSchedule);
}

/// Fields of a reduction for machines in racks.
struct RackFields {
  NetworkModel network;
  Racks racks;
  LinkCosts costs;
  PortModel ports;
};

absl::StatusOr<RackFields> ReadRackFields(InstanceFields& fields) {
  RackFields read;
  const std::int32_t p = ReadMachines(fields, "p");
  (void)fields.Integer("rack");
  read.costs = ReadLinkCosts(fields);
  read.ports = ReadPorts(fields);
  if (!fields.status().ok()) return fields.status();
  read.network.num_workers = p;
  read.network.cuts = ReadRackCuts(fields, p);
  if (!fields.status().ok()) return fields.status();
  read.racks = RacksOf(read.network, /*root=*/0);
  return read;
}

template <typename Build>
absl::StatusOr<Collective> PlanRacks(InstanceFields& fields, const Build& build) {
  absl::StatusOr<RackFields> read = ReadRackFields(fields);
  if (!read.ok()) return read.status();
  absl::StatusOr<Schedule> schedule =
      build(read->racks, RackCosts{read->costs, read->ports, read->network});
  if (!fields.status().ok()) return fields.status();
  if (!schedule.ok()) return schedule.status();
  return Collective{*std::move(schedule), read->ports, {},
                    kNoTransferLimit,     {},          std::move(read->network.cuts)};
}

absl::StatusOr<Collective> PlanRackTree(InstanceFields& fields) {
  return PlanRacks(fields, [&](const Racks& racks, const RackCosts& costs) {
    const std::string name = fields.TextOr("shape", "two_tree");
    const std::vector<double> segments = ReadSegments(fields);
    for (const auto& [shape_name, shape] : {std::pair{"binomial", RackShape::kBinomial},
                                            {"pipeline", RackShape::kPipeline},
                                            {"two_tree", RackShape::kTwoTree}}) {
      if (name == shape_name) return RackTreeSchedule(racks, shape, segments, costs);
    }
    return absl::StatusOr<Schedule>(
        fields.Error("shape", "must be binomial, pipeline or two_tree"));
  });
}

/// "parts" of an element that is scattered.
std::int32_t ReadParts(InstanceFields& fields) {
  const std::int64_t parts = fields.IntegerOr("parts", 1);
  fields.Note(fields.Locate(CheckCount("parts", parts, 1, kMessagesMax)));
  return fields.status().ok() ? static_cast<std::int32_t>(parts) : 1;
}

absl::StatusOr<Collective> PlanNearFirst(InstanceFields& fields) {
  return PlanRacks(fields, [&](const Racks& racks, const RackCosts& costs) {
    const double units = fields.NumberOr("units", 1);
    return NearFirstSchedule(racks, units, ReadParts(fields), costs);
  });
}

absl::StatusOr<Collective> PlanRackRails(InstanceFields& fields) {
  return PlanRacks(fields, [&](const Racks& racks, const RackCosts& costs) {
    const double units = fields.NumberOr("units", 1);
    const std::int64_t rails = fields.IntegerOr("rails", MostRails(racks));
    fields.Note(fields.Locate(CheckCount("rails", rails, 1, MostRails(racks))));
    const std::int32_t parts = ReadParts(fields);
    if (!fields.status().ok()) return absl::StatusOr<Schedule>(fields.status());
    return RackRailsSchedule(racks, units, static_cast<std::int32_t>(rails), parts, costs);
  });
}

// Rounds of the closed forms of 002's table: before + per_segment * q.
struct Rounds {
  double before = 0;
  double per_segment = 1;
};

absl::StatusOr<Rounds> RoundsOf(InstanceFields& fields, std::int64_t p) {
  const std::string method = fields.TextOr("method", "round_optimal");
  const auto levels = static_cast<double>(CeilLog2(p));
  if (method == "round_optimal") return Rounds{levels - 1, 1};
  if (method == "pipeline" && p > 3) return Rounds{static_cast<double>(p) - 3, 2};
  // N levels of machines in a binary tree of p (002; the formula needs p > 7).
  if (method == "binary" && p > 7) return Rounds{2 * (static_cast<double>(CeilLog2(p + 1)) - 3), 4};
  return fields.Error("method",
                      "must be round_optimal (any p), pipeline (p > 3) or binary (p > 7)");
}

absl::StatusOr<ResultJson> SolveUniformFormula(InstanceFields& fields) {
  const std::int32_t p = ReadMachines(fields, "p");
  const double units = fields.Number("m");
  const LinkCosts costs = ReadLinkCosts(fields);
  const std::int64_t q_max = fields.IntegerOr("max_segments", 1024);
  fields.Note(fields.Locate(CheckCount("max_segments", q_max, 1, kMessagesMax)));
  fields.Note(fields.Locate(CheckSegmented(p, {units}, costs)));
  if (!fields.status().ok()) return fields.status();
  auto rounds = RoundsOf(fields, p);
  if (!fields.status().ok()) return fields.status();
  if (!rounds.ok()) return rounds.status();
  const SegmentChoice choice =
      BestUniformByFormula(rounds->before, rounds->per_segment, units, costs, q_max);
  return ResultJson{{"segments", choice.num_segments}, {"length", choice.length_s}};
}

}  // namespace

const std::vector<InstanceSolver>& StandardSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"binomial", nullptr, PlanBinomial},
      {"pipeline", nullptr, PlanPipeline},
      {"binary", nullptr, PlanBinary},
      {"star", nullptr, PlanStar},
      {"two_tree", nullptr, PlanTwoTree},
      {"rabenseifner", nullptr, PlanRabenseifner},
      {"reduce_scatter", nullptr, PlanReduceScatter},
      {"rack_tree", nullptr, PlanRackTree},
      {"near_first", nullptr, PlanNearFirst},
      {"rack_rails", nullptr, PlanRackRails},
      {"best_uniform_formula", SolveUniformFormula, nullptr},
  };
  return solvers;
}

}  // namespace weir::planner::tree
