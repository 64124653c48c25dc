// Flags of the commands that need no master.

#include <memory>
#include <string>

#include "runtime/client/flags/command_flags.h"

namespace weir::client {
namespace {

CLI::App& AddSolver(CLI::App& planner, const std::string& name, const std::string& help,
                    PlannerOptions::Kind kind, const TakeCommand& take,
                    std::shared_ptr<PlannerOptions>& options) {
  CLI::App& command = AddCommand(planner, name, help, kLocalGroup, take, options);
  options->kind = kind;
  command.add_option("--instance", options->instance_file, "File of instances (JSON)")
      ->required()
      ->type_name("FILE");
  return command;
}

void AddLoadSolver(CLI::App& planner, const TakeCommand& take) {
  std::shared_ptr<PlannerOptions> options;
  CLI::App& command = AddSolver(planner, "load", "Divisible-load layers: chunk sizes and makespan",
                                PlannerOptions::Kind::kLoad, take, options);
  CLI::Option* method =
      command
          .add_option("--method", options->method,
                      "How to solve: automatic (default), fast, exact, paper, paper-free-order")
          ->type_name("NAME");
  command
      .add_flag_callback(
          "--exact", [options] { options->method = "exact"; },
          "Solve without a gap; the same as --method exact")
      ->excludes(method);
  AddJson(command, options->json);
}

void AddTreeSolver(CLI::App& planner, const TakeCommand& take) {
  std::shared_ptr<PlannerOptions> options;
  CLI::App& command = AddSolver(planner, "tree", "Reduction and broadcast trees",
                                PlannerOptions::Kind::kTree, take, options);
  command.add_option("--gantt", options->gantt_file, "Write the schedule as an SVG Gantt")
      ->type_name("FILE");
  command.add_option("--drawing", options->drawing_file, "Write the tree as an SVG drawing")
      ->type_name("FILE");
  command
      .add_option("--plan", options->plan_file,
                  "Write the schedule as a plan (JSON), predicted as long as it was planned")
      ->type_name("FILE");
  command
      .add_option("--id", options->picture_id,
                  "Instance to draw or plan (default: the first with a schedule)")
      ->type_name("ID");
  command.add_flag(
      "--json", options->json,
      "Print errors, too, as one JSON object (\"schema\": 1) on stdout, as results are");
}

void AddPlanner(CLI::App& app, const TakeCommand& take) {
  CLI::App* planner =
      app.add_subcommand("planner", "Solve planning problems from a file, without a job")
          ->group(kLocalGroup)
          ->require_subcommand(1);
  planner->footer(
      "Examples:\n"
      "  weir planner load --instance layers.json --json\n"
      "  weir planner tree --instance trees.json --json\n"
      "  weir planner tree --instance trees.json --gantt tree.svg --id v003\n"
      "  weir planner tree --instance trees.json --plan plan.json --id v003");
  AddLoadSolver(*planner, take);
  AddTreeSolver(*planner, take);
}

void AddNew(CLI::App& app, const TakeCommand& take) {
  CLI::App* command = app.add_subcommand("new", "Begin a job of your own")
                          ->group(kLocalGroup)
                          ->require_subcommand(1);
  command->footer("Examples:\n  weir new job user_totals");
  std::shared_ptr<NewJobOptions> options;
  CLI::App& job = AddCommand(*command, "job", "Write a small project: job, test and CMake file",
                             kLocalGroup, take, options);
  job.add_option("NAME", options->name, "Name of the job: letters, digits and '_'")->required();
  job.add_option("DIR", options->directory, "Folder to make for it (default: one of the name)");
  job.footer(
      "The job counts rows and adds up numbers, as one to begin with; it builds where\n"
      "Weir's headers are installed.\n"
      "Examples:\n"
      "  weir new job user_totals && cd user_totals\n"
      "  cmake -B build && cmake --build build && ctest --test-dir build\n"
      "  weir run --module build/libuser_totals.so user_totals rows.csv -o totals");
}

}  // namespace

void AddLocalCommands(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<JobsOptions> jobs;
  CLI::App& jobs_command =
      AddCommand(app, "jobs", "List the jobs and their parameters", kLocalGroup, take, jobs);
  jobs_command.add_option("JOB", jobs->job, "Only this job");
  jobs_command.add_option("--module", jobs->module, "Those of this shared library")
      ->type_name("FILE");
  AddJson(jobs_command, jobs->json);
  jobs_command.footer(
      "Examples:\n  weir jobs\n  weir jobs wordcount\n  weir jobs --module ./libmine.so");

  std::shared_ptr<VerifyOptions> verify;
  CLI::App& verify_command = AddCommand(
      app, "verify", "Check an output directory against its manifest", kLocalGroup, take, verify);
  verify_command.add_option("DIR", verify->output, "Output directory of a job")->required();
  AddJson(verify_command, verify->json);
  verify_command.footer(
      "Exit code 1 when files are missing, too many, unreadable or not as the manifest\n"
      "says, or when that makes no sense; 4 when there is no output of a job to check.\n"
      "Examples:\n  weir verify counts");

  AddNew(app, take);
  AddDataCommands(app, take);
  AddPlanner(app, take);

  std::shared_ptr<CompletionOptions> completion;
  CLI::App& completion_command = AddCommand(
      app, "completion", "Print a completion script for a shell", kLocalGroup, take, completion);
  completion_command
      .add_option_function<std::string>(
          "SHELL",
          [completion](const std::string& shell) {
            completion->shell = shell == "zsh"    ? CompletionOptions::Shell::kZsh
                                : shell == "fish" ? CompletionOptions::Shell::kFish
                                                  : CompletionOptions::Shell::kBash;
          },
          "'bash', 'zsh' or 'fish'")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL")
      ->required();
  completion_command.footer(
      "Examples:\n"
      "  source <(weir completion bash)\n"
      "  weir completion fish > ~/.config/fish/completions/weir.fish");

  std::shared_ptr<ManOptions> man;
  CLI::App& man_command =
      AddCommand(app, "man", "Print a man page, or write all of them", kLocalGroup, take, man);
  man_command.add_option("COMMAND", man->command, "Command to describe (default: weir itself)");
  man_command
      .add_option("-o,--output", man->directory,
                  "Write the pages of all commands into this directory, which must exist")
      ->type_name("DIR");
  man_command.footer(
      "Pages are made of what --help prints; packages install them (man weir-run).\n"
      "Examples:\n"
      "  weir man run | man -l -\n"
      "  weir man -o /usr/local/share/man/man1");

  std::shared_ptr<VersionOptions> version;
  CLI::App& version_command =
      AddCommand(app, "version", "Print the version", kLocalGroup, take, version);
  AddJson(version_command, version->json);
  version_command.footer("Examples:\n  weir version --json");
}

}  // namespace weir::client
