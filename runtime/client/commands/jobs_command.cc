// weir jobs: what can be run, and with which parameters.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/nearest_name.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/ship/module_job.h"
#include "runtime/client/status_json.h"
#include "runtime/modules/job_description.h"

namespace weir::client {
namespace {

using Json = nlohmann::ordered_json;

std::string DescribeLegalValues(const ParameterInfo& parameter) {
  if (parameter.type == ParameterInfo::Type::kInteger) {
    return absl::StrFormat("%d to %d", parameter.min, parameter.max);
  }
  return parameter.choices.empty() ? "text" : absl::StrJoin(parameter.choices, ", ");
}

void PrintJob(const JobInfo& info, std::ostream& out) {
  out << info.name << "\n    " << info.summary << '\n';
  for (const ParameterInfo& parameter : info.parameters) {
    out << "    --set " << parameter.name << "=VALUE  " << parameter.help << " ("
        << DescribeLegalValues(parameter);
    if (!parameter.default_value.empty()) out << "; default " << parameter.default_value;
    out << ")\n";
  }
}

Json JobInfoToJson(const JobInfo& info) {
  Json parameters = Json::array();
  for (const ParameterInfo& parameter : info.parameters) {
    const bool integer = parameter.type == ParameterInfo::Type::kInteger;
    Json json = {{"name", parameter.name},
                 {"type", integer ? "integer" : "string"},
                 {"default", parameter.default_value},
                 {"help", parameter.help}};
    if (integer) {
      json["min"] = parameter.min;
      json["max"] = parameter.max;
    } else if (!parameter.choices.empty()) {
      json["choices"] = parameter.choices;
    }
    parameters.push_back(std::move(json));
  }
  return {{"name", info.name}, {"summary", info.summary}, {"parameters", parameters}};
}

}  // namespace

int Jobs(const JobsOptions& options, CommandHost& host) {
  std::vector<JobInfo> infos;
  if (options.module.empty()) {
    for (const auto& [name, definition] : host.catalog) infos.push_back(definition->info());
  } else {
    const auto described = JobsOfModule(options.module, host);
    if (!described.ok()) return ReportCallError(described.status(), options.json, host);
    for (const v1::JobDescription& one : *described) infos.push_back(InfoOf(one));
  }
  std::vector<std::string> names;
  for (const JobInfo& info : infos) names.push_back(info.name);
  if (!options.job.empty() && std::find(names.begin(), names.end(), options.job) == names.end()) {
    return ReportCallError(
        absl::InvalidArgumentError(
            absl::StrCat("there is no job '", options.job, "'.", SuggestName(options.job, names))),
        options.json, host);
  }
  Json jobs = Json::array();
  for (const JobInfo& info : infos) {
    if (!options.job.empty() && info.name != options.job) continue;
    if (options.json) {
      jobs.push_back(JobInfoToJson(info));
    } else {
      PrintJob(info, host.out);
    }
  }
  if (options.json) host.out << JsonDocument({{"jobs", jobs}});
  return kExitOk;
}

}  // namespace weir::client
