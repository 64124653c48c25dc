#include "tests/sim/checkers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/job/job_machine.h"

namespace weir::sim {
namespace {

using Findings = std::vector<std::string>;

/// Largest number of intervals [began, ended) that overlap.
std::int32_t MostAtOnce(const std::vector<std::pair<MonoTime, MonoTime>>& intervals) {
  std::vector<std::pair<std::int64_t, std::int32_t>> changes;
  for (const auto& [began, ended] : intervals) {
    changes.emplace_back(began.nanos(), 1);
    changes.emplace_back(ended.nanos(), -1);
  }
  // At equal times, ends come before beginnings.
  std::sort(changes.begin(), changes.end());
  std::int32_t now = 0;
  std::int32_t most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return most;
}

void CheckLimits(World& world, Findings& findings) {
  std::map<std::string, std::vector<std::pair<MonoTime, MonoTime>>> ports;
  std::vector<std::pair<MonoTime, MonoTime>> all;
  for (const MovedBytes& move : world.trace().moves) {
    if (move.concurrent) continue;
    ports[absl::StrCat("send port of ", move.sender)].emplace_back(move.began, move.released);
    ports[absl::StrCat("receive port of ", move.receiver)].emplace_back(move.began, move.released);
    all.emplace_back(move.began, move.reported);
  }
  for (const auto& [port, intervals] : ports) {
    const std::int32_t most = MostAtOnce(intervals);
    if (most > 1) findings.push_back(absl::StrCat(port, " moved ", most, " pieces at once"));
  }
  const std::int32_t channels = world.options().bisection_channels;
  const std::int32_t most = MostAtOnce(all);
  if (channels > 0 && most > channels) {
    findings.push_back(absl::StrCat(most, " transfers at once through ", channels, " channels"));
  }
}

/// Write steps that a job may run at once; 0 = no limit.
std::int32_t StoreChannels(const v1::JobSpec& spec, const master::MasterOptions& options) {
  if (spec.write_mode() == "one") return 1;
  if (spec.write_mode() == "parallel") return options.bisection_channels;
  std::int32_t channels = 0;
  absl::string_view number = spec.write_mode();
  return absl::ConsumePrefix(&number, "parallel:") && absl::SimpleAtoi(number, &channels) ? channels
                                                                                          : 0;
}

void CheckStores(World& world, Findings& findings) {
  std::map<std::string, std::vector<std::pair<MonoTime, MonoTime>>> writes;
  for (const Written& write : world.trace().writes) {
    writes[write.job_id].emplace_back(write.began, write.ended);
  }
  for (const UserJob& job : world.jobs()) {
    const std::int32_t channels = StoreChannels(job.spec, world.options());
    const std::int32_t most = MostAtOnce(writes[job.id]);
    if (channels > 0 && most > channels) {
      findings.push_back(absl::StrCat(job.id, " wrote ", most, " parts at once through ", channels,
                                      " channels of the store"));
    }
    const bool done = job.status.state() == v1::JOB_STATE_SUCCEEDED;
    const bool parts_only = job.spec.write_mode().empty() || job.spec.write_mode() == "parts";
    if (done && job.spec.write_mode() == "one" && job.status.parts_size() != 1) {
      findings.push_back(absl::StrCat(job.id, " has ", job.status.parts_size(), " files, not one"));
    }
    if (parts_only && most > 0) findings.push_back(absl::StrCat(job.id, " ran write steps"));
  }
}

void CheckCommitsOnce(World& world, Findings& findings) {
  std::set<std::tuple<std::string, std::int64_t, std::int32_t>> committed;
  std::set<std::int64_t> master_epochs;
  for (const v1::JournalRecord& record : world.journal().records()) {
    if (record.has_step_committed()) {
      const auto& commit = record.step_committed();
      if (!committed.emplace(record.job_id(), commit.plan_epoch(), commit.step()).second) {
        findings.push_back(
            absl::StrCat("step ", commit.step(), " of ", record.job_id(), " committed twice"));
      }
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

void CheckOutputs(World& world, const Expectations& expected, Findings& findings) {
  const std::vector<std::string> paths = world.storage().Paths();
  for (const std::string& path : paths) {
    const bool left = absl::StrContains(path, ".weir-");
    if (left && !expected.staging_may_stay) {
      findings.push_back(absl::StrCat("left behind: ", path));
    }
  }
  for (const UserJob& job : world.jobs()) {
    const std::string manifest = job.spec.output() + "/manifest.json";
    const bool published = std::find(paths.begin(), paths.end(), manifest) != paths.end();
    const bool succeeded = job.status.state() == v1::JOB_STATE_SUCCEEDED;
    if (published != succeeded) {
      findings.push_back(absl::StrCat(job.id, " is ", master::JobStateWord(job.status.state()),
                                      " but its output is ", published ? "there" : "missing"));
    }
    for (const v1::OutputPart& part : job.status.parts()) {
      const std::string path = absl::StrCat(job.spec.output(), "/", part.file());
      const auto info = world.storage().Stat(path);
      if (!info.ok() || info->bytes != part.bytes()) {
        findings.push_back(absl::StrCat("part ", path, " is not what the status says"));
      }
    }
  }
}

void CheckInputCounts(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    if (job.status.state() != v1::JOB_STATE_SUCCEEDED || job.status.counters_size() == 0) continue;
    std::int64_t total = 0;
    for (const std::string& input : job.spec.inputs()) total += world.storage().Stat(input)->bytes;
    if (job.status.counters(0).value() != total) {
      findings.push_back(
          absl::StrCat(job.id, " read ", job.status.counters(0).value(), " bytes of ", total));
    }
  }
}

void CheckEnds(World& world, const Expectations& expected, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    const v1::JobStatus& status = job.status;
    if (!job.refused.ok()) {
      if (expected.all_succeed)
        findings.push_back(absl::StrCat("refused: ", job.refused.ToString()));
      continue;
    }
    if (status.state() == v1::JOB_STATE_SUCCEEDED) continue;
    const std::string& code = status.error().code();
    if (code.empty() || status.error().message().empty()) {
      findings.push_back(absl::StrCat(job.id, " ended without a named error"));
    }
    if (expected.all_succeed || std::find(expected.legal_codes.begin(), expected.legal_codes.end(),
                                          code) == expected.legal_codes.end()) {
      findings.push_back(
          absl::StrCat(job.id, " ended with ", code, ": ", status.error().message()));
    }
  }
}

/// A restart of the master ends what had begun, and nothing else.
void CheckQueueIsKept(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    if (job.status.error().code() != job_error::kMasterRestarted) continue;
    const bool began =
        std::any_of(world.journal().records().begin(), world.journal().records().end(),
                    [&](const auto& record) {
                      return record.job_id() == job.id && record.has_job_state_changed();
                    });
    if (!began) findings.push_back(absl::StrCat(job.id, " waited, and a restart ended it"));
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
      // One that lost a worker while it was sampled went on with the others.
      if (job.status.state() == v1::JOB_STATE_SUCCEEDED) continue;
      const std::int64_t began_ms = running->job_state_changed().unix_ms() - 1'700'000'000'000;
      const bool under_way = began_ms * 1'000'000 <= fatal.nanos() && fatal < job.ended;
      if (under_way && job.ended - fatal > expected.ending_limit) {
        findings.push_back(absl::StrCat(job.id, " ended ", absl::FormatDuration(job.ended - fatal),
                                        " after the loss of a worker"));
      }
    }
  }
}

void CheckNothingHeld(World& world, Findings& findings) {
  for (const auto& [name, worker] : world.workers()) {
    if (!worker->loop()->alive() || worker->loop()->hung()) continue;
    for (const std::string& job : worker->HeldJobs()) {
      findings.push_back(absl::StrCat(name, " still holds ", job));
    }
    for (const std::string& directory : worker->StrayDirectories()) {
      findings.push_back(absl::StrCat(name, " left ", directory));
    }
  }
}

void CheckPredictions(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    const double predicted_s = job.status.predicted_makespan_s();
    const double actual_s = job.status.actual_makespan_s();
    const double bound_s = kPredictionShare * predicted_s + kPredictionSeconds;
    if (std::abs(actual_s - predicted_s) > bound_s) {
      findings.push_back(
          absl::StrCat(job.id, " took ", actual_s, " s, predicted were ", predicted_s, " s"));
    }
  }
}

}  // namespace

std::vector<std::string> CheckRun(const Scenario& scenario) {
  World& world = *scenario.world;
  Findings findings = world.wrong();
  CheckLimits(world, findings);
  CheckStores(world, findings);
  CheckCommitsOnce(world, findings);
  CheckOutputs(world, scenario.expectations, findings);
  CheckInputCounts(world, findings);
  CheckEnds(world, scenario.expectations, findings);
  CheckQueueIsKept(world, findings);
  CheckEndingTimes(world, scenario.expectations, findings);
  CheckNothingHeld(world, findings);
  if (scenario.expectations.as_predicted) CheckPredictions(world, findings);
  return findings;
}

}  // namespace weir::sim
