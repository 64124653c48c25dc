#include "runtime/client/plan_pictures.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/wire/plan_wire.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/plan_file.h"

namespace weir::client {

absl::StatusOr<ExplainedPlan> ExplainedPlan::From(const v1::GetPlanResponse& response,
                                                  const std::string& title, bool ended) {
  ExplainedPlan explained;
  auto plan = planner::PlanFromProto(response.plan());
  if (!plan.ok()) return plan.status();
  explained.plan_ = *std::move(plan);
  explained.message_ = response.plan();
  auto predicted = planner::Predict(explained.plan_);
  if (!predicted.ok()) return predicted.status();
  explained.predicted_ = *std::move(predicted);
  if (response.has_actual() && response.actual().steps_size() > 0) {
    auto actual = planner::ActualFromProto(response.actual(), explained.plan_);
    if (!actual.ok()) return actual.status();
    explained.actual_ = *std::move(actual);
  }
  explained.options_.title = title;
  explained.options_.ended = ended;
  explained.options_.worker_names.assign(response.plan().worker_names().begin(),
                                         response.plan().worker_names().end());
  return explained;
}

std::string ExplainedPlan::Text() const {
  return planner::ExplainText(plan_, predicted_, actual(), options_);
}

std::string ExplainedPlan::Json() const {
  return WithWholePlan(planner::ExplainJson(plan_, predicted_, actual(), options_), message_);
}

absl::Status ExplainedPlan::WritePictures(const PictureOptions& pictures, CommandHost& host) const {
  if (!pictures.gantt.empty()) {
    absl::Status written =
        host.storage.WriteNamed(AbsolutePath(pictures.gantt, host.working_directory),
                                planner::GanttSvg(plan_, predicted_, actual(), options_));
    if (!written.ok()) return written;
  }
  if (!pictures.trace.empty()) {
    return host.storage.WriteNamed(AbsolutePath(pictures.trace, host.working_directory),
                                   planner::ChromeTraceJson(plan_, predicted_, actual(), options_));
  }
  return absl::OkStatus();
}

absl::Status ExplainedPlan::WriteBeside(const std::string& output_directory,
                                        CommandHost& host) const {
  const std::string directory = output_directory + "/_weir";
  absl::Status made = host.storage.MakeDirectory(directory);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  absl::Status written = host.storage.WriteFileAtomically(directory + "/plan.json", Json());
  if (!written.ok()) return written;
  return WritePictures({.gantt = directory + "/gantt.svg", .trace = directory + "/trace.json"},
                       host);
}

}  // namespace weir::client
