// Flags of the commands that run and plan jobs.

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/limits.h"
#include "runtime/client/flags/command_flags.h"
#include "runtime/client/flags/command_line.h"
#include "runtime/client/flags/shipped_path.h"

namespace weir::client {
namespace {

void AddMasterInsteadOfEmbedded(CLI::App& command, MasterAddress& master) {
  AddMasterAddress(command, master.address,
                   "Use this master's cluster instead of a cluster inside this process");
  AddTls(command, master.tls);
  AddToken(command, master.token_file);
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

// Not by CLI11's own delimiter, which takes "2,,3" for two numbers.
void TakeReducers(const std::vector<std::string>& words, JobOptions& job) {
  for (const std::string& word : words) {
    for (const absl::string_view number : absl::StrSplit(word, ',')) {
      int reducers = 0;
      if (!absl::SimpleAtoi(number, &reducers) || reducers < 1 || reducers > limits::kReducersMax) {
        throw CLI::ValidationError(
            "--reducers", absl::StrCat("'", number, "' in '", word, "' is no number from 1 to ",
                                       limits::kReducersMax));
      }
      job.reducers.push_back(reducers);
    }
  }
}

// --file or --archive.
void AddShipped(CLI::App& command, const std::string& flag, bool unpack, const std::string& help,
                JobOptions& job) {
  command
      .add_option_function<std::vector<std::string>>(
          flag,
          [&job, flag, unpack](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              absl::StatusOr<ShippedPath> path = ReadShippedPath(word, unpack);
              if (!path.ok()) {
                throw CLI::ValidationError(flag, std::string(path.status().message()));
              }
              job.files.push_back(*std::move(path));
            }
          },
          help)
      ->type_name("PATH[#NAME]")
      ->allow_extra_args(false)
      ->take_all();
}

void AddWhatRuns(CLI::App& command, JobOptions& job, bool needs_output) {
  command.add_option("JOB", job.job, "Name of the job (see 'weir jobs')")->required();
  command
      .add_option("--module", job.module,
                  "Shared library that holds the job (docs/guides/write-a-job.md); workers get it "
                  "with the job")
      ->type_name("FILE");
  AddShipped(command, "--file", false,
             "File that goes with the job: its tasks find it in their working directory, "
             "executable; may be repeated",
             job);
  AddShipped(command, "--archive", true,
             "Archive (tar, tar.gz, zip, ...) that goes with the job: its tasks find what it holds "
             "in a folder NAME (default: its own name); may be repeated",
             job);
  command
      .add_option(
          "INPUT", job.inputs,
          "Files, directories (recursive) or globs (*, ?, [abc], {a,b}); what is named .* or "
          "_* in directories, or found by a glob that does not name it so, is left out")
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
}

void AddHowItRuns(CLI::App& command, JobOptions& job) {
  AddCount(command, "--mappers", job.mappers, 1, limits::kReducersMax,
           "Number of mappers, at most 10000 (default: the planner chooses)");
  command
      .add_option_function<std::vector<std::string>>(
          "--reducers", [&job](const std::vector<std::string>& words) { TakeReducers(words, job); },
          "Number of reducers, of all layers or one number a layer (default: the planner chooses)")
      ->allow_extra_args(false)
      ->type_name("N[,N...]");
  AddCount(command, "--skip-bad", job.skip_bad, 0, 1'000'000'000'000,
           "Leave out up to N records that the job rejects (default: 0, the first ends it)");
  command
      .add_option("--plan-method,--method", job.plan_method,
                  "How to plan: load (the default), even, rates (all at once, each paced at its "
                  "share), rates-over-time (the same, shared anew as transfers begin and end), "
                  "lanes or lanes-N (N of a port at once, by default as predicted best), "
                  "fetch-all (from all senders at once) or fetch-N (from N at a time)")
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
  command
      .add_option("--combine", job.combine,
                  "How partial results meet: auto (default; along a reduction tree where that is "
                  "predicted to end at least 5 % sooner), tree (one file, unless --reducers), "
                  "shuffle")
      ->type_name("NAME");
  command.add_flag("--no-sample", job.no_sample,
                   "Plan without running a small part of a large input before");
}

void AddJob(CLI::App& command, JobOptions& job, bool needs_output) {
  AddWhatRuns(command, job, needs_output);
  AddHowItRuns(command, job);
  if (needs_output) {
    command.add_flag("--no-check-operation", job.no_check_operation,
                     "Take as true what the job declares of its Combine (any order of operands "
                     "gives the same, ...), instead of trying it on the first records");
    command.add_flag(
        "--overwrite", job.overwrite,
        "Replace an output directory that Weir wrote, or an empty one; nothing else is deleted");
    // Sent in milliseconds, where 0 means none.
    AddDuration(command, "--deadline", job.deadline, {.least = absl::Milliseconds(1)},
                "End the job after this time, 1ms to a year (default: never)");
  }
}

void AddEmbedded(CLI::App& command, EmbeddedOptions& embedded) {
  AddCount(command, "--workers", embedded.workers, 1, 256,
           "Workers inside this process (default: 1; for jobs of scripts one a core)");
  AddCount(command, "--slots", embedded.slots, 1, 1024,
           "Threads of each worker (default: one a core, as far as a CPU quota keeps them busy; "
           "with --workers, and for jobs of scripts, 1)");
  AddBytes(command, "--memory", embedded.memory_bytes,
           "Memory of each worker's task process; what it may put on disk goes there before "
           "(default: no limit, and to disk beyond 60% of what is free, divided by --workers)");
  command
      .add_option("--work-dir", embedded.work_dir,
                  "Directory for temporary files (default: $WEIR_WORK_DIR, $TMPDIR or /tmp)")
      ->envname("WEIR_WORK_DIR")
      ->type_name("DIR");
  command.add_flag(
      "--no-history", embedded.no_history,
      "Neither use nor keep what runs taught of the job ($XDG_STATE_HOME/weir/shapes)");
}

// Which of those flags was typed. WEIR_WORK_DIR does not count: it is of the machine, and stands
// beside any master.
std::string TypedEmbedded(const CLI::App& command) {
  constexpr const char* kFlags[] = {"--workers", "--slots", "--memory", "--work-dir",
                                    "--no-history"};
  for (const CLI::Option* option : command.parse_order()) {
    const auto known = std::find(std::begin(kFlags), std::end(kFlags), option->get_name());
    if (known != std::end(kFlags)) return *known;
  }
  return "";
}

// A job that is run, or planned, in this process or on a cluster.
template <typename Options>
void AddJobHereOrThere(CLI::App& command, const std::shared_ptr<Options>& options,
                       bool needs_output, const TakeCommand& take) {
  AddJob(command, options->job, needs_output);
  AddMasterInsteadOfEmbedded(command, options->master);
  AddEmbedded(command, options->embedded);
  AddPictures(command, options->pictures);
  AddJson(command, options->json);
  command.callback([&command, options, take] {
    options->embedded.typed = TypedEmbedded(command);
    const std::string refused = FlagsWithoutUse(options->embedded, options->master);
    if (!refused.empty()) throw CLI::ValidationError(refused);
    take(*options);
  });
}

// How much a job that is followed says of itself.
template <typename Options>
void AddLoudness(CLI::App& command, Options& options) {
  auto* quiet = command.add_flag("-q,--quiet", options.quiet,
                                 "No plan, no progress and no summary on stderr");
  command.add_flag("-v,--verbose", options.verbose, "The whole plan on stderr, not a line of it")
      ->excludes(quiet);
  command
      .add_flag("--progress-json", options.progress_json,
                "On stderr each status as a line of JSON (as 'weir status --json'), no plan, no "
                "progress and no summary")
      ->excludes("--verbose")
      ->excludes(quiet);
}

void AddRun(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<RunOptions> options;
  CLI::App& command =
      AddCommand(app, "run", "Run a job here (or on a cluster) and print its result", kRunGroup,
                 take, options);
  AddJobHereOrThere(command, options, true, take);
  AddMasterGrace(command, options->grace);
  AddLoudness(command, *options);
  command.add_flag("--end-with-stdin", options->end_with_stdin,
                   "Take the end of stdin, a pipe, for Ctrl-C: the job ends with the program that "
                   "holds the other end, however that ends; what is written there is ignored");
  command.footer(
      "Examples:\n"
      "  weir run wordcount book.txt -o counts\n"
      "  weir run wordcount /usr/share/common-licenses '/var/log/*.log' \\\n"
      "    -o counts --set top=20\n"
      "  weir run onebrc measurements.txt -o means --workers 4 --gantt plan.svg\n"
      "stderr has a line of the plan, the progress and the first rows of the result;\n"
      "-v shows the whole plan. Plan, Gantt chart and trace are also written to\n"
      "DIR/_weir.");
}

// Listed here; its words never come so far (streaming_words.h).
void AddStreaming(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "streaming", "Run scripts as mapper and reducer, by the options of Hadoop Streaming");
  command->group(kRunGroup)->prefix_command();
  command->callback(
      [] { throw CLI::ValidationError("streaming", "needs -input, -output and -mapper"); });
}

void AddHadoop(CLI::App& app, const TakeCommand& take) {
  auto options = std::make_shared<HadoopOptions>();
  CLI::App* command = app.add_subcommand(
      "hadoop", "Take calls that are meant for Hadoop: version, fs, jar of Hadoop Streaming");
  command->group(kRunGroup)->prefix_command();
  command
      ->add_option("--hdfs-root", options->hdfs_root,
                   "Directory that is hdfs:/// (default: $XDG_STATE_HOME/weir/hdfs); of a cluster "
                   "one that all workers see")
      ->envname("WEIR_HDFS_ROOT")
      ->type_name("DIR");
  AddMasterInsteadOfEmbedded(*command, options->master);
  command->get_option("--master")->envname("WEIR_MASTER");
  command->footer(
      "What follows the flags are the words of a call:\n"
      "  version                      the version of Hadoop whose calls these are\n"
      "  fs -mkdir -p | -put | -get | -getmerge | -cp | -mv | -rm -R PATH...\n"
      "  fs -ls -R | -cat | -du | -touchz | -test PATH...\n"
      "  jar hadoop-streaming.jar ...   as 'weir streaming'; logged as Hadoop does\n"
      "Paths without file:// are of hdfs:///. Programs find the calls below\n"
      "'weir hadoop-home'.\n"
      "Examples:\n"
      "  weir hadoop fs -put books hdfs:///books\n"
      "  HADOOP_HOME=$(weir hadoop-home) python3 mr_job.py -r hadoop book.txt\n"
      "More: docs/guides/mrjob.md");
  command->callback([take, options, command] {
    options->words = command->remaining();
    if (options->words.empty()) {
      throw CLI::ValidationError("hadoop", "needs a call: version, fs or jar");
    }
    take(*options);
  });

  std::shared_ptr<HadoopHomeOptions> home;
  AddCommand(app, "hadoop-home",
             "Print the folder that is Hadoop's to programs around it (HADOOP_HOME)", kRunGroup,
             take, home)
      .footer("Examples:\n  export HADOOP_HOME=$(weir hadoop-home)");
}

// The plan is made, and the job runs, after `weir submit` has ended: what shows them has a use only
// where the job is waited for.
void RefuseWithoutWait(const SubmitOptions& options) {
  struct ShownLater {
    bool given;
    const char* flag;
    const char* later;
  };
  const ShownLater flags[] = {
      {!options.pictures.gantt.empty(), "--gantt", "weir explain JOB-ID --gantt FILE"},
      {!options.pictures.trace.empty(), "--trace", "weir explain JOB-ID --trace FILE"},
      {options.verbose, "--verbose", "weir explain JOB-ID"},
      {options.progress_json, "--progress-json", "weir status JOB-ID --json"}};
  for (const auto& [given, flag, later] : flags) {
    if (!given || options.wait) continue;
    throw CLI::ValidationError(
        absl::StrCat(flag, " needs --wait: add it, or ask once the job has its plan: ", later));
  }
}

void AddSubmit(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<SubmitOptions> options;
  CLI::App& command = AddCommand(app, "submit", "Hand a job to a cluster and print its id",
                                 kRunGroup, take, options);
  AddJob(command, options->job, true);
  AddMaster(command, options->master);
  AddMasterGrace(command, options->grace);
  AddPictures(command, options->pictures);
  AddCount(command, "--priority", options->job.priority, -100, 100,
           "Jobs of higher ones leave the queue first, -100 to 100; ten minutes of waiting "
           "outweigh one step (default: 0)");
  command.add_flag(
      "--wait", options->wait,
      "Wait for the end, over restarts of the master too; Ctrl-C then cancels the job");
  AddJson(command, options->json);
  AddLoudness(command, *options);
  command.footer(
      "Examples:\n"
      "  weir submit wordcount /shared/books -o /shared/counts --master node1:7117\n"
      "  weir submit onebrc /shared/rows.txt -o /shared/means --wait\n"
      "Paths must mean the same on the master and on all workers. --gantt, --trace, -v\n"
      "and --progress-json need --wait; later 'weir explain' has the plan.");
  command.callback([options, take] {
    RefuseWithoutWait(*options);
    take(*options);
  });
}

void AddPlan(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<PlanOptions> options;
  CLI::App& command = AddCommand(app, "plan", "Plan a job and predict its time without running it",
                                 kRunGroup, take, options);
  AddJobHereOrThere(command, options, false, take);
  command.footer(
      "Examples:\n"
      "  weir plan wordcount /usr/share/common-licenses\n"
      "  weir plan wordcount books --workers 8 --reducers 4 --gantt plan.svg");
}

}  // namespace

std::string FlagsWithoutUse(const EmbeddedOptions& embedded, const MasterAddress& master) {
  if (embedded.typed.empty() || master.address.empty()) return "";
  return absl::StrCat(embedded.typed,
                      " is of the cluster inside this process; the job goes to the master ",
                      master.address, ", whose workers have their own. Leave out ", embedded.typed,
                      ", or leave out the master to run the job here");
}

void AddRunCommands(CLI::App& app, const TakeCommand& take) {
  AddRun(app, take);
  AddStreaming(app);
  AddHadoop(app, take);
  AddSubmit(app, take);
  AddPlan(app, take);
}

}  // namespace weir::client
