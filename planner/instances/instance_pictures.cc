#include "planner/instances/instance_pictures.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/instances/instance_fields.h"
#include "planner/instances/tree_drawing.h"
#include "planner/tree/circulant.h"
#include "planner/tree/class_dp.h"
#include "planner/tree/earliest_possible.h"
#include "planner/tree/greedy_tree.h"
#include "planner/tree/input_checks.h"
#include "planner/tree/release_dates.h"
#include "planner/tree/schedule_forms.h"
#include "planner/tree/segmented_exact.h"
#include "planner/tree/sequence_search.h"
#include "planner/tree/slot_search.h"
#include "planner/tree/tree_timing.h"
#include "planner/tree/unidirectional_greedy.h"

namespace weir::planner::tree {

namespace {

using Builder = absl::StatusOr<Schedule> (*)(InstanceFields& fields);

ElementCosts ReadCosts(InstanceFields& fields) { return {fields.Number("d"), fields.Number("c")}; }

absl::StatusOr<Schedule> OfTree(const char* method, const absl::StatusOr<TimedTree>& tree,
                                ElementCosts costs) {
  if (!tree.ok()) return tree.status();
  return FromTree(method, *tree, costs, 1);
}

// n is checked before a tree is built that nobody could see.
std::int64_t ReadMachines(InstanceFields& fields, const char* field) {
  const std::int64_t n = fields.Integer(field);
  fields.Note(fields.Locate(CheckCount(field, n, 1, kPictureMachinesMax)));
  return n;
}

absl::StatusOr<Schedule> BuildGreedy(InstanceFields& fields) {
  const std::int64_t n = ReadMachines(fields, "n");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfTree("greedy tree", GreedyTree(n, costs), costs);
}

absl::StatusOr<Schedule> BuildLimitedTransfers(InstanceFields& fields) {
  const std::int64_t n = ReadMachines(fields, "n");
  const std::int64_t limit = fields.Integer("K");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfTree("greedy tree, limited transfers", GreedyTreeLimitedTransfers(n, limit, costs),
                costs);
}

absl::StatusOr<Schedule> BuildLimitedReducers(InstanceFields& fields) {
  const std::int64_t n = ReadMachines(fields, "n");
  const std::int64_t limit = fields.Integer("K");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfTree("greedy tree, limited reducers", GreedyTreeLimitedReducers(n, limit, costs), costs);
}

absl::StatusOr<Schedule> BuildGivenTree(InstanceFields& fields) {
  ReadMachines(fields, "n");
  const ElementCosts costs = ReadCosts(fields);
  const std::vector<std::int64_t> child = fields.Integers("child");
  if (!fields.status().ok()) return fields.status();
  std::vector<MachineIndex> receiver = {kNoMachine};
  for (std::int64_t machine : child) receiver.push_back(static_cast<MachineIndex>(machine - 1));
  return OfTree("given tree", TimeTree(receiver, costs), costs);
}

absl::StatusOr<Schedule> BuildReleaseDates(InstanceFields& fields) {
  ReadMachines(fields, "n");
  const ElementCosts costs = ReadCosts(fields);
  const std::vector<double> release = fields.Numbers("release");
  if (!fields.status().ok()) return fields.status();
  return OfTree("reversed greedy", ReleaseDateTree(release, costs), costs);
}

absl::StatusOr<Schedule> BuildSegmentedExact(InstanceFields& fields) {
  const std::int32_t n = fields.SmallInteger("n");
  const std::int32_t m = fields.SmallInteger("m");
  const LinkCosts costs{fields.Number("alpha"), fields.Number("beta"), fields.Number("gamma")};
  if (!fields.status().ok()) return fields.status();
  return SegmentedExactSearch(n, m, costs);
}

absl::StatusOr<Schedule> BuildUnidirectional(InstanceFields& fields) {
  const std::int64_t p = ReadMachines(fields, "p");
  const std::vector<double> segments = fields.Numbers("segments");
  const LinkCosts costs{fields.Number("alpha"), fields.Number("beta"), fields.Number("gamma")};
  if (!fields.status().ok()) return fields.status();
  return UnidirectionalGreedySchedule(static_cast<std::int32_t>(p), segments, costs);
}

absl::StatusOr<Schedule> BuildRounds(InstanceFields& fields, const char* transfer,
                                     const char* combine, PortModel ports) {
  const std::int64_t p = ReadMachines(fields, "p");
  const std::int64_t q = fields.Integer("q");
  const LinkCosts costs{0, fields.Number(transfer), fields.Number(combine)};
  fields.Note(fields.Locate(CheckCount("q", q, 1, kPictureMachinesMax)));
  if (!fields.status().ok()) return fields.status();
  if (q == 1 && ports.overlaps_compute) {
    const ElementCosts element{costs.beta_s_per_unit, costs.gamma_s_per_unit};
    return OfTree("greedy tree", GreedyTree(p, element), element);
  }
  const std::vector<double> units(static_cast<std::size_t>(q), 1.0);
  auto rounds = CirculantSchedule(static_cast<std::int32_t>(p), units, costs, ports);
  if (!rounds.ok() || !ports.overlaps_compute) return rounds;
  auto interleaved = InterleavedSchedule(static_cast<std::int32_t>(p), units, costs, ports);
  return interleaved.ok() && interleaved->makespan_s < rounds->makespan_s ? interleaved : rounds;
}

absl::StatusOr<Schedule> BuildRoundOptimal(InstanceFields& fields) {
  return BuildRounds(fields, "t_comm", "t_comp", {true, false, true});
}

absl::StatusOr<Schedule> BuildOverlap(InstanceFields& fields) {
  return BuildRounds(fields, "d", "c", {true, true, true});
}

absl::StatusOr<Schedule> OfSequence(const char* method, const std::vector<Seconds>& ordered,
                                    std::int64_t limit = kNoTransferLimit) {
  std::vector<std::int32_t> sequence(ordered.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  auto schedule = EarliestPossible(ordered, sequence, limit);
  if (!schedule.ok()) return schedule.status();
  return FromSenders(method, *schedule, ordered, 1);
}

absl::StatusOr<Schedule> BuildEarliestPossible(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("sequence");
  if (!fields.status().ok()) return fields.status();
  return OfSequence("earliest possible", times);
}

absl::StatusOr<Schedule> BuildSlots(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("senders");
  if (!fields.status().ok()) return fields.status();
  auto found = SearchSlots(times);
  if (!found.ok()) return found.status();
  return OfSequence("slot search", found->ordered_times);
}

absl::StatusOr<Schedule> OfClasses(const std::vector<double>& times,
                                   const std::vector<std::int64_t>& counts) {
  auto dp = ClassOptimumByDp(times, counts);
  if (!dp.ok()) return dp.status();
  return OfSequence("class table", dp->ordered_times);
}

absl::StatusOr<Schedule> BuildTwoClasses(InstanceFields& fields) {
  const std::vector<std::int64_t> counts = {fields.Integer("fast"), fields.Integer("slow")};
  const std::vector<double> times = {fields.Number("t_fast"), fields.Number("t_slow")};
  if (!fields.status().ok()) return fields.status();
  return OfClasses(times, counts);
}

absl::StatusOr<Schedule> BuildManyClasses(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("times");
  const std::vector<std::int64_t> counts = fields.Integers("counts");
  if (!fields.status().ok()) return fields.status();
  return OfClasses(times, counts);
}

absl::StatusOr<Schedule> BuildLimitedSequence(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("senders");
  const std::int64_t limit = fields.Integer("K");
  if (!fields.status().ok()) return fields.status();
  auto exact = ExactLimitedSequence(times, limit);
  if (!exact.ok()) return exact.status();
  return OfSequence("exact under the limit", exact->ordered_times, limit);
}

Builder FindBuilder(std::string_view alg) {
  static constexpr std::pair<std::string_view, Builder> kBuilders[] = {
      {"canon_greedy", BuildGreedy},
      {"canon_limited_transfers", BuildLimitedTransfers},
      {"canon_limited_reducers", BuildLimitedReducers},
      {"tree_makespan_prop3", BuildGivenTree},
      {"release_dates_strict", BuildReleaseDates},
      {"segmented_exact_fifo", BuildSegmentedExact},
      {"langou_unidirectional_greedy", BuildUnidirectional},
      {"bidirectional_round_optimal", BuildRoundOptimal},
      {"overlap_segmented_bidirectional", BuildOverlap},
      {"liu_ep", BuildEarliestPossible},
      {"liu_snf_and_optimum", BuildSlots},
      {"liu_dp_two_classes", BuildTwoClasses},
      {"liu_dp_k_classes", BuildManyClasses},
      {"liu_limited_transfers", BuildLimitedSequence},
  };
  for (const auto& [name, builder] : kBuilders) {
    if (name == alg) return builder;
  }
  return nullptr;
}

std::string TextOf(const nlohmann::json& object, const char* field) {
  const auto at = object.find(field);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<Schedule> InstanceSchedule(std::string_view json_text, std::string_view id) {
  const nlohmann::json file =
      nlohmann::json::parse(json_text.begin(), json_text.end(), nullptr, false);
  if (!file.is_object() || !file.contains("instances") || !file["instances"].is_array()) {
    return absl::InvalidArgumentError("the file is no JSON object with a list \"instances\"");
  }
  for (const nlohmann::json& instance : file["instances"]) {
    if (!instance.is_object()) continue;
    const std::string instance_id = TextOf(instance, "id");
    if (!id.empty() && instance_id != id) continue;
    const Builder builder = FindBuilder(TextOf(instance, "alg"));
    if (builder == nullptr || !instance.contains("input") || !instance["input"].is_object())
      continue;
    InstanceFields fields(instance_id, instance["input"]);
    auto schedule = builder(fields);
    // Errors of reading name the instance already.
    if (!fields.status().ok()) return fields.status();
    return schedule.ok() ? schedule : absl::StatusOr<Schedule>(fields.Locate(schedule.status()));
  }
  return absl::NotFoundError(absl::StrCat("no instance", id.empty() ? "" : " ", std::string(id),
                                          " whose algorithm has a schedule to draw"));
}

absl::StatusOr<std::string> InstanceGanttSvg(std::string_view json_text, std::string_view id) {
  auto schedule = InstanceSchedule(json_text, id);
  if (!schedule.ok()) return schedule.status();
  return ScheduleSvg(*schedule,
                     absl::StrCat(schedule->method, ", makespan ", schedule->makespan_s));
}

absl::StatusOr<std::string> InstanceTreeSvg(std::string_view json_text, std::string_view id) {
  auto schedule = InstanceSchedule(json_text, id);
  if (!schedule.ok()) return schedule.status();
  return TreeSvg(*schedule, 0, absl::StrCat(schedule->method, ", makespan ", schedule->makespan_s));
}

}  // namespace weir::planner::tree
