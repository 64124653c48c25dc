#include "runtime/task/start/module_answers.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/task_frame.h"
#include "runtime/modules/job_description.h"
#include "runtime/task/start/guarded_call.h"
#include "runtime/task/start/module_library.h"

namespace weir::task {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

absl::Status Invalid(const absl::Status& status) {
  if (CarriesJobError(status)) return status;
  return StatusFromJobError(status.code(),
                            MakeJobError(job_error::kInvalidJob, std::string(status.message())));
}

absl::StatusOr<const JobDefinition*> Find(const JobCatalog& jobs,
                                          const v1::ModuleRequest& request) {
  const auto job = jobs.find(request.job());
  if (job != jobs.end()) return job->second.get();
  std::vector<std::string> names;
  for (const auto& [name, definition] : jobs) names.push_back(name);
  return StatusFromJobError(
      absl::StatusCode::kInvalidArgument,
      MakeJobError(job_error::kInvalidJob,
                   absl::StrCat("module ", request.path(), " has no job '", request.job(), "'.",
                                SuggestName(request.job(), names)),
                   absl::StrCat("its jobs: ", absl::StrJoin(names, ", "))));
}

absl::Status Present(const JobDefinition& job, const v1::ModuleRequest& request,
                     const Parameters& given, v1::ModuleAnswer& answer) {
  const absl::StatusOr<ParameterValues> values = CheckParameters(job.info(), given);
  if (!values.ok()) return values.status();
  const std::vector<std::string> parts(request.part_paths().begin(), request.part_paths().end());
  std::ostringstream shown;
  const absl::Status presented = GuardedCall([&] { return job.Present(parts, *values, shown); });
  answer.set_presented(shown.str());
  return presented;
}

absl::Status Answer(const v1::ModuleRequest& request, v1::ModuleAnswer& answer) {
  const absl::StatusOr<JobCatalog> jobs = LoadModule(request.path());
  if (!jobs.ok()) return jobs.status();
  Parameters given;
  for (const v1::JobParameter& parameter : request.parameters()) {
    given.emplace_back(parameter.name(), parameter.value());
  }
  const auto describe = [&](const JobDefinition& job) {
    auto described = GuardedCall([&] { return DescribeJob(job, given); });
    if (!described.ok()) return Invalid(described.status());
    *answer.add_jobs() = *std::move(described);
    return absl::OkStatus();
  };
  if (request.job().empty()) {
    for (const auto& [name, job] : *jobs) {
      if (absl::Status described = describe(*job); !described.ok()) return described;
    }
    return absl::OkStatus();
  }
  const absl::StatusOr<const JobDefinition*> job = Find(*jobs, request);
  if (!job.ok()) return job.status();
  return request.present() ? Present(**job, request, given, answer) : describe(**job);
}

absl::StatusOr<v1::ModuleRequest> Receive(int fd) {
  TaskFrameReader reader;
  v1::ModuleRequest request;
  std::array<char, 16 << 10> bytes;
  while (true) {
    const absl::StatusOr<bool> whole = reader.Next(request);
    if (!whole.ok()) return whole.status();
    if (*whole) return request;
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::UnavailableError("nobody asks");
    reader.Append({bytes.data(), static_cast<std::size_t>(got)});
  }
}

bool Send(int fd, std::string_view left) {
  while (!left.empty()) {
    const ssize_t sent = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

int AnswerForModule(int fd) {
  const absl::StatusOr<v1::ModuleRequest> request = Receive(fd);
  if (!request.ok()) return 1;
  v1::ModuleAnswer answer;
  if (absl::Status status = Answer(*request, answer); !status.ok()) {
    *answer.mutable_error() = JobErrorFromStatus(status);
  }
  std::string frame;
  if (absl::Status whole = AppendTaskFrame(answer, frame); !whole.ok()) {
    v1::ModuleAnswer too_long;
    *too_long.mutable_error() = JobErrorFromStatus(whole);
    if (!AppendTaskFrame(too_long, frame).ok()) return 1;
  }
  return Send(fd, frame) ? 0 : 1;
}

}  // namespace weir::task
