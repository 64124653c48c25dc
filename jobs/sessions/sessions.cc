#include "jobs/sessions/sessions.h"

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "jobs/api/part_lines.h"
#include "jobs/engine/make_program.h"
#include "jobs/records/parameters.h"
#include "jobs/sessions/find_sessions.h"

namespace weir::sessions {
namespace {

struct Totals {
  std::int64_t sessions = 0;
  std::int64_t users = 0;
  std::int64_t events = 0;
  double length = 0;  // sum
};

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "sessions";
    info_.summary =
        "Cuts events (CSV user,time[,page]) into sessions: user,start,end,events,entry,exit";
    info_.parameters.push_back(IntegerParameter(
        "gap", 1800, 0, std::numeric_limits<std::int64_t>::max(),
        "a longer time without an event begins a new session, in the unit of the times"));
    // Measured on 46 MB of events of 100 000 users, one slot; how much comes out depends on the
    // gap.
    info_.rates = {10e-9, 1.2, {{6e-9, 0.5}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    return MakeJobProgram(FindSessions(IntegerOf(values, "gap")));
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues&,
                       std::ostream& out) const override {
    Totals totals;
    CsvRows reader;
    std::string last_user;
    absl::Status status = VisitPartLines(part_paths, [&](std::string_view line) {
      std::int64_t start = 0, end = 0, events = 0;
      if (!reader.Split(line) || reader.row().fields.size() != 6 ||
          !ParseTime(reader.row().fields[1], start) || !ParseTime(reader.row().fields[2], end) ||
          !ParseTime(reader.row().fields[3], events)) {
        return DamagedPartLine(line);
      }
      // The sessions of a user stand together, in one part.
      const std::string_view user = reader.row().fields[0];
      if (totals.sessions == 0 || user != last_user) {
        ++totals.users;
        last_user = user;
      }
      ++totals.sessions;
      totals.events += events;
      totals.length += static_cast<double>(end) - static_cast<double>(start);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    out << totals.sessions << " sessions of " << totals.users << " users, " << totals.events
        << " events\n";
    if (totals.sessions > 0) {
      const auto sessions = static_cast<double>(totals.sessions);
      char means[100];
      std::snprintf(means, sizeof means, "a session has %.1f events and lasts %.1f on average\n",
                    static_cast<double>(totals.events) / sessions, totals.length / sessions);
      out << means;
    }
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::sessions
