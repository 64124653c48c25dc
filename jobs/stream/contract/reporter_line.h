#pragma once

// What a script tells on stderr. Upstream: lines of stderr. Downstream: counters and status of the
// job.

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::stream {

struct ReporterLine {
  enum class Kind {
    kText,     // meant for people
    kCounter,  // name and value
    kStatus,   // text
    kBroken,   // begins like a report, and is none
  };
  Kind kind = Kind::kText;
  std::string name;  // "group,name"
  std::int64_t value = 0;
  std::string text;
};

/// Reads `line` (without its newline): PREFIXcounter:GROUP,NAME,N with exactly three fields, or
/// PREFIXstatus:TEXT. Checked by: tests/unit/jobs/stream/contract_test.cc.
ReporterLine ReadReporterLine(std::string_view line, std::string_view prefix);

}  // namespace weir::stream
