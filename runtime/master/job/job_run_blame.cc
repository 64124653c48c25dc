// What a job does when its plan fails: asks whose fault that is. Upstream: ConductorRun,
// JobReservation, Planning, by their errors. Downstream: StepBlame, JobRun::TakeLoss.

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/job/job_run.h"
#include "runtime/master/planning/disk_need.h"
#include "runtime/master/planning/find_step.h"

namespace weir::master {

std::vector<DiskRoom> JobRun::RoomOfWorkers() const {
  std::vector<DiskRoom> rooms;
  absl::btree_map<std::string, std::size_t> by_name;
  for (const RegisteredWorker& w : context_.alive_workers()) {
    by_name[w.identity.name()] = rooms.size();
    rooms.push_back(
        {w.identity.name(), w.epoch, w.identity.handover_domain(), w.profile.free_disk_bytes()});
  }
  // A given plan says nothing of its workers but their names.
  if (!planned_ || std::ssize(planned_->cluster.workers) != planned_->plan.network.num_workers) {
    return rooms;
  }
  std::vector<std::string> domains;
  for (const auto& worker : planned_->cluster.workers) {
    const auto alive = by_name.find(worker.name);
    domains.push_back(alive == by_name.end() ? "" : rooms[alive->second].disk);
  }
  const std::vector<double> needs = DiskNeeds(planned_->plan, domains);
  for (std::size_t w = 0; w < needs.size(); ++w) {
    const auto alive = by_name.find(planned_->cluster.workers[w].name);
    if (alive != by_name.end()) {
      rooms[alive->second].needed_bytes = static_cast<std::int64_t>(needs[w]);
    }
  }
  return rooms;
}

StepInput JobRun::InputOfStep(const std::string& step_name) const {
  if (!planned_) return {};
  const planner::ComputeStep* step = FindStep(planned_->plan, step_name);
  if (step == nullptr) return {};
  return {step->kind->name, step->input_begin, step->input_end};
}

void JobRun::NameInput(const StepInput& input, v1::JobError& error) const {
  if (!input_ || !error.file().empty() || input.begin == input.end) return;
  const std::vector<v1::InputRange> ranges = input_->Cut(input.begin, input.end);
  if (ranges.empty()) return;
  error.set_file(ranges[0].path());
  error.set_byte_offset(ranges[0].begin());
  error.set_message(absl::StrCat(error.message(), "; it was given ", ranges[0].path(),
                                 " from byte ", ranges[0].begin(), " to ", ranges[0].end()));
  if (ranges.size() > 1) {
    error.set_message(absl::StrCat(error.message(), " and ", ranges.size() - 1, " more files"));
  }
}

void JobRun::PlanFailed(v1::JobError error) {
  const StepInput input = InputOfStep(error.step());
  BlameVerdict verdict = blame_.Failed(std::move(error), input, RoomOfWorkers());
  const std::string& code = verdict.error.code();
  if (!verdict.plan_again) {
    const bool killed = code == job_error::kTaskCrashed || code == job_error::kOutOfMemory;
    if (killed) NameInput(input, verdict.error);
    return Fail(std::move(verdict.error));
  }
  for (const RegisteredWorker& worker : workers_) {
    // Nothing brings it back into the job: others may want the room that the job has taken there.
    const auto& full = verdict.without_room;
    if (std::find(full.begin(), full.end(), worker.identity.name()) == full.end()) continue;
    reservation_.LetGo(worker.id);
  }
  TakeLoss(verdict.error.worker(), absl::StrCat("failed: ", verdict.error.message()),
           verdict.error.step());
}

}  // namespace weir::master
