#include "runtime/master/output/output_errors.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"

namespace weir::master {

absl::Status OutputExists(const std::string& output) {
  return StatusFromJobError(
      absl::StatusCode::kAlreadyExists,
      MakeJobError(job_error::kOutputExists, absl::StrCat("output already exists: ", output),
                   "choose another directory, remove this one, or pass --overwrite"));
}

absl::Status OutputIsForeign(const std::string& output, const std::vector<std::string>& foreign) {
  constexpr std::size_t kNamed = 3;
  const auto end = foreign.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, foreign.size()));
  std::string names = absl::StrJoin(foreign.begin(), end, ", ");
  if (foreign.size() > kNamed) absl::StrAppend(&names, " and ", foreign.size() - kNamed, " more");
  return StatusFromJobError(
      absl::StatusCode::kAlreadyExists,
      MakeJobError(job_error::kOutputExists,
                   absl::StrCat("--overwrite would delete what Weir did not write: ", output,
                                " holds ", names),
                   "choose another output directory, or move these away; --overwrite replaces only "
                   "an empty directory or one that Weir wrote and nothing was added to"));
}

absl::Status FromStorage(const absl::Status& status, absl::string_view doing) {
  if (status.ok()) return status;
  const std::string message = absl::StrCat(doing, ": ", status.message());
  const std::string_view advice = AdviceForErrno(ErrnoOf(status));
  return StatusFromJobError(
      status.code(),
      IsDiskFull(status)
          ? MakeJobError(job_error::kDiskFull, message,
                         "free space where the output goes, then run the job again")
          : MakeJobError(job_error::kOutputUnusable, message,
                         advice.empty() ? "check the file system of the output directory, or "
                                          "choose another output"
                                        : advice));
}

}  // namespace weir::master
