#include "tests/sim/journal_checks.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/master/job/job_queue.h"

namespace weir::sim {
namespace {

void CheckCommitsOnce(World& world, Findings& findings) {
  // By plan: a step is done again only if an edit says so, or the master that goes on with the plan
  // of an earlier one: nothing else that was done is done twice.
  std::map<std::string, std::set<std::int32_t>> committed;
  std::set<std::int64_t> master_epochs;
  for (const v1::JournalRecord& record : world.journal().records()) {
    if (record.has_step_committed()) {
      const auto& commit = record.step_committed();
      if (!committed[record.job_id()].insert(commit.step()).second) {
        findings.push_back(
            absl::StrCat("step ", commit.step(), " of ", record.job_id(), " committed twice"));
      }
    }
    if (record.has_job_planned()) {
      const auto& planned = record.job_planned();
      std::set<std::int32_t>& of_job = committed[record.job_id()];
      if (planned.plan_edit() == 0 && !planned.resumed()) of_job.clear();
      for (const std::int32_t step : planned.steps_redone()) of_job.erase(step);
    }
    if (record.has_master_started() &&
        !master_epochs.insert(record.master_started().master_epoch()).second) {
      findings.push_back("a master epoch was used twice");
    }
  }
  std::set<std::int64_t> worker_epochs;
  for (const std::int64_t epoch : world.trace().worker_epochs) {
    if (!worker_epochs.insert(epoch).second) {
      findings.push_back(absl::StrCat("worker epoch ", epoch, " was used twice"));
    }
  }
}

/// What a user sees of losses, and what the journal has of the plans that followed.
void CheckLosses(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    std::pair<std::int64_t, std::int32_t> plans{0, 0};  // epoch, edits
    int last_known = 0;
    for (const v1::JournalRecord& record : world.journal().records()) {
      // Another master begins it anew, and knows what was lost before.
      if (record.has_master_started()) plans = {0, 0};
      if (record.job_id() != job.id || !record.has_job_planned()) continue;
      const v1::JournalRecord::JobPlanned& planned = record.job_planned();
      const std::pair next{planned.plan_epoch(), planned.plan_edit()};
      // An edit is made anew where somebody was lost before anything was ordered by it.
      if (next < plans || (next == plans && planned.plan_edit() == 0)) {
        findings.push_back(
            absl::StrCat(job.id, " has two plans of epoch ", plans.first, ", edit ", plans.second));
      }
      plans = next;
      if (planned.losses_size() < last_known) {
        findings.push_back(absl::StrCat(job.id, " forgot losses: ", planned.losses_size(), " of ",
                                        last_known, " are left"));
      }
      last_known = planned.losses_size();
    }
    const bool succeeded = job.status.state() == v1::JOB_STATE_SUCCEEDED;
    if (succeeded && last_known != job.status.losses_size()) {
      findings.push_back(absl::StrCat(job.id, " lost ", job.status.losses_size(),
                                      " workers, and its last plan knows of ", last_known));
    }
    for (const v1::WorkerLoss& loss : job.status.losses()) {
      const bool edited = loss.plan_epoch() >= 1 && !loss.edit().empty();
      const bool answered = edited || loss.plan_epoch() >= 2;
      if (succeeded && (!answered || loss.worker().empty() || loss.why().empty())) {
        findings.push_back(absl::StrCat(job.id, " says nothing of a loss: ", loss.DebugString()));
      }
    }
  }
}

/// Each master begins jobs in the order of their submission, those first that one before it had
/// begun; and ends none. Where several may run, small ones have a place of their own and pass those
/// that are not: each sort by itself keeps the order.
void CheckQueueIsKept(World& world, Findings& findings) {
  std::map<std::string, std::size_t> submitted;  // by id, where in the order
  std::set<std::string> small;
  std::set<std::string> begun_before;
  std::set<std::string> begun;
  // Of this master, of large and of small jobs: had it not begun, its place.
  std::array<std::pair<bool, std::size_t>, 2> last{};
  for (const v1::JournalRecord& record : world.journal().records()) {
    if (record.has_job_accepted()) {
      submitted.emplace(record.job_id(), submitted.size());
      const std::int64_t bytes = record.job_accepted().input_bytes();
      const bool is_small = bytes > 0 && bytes <= master::JobQueue::kSmallInputBytes;
      if (is_small && world.options().running_jobs_max > 1) small.insert(record.job_id());
    }
    if (record.has_master_started()) {
      begun_before.insert(begun.begin(), begun.end());
      begun.clear();
      last = {};
    }
    const bool begins = record.has_job_state_changed() &&
                        record.job_state_changed().state() == v1::JOB_STATE_PLANNING;
    if (!begins || !begun.insert(record.job_id()).second) continue;
    const std::pair<bool, std::size_t> place{!begun_before.contains(record.job_id()),
                                             submitted[record.job_id()]};
    std::pair<bool, std::size_t>& before = last[small.contains(record.job_id()) ? 1 : 0];
    if (place < before) findings.push_back(absl::StrCat(record.job_id(), " began out of its turn"));
    before = place;
  }
}

}  // namespace

void CheckJournal(World& world, Findings& findings) {
  CheckCommitsOnce(world, findings);
  CheckLosses(world, findings);
  CheckQueueIsKept(world, findings);
}

}  // namespace weir::sim
