#include "runtime/master/planning/given_plan.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/plan/check_combined.h"
#include "planner/plan/check_plan.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/planning/plan_request.h"

namespace weir::master {
namespace {

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the given plan does not fit: ", what));
}

absl::Status CheckNames(const v1::Plan& plan) {
  if (plan.worker_names_size() != plan.network().num_workers()) {
    return Wrong(absl::StrCat("it names ", plan.worker_names_size(), " workers and has ",
                              plan.network().num_workers()));
  }
  absl::btree_set<std::string> names;
  for (const std::string& name : plan.worker_names()) {
    if (!names.insert(name).second) {
      return Wrong(absl::StrCat("it names worker '", name, "' twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLayers(const planner::Plan& plan, const JobInfo& info) {
  std::int32_t last_layer = 0;
  for (const planner::ComputeStep& step : plan.steps) {
    if (!step.kind->runs_on_workers) {
      return Wrong(absl::StrCat("it has ", step.kind->name, " steps, which workers do not run"));
    }
    if (step.kind->splits_keys()) last_layer = std::max(last_layer, step.layer);
  }
  if (static_cast<std::size_t>(last_layer) == info.rates.layers.size()) return absl::OkStatus();
  return Wrong(absl::StrCat("it has ", last_layer, " layers of reducers and job '", info.name,
                            "' has ", info.rates.layers.size()));
}

/// Requires: as many layers as elements.
absl::Status CheckCombined(const planner::Plan& plan, const JobDefinition& job,
                           absl::Span<const ElementInfo> elements) {
  const auto element_of = [&](const planner::ComputeStep& step) {
    const bool has_one = step.layer >= 1 && static_cast<std::size_t>(step.layer) <= elements.size();
    return has_one ? elements[static_cast<std::size_t>(step.layer) - 1] : ElementInfo();
  };
  for (const planner::ComputeStep& step : plan.steps) {
    if (!step.kind->combines || element_of(step).kind != ElementKind::kNone) continue;
    return Wrong(absl::StrCat("it has ", step.kind->name, " steps for layer ", step.layer,
                              ", whose values job '", job.info().name, "' cannot combine"));
  }
  for (const planner::Section& section : plan.sections) {
    if (!section.indexes) continue;
    const std::int64_t places =
        element_of(plan.steps[static_cast<std::size_t>(section.consumer)]).places;
    if (section.indexes->end <= places) continue;
    return Wrong(absl::StrCat("the section from step ", section.producer, " to step ",
                              section.consumer, " goes to place ", section.indexes->end, " of ",
                              places));
  }
  for (std::size_t p = 0; p < elements.size(); ++p) {
    if (elements[p].commutative) continue;
    const absl::Status ordered = planner::CheckOperandOrder(plan, static_cast<std::int32_t>(p) + 1);
    if (!ordered.ok()) {
      return Wrong(absl::StrCat("the values of job '", job.info().name,
                                "' do not commute: ", ordered.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckGivenPlan(const v1::JobSpec& spec, const JobDefinition& job) {
  if (!spec.has_plan()) return absl::OkStatus();
  if (spec.num_mappers() != 0 || spec.num_reducers() != 0 || !spec.layer_reducers().empty() ||
      !spec.plan_method().empty() || !spec.write_mode().empty() || !spec.codec().empty() ||
      !spec.combine().empty()) {
    return Wrong(
        "numbers of mappers and reducers, the plan method, the write mode, the codec and the way "
        "to combine are the plan's own; leave them out beside a given plan");
  }
  const absl::StatusOr<planner::Plan> plan = planner::PlanFromProto(spec.plan());
  if (!plan.ok()) return Wrong(std::string(plan.status().message()));
  if (absl::Status holds = planner::CheckPlan(*plan); !holds.ok()) {
    return Wrong(std::string(holds.message()));
  }
  absl::Status status = CheckNames(spec.plan());
  status.Update(CheckLayers(*plan, job.info()));
  if (!status.ok()) return status;
  return CheckCombined(*plan, job, ElementsOf(spec, job));
}

absl::Status CheckGivenPlanInput(const v1::Plan& plan, std::int64_t input_bytes) {
  std::int64_t planned = 0;
  for (const v1::ComputeStep& step : plan.steps()) {
    planned = std::max(planned, step.input_end());
  }
  if (planned == input_bytes) return absl::OkStatus();
  return Wrong(absl::StrCat("it was made for ", planned, " bytes of input and the inputs hold ",
                            input_bytes));
}

std::shared_ptr<const v1::Plan> TakeGivenPlan(v1::JobSpec& spec) {
  if (!spec.has_plan()) return nullptr;
  auto plan = std::make_shared<v1::Plan>();
  plan->Swap(spec.mutable_plan());
  spec.mutable_plan()->set_plan_id(plan->plan_id());
  return plan;
}

absl::StatusOr<std::vector<RegisteredWorker>> WorkersOfPlan(
    const v1::Plan& plan, absl::Span<const RegisteredWorker> alive) {
  absl::btree_map<std::string, const RegisteredWorker*> by_name;
  for (const RegisteredWorker& worker : alive) by_name[worker.identity.name()] = &worker;
  std::vector<RegisteredWorker> workers;
  std::vector<std::string> missing;
  for (const std::string& name : plan.worker_names()) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      missing.push_back(name);
    } else {
      workers.push_back(*found->second);
    }
  }
  if (missing.empty()) return workers;
  return StatusFromJobError(
      absl::StatusCode::kFailedPrecondition,
      MakeJobError(job_error::kInvalidJob,
                   absl::StrCat("the given plan names workers that are not alive: ",
                                absl::StrJoin(missing, ", ")),
                   "start them, or plan again for the workers that there are"));
}

absl::StatusOr<PlannedJob> AdoptGivenPlan(const v1::Plan& plan, const std::string& job,
                                          const std::string& note) {
  absl::StatusOr<planner::Plan> parsed = planner::PlanFromProto(plan);
  if (!parsed.ok()) return parsed.status();
  absl::StatusOr<PlannedJob> adopted = FinishPlannedJob(
      *std::move(parsed), {plan.worker_names().begin(), plan.worker_names().end()}, job);
  // The plan itself stays what was handed in, by its id too.
  if (adopted.ok() && !note.empty()) absl::StrAppend(&adopted->plan_text, "\n", note, "\n");
  return adopted;
}

}  // namespace weir::master
