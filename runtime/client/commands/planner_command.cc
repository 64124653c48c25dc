// weir planner load, weir planner tree: the algorithms on instances from a file.

#include <string>

#include "absl/strings/str_cat.h"
#include "planner/instances/instance_pictures.h"
#include "planner/instances/load_instance_json.h"
#include "planner/instances/solve_instances.h"
#include "planner/plan/check_plan.h"
#include "planner/wire/plan_wire.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/check_places.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/plan_file.h"

namespace weir::client {
namespace {

constexpr std::int64_t kInstanceFileBytesMax = std::int64_t{256} << 20;

absl::StatusOr<std::string> Solve(const PlannerOptions& options, const std::string& text,
                                  CommandHost& host) {
  if (options.kind == PlannerOptions::Kind::kTree) {
    return planner::tree::SolveInstancesJson(text, {.indent_spaces = options.json ? -1 : 2});
  }
  planner::load::InstanceOptions load_options;
  if (!options.method.empty()) {
    const auto method = planner::load::ParseLayerMethod(options.method);
    if (!method.ok()) return method.status();
    load_options.method = *method;
  }
  load_options.now_micros = host.now_micros;
  return options.json ? planner::load::SolveInstancesJson(text, load_options)
                      : planner::load::SolveInstancesTable(text, load_options);
}

absl::Status WriteText(const std::string& file, const absl::StatusOr<std::string>& written,
                       CommandHost& host) {
  if (!written.ok()) return written.status();
  return host.storage.WriteNamed(AbsolutePath(file, host.working_directory), *written);
}

// Checked before it is written: what is on the disk is feasible.
absl::Status WritePlan(const PlannerOptions& options, const std::string& text, CommandHost& host) {
  const auto plan = planner::tree::InstancePlan(text, options.picture_id);
  if (!plan.ok()) return plan.status();
  if (absl::Status status = planner::CheckPlan(*plan); !status.ok()) {
    return absl::InternalError(absl::StrCat("the plan breaks a rule: ", status.message()));
  }
  return WriteText(options.plan_file, PlanText(planner::PlanToProto(*plan, {})), host);
}

absl::Status WriteFiles(const PlannerOptions& options, const std::string& text, CommandHost& host) {
  if (!options.gantt_file.empty()) {
    absl::Status written = WriteText(
        options.gantt_file, planner::tree::InstanceGanttSvg(text, options.picture_id), host);
    if (!written.ok()) return written;
  }
  if (!options.plan_file.empty()) {
    if (absl::Status written = WritePlan(options, text, host); !written.ok()) return written;
  }
  if (options.drawing_file.empty()) return absl::OkStatus();
  return WriteText(options.drawing_file, planner::tree::InstanceTreeSvg(text, options.picture_id),
                   host);
}

}  // namespace

int Planner(const PlannerOptions& options, CommandHost& host) {
  const absl::Status apart = CheckWritesApart({{"--gantt", options.gantt_file},
                                               {"--drawing", options.drawing_file},
                                               {"--plan", options.plan_file}},
                                              {{"--instance", options.instance_file}}, host);
  if (!apart.ok()) return ReportCallError(apart, options.json, host);
  if (!options.picture_id.empty() && options.gantt_file.empty() && options.drawing_file.empty() &&
      options.plan_file.empty()) {
    return ReportCallError(
        absl::InvalidArgumentError("--id names the instance to draw or plan; give --gantt, "
                                   "--drawing or --plan with it, or leave it out"),
        options.json, host);
  }
  const auto text = host.storage.ReadFile(
      AbsolutePath(options.instance_file, host.working_directory), kInstanceFileBytesMax);
  if (!text.ok()) {
    return ReportCallError(FlagFileError("--instance", text.status()), options.json, host);
  }
  if (const absl::Status bounded = CheckJsonDepth(*text); !bounded.ok()) {
    return ReportCallError(
        absl::InvalidArgumentError(absl::StrCat("instance file: ", bounded.message())),
        options.json, host);
  }
  const auto solved = Solve(options, *text, host);
  if (!solved.ok()) return ReportCallError(solved.status(), options.json, host);
  if (absl::Status drawn = WriteFiles(options, *text, host); !drawn.ok()) {
    return ReportCallError(drawn, options.json, host);
  }
  host.out << *solved << (solved->ends_with('\n') ? "" : "\n");
  return kExitOk;
}

}  // namespace weir::client
