#include "tests/sim/limit_checks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/master/share/port_arbiter.h"

namespace weir::sim {
namespace {

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

void CheckPorts(World& world, Findings& findings) {
  // By port, and there by job: several may share one, of each one piece at a time.
  std::map<std::string, std::map<std::string, Intervals>> ports;
  // The same until the port is given to another job, which is as its last bytes are on their way.
  std::map<std::string, std::map<std::string, Intervals>> held;
  std::map<std::string, Intervals> by_sender;
  for (const MovedBytes& move : world.trace().moves) {
    if (move.concurrent) continue;
    ports[absl::StrCat("send port of ", move.sender)][move.job_id].emplace_back(move.began,
                                                                                move.released);
    ports[absl::StrCat("receive port of ", move.receiver)][move.job_id].emplace_back(move.began,
                                                                                     move.released);
    by_sender[move.sender].emplace_back(move.began, move.reported);
    held[absl::StrCat("send port of ", move.sender)][move.job_id].emplace_back(move.began,
                                                                               move.reported);
    held[absl::StrCat("receive port of ", move.receiver)][move.job_id].emplace_back(move.began,
                                                                                    move.reported);
  }
  for (const auto& [port, jobs] : ports) {
    for (const auto& [job, intervals] : jobs) {
      const std::int32_t most = MostAtOnce(intervals);
      if (most > 1) {
        findings.push_back(absl::StrCat(port, " moved ", most, " pieces of ", job, " at once"));
      }
    }
    Intervals of_jobs;
    for (const auto& [job, intervals] : held[port]) {
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

/// Bytes/s that paced transfers may take together of whatever this one passes, by its name.
std::map<std::string, double> Passes(const MovedBytes& move, const master::MasterOptions& options) {
  const double channel = options.pacing_fraction / options.channel_seconds_per_byte;
  const auto port = [&](const std::string& worker) {
    const double rate = master::PortRate(options.network, worker);
    return rate > 0 ? std::min(channel, rate * options.pacing_fraction) : channel;
  };
  std::map<std::string, double> passes = {
      {absl::StrCat("send port of ", move.sender), port(move.sender)},
      {absl::StrCat("receive port of ", move.receiver), port(move.receiver)}};
  if (options.bisection_channels > 0) passes["total"] = channel * options.bisection_channels;
  for (const master::NamedCut& cut : options.network.cuts) {
    if (IsOn(cut.from, cut.to, move.sender) && IsOn(cut.to, cut.from, move.receiver)) {
      passes[absl::StrCat("cut ", cut.name)] = channel * cut.channels;
    }
  }
  return passes;
}

/// By how much a transfer changes what its ports and cuts carry, in bytes/s, and when.
std::vector<std::pair<std::int64_t, double>> ChangesBy(const MovedBytes& move) {
  auto rate = static_cast<double>(move.pacing_bytes_per_s);
  std::vector<std::pair<std::int64_t, double>> changes = {{move.began.nanos(), rate}};
  for (const RateChange& change : move.rate_changes) {
    if (change.at >= move.reported) break;
    const double before = std::exchange(rate, static_cast<double>(change.bytes_per_s));
    changes.emplace_back(change.at.nanos(), rate - before);
  }
  changes.emplace_back(move.reported.nanos(), -rate);
  return changes;
}

/// What paced transfers of one job that share a port or cut took of it together, at any moment.
void CheckRates(World& world, Findings& findings) {
  std::map<std::string, double> may_carry;
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> changes;
  for (const MovedBytes& move : world.trace().moves) {
    if (!move.concurrent || move.pacing_bytes_per_s == 0) continue;
    const auto by_move = ChangesBy(move);
    for (const auto& [name, most] : Passes(move, world.options())) {
      const std::string what = absl::StrCat(name, " for ", move.job_id);
      may_carry[what] = most;
      changes[what].insert(changes[what].end(), by_move.begin(), by_move.end());
    }
  }
  for (auto& [what, of_one] : changes) {
    // At equal times, what gives room comes before what takes it.
    std::sort(of_one.begin(), of_one.end());
    double now = 0;
    double most = 0;
    for (const auto& [time, change] : of_one) most = std::max(most, now += change);
    if (most > may_carry[what] * (1 + 1e-6)) {
      findings.push_back(absl::StrCat(what, " carried rates of ", most, " bytes/s together, may ",
                                      may_carry[what]));
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

}  // namespace

void CheckLimits(World& world, Findings& findings) {
  CheckPorts(world, findings);
  CheckCuts(world, findings);
  CheckRates(world, findings);
  CheckStores(world, findings);
}

}  // namespace weir::sim
