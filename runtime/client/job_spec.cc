#include "runtime/client/job_spec.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"

namespace weir::client {
namespace {

// What the properties of a job of scripts say, as the job reads them; 0 where they do not, or say
// what the job is to judge: that there is no reducer, or what is no number.
int ReducersByProperty(const JobOptions& job) {
  if (job.job != "stream" || !job.module.empty()) return 0;
  int said = 0;
  for (const auto& [name, value] : job.parameters) {
    if (name == "reducer" && value == "NONE") return 0;
    if (name != "properties") continue;
    for (const absl::string_view line : absl::StrSplit(value, '\n')) {
      const std::pair<absl::string_view, absl::string_view> property =
          absl::StrSplit(line, absl::MaxSplits('=', 1));
      if (property.first != "mapreduce.job.reduces" && property.first != "mapred.reduce.tasks") {
        continue;
      }
      int number = 0;
      const bool legal = absl::SimpleAtoi(property.second, &number) && number >= 1 &&
                         number <= limits::kReducersMax;
      said = legal ? number : 0;
    }
  }
  return said;
}

}  // namespace

std::string AbsolutePath(const std::string& path, const std::string& working_directory) {
  if (path.starts_with('/')) return path;
  if (path.empty() || path == ".") return working_directory;
  return absl::StrCat(working_directory, working_directory.ends_with('/') ? "" : "/", path);
}

absl::StatusOr<std::vector<int>> ReducersOf(const JobOptions& job) {
  const int by_property = ReducersByProperty(job);
  if (by_property == 0) return job.reducers;
  if (job.reducers.empty()) return std::vector<int>{by_property};
  if (job.reducers.size() > 1 || job.reducers[0] == by_property) return job.reducers;
  return StatusFromJobError(
      absl::StatusCode::kInvalidArgument,
      MakeJobError(job_error::kInvalidJob,
                   absl::StrCat("--reducers is ", job.reducers[0],
                                ", but the property mapreduce.job.reduces is ", by_property),
                   "leave one of them out"));
}

v1::JobSpec MakeJobSpec(const JobOptions& job, CommandHost& host) {
  v1::JobSpec spec;
  spec.set_job(job.job);
  for (const auto& [name, value] : job.parameters) {
    auto* parameter = spec.add_parameters();
    parameter->set_name(name);
    parameter->set_value(value);
  }
  for (const auto& input : job.inputs) {
    // An empty one (a variable that is unset) is no place; the master refuses it.
    spec.add_inputs(input.empty() ? "" : AbsolutePath(input, host.working_directory));
  }
  if (!job.output.empty()) {
    std::string output = AbsolutePath(job.output, host.working_directory);
    while (output.size() > 1 && output.ends_with('/')) output.pop_back();
    spec.set_output(std::move(output));
  }
  spec.set_overwrite(job.overwrite);
  spec.set_num_mappers(job.mappers);
  const std::vector<int> reducers = ReducersOf(job).value_or(job.reducers);
  if (reducers.size() == 1) {
    spec.set_num_reducers(reducers[0]);
  } else {
    spec.mutable_layer_reducers()->Assign(reducers.begin(), reducers.end());
  }
  spec.set_skip_bad(job.skip_bad);
  spec.set_plan_method(job.plan_method);
  spec.set_write_mode(job.write_mode);
  spec.set_codec(job.codec);
  spec.set_combine(job.combine);
  spec.set_no_check_operation(job.no_check_operation);
  spec.set_priority(job.priority);
  if (job.no_sample) spec.set_sampling("off");
  spec.set_deadline_ms(absl::ToInt64Milliseconds(job.deadline));
  spec.set_submitter(host.user);
  spec.set_idempotency_key(absl::StrFormat("%016x", host.random.Next()));
  return spec;
}

absl::Status CheckOverwrite(const v1::JobSpec& spec, const std::string& working_directory) {
  if (!spec.overwrite()) return absl::OkStatus();
  std::string output = std::filesystem::path(spec.output()).lexically_normal();
  while (output.size() > 1 && output.ends_with('/')) output.pop_back();
  const std::string below = output.ends_with('/') ? output : output + "/";
  if (working_directory != output && !working_directory.starts_with(below)) {
    return absl::OkStatus();
  }
  return StatusFromJobError(
      absl::StatusCode::kAlreadyExists,
      MakeJobError(
          job_error::kOutputExists,
          absl::StrCat("--overwrite would replace the current directory",
                       working_directory == output ? "" : " with one above it", ": ", output),
          "change to another directory first, or choose another output"));
}

}  // namespace weir::client
