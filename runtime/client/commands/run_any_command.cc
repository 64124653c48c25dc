// From a parsed command to its function.

#include <nlohmann/json.hpp>

#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/completion.h"
#include "runtime/client/flags/command_line.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/status_json.h"

namespace weir::client {
namespace {

struct Runner {
  CommandHost& host;

  int operator()(const RunOptions& options) const { return Run(options, host); }
  int operator()(const SubmitOptions& options) const { return Submit(options, host); }
  int operator()(const PlanOptions& options) const { return Plan(options, host); }
  int operator()(const StreamingOptions& options) const { return Streaming(options, host); }
  int operator()(const HadoopOptions& options) const { return Hadoop(options, host); }
  int operator()(const HadoopHomeOptions& options) const { return HadoopHome(options, host); }
  int operator()(const WatchOptions& options) const { return Watch(options, host); }
  int operator()(const StatusOptions& options) const { return Status(options, host); }
  int operator()(const ListOptions& options) const { return List(options, host); }
  int operator()(const CancelOptions& options) const { return Cancel(options, host); }
  int operator()(const LogsOptions& options) const { return Logs(options, host); }
  int operator()(const ExplainOptions& options) const { return Explain(options, host); }
  int operator()(const CalibrateOptions& options) const { return Calibrate(options, host); }
  int operator()(const JobsOptions& options) const { return Jobs(options, host); }
  int operator()(const PlannerOptions& options) const { return Planner(options, host); }
  int operator()(const VerifyOptions& options) const { return Verify(options, host); }
  int operator()(const GenerateDataOptions& options) const { return GenerateData(options, host); }
  int operator()(const ValidateDataOptions& options) const { return ValidateData(options, host); }
  int operator()(const CompletionOptions& options) const {
    std::vector<std::string> jobs;
    for (const auto& [name, definition] : host.catalog) jobs.push_back(name);
    host.out << CompletionScript(options.shell, DescribeCommandLine(jobs));
    return kExitOk;
  }
  int operator()(const NewJobOptions& options) const { return NewJob(options, host); }
  int operator()(const ManOptions& options) const { return Man(options, host); }
  int operator()(const VersionOptions& options) const {
    if (options.json) {
      host.out << JsonDocument({{"version", kVersion}});
    } else {
      host.out << "weir " << kVersion << '\n';
    }
    return kExitOk;
  }
  // Daemons own their process; runtime/app starts them.
  int operator()(const MasterDaemonOptions&) const { return kExitInternal; }
  int operator()(const WorkerDaemonOptions&) const { return kExitInternal; }
};

}  // namespace

int RunCommand(const Command& command, CommandHost& host) {
  return std::visit(Runner{host}, command);
}

}  // namespace weir::client
