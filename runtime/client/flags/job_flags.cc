// Flags of the commands that run, ask about and end jobs.

#include <memory>

#include "runtime/client/flags/command_flags.h"

namespace weir::client {
namespace {

constexpr char kRunGroup[] = "Run jobs";
constexpr char kAskGroup[] = "Ask about jobs";
constexpr char kDefaultMaster[] = "127.0.0.1:7117";

// Each command's struct lives as long as its callback.
template <typename Options>
CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& help,
                     const char* group, const TakeCommand& take,
                     std::shared_ptr<Options>& options) {
  options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, help)->group(group);
  command->callback([take, options] { take(*options); });
  return *command;
}

void AddMaster(CLI::App& command, MasterAddress& master, bool required_default) {
  auto* option = command.add_option(
      "--master", master.address,
      required_default
          ? std::string("Master to ask (default: $WEIR_MASTER, else ") + kDefaultMaster + ")"
          : std::string("Use this master's cluster instead of a cluster inside this process"));
  option->type_name("HOST:PORT");
  if (required_default) {
    option->envname("WEIR_MASTER");
    master.address = kDefaultMaster;
  }
  AddTls(command, master.tls);
}

void TakeParameters(const std::vector<std::string>& words, JobOptions& job) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw CLI::ValidationError("--set", "'" + word + "' is not NAME=VALUE");
    }
    job.parameters.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
}

void AddJob(CLI::App& command, JobOptions& job, bool needs_output) {
  command.add_option("JOB", job.job, "Name of the job (see 'weir jobs')")->required();
  command.add_option("INPUT", job.inputs, "Files, directories (recursive) or globs")
      ->required()
      ->type_name("PATH");
  auto* output = command.add_option("-o,--output", job.output, "Directory to make for the result");
  output->type_name("DIR");
  if (needs_output) output->required();
  command
      .add_option_function<std::vector<std::string>>(
          "--set", [&job](const std::vector<std::string>& words) { TakeParameters(words, job); },
          "Parameter of the job, NAME=VALUE; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  command.add_option("--mappers", job.mappers, "Number of mappers (default: the planner chooses)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  command
      .add_option("--reducers", job.reducers,
                  "Number of reducers, of all layers or one number a layer (default: the planner "
                  "chooses)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 10'000))
      ->type_name("N[,N...]");
  command
      .add_option("--skip-bad", job.skip_bad,
                  "Leave out up to N records that the job rejects (default: 0, the first ends it)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000'000}))
      ->type_name("N");
  command
      .add_option("--plan-method,--method", job.plan_method,
                  "How to plan: load (the default), even, fetch-all (from "
                  "all senders "
                  "at once) or fetch-N (from N at a time)")
      ->type_name("NAME");
  command
      .add_option("--plan-file", job.plan_file,
                  "Run exactly this plan: a file from 'weir plan --json', or DIR/_weir/plan.json "
                  "of an earlier run")
      ->type_name("FILE");
  command
      .add_option("--write", job.write_mode,
                  "How to store the result: parts (default; every reducer its own file), parallel "
                  "or parallel:N (at most N files at a time), one (a single file)")
      ->type_name("MODE");
  command
      .add_option("--codec", job.codec,
                  "How to pack data before it moves between workers: auto (default; where it is "
                  "predicted to save time), none, lz4, zstd")
      ->type_name("NAME");
  command.add_flag("--no-sample", job.no_sample,
                   "Plan without running a small part of a large input before");
  if (needs_output) {
    command.add_flag("--overwrite", job.overwrite, "Replace an output directory that exists");
    AddDuration(command, "--deadline", job.deadline, "End the job after this time");
  }
}

void AddPictures(CLI::App& command, PictureOptions& pictures) {
  command.add_option("--gantt", pictures.gantt, "Also write the plan as a Gantt chart (SVG)")
      ->type_name("FILE");
  command
      .add_option("--trace", pictures.trace,
                  "Also write a trace for https://ui.perfetto.dev (JSON)")
      ->type_name("FILE");
}

void AddEmbedded(CLI::App& command, EmbeddedOptions& embedded) {
  command
      .add_option("--workers", embedded.workers,
                  "Workers inside this process (default: one a core)")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  command.add_option("--slots", embedded.slots, "Threads of each worker (default: 1)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  AddBytes(command, "--memory", embedded.memory_bytes, "Memory of each worker's task process");
  command
      .add_option("--work-dir", embedded.work_dir,
                  "Directory for temporary files (default: $WEIR_WORK_DIR, $TMPDIR or /tmp)")
      ->envname("WEIR_WORK_DIR")
      ->type_name("DIR");
  command.add_flag(
      "--no-history", embedded.no_history,
      "Neither use nor keep what runs taught of the job ($XDG_STATE_HOME/weir/shapes)");
}

void AddJobId(CLI::App& command, std::string& job_id) {
  command.add_option("JOB-ID", job_id, "Id as printed by 'weir submit' and 'weir list'")
      ->required();
}

void AddRun(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<RunOptions> options;
  CLI::App& command =
      AddCommand(app, "run", "Run a job here (or on a cluster) and print its result", kRunGroup,
                 take, options);
  AddJob(command, options->job, true);
  AddMaster(command, options->master, false);
  AddEmbedded(command, options->embedded);
  AddPictures(command, options->pictures);
  AddJson(command, options->json);
  command.add_flag("-q,--quiet", options->quiet, "No progress and no summary on stderr");
  command.footer(
      "Examples:\n"
      "  weir run wordcount book.txt -o counts\n"
      "  weir run wordcount /usr/share/doc '/var/log/*.log' -o counts --set top=20\n"
      "  weir run onebrc measurements.txt -o means --workers 4 --gantt plan.svg\n"
      "Plan, Gantt chart and trace are also written to DIR/_weir.");
}

void AddSubmit(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<SubmitOptions> options;
  CLI::App& command = AddCommand(app, "submit", "Hand a job to a cluster and print its id",
                                 kRunGroup, take, options);
  AddJob(command, options->job, true);
  AddMaster(command, options->master, true);
  AddPictures(command, options->pictures);
  command.add_flag("--wait", options->wait, "Wait for the end; Ctrl-C then cancels the job");
  AddJson(command, options->json);
  command.add_flag("-q,--quiet", options->quiet, "No progress and no summary on stderr");
  command.footer(
      "Examples:\n"
      "  weir submit wordcount /shared/books -o /shared/counts --master node1:7117\n"
      "  weir submit onebrc /shared/rows.txt -o /shared/means --wait\n"
      "Paths must mean the same on the master and on all workers.");
}

void AddPlan(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<PlanOptions> options;
  CLI::App& command = AddCommand(app, "plan", "Plan a job and predict its time without running it",
                                 kRunGroup, take, options);
  AddJob(command, options->job, false);
  AddMaster(command, options->master, false);
  AddEmbedded(command, options->embedded);
  AddPictures(command, options->pictures);
  AddJson(command, options->json);
  command.footer(
      "Examples:\n"
      "  weir plan wordcount /usr/share/doc\n"
      "  weir plan wordcount books --workers 8 --reducers 4 --gantt plan.svg");
}

void AddWatch(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<WatchOptions> options;
  CLI::App& command = AddCommand(app, "watch", "Follow a job until it ends; Ctrl-C only leaves",
                                 kAskGroup, take, options);
  AddJobId(command, options->job_id);
  AddMaster(command, options->master, true);
  AddJson(command, options->json);
  command.add_flag("-q,--quiet", options->quiet, "No progress on stderr");
  command.footer("Examples:\n  weir watch j-20260131-120000-1a2b --master node1:7117");
}

void AddStatus(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<StatusOptions> options;
  CLI::App& command =
      AddCommand(app, "status", "Show the state of one job", kAskGroup, take, options);
  AddJobId(command, options->job_id);
  AddMaster(command, options->master, true);
  AddJson(command, options->json);
  command.footer("Examples:\n  weir status j-20260131-120000-1a2b --json");
}

void AddList(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<ListOptions> options;
  CLI::App& command =
      AddCommand(app, "list", "List jobs (newest first) or workers", kAskGroup, take, options);
  command
      .add_option_function<std::string>(
          "WHAT",
          [options](const std::string& what) {
            options->what =
                what == "workers" ? ListOptions::What::kWorkers : ListOptions::What::kJobs;
          },
          "'jobs' (default) or 'workers'")
      ->check(CLI::IsMember({"jobs", "workers"}))
      ->type_name("WHAT");
  command.add_option("--max", options->max_jobs, "List at most this many jobs (default: 100)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  AddMaster(command, options->master, true);
  AddJson(command, options->json);
  command.footer("Examples:\n  weir list jobs --max 10\n  weir list workers --master node1:7117");
}

void AddCancel(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<CancelOptions> options;
  CLI::App& command =
      AddCommand(app, "cancel", "End a job; its output stays absent", kAskGroup, take, options);
  AddJobId(command, options->job_id);
  command.add_option("--reason", options->reason, "Sentence to remember with the job")
      ->type_name("TEXT");
  AddMaster(command, options->master, true);
  AddJson(command, options->json);
  command.footer("Examples:\n  weir cancel j-20260131-120000-1a2b --reason 'wrong input'");
}

void AddLogs(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<LogsOptions> options;
  CLI::App& command =
      AddCommand(app, "logs", "Print what a job's task processes wrote", kAskGroup, take, options);
  AddJobId(command, options->job_id);
  AddMaster(command, options->master, true);
  AddJson(command, options->json);
  command.footer("Examples:\n  weir logs j-20260131-120000-1a2b");
}

void AddExplain(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<ExplainOptions> options;
  CLI::App& command = AddCommand(app, "explain", "Show a job's plan, predicted beside actual",
                                 kAskGroup, take, options);
  AddJobId(command, options->job_id);
  AddPictures(command, options->pictures);
  AddMaster(command, options->master, true);
  AddJson(command, options->json);
  command.footer("Examples:\n  weir explain j-20260131-120000-1a2b --gantt plan.svg");
}

void AddCalibrate(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<CalibrateOptions> options;
  CLI::App& command =
      AddCommand(app, "calibrate", "Measure the network between the workers of a cluster",
                 "Run a cluster", take, options);
  AddMaster(command, options->master, true);
  command
      .add_option("--seconds", options->seconds_max,
                  "Stop after so many seconds and say what is missing (default: 120)")
      ->check(CLI::Range(1, 600))
      ->type_name("S");
  command
      .add_option("--output", options->output_file,
                  "Write what was found as a file for 'weir master --network' (docs/network.md)")
      ->type_name("FILE");
  AddJson(command, options->json);
  command.add_flag("-q,--quiet", options->quiet, "No progress on stderr");
  command.footer(
      "Examples:\n"
      "  weir calibrate --master node1:7117\n"
      "  weir calibrate --output network.json --seconds 60\n"
      "No job may run meanwhile; jobs that are submitted wait. The master remembers the result.");
}

}  // namespace

void AddJobCommands(CLI::App& app, const TakeCommand& take) {
  AddRun(app, take);
  AddSubmit(app, take);
  AddPlan(app, take);
  AddWatch(app, take);
  AddStatus(app, take);
  AddList(app, take);
  AddCancel(app, take);
  AddLogs(app, take);
  AddExplain(app, take);
  AddCalibrate(app, take);
}

}  // namespace weir::client
