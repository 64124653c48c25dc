#include "planner/instances/solve_instances.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"

namespace weir::planner::tree {

namespace {

std::string KnownAlgorithms() {
  std::string names;
  for (const InstanceSolver& solver : AllSolvers()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(solver.alg));
  }
  return names;
}

std::string IdOf(const nlohmann::json& instance, std::size_t position) {
  const auto id = instance.find("id");
  if (id == instance.end()) return absl::StrCat("#", position);
  return id->is_string() ? id->get<std::string>() : id->dump();
}

absl::StatusOr<ResultJson> PrintPlanned(const InstanceSolver& solver, InstanceFields& fields) {
  auto collective = solver.plan(fields);
  // Errors of reading name the instance already.
  if (!fields.status().ok()) return fields.status();
  if (!collective.ok()) return fields.LocateOnce(collective.status());
  return PrintCollective(*collective);
}

absl::StatusOr<ResultJson> SolveOne(const nlohmann::json& instance, std::size_t position) {
  static const nlohmann::json no_input = nlohmann::json::object();
  if (!instance.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("instances[", position, "] is no object"));
  }
  const std::string id = IdOf(instance, position);
  const auto input = instance.find("input");
  const bool has_input = input != instance.end() && input->is_object();
  InstanceFields fields(id, has_input ? *input : no_input);
  if (!has_input) return fields.Error("input", "is missing or no object");
  const auto alg = instance.find("alg");
  if (alg == instance.end() || !alg->is_string())
    return fields.Error("alg", "is missing or no text");
  const InstanceSolver* solver = FindSolver(alg->get<std::string>());
  if (solver == nullptr) {
    return fields.Error("alg", absl::StrCat("is ", alg->dump(), "; known are ", KnownAlgorithms()));
  }
  auto solved = solver->solve != nullptr ? solver->solve(fields) : PrintPlanned(*solver, fields);
  if (!solved.ok()) return solved.status();
  ResultJson result = {{"id", id}};
  for (auto& [name, value] : solved->items()) result[name] = std::move(value);
  return result;
}

}  // namespace

absl::StatusOr<std::string> SolveInstancesJson(std::string_view json_text,
                                               const SolveOptions& options) {
  const nlohmann::json file =
      nlohmann::json::parse(json_text.begin(), json_text.end(), nullptr, false);
  if (file.is_discarded() || !file.is_object())
    return absl::InvalidArgumentError("the file is no JSON object");
  const auto schema = file.find("schema");
  if (schema == file.end() || *schema != 1) {
    return absl::InvalidArgumentError("field \"schema\" is missing or not 1");
  }
  const auto instances = file.find("instances");
  if (instances == file.end() || !instances->is_array()) {
    return absl::InvalidArgumentError("field \"instances\" is missing or no list");
  }
  ResultJson results = ResultJson::array();
  for (std::size_t k = 0; k < instances->size(); ++k) {
    auto result = SolveOne((*instances)[k], k);
    if (!result.ok()) return result.status();
    results.push_back(*std::move(result));
  }
  const ResultJson printed = {{"schema", 1}, {"results", std::move(results)}};
  return printed.dump(options.indent_spaces);
}

}  // namespace weir::planner::tree
