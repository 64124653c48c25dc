#include "runtime/client/call_errors.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/status_json.h"

namespace weir::client {
ExitCode ReportCallError(const absl::Status& status, bool json, CommandHost& host) {
  const ExitCode code = ExitCodeOfCall(status);
  v1::JobError error;
  if (CarriesJobError(status)) {
    error = JobErrorFromStatus(status);
    ReportJobError(error, host);
  } else {
    const std::string message(status.message());
    // Our own sentences may have several lines; user code may have put anything into them.
    host.err << "weir: " << EscapeControlsInLines(message);
    if (code == kExitMasterUnreachable) {
      host.err
          << "\nIs 'weir master' running there? Set --master or WEIR_MASTER, or use 'weir run' "
             "without a cluster.";
      error = MakeJobError("MASTER_UNREACHABLE", message);
    } else {
      error = MakeJobError(absl::StatusCodeToString(status.code()), message);
    }
    host.err << '\n';
  }
  if (json) host.out << JsonDocument({{"error", ErrorToJson(error)}});
  return code;
}

ExitCode ReportInputError(const absl::Status& status, bool json, CommandHost& host) {
  if (ErrnoOf(status) == 0 || CarriesJobError(status)) return ReportCallError(status, json, host);
  return ReportCallError(StatusFromJobError(status.code(), JobErrorFromStatus(status)), json, host);
}

absl::Status FlagFileError(std::string_view flag, const absl::Status& status) {
  const std::string message = absl::StrCat(std::string(flag), ": ", std::string(status.message()));
  if (ErrnoOf(status) == 0) return absl::Status(status.code(), message);
  v1::JobError error = JobErrorFromStatus(status);
  error.set_message(message);
  return StatusFromJobError(status.code(), error);
}

void ReportJobError(const v1::JobError& error, CommandHost& host) {
  host.err << "weir: " << EscapeControlsInLines(DescribeJobError(error)) << '\n';
  if (error.stderr_tail().empty()) return;
  host.err << "last output of the task:\n";
  std::string line;
  for (const char c : error.stderr_tail()) {
    if (c == '\n') {
      host.err << "  | " << line << '\n';
      line.clear();
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\t') {
      // Control bytes of user code must not steer the user's terminal.
      line += c;
    }
  }
  if (!line.empty()) host.err << "  | " << line << '\n';
}

}  // namespace weir::client
