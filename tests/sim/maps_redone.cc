#include "tests/sim/maps_redone.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace weir::sim {
namespace {

/// A job by its journal.
struct JobSoFar {
  std::set<int> maps;  // of its plan, that make a run
  std::set<int> done;  // of those
  bool left_running = false;
};

bool IsEdited(const v1::Plan& plan) {
  return std::all_of(plan.steps().begin(), plan.steps().end(), [](const v1::ComputeStep& step) {
    return step.kind() == v1::STEP_KIND_MAP || step.kind() == v1::STEP_KIND_REDUCE ||
           step.kind() == v1::STEP_KIND_WRITE;
  });
}

std::set<int> MapsOf(const v1::Plan& plan) {
  std::set<int> maps;
  if (!IsEdited(plan)) return maps;
  for (const v1::Section& section : plan.sections()) {
    if (plan.steps(section.producer()).kind() == v1::STEP_KIND_MAP) maps.insert(section.producer());
  }
  return maps;
}

void TakePlan(const v1::JournalRecord::JobPlanned& planned, JobSoFar& job, MapsRedone& counted) {
  const std::set<int> before = job.done;
  if (planned.plan_edit() == 0 && !planned.resumed()) job.done.clear();
  for (const int step : planned.steps_redone()) job.done.erase(step);
  if (std::exchange(job.left_running, false)) {
    counted.done += static_cast<int>(before.size());
    counted.redone += static_cast<int>(before.size() - job.done.size());
  }
  job.maps = MapsOf(planned.plan());
}

}  // namespace

MapsRedone CountMapsRedone(World& world) {
  MapsRedone counted;
  std::map<std::string, JobSoFar> jobs;
  for (const v1::JournalRecord& record : world.journal().records()) {
    if (record.has_master_started()) {
      for (auto& [id, job] : jobs) job.left_running = true;
    }
    JobSoFar& job = jobs[record.job_id()];
    if (record.has_job_planned()) TakePlan(record.job_planned(), job, counted);
    if (record.has_step_committed() && job.maps.contains(record.step_committed().step())) {
      job.done.insert(record.step_committed().step());
    }
    if (record.has_job_ended()) jobs.erase(record.job_id());
  }
  return counted;
}

WorkersBack CountWorkersBack(World& world) {
  WorkersBack counted;
  for (const UserJob& job : world.jobs()) {
    for (const v1::WorkerLoss& loss : job.status.losses()) {
      if (loss.runs_kept() == 0) continue;
      ++counted.restarts;
      counted.runs_kept += loss.runs_kept();
    }
  }
  return counted;
}

}  // namespace weir::sim
