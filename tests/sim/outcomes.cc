#include "tests/sim/outcomes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::sim {

const std::vector<std::string>& CodesOfLosses() {
  static const std::vector<std::string> codes = {std::string(job_error::kNoWorkers)};
  return codes;
}

const std::vector<std::string>& CodesOfSilence() {
  static const std::vector<std::string> codes = {std::string(job_error::kNoWorkers),
                                                 std::string(job_error::kWorkerUnreachable)};
  return codes;
}

std::optional<std::string> WhyWrongEnd(const UserJob& job, const Expectations& expected) {
  const bool must_succeed = expected.all_succeed || job.must_succeed;
  if (!job.refused.ok()) {
    const bool too_early = JobErrorFromStatus(job.refused).code() == job_error::kNoWorkers;
    if (!must_succeed || (expected.may_come_too_early && too_early)) return std::nullopt;
    return absl::StrCat("refused: ", job.refused.ToString());
  }
  const v1::JobStatus& status = job.status;
  if (status.state() == v1::JOB_STATE_SUCCEEDED) return std::nullopt;
  const std::string& code = status.error().code();
  if (code.empty() || status.error().message().empty()) {
    return absl::StrCat(job.id, " ended without a named error");
  }
  const auto legal_in = [&code](const std::vector<std::string>& codes) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  if (legal_in(expected.legal_codes) && !must_succeed) return std::nullopt;
  if (legal_in(expected.legal_where_none_is_sound) && !must_succeed) {
    if (!job.left_sound_worker.value_or(false)) return std::nullopt;
    return absl::StrCat(job.id, " ended by a fault of workers, and one was left without: ", code,
                        ": ", status.error().message());
  }
  return absl::StrCat(job.id, " ended with ", code, ": ", status.error().message());
}

}  // namespace weir::sim
