#include "tests/sim/checkers.h"

#include <algorithm>
#include <array>
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
#include "runtime/master/job/job_queue.h"
#include "runtime/master/share/port_arbiter.h"
#include "tests/sim/outcomes.h"

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

using Intervals = std::vector<std::pair<MonoTime, MonoTime>>;

/// Joins those that overlap or touch: at any moment at most one is left.
Intervals Joined(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals joined;
  for (const auto& [began, ended] : intervals) {
    if (!joined.empty() && began <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, ended);
    } else {
      joined.emplace_back(began, ended);
    }
  }
  return joined;
}

void CheckLimits(World& world, Findings& findings) {
  // By port, and there by job: several may share one, of each one piece at a time.
  std::map<std::string, std::map<std::string, Intervals>> ports;
  std::map<std::string, Intervals> by_sender;
  for (const MovedBytes& move : world.trace().moves) {
    if (move.concurrent) continue;
    ports[absl::StrCat("send port of ", move.sender)][move.job_id].emplace_back(move.began,
                                                                                move.released);
    ports[absl::StrCat("receive port of ", move.receiver)][move.job_id].emplace_back(move.began,
                                                                                     move.released);
    by_sender[move.sender].emplace_back(move.began, move.reported);
  }
  for (const auto& [port, jobs] : ports) {
    Intervals of_jobs;
    for (const auto& [job, intervals] : jobs) {
      const std::int32_t most = MostAtOnce(intervals);
      if (most > 1) {
        findings.push_back(absl::StrCat(port, " moved ", most, " pieces of ", job, " at once"));
      }
      const Intervals joined = Joined(intervals);
      of_jobs.insert(of_jobs.end(), joined.begin(), joined.end());
    }
    const std::int32_t most = MostAtOnce(of_jobs);
    if (most > static_cast<std::int32_t>(master::PortArbiter::kJobsAPort)) {
      findings.push_back(absl::StrCat(port, " moved pieces of ", most, " jobs at once"));
    }
  }
  // What two jobs send from one port at once takes one channel: together no more than the port.
  Intervals all;
  for (const auto& [sender, intervals] : by_sender) {
    const Intervals joined = Joined(intervals);
    all.insert(all.end(), joined.begin(), joined.end());
  }
  const std::int32_t channels = world.options().bisection_channels;
  const std::int32_t most = MostAtOnce(all);
  if (channels > 0 && most > channels) {
    findings.push_back(absl::StrCat(most, " transfers at once through ", channels, " channels"));
  }
}

bool IsOn(const master::CutSide& side, const master::CutSide& other, const std::string& worker) {
  const auto named = [&worker](const master::CutSide& of) {
    return std::find(of.workers.begin(), of.workers.end(), worker) != of.workers.end();
  };
  switch (side.kind) {
    case master::CutSide::Kind::kNamed:
      return named(side);
    case master::CutSide::Kind::kRest:
      return !named(other);
    case master::CutSide::Kind::kAll:
      return true;
  }
  return false;
}

/// Cuts by name: a transfer of a slow port takes its part of a channel only, and what several jobs
/// send from one port at once together no more than the port.
void CheckCuts(World& world, Findings& findings) {
  const master::NetworkSpec& network = world.options().network;
  const auto port = [&](const std::string& worker) {
    const double rate = master::PortRate(network, worker);
    return rate > 0 ? std::min(1.0, rate / network.channel_bytes_per_s) : 1.0;
  };
  for (const master::NamedCut& cut : network.cuts) {
    std::vector<std::tuple<std::int64_t, double, std::string>> changes;
    for (const MovedBytes& move : world.trace().moves) {
      if (move.concurrent || !IsOn(cut.from, cut.to, move.sender) ||
          !IsOn(cut.to, cut.from, move.receiver)) {
        continue;
      }
      const double share = std::min(port(move.sender), port(move.receiver));
      changes.emplace_back(move.began.nanos(), share, move.sender);
      changes.emplace_back(move.reported.nanos(), -share, move.sender);
    }
    std::sort(changes.begin(), changes.end());
    std::map<std::string, double> sends;
    double now = 0;
    double most = 0;
    for (const auto& [time, change, sender] : changes) {
      double& of_sender = sends[sender];
      now -= std::min(of_sender, port(sender));
      of_sender += change;
      now += std::min(of_sender, port(sender));
      most = std::max(most, now);
    }
    if (most > cut.channels + 1e-6) {
      findings.push_back(
          absl::StrCat("cut ", cut.name, " of ", cut.channels, " channels carried ", most));
    }
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
  // By plan: a worker that is lost writes on for no one.
  std::map<std::string, std::map<std::int64_t, std::vector<std::pair<MonoTime, MonoTime>>>> writes;
  for (const Written& write : world.trace().writes) {
    writes[write.job_id][write.plan_epoch].emplace_back(write.began, write.ended);
  }
  for (const UserJob& job : world.jobs()) {
    const std::int32_t channels = StoreChannels(job.spec, world.options());
    std::int32_t most = 0;
    for (const auto& [plan_epoch, intervals] : writes[job.id]) {
      most = std::max(most, MostAtOnce(intervals));
    }
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
  // By master: one that takes a job up again runs all its steps. Within a plan a step is done again
  // only if an edit says so: nothing else that was done is done twice.
  std::set<std::tuple<std::int64_t, std::string, std::int64_t, std::int32_t>> committed;
  std::set<std::int64_t> master_epochs;
  for (const v1::JournalRecord& record : world.journal().records()) {
    if (record.has_step_committed()) {
      const auto& commit = record.step_committed();
      const std::int64_t master = master_epochs.empty() ? 0 : *master_epochs.rbegin();
      if (!committed.emplace(master, record.job_id(), commit.plan_epoch(), commit.step()).second) {
        findings.push_back(
            absl::StrCat("step ", commit.step(), " of ", record.job_id(), " committed twice"));
      }
    }
    if (record.has_job_planned()) {
      const auto& planned = record.job_planned();
      const std::int64_t master = master_epochs.empty() ? 0 : *master_epochs.rbegin();
      for (const std::int32_t step : planned.steps_redone()) {
        committed.erase({master, record.job_id(), planned.plan_epoch(), step});
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
    if (auto wrong = WhyWrongEnd(job, expected)) findings.push_back(*std::move(wrong));
  }
}

/// Whether input pieces are exactly `whole`, each byte once, in whatever order.
bool IsWhole(std::vector<InputPiece> pieces, const std::vector<InputPiece>& whole) {
  std::sort(pieces.begin(), pieces.end());
  std::vector<InputPiece> joined;
  for (const InputPiece& piece : pieces) AppendInput(piece, joined);
  return joined == whole;
}

/// What each place of the last layer must be made of: the input, or all places of the layer before.
std::vector<InputPiece> WholeOf(const UserJob& job, World& world, int layers) {
  if (layers > 1) return {{NameOfLayer(layers - 1), 0, kLayerPlaces}};
  std::vector<InputPiece> whole;
  for (const std::string& input : job.spec.inputs()) {
    AppendInput({input, 0, world.storage().Stat(input)->bytes}, whole);
  }
  std::sort(whole.begin(), whole.end());
  return whole;
}

/// The attempts that count: of each step of the last plan, by whichever master made that, the one
/// that was committed last.
std::set<PartKey> CommittedSteps(World& world, const std::string& job_id) {
  std::map<std::int32_t, PartKey> last;
  std::pair<std::int64_t, std::int64_t> plan;  // master epoch, plan epoch
  std::int64_t master_epoch = 0;
  for (const v1::JournalRecord& record : world.journal().records()) {
    if (record.has_master_started()) master_epoch = record.master_started().master_epoch();
    if (record.job_id() != job_id || !record.has_step_committed()) continue;
    const auto& commit = record.step_committed();
    const std::pair of_plan{master_epoch, commit.plan_epoch()};
    if (of_plan > plan) last.clear();
    plan = std::max(plan, of_plan);
    last[commit.step()] = {master_epoch, commit.plan_epoch(), commit.step(), commit.attempt()};
  }
  std::set<PartKey> committed;
  for (const auto& [step, key] : last) committed.insert(key);
  return committed;
}

/// The output holds every place once, and each was made of every byte of the input once: what a
/// program that does one after the other would have found.
void CheckResults(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    if (job.status.state() != v1::JOB_STATE_SUCCEEDED || job.spec.job() != "simjob") continue;
    const std::set<PartKey> committed = CommittedSteps(world, job.id);
    double end = 0;
    const auto pieces = world.contents().CommittedParts(job.id, committed);
    for (const ContentPiece& piece : pieces) {
      if (piece.begin != end) {
        findings.push_back(absl::StrCat(job.id, ": after place ", end, " comes ", piece.begin));
        break;
      }
      end = piece.end;
      if (IsWhole(piece.input, WholeOf(job, world, world.contents().LayersOf(job.id)))) continue;
      findings.push_back(absl::StrCat(job.id, ": places ", piece.begin, " to ", piece.end,
                                      " were not made of the whole input once"));
      break;
    }
    std::int64_t total = 0;
    for (const std::string& input : job.spec.inputs()) total += world.storage().Stat(input)->bytes;
    if (end != 1 && total > 0) {
      findings.push_back(absl::StrCat(job.id, ": the output ends with place ", end));
    }
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
      if (next <= plans) {
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
    for (const std::string& job : worker->HeldJobs()) {
      findings.push_back(absl::StrCat(name, " still holds ", job));
    }
    for (const std::string& directory : worker->StrayDirectories()) {
      findings.push_back(absl::StrCat(name, " left ", directory));
    }
  }
}

bool IsFar(const v1::JobStatus& status) {
  const double predicted_s = status.predicted_makespan_s();
  const double bound_s = kPredictionShare * predicted_s + kPredictionSeconds;
  return std::abs(status.actual_makespan_s() - predicted_s) > bound_s;
}

void CheckPredictions(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    const double predicted_s = job.status.predicted_makespan_s();
    const double actual_s = job.status.actual_makespan_s();
    const bool near = actual_s < kFarPredictionFactor * predicted_s &&
                      predicted_s < kFarPredictionFactor * actual_s;
    if (IsFar(job.status) && !near) {
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
  CheckCuts(world, findings);
  CheckStores(world, findings);
  CheckCommitsOnce(world, findings);
  CheckOutputs(world, scenario.expectations, findings);
  CheckInputCounts(world, findings);
  CheckResults(world, findings);
  CheckEnds(world, scenario.expectations, findings);
  CheckQueueIsKept(world, findings);
  CheckWorkersWereLost(world, findings);
  CheckLosses(world, findings);
  CheckEndingTimes(world, scenario.expectations, findings);
  CheckNothingHeld(world, findings);
  if (scenario.expectations.as_predicted) CheckPredictions(world, findings);
  return findings;
}

Predictions CountPredictions(const Scenario& scenario) {
  Predictions counted;
  if (!scenario.expectations.as_predicted) return counted;
  for (const UserJob& job : scenario.world->jobs()) {
    ++counted.jobs;
    counted.far += IsFar(job.status) ? 1 : 0;
  }
  return counted;
}

}  // namespace weir::sim
