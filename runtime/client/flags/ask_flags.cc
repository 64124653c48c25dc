// Flags of the commands that ask about jobs.

#include <functional>
#include <memory>
#include <string>

#include "runtime/client/flags/command_flags.h"

namespace weir::client {
namespace {

/// Adds a command about one job of a master. `own` adds the flags that only this one has, before
/// those that all have.
template <typename Options>
CLI::App& AddJobQuestion(
    CLI::App& app, const std::string& name, const std::string& help, const std::string& example,
    const TakeCommand& take, std::shared_ptr<Options>& options,
    const std::function<void(CLI::App&)>& own = [](CLI::App&) {}) {
  CLI::App& command = AddCommand(app, name, help, kAskGroup, take, options);
  command.add_option("JOB-ID", options->job_id, "Id as printed by 'weir submit' and 'weir list'")
      ->required();
  own(command);
  AddMaster(command, options->master);
  AddJson(command, options->json);
  command.footer("Examples:\n  weir " + name + " j-20260131-120000-1a2b" + example);
  return command;
}

void AddWatch(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<WatchOptions> options;
  CLI::App& command = AddJobQuestion(
      app, "watch", "Follow a job until it ends; Ctrl-C only leaves", " --master node1:7117", take,
      options, [&options](CLI::App& own) { AddMasterGrace(own, options->grace); });
  auto* quiet = command.add_flag("-q,--quiet", options->quiet, "No plan and no progress on stderr");
  command.add_flag("-v,--verbose", options->verbose, "The whole plan on stderr, not a line of it")
      ->excludes(quiet);
}

void AddStatus(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<StatusOptions> options;
  AddJobQuestion(app, "status", "Show the state of one job", " --json", take, options,
                 [&options](CLI::App& own) { AddMasterGrace(own, options->grace); });
}

void AddList(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<ListOptions> options;
  CLI::App& command =
      AddCommand(app, "list", "List jobs (newest first), workers, or numbers for Prometheus",
                 kAskGroup, take, options);
  command
      .add_option_function<std::string>(
          "WHAT",
          [options](const std::string& what) {
            options->what = what == "workers"   ? ListOptions::What::kWorkers
                            : what == "metrics" ? ListOptions::What::kMetrics
                                                : ListOptions::What::kJobs;
          },
          "'jobs' (default), 'workers', or 'metrics' of both in the text format of Prometheus")
      ->check(CLI::IsMember({"jobs", "workers", "metrics"}))
      ->type_name("WHAT");
  AddCount(
      command, "--max", options->max_jobs, 1, 1000,
      "List at most this many jobs, newest first (default: 100; with --state and of metrics: look "
      "through 1000); those that do not fit one answer are left out and counted");
  command
      .add_option("--state", options->state,
                  "Of jobs: only those that are queued, planning, running, committing, ending, "
                  "succeeded, failed or cancelled; 'unfinished' are the first five")
      // The words above say the same, in lines that fit a terminal.
      ->check(CLI::IsMember({"queued", "planning", "running", "committing", "ending", "succeeded",
                             "failed", "cancelled", "unfinished"})
                  .description(""))
      ->type_name("STATE");
  command
      .add_option("--alive", options->alive,
                  "Of workers: exit status 4 unless this one is alive, for health checks")
      // A health check whose variable is not set must not pass.
      ->check([](const std::string& name) {
        return std::string(name.empty() ? "an empty name is no worker's; name the one to ask about"
                                        : "");
      })
      ->type_name("NAME");
  AddMaster(command, options->master);
  AddJson(command, options->json);
  command.footer(
      "Examples:\n  weir list jobs --max 10\n  weir list jobs --state unfinished\n  weir list "
      "workers --master node1:7117\n"
      "  weir list workers --alive \"$(hostname)\"\n  weir list metrics >weir.prom");
}

void AddCancel(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<CancelOptions> options;
  AddJobQuestion(app, "cancel", "End a job; its output stays absent", " --reason 'wrong input'",
                 take, options, [&options](CLI::App& command) {
                   command
                       .add_option("--reason", options->reason, "Sentence to remember with the job")
                       ->type_name("TEXT");
                 });
}

void AddLogs(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<LogsOptions> options;
  AddJobQuestion(app, "logs", "Print what a job's task processes wrote", "", take, options);
}

void AddExplain(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<ExplainOptions> options;
  AddJobQuestion(app, "explain", "Show a job's plan, predicted beside actual", " --gantt plan.svg",
                 take, options,
                 [&options](CLI::App& command) { AddPictures(command, options->pictures); });
}

}  // namespace

void AddAskCommands(CLI::App& app, const TakeCommand& take) {
  AddWatch(app, take);
  AddStatus(app, take);
  AddList(app, take);
  AddCancel(app, take);
  AddLogs(app, take);
  AddExplain(app, take);
}

}  // namespace weir::client
