#include "planner/instances/instance_pictures.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/tree_drawing.h"
#include "planner/tree/model/input_checks.h"

namespace weir::planner::tree {

namespace {

std::string TextOf(const nlohmann::json& object, const char* field) {
  const auto at = object.find(field);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

absl::StatusOr<Collective> DrawnCollective(std::string_view json_text, std::string_view id) {
  auto collective = InstanceCollective(json_text, id);
  if (!collective.ok()) return collective;
  absl::Status status = CheckCount("machines of a picture", collective->reduction.num_machines, 1,
                                   kPictureMachinesMax);
  if (!status.ok()) return status;
  return collective;
}

std::string TitleOf(const Collective& collective) {
  return absl::StrCat(collective.reduction.method, ", makespan ", CollectiveMakespan(collective));
}

}  // namespace

absl::StatusOr<Collective> InstanceCollective(std::string_view json_text, std::string_view id) {
  const nlohmann::json file =
      nlohmann::json::parse(json_text.begin(), json_text.end(), nullptr, false);
  if (!file.is_object() || !file.contains("instances") || !file["instances"].is_array()) {
    return absl::InvalidArgumentError("the file is no JSON object with a list \"instances\"");
  }
  for (const nlohmann::json& instance : file["instances"]) {
    if (!instance.is_object()) continue;
    const std::string instance_id = TextOf(instance, "id");
    if (!id.empty() && instance_id != id) continue;
    const InstanceSolver* solver = FindSolver(TextOf(instance, "alg"));
    if (solver == nullptr || solver->plan == nullptr) continue;
    if (!instance.contains("input") || !instance["input"].is_object()) continue;
    InstanceFields fields(instance_id, instance["input"]);
    auto collective = solver->plan(fields);
    // Errors of reading name the instance already.
    if (!fields.status().ok()) return fields.status();
    if (!collective.ok()) return fields.LocateOnce(collective.status());
    return collective;
  }
  return absl::NotFoundError(absl::StrCat("no instance", id.empty() ? "" : " ", std::string(id),
                                          " whose algorithm has a schedule"));
}

absl::StatusOr<std::string> InstanceGanttSvg(std::string_view json_text, std::string_view id) {
  auto collective = DrawnCollective(json_text, id);
  if (!collective.ok()) return collective.status();
  return ScheduleSvg(AllMessages(*collective), collective->ports, TitleOf(*collective));
}

absl::StatusOr<std::string> InstanceTreeSvg(std::string_view json_text, std::string_view id) {
  auto collective = DrawnCollective(json_text, id);
  if (!collective.ok()) return collective.status();
  Schedule drawn = collective->reduction;
  if (drawn.messages.empty()) {
    // A broadcast alone: its tree hangs from the source, as a reduction's from the root.
    drawn = AllMessages(*collective);
    for (Message& message : drawn.messages) std::swap(message.sender, message.receiver);
  }
  return TreeSvg(drawn, 0, TitleOf(*collective));
}

absl::StatusOr<Plan> InstancePlan(std::string_view json_text, std::string_view id) {
  auto collective = InstanceCollective(json_text, id);
  if (!collective.ok()) return collective.status();
  return CollectivePlan(*collective);
}

}  // namespace weir::planner::tree
