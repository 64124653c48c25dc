#include "jobs/stream/surroundings.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "jobs/stream/script/script.h"

namespace weir::stream {

Surroundings::Surroundings(const StreamSpec& spec) : spec_(spec), directory_(OwnDirectory()) {}

absl::Status Surroundings::Start(ScriptRun& run, const StepIdentity& step, Side side,
                                 const InputRange* range) const {
  const Variables variables = VariablesOf(step, side, range);
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    environment.push_back(absl::StrCat(name, "=", value));
  }
  const auto path = variables.find("PATH");
  return run.Start(std::move(environment), directory_,
                   path == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second);
}

Surroundings::Variables Surroundings::VariablesOf(const StepIdentity& step, Side side,
                                                  const InputRange* range) const {
  Properties properties = spec_.properties;
  const char kind = side == Side::kMap ? 'm' : 'r';
  const std::string task = absl::StrFormat("%s_%c_%06d", step.job_id, kind, step.index_in_layer);
  properties.Set("mapreduce.job.id", step.job_id);
  properties.Set("mapreduce.task.id", absl::StrCat("task_", task));
  properties.Set("mapreduce.task.attempt.id",
                 absl::StrCat("attempt_", task, "_", step.attempt - 1));
  properties.Set("mapreduce.task.partition", absl::StrCat(step.index_in_layer));
  properties.Set("mapreduce.task.ismap", side == Side::kMap ? "true" : "false");
  for (const char* const name :
       {"mapreduce.job.local.dir", "mapreduce.cluster.local.dir", "mapreduce.task.output.dir"}) {
    properties.Set(name, directory_);
  }
  if (range != nullptr) {
    properties.Set("mapreduce.map.input.file", range->path);
    properties.Set("mapreduce.map.input.start", absl::StrCat(range->begin));
    properties.Set("mapreduce.map.input.length", absl::StrCat(range->end - range->begin));
  }
  Variables variables;
  for (const auto& [name, value] : OwnEnvironment()) variables[name] = value;
  SetShipped(variables, "WEIR_JOB_FILES", "mapreduce.job.cache.local.files", properties);
  SetShipped(variables, "WEIR_JOB_ARCHIVES", "mapreduce.job.cache.local.archives", properties);
  const auto tmp = variables.find("TMPDIR");
  const std::string tmp_directory = tmp == variables.end() ? directory_ : tmp->second;
  properties.AddToEnvironment(spec_.truncate, variables);
  for (const auto& [name, value] : spec_.cmdenv) variables[name] = value;
  variables["TMPDIR"] = tmp_directory;
  return variables;
}

// What came with the job: the task has a name a line, Hadoop paths with commas between them.
void Surroundings::SetShipped(const Variables& variables, const char* variable,
                              const char* property, Properties& properties) const {
  const auto names = variables.find(variable);
  if (names == variables.end()) return;
  std::vector<std::string> paths;
  for (const absl::string_view name : absl::StrSplit(names->second, '\n')) {
    paths.push_back(absl::StrCat(directory_, "/", name));
  }
  properties.Set(property, absl::StrJoin(paths, ","));
}

}  // namespace weir::stream
