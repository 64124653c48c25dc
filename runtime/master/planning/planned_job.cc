#include "runtime/master/planning/planned_job.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/edit/check_edit.h"
#include "planner/edit/edit_plan.h"
#include "planner/explain/explain.h"
#include "planner/job/builders/plan_job.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/units.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/log.h"
#include "runtime/master/planning/disk_need.h"
#include "runtime/master/planning/plan_request.h"

namespace weir::master {
namespace {

void Explain(const std::string& job, PlannedJob& planned) {
  planned.message = planner::PlanToProto(planned.plan, planned.worker_names);
  planned.plan_id = planned.message.plan_id();
  planner::ExplainOptions explain;
  explain.title = job;
  explain.worker_names = planned.worker_names;
  planned.plan_text = planner::ExplainText(planned.plan, planned.prediction, nullptr, explain);
}

std::vector<double> RatesOf(const planner::ClusterProfile& cluster) {
  std::vector<double> rates;
  for (const planner::WorkerProfile& worker : cluster.workers) rates.push_back(worker.compute_rate);
  return rates;
}

/// One of a plan that another master made knows no workers.
void TakeIntoCluster(const planner::PlanChange::Added& added, const planner::NetworkModel& network,
                     planner::ClusterProfile& cluster) {
  const std::size_t known = cluster.workers.size();
  if (known + added.names.size() != planner::At(network.num_workers)) return;
  for (std::size_t i = 0; i < added.names.size(); ++i) {
    planner::WorkerProfile& worker = cluster.workers.emplace_back();
    worker.name = added.names[i];
    worker.compute_rate = added.compute_rate[known + i];
  }
  cluster.network = network;
}

}  // namespace

absl::StatusOr<PlannedJob> MakePlannedJob(const PlanRequest& request) {
  absl::StatusOr<planner::Plan> plan =
      planner::PlanJob(request.shape, request.cluster, request.options);
  if (!plan.ok()) return plan.status();
  if (absl::Status fits = CheckDisk(request, *plan); !fits.ok()) return fits;
  for (const std::string& note : request.notes) plan->summary.notes.push_back(note);
  std::vector<std::string> names;
  for (const planner::WorkerProfile& worker : request.cluster.workers) names.push_back(worker.name);
  absl::StatusOr<PlannedJob> planned =
      FinishPlannedJob(*std::move(plan), std::move(names), request.shape.job);
  if (!planned.ok()) return planned;
  // A rate that runs taught is not one to pace at: runs that are paced would teach a lower one.
  planned->network_known = request.cluster.network_origin != planner::Origin::kDefault &&
                           request.cluster.network_origin != planner::Origin::kHistory;
  planned->shape = request.shape;
  planned->cluster = request.cluster;
  // For its edits, whose messages tell of them; the message of a plan that was made anew does not.
  planned->plan.compute_rate = RatesOf(request.cluster);
  return planned;
}

absl::StatusOr<PlannedJob> FinishPlannedJob(planner::Plan plan,
                                            std::vector<std::string> worker_names,
                                            const std::string& job) {
  PlannedJob planned;
  planned.plan = std::move(plan);
  planned.worker_names = std::move(worker_names);
  if (absl::Status feasible = planner::CheckPlan(planned.plan); !feasible.ok()) {
    return absl::InternalError(
        absl::StrCat("the planner made a plan that does not hold: ", feasible.message()));
  }
  absl::StatusOr<planner::Prediction> prediction = planner::Predict(planned.plan);
  if (!prediction.ok()) {
    return absl::InternalError(
        absl::StrCat("the plan cannot be predicted: ", prediction.status().message()));
  }
  planned.prediction = *std::move(prediction);
  Explain(job, planned);
  return planned;
}

bool CanBeEdited(const PlannedJob& planned) { return planner::CheckEditable(planned.plan).ok(); }

absl::StatusOr<EditedJob> EditPlannedJob(const PlannedJob& planned, const planner::PlanState& state,
                                         const planner::PlanChange& change,
                                         const std::string& note) {
  absl::StatusOr<planner::PlanEdit> edit = planner::EditPlan(planned.plan, state, change);
  if (!edit.ok()) return edit.status();
  if (absl::Status holds = planner::CheckEdit(planned.plan, state, change, *edit); !holds.ok()) {
    LogError("An edit of a plan does not hold; the job is planned anew where it must change",
             {{"job", planned.shape.job}, {"why", holds.message()}});
    return absl::InternalError(absl::StrCat("an edit does not hold: ", holds.message()));
  }
  PlannedJob next;
  next.plan = std::move(edit->plan);
  std::vector<std::string>& notes = next.plan.summary.notes;
  notes.insert(notes.end() - (notes.empty() ? 0 : 1), note);  // before what the edit says
  next.prediction = std::move(edit->prediction);
  const planner::PlanChange::Added& added = change.added;
  next.worker_names = planned.worker_names;
  next.worker_names.insert(next.worker_names.end(), added.names.begin(), added.names.end());
  next.network_known = planned.network_known;
  next.shape = planned.shape;
  next.cluster = planned.cluster;
  if (!added.names.empty()) TakeIntoCluster(added, next.plan.network, next.cluster);
  Explain(planned.shape.job, next);
  EditedJob edited;
  edited.moves =
      !edit->redone.empty() || next.plan.steps.size() != planned.plan.steps.size() ||
      !std::equal(next.plan.steps.begin(), next.plan.steps.end(), planned.plan.steps.begin(),
                  [](const auto& a, const auto& b) { return a.worker == b.worker; });
  edited.planned = std::make_shared<const PlannedJob>(std::move(next));
  edited.state = std::move(edit->state);
  edited.transfer_was = std::move(edit->transfer_was);
  edited.redone = std::move(edit->redone);
  edited.in_parts = std::move(edit->in_parts);
  edited.moved_again = edit->moved_again;
  edited.why = std::move(edit->why);
  return edited;
}

}  // namespace weir::master
