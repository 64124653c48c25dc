#include "tests/sim/ending_checks.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "tests/sim/outcomes.h"

namespace weir::sim {
namespace {

void CheckEnds(World& world, const Expectations& expected, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    if (auto wrong = WhyWrongEnd(job, expected)) findings.push_back(*std::move(wrong));
  }
}

/// A job goes on as long as there is a worker, and says whom it lost.
void CheckWorkersWereLost(World& world, Findings& findings) {
  const bool any_left =
      std::any_of(world.workers().begin(), world.workers().end(), [&world](const auto& worker) {
        return worker.second->loop()->alive() && !worker.second->loop()->hung() &&
               !world.network().cuts().Part("master", worker.first);
      });
  for (const UserJob& job : world.jobs()) {
    if (job.status.error().code() != job_error::kNoWorkers) continue;
    if (any_left) {
      findings.push_back(absl::StrCat(job.id, " ended for want of workers, and there are some"));
    }
    for (const v1::WorkerLoss& loss : job.status.losses()) {
      if (absl::StrContains(job.status.error().message(), loss.worker())) continue;
      findings.push_back(absl::StrCat(job.id, " does not name ", loss.worker(), ": ",
                                      job.status.error().message()));
    }
  }
}

void CheckEndingTimes(World& world, const Expectations& expected, Findings& findings) {
  for (const MonoTime fatal : expected.fatal_moments) {
    for (const UserJob& job : world.jobs()) {
      const auto running =
          std::find_if(world.journal().records().begin(), world.journal().records().end(),
                       [&](const v1::JournalRecord& record) {
                         return record.job_id() == job.id && record.has_job_state_changed();
                       });
      if (running == world.journal().records().end()) continue;
      // One that had done what it needed workers for.
      if (job.status.state() == v1::JOB_STATE_SUCCEEDED) continue;
      const std::int64_t began_ms = running->job_state_changed().unix_ms() - 1'700'000'000'000;
      const bool under_way = began_ms * 1'000'000 <= fatal.nanos() && fatal < job.ended;
      if (under_way && job.ended - fatal > expected.ending_limit) {
        findings.push_back(absl::StrCat(job.id, " ended ", absl::FormatDuration(job.ended - fatal),
                                        " after the loss of its workers"));
      }
    }
  }
}

void CheckNothingHeld(World& world, Findings& findings) {
  for (const auto& [name, worker] : world.workers()) {
    if (!worker->loop()->alive() || worker->loop()->hung()) continue;
    // One that no master reaches keeps runs for the next.
    const bool parted = world.network().cuts().Part("master", name);
    for (const std::string& job : parted ? worker->BusyJobs() : worker->HeldJobs()) {
      findings.push_back(absl::StrCat(name, " still holds ", job));
    }
    for (const std::string& directory : worker->StrayDirectories()) {
      findings.push_back(absl::StrCat(name, " left ", directory));
    }
  }
}

}  // namespace

void CheckEndings(World& world, const Expectations& expected, Findings& findings) {
  CheckEnds(world, expected, findings);
  CheckWorkersWereLost(world, findings);
  CheckEndingTimes(world, expected, findings);
  CheckNothingHeld(world, findings);
}

}  // namespace weir::sim
