#pragma once

// The job itself: events in, sessions out. Upstream: CSV rows "user,time[,page]". Downstream:
// sessions.cc.

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "jobs/api/readers.h"
#include "jobs/engine/group_values.h"

namespace weir::sessions {

/// Events of one user with no gap of more than the limit between neighbours.
struct Session {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t events = 0;
  std::string entry;  // page of the first event
  std::string exit;   // page of the last
};

/// Reads a whole number; false for anything else.
inline bool ParseTime(std::string_view text, std::int64_t& time) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, time);
  return error == std::errc() && rest == end;
}

/// Appends a field of a CSV row, quoted where it must be.
inline void AppendCsvField(std::string_view field, std::string& out) {
  if (field.find_first_of(",\"\r") == std::string_view::npos) {
    out.append(field);
    return;
  }
  out.push_back('"');
  for (const char c : field) {
    out.push_back(c);
    if (c == '"') out.push_back(c);
  }
  out.push_back('"');
}

/// Cuts the events of each user, in the order of their times, into sessions. Events of one moment
/// stay in the order of the input.
class FindSessions {
 public:
  using Reader = CsvRows;
  using Key = std::string;
  using Value = std::tuple<std::int64_t, std::string>;  // time, page

  explicit FindSessions(std::int64_t gap_max) : gap_max_(static_cast<std::uint64_t>(gap_max)) {}

  template <typename Emit>
  void Map(const CsvRow& row, Emit& emit) {
    std::int64_t time = 0;
    if (row.fields.size() < 2 || row.fields[0].empty()) {
      emit.Reject(row.line, "expected a row user,time or user,time,page");
    } else if (!ParseTime(row.fields[1], time)) {
      emit.Reject(row.line, "the time (second field) is no whole number");
    } else {
      emit(row.fields[0], {time, std::string(row.fields.size() > 2 ? row.fields[2] : "")});
    }
  }

  std::int64_t SortKey(const Value& event) const { return std::get<0>(event); }

  template <typename Emit>
  void Reduce(std::string_view user, GroupValues<Value>& events, Emit&& emit) const {
    Session session;
    Value event;
    while (events.Next(event)) {
      const auto& [time, page] = event;
      // Sorted, so the difference is not negative; as signed numbers it might not fit.
      const std::uint64_t gap =
          static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(session.end);
      if (session.events > 0 && gap > gap_max_) {
        emit(user, session);
        session.events = 0;
      }
      if (session.events == 0) {
        session.start = time;
        session.entry = page;
      }
      session.end = time;
      session.exit = page;
      ++session.events;
    }
    if (session.events > 0) emit(user, session);
  }

  void Format(std::string_view user, const Session& session, std::string& out) const {
    AppendCsvField(user, out);
    for (const std::int64_t number : {session.start, session.end, session.events}) {
      out.append(",").append(std::to_string(number));
    }
    for (const std::string_view page : {session.entry, session.exit}) {
      out.push_back(',');
      AppendCsvField(page, out);
    }
    out.push_back('\n');
  }

 private:
  const std::uint64_t gap_max_;
};

}  // namespace weir::sessions
