#include "runtime/client/flags/command_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/flags/streaming_words.h"
#include "runtime/client/flags/written_help.h"

namespace weir::client {
namespace {

using Words = std::vector<std::string>;

template <typename Options>
Options Parse(const Words& words) {
  const ParsedCommandLine parsed = ParseCommandLine(words);
  EXPECT_TRUE(parsed.command.has_value()) << parsed.err;
  if (!parsed.command || !std::holds_alternative<Options>(*parsed.command)) {
    ADD_FAILURE() << "another command: " << parsed.err;
    return Options();
  }
  return std::get<Options>(*parsed.command);
}

TEST(CommandLine, RunTakesJobInputsAndFlagsInAnyOrder) {
  const auto run =
      Parse<RunOptions>({"run", "wordcount", "a", "-o", "out", "b*", "--set", "top=3", "--set",
                         "sep=a=b", "--workers", "4", "--memory", "1.5GiB", "--deadline", "1h30m",
                         "--overwrite", "--json", "--end-with-stdin"});
  EXPECT_EQ(run.job.job, "wordcount");
  EXPECT_EQ(run.job.inputs, (Words{"a", "b*"}));
  EXPECT_EQ(run.job.output, "out");
  ASSERT_EQ(run.job.parameters.size(), 2u);
  EXPECT_EQ(run.job.parameters[1], (std::pair<std::string, std::string>("sep", "a=b")));
  EXPECT_EQ(run.embedded.workers, 4);
  EXPECT_EQ(run.embedded.memory_bytes, std::int64_t{3} << 29);
  EXPECT_EQ(run.job.deadline, absl::Minutes(90));
  EXPECT_TRUE(run.job.overwrite);
  EXPECT_TRUE(run.json);
  EXPECT_TRUE(run.end_with_stdin);
  EXPECT_TRUE(run.master.address.empty());
}

TEST(CommandLine, ReducersAreOneNumberOrOneALayer) {
  const auto one = Parse<RunOptions>({"run", "--reducers", "4", "weather", "a", "-o", "o"});
  EXPECT_EQ(one.job.reducers, std::vector<int>{4});
  EXPECT_EQ(one.job.inputs, Words{"a"});
  const auto two = Parse<RunOptions>({"run", "--reducers", "4,2", "weather", "a", "-o", "o"});
  EXPECT_EQ(two.job.reducers, (std::vector<int>{4, 2}));
}

TEST(CommandLine, NumbersAreDecimal) {
  const auto generate = [](const std::string& flag, const std::string& number) {
    return Words{"data", "generate", "terasort", "--records", "1", "-o", "o", flag, number};
  };
  EXPECT_EQ(Parse<GenerateDataOptions>(generate("--first", "01000000")).first_record, 1'000'000);
  EXPECT_EQ(Parse<GenerateDataOptions>(generate("--seed", "18446744073709551615")).seed,
            18446744073709551615ull);
  EXPECT_EQ(Parse<RunOptions>({"run", "wordcount", "a", "-o", "o", "--mappers", "010"}).job.mappers,
            10);
  EXPECT_EQ(Parse<CalibrateOptions>({"calibrate", "--seconds", "0100"}).seconds_max, 100);
  for (const char* const flag : {"--seed", "--first"}) {
    for (const char* const number :
         {"-1", "0x10", "1e3", "", "x", "123456789012345678901234567890"}) {
      const ParsedCommandLine parsed = ParseCommandLine(generate(flag, number));
      EXPECT_EQ(parsed.exit_code, kExitUsage) << flag << " " << number;
      EXPECT_NE(parsed.err.find(std::string(flag) + ": Value " + number + " not in range 0 to "),
                std::string::npos)
          << parsed.err;
    }
  }
  const auto streaming =
      Parse<StreamingOptions>({"streaming", "-input", "a", "-output", "o", "-mapper", "cat", "-D",
                               "mapreduce.job.maps=010"});
  EXPECT_EQ(streaming.run.job.mappers, 10);
}

TEST(CommandLine, GlobsInBracketsStayAsTheyAreTyped) {
  const Words globs = {"[ab]", "[a,b]", "[[x]]", "\x01[y]", "[]", "plain", "[0-9]*"};
  Words run = {"run", "wordcount", "-o", "[out]"}, validate = {"data", "validate", "terasort"};
  Words streaming = {"streaming", "-output", "o", "-mapper", "cat", "-input", "[ab]", "[c]"};
  run.insert(run.end(), globs.begin(), globs.end());
  validate.insert(validate.end(), globs.begin(), globs.end());
  EXPECT_EQ(Parse<RunOptions>(run).job.inputs, globs);
  EXPECT_EQ(Parse<RunOptions>(run).job.output, "[out]");
  EXPECT_EQ(Parse<ValidateDataOptions>(validate).paths, globs);
  EXPECT_EQ(Parse<StreamingOptions>(streaming).run.job.inputs, (Words{"[ab]", "[c]"}));
  EXPECT_EQ(Parse<HadoopOptions>({"hadoop", "fs", "-ls", "[ab]"}).words,
            (Words{"fs", "-ls", "[ab]"}));
  EXPECT_NE(ParseCommandLine({"status", "j-1", "[x]"}).err.find("takes no argument '[x]'"),
            std::string::npos);
  EXPECT_NE(ParseCommandLine({"[x]"}).err.find("no command '[x]'"), std::string::npos);
  EXPECT_NE(ParseCommandLine({"list", "[x]"}).err.find("[x]"), std::string::npos);
}

TEST(CommandLine, AFileMayBeNamedLikeAnOperator) {
  const auto run = Parse<RunOptions>({"run", "wordcount", "++", "a", "++", "-o", "++"});
  EXPECT_EQ(run.job.inputs, (Words{"++", "a", "++"}));
  EXPECT_EQ(run.job.output, "++");
  EXPECT_EQ(Parse<VerifyOptions>({"verify", "++"}).output, "++");
  EXPECT_EQ(Parse<HadoopOptions>({"hadoop", "fs", "-ls", "++"}).words, (Words{"fs", "-ls", "++"}));
  const auto streaming =
      Parse<StreamingOptions>({"streaming", "-input", "++", "-output", "o", "-mapper", "cat"});
  EXPECT_EQ(streaming.run.job.inputs, Words{"++"});
  EXPECT_NE(ParseCommandLine({"status", "j-1", "++"}).err.find("takes no argument '++'"),
            std::string::npos);
}

TEST(CommandLine, InputsMayBeNamedLikeCommands) {
  const auto run = Parse<RunOptions>({"run", "wordcount", "list", "jobs", "-o", "status"});
  EXPECT_EQ(run.job.inputs, (Words{"list", "jobs"}));
  EXPECT_EQ(run.job.output, "status");
}

TEST(CommandLine, MasterComesFromFlagThenEnvironmentThenDefault) {
  unsetenv("WEIR_MASTER");
  EXPECT_EQ(Parse<StatusOptions>({"status", "j-1"}).master.address, "127.0.0.1:7117");
  setenv("WEIR_MASTER", "node1:1", 1);
  EXPECT_EQ(Parse<StatusOptions>({"status", "j-1"}).master.address, "node1:1");
  EXPECT_EQ(Parse<StatusOptions>({"status", "j-1", "--master", "node2:2"}).master.address,
            "node2:2");
  // Whoever runs a job without a master means this machine.
  EXPECT_EQ(Parse<RunOptions>({"run", "wordcount", "a", "-o", "o"}).master.address, "");
  unsetenv("WEIR_MASTER");
}

TEST(CommandLine, AMasterThatIsNoAddressIsRefusedWhereverItIsGiven) {
  const std::vector<Words> commands = {{"list", "jobs"},
                                       {"worker"},
                                       {"calibrate"},
                                       {"run", "wordcount", "a", "-o", "o"},
                                       {"submit", "wordcount", "a", "-o", "o"}};
  for (Words words : commands) {
    words.insert(words.end(), {"--master", "node1:72653"});
    const ParsedCommandLine parsed = ParseCommandLine(words);
    EXPECT_EQ(parsed.exit_code, kExitUsage) << words[0];
    EXPECT_NE(parsed.err.find("'node1:72653' is no address of a master"), std::string::npos)
        << parsed.err;
  }
  setenv("WEIR_MASTER", "node1", 1);
  const ParsedCommandLine unset = ParseCommandLine({"status", "j-1"});
  EXPECT_EQ(unset.exit_code, kExitUsage) << "never another one";
  EXPECT_TRUE(unset.err.starts_with("weir: WEIR_MASTER (--master): 'node1' is no")) << unset.err;
  for (const Words& typed : {Words{"--master", "node2"}, {"--master=node2"}}) {
    Words words = {"status", "j-1"};
    words.insert(words.end(), typed.begin(), typed.end());
    const std::string err = ParseCommandLine(words).err;
    EXPECT_TRUE(err.starts_with("weir: --master: 'node2' is no")) << err;
  }
  unsetenv("WEIR_MASTER");
}

TEST(CommandLine, AVariableCountsOnlyForTheCommandThatReadsIt) {
  setenv("WEIR_MASTER", "node1", 1);
  EXPECT_EQ(Parse<StatusOptions>({"status", "j-1", "--master", "node2:7117"}).master.address,
            "node2:7117");
  const ParsedCommandLine verify = ParseCommandLine({"verify", "out"});
  EXPECT_TRUE(verify.command) << verify.err;
  unsetenv("WEIR_MASTER");
}

TEST(CommandLine, FlagsOfTheClusterInsideAreRefusedBesideAMaster) {
  const std::vector<Words> commands = {
      {"run", "wordcount", "a", "-o", "o"},
      {"plan", "wordcount", "a"},
      {"streaming", "-input", "a", "-output", "o", "-mapper", "cat"}};
  const std::vector<Words> flags = {{"--workers", "2"},
                                    {"--slots", "2"},
                                    {"--memory=1GiB"},
                                    {"--work-dir", "/d"},
                                    {"--no-history"}};
  for (const Words& command : commands) {
    for (const Words& flag : flags) {
      Words words = command;
      words.insert(words.end(), flag.begin(), flag.end());
      EXPECT_TRUE(ParseCommandLine(words).command.has_value()) << command[0] << " " << flag[0];
      words.insert(words.end(), {"--master", "node1:1"});
      const ParsedCommandLine parsed = ParseCommandLine(words);
      EXPECT_FALSE(parsed.command.has_value()) << command[0] << " " << flag[0];
      const int code = command[0] == "streaming" ? int{kHadoopFailed} : int{kExitUsage};
      EXPECT_EQ(parsed.exit_code, code);
      const std::string name = flag[0].substr(0, flag[0].find('='));
      EXPECT_NE(parsed.err.find("weir: " + name + " is of the cluster inside this process"),
                std::string::npos)
          << parsed.err;
      EXPECT_NE(parsed.err.find("node1:1"), std::string::npos) << parsed.err;
    }
  }
  // What the machine says of itself is no flag.
  setenv("WEIR_WORK_DIR", "/d", 1);
  const auto run = Parse<RunOptions>({"run", "wordcount", "a", "-o", "o", "--master", "node1:1"});
  EXPECT_EQ(run.master.address, "node1:1");
  unsetenv("WEIR_WORK_DIR");
}

TEST(CommandLine, WhatShowsAJobThatRunsNeedsItToBeWaitedFor) {
  const std::vector<std::pair<Words, std::string>> flags = {
      {{"--gantt", "g.svg"},
       "--gantt needs --wait: add it, or ask once the job has its plan: weir "
       "explain JOB-ID --gantt FILE"},
      {{"--trace", "t.json"}, "weir explain JOB-ID --trace FILE"},
      {{"-v"}, "--verbose needs --wait"},
      {{"--progress-json"}, "weir status JOB-ID --json"}};
  for (const auto& [flag, says] : flags) {
    Words words = {"submit", "wordcount", "a", "-o", "o"};
    words.insert(words.end(), flag.begin(), flag.end());
    const ParsedCommandLine parsed = ParseCommandLine(words);
    EXPECT_EQ(parsed.exit_code, kExitUsage) << flag[0];
    EXPECT_FALSE(parsed.command.has_value()) << flag[0];
    EXPECT_NE(parsed.err.find(says), std::string::npos) << parsed.err;
    words.push_back("--wait");
    EXPECT_TRUE(ParseCommandLine(words).command.has_value()) << flag[0];
  }
  Parse<SubmitOptions>({"submit", "wordcount", "a", "-o", "o", "-q"});
}

TEST(CommandLine, AComputeRateIsANumber) {
  EXPECT_EQ(Parse<WorkerDaemonOptions>({"worker", "--compute-rate", "2.5"}).compute_rate, 2.5);
  for (const char* rate : {"nan", "-nan", "NaN", "inf", "0", "x"}) {
    EXPECT_EQ(ParseCommandLine({"worker", "--compute-rate", rate}).exit_code, kExitUsage) << rate;
  }
}

TEST(CommandLine, AWorkerIsToldWhatItsMachineIs) {
  const auto told =
      Parse<WorkerDaemonOptions>({"worker", "--disk-write-rate", "200MB/s", "--disk-read-rate",
                                  "1.5GB/s", "--task-start", "40ms"});
  EXPECT_EQ(told.disk_write_bytes_per_s, 2e8);
  EXPECT_EQ(told.disk_read_bytes_per_s, 1.5e9);
  EXPECT_EQ(told.task_start, absl::Milliseconds(40));
  EXPECT_EQ(Parse<WorkerDaemonOptions>({"worker"}).task_start, absl::ZeroDuration());
  for (const char* start : {"0s", "11m", "40"}) {
    EXPECT_EQ(ParseCommandLine({"worker", "--task-start", start}).exit_code, kExitUsage) << start;
  }
  EXPECT_EQ(ParseCommandLine({"worker", "--disk-read-rate", "200MB"}).exit_code, kExitUsage);
}

TEST(CommandLine, AWorkerIsAdvertisedByOneHost) {
  const auto advertised = [](const std::string& host) {
    return Parse<WorkerDaemonOptions>({"worker", "--advertise", host}).advertise;
  };
  EXPECT_EQ(advertised("node1"), "node1");
  EXPECT_EQ(advertised("10.0.0.1 "), "10.0.0.1") << "as hostname -I writes it";
  EXPECT_EQ(advertised("::1"), "[::1]") << "a port follows";
  EXPECT_EQ(advertised("[2001:db8::7]"), "[2001:db8::7]");
  EXPECT_EQ(advertised("fe80::1%eth0"), "[fe80::1%eth0]");
}

TEST(CommandLine, EveryCommandIsKnown) {
  Parse<SubmitOptions>({"submit", "wordcount", "a", "-o", "o", "--wait"});
  Parse<PlanOptions>({"plan", "wordcount", "a", "--gantt", "g.svg"});
  Parse<WatchOptions>({"watch", "j-1"});
  EXPECT_EQ(Parse<ListOptions>({"list"}).what, ListOptions::What::kJobs);
  EXPECT_EQ(Parse<ListOptions>({"list", "workers"}).what, ListOptions::What::kWorkers);
  EXPECT_EQ(Parse<ListOptions>({"list", "metrics"}).what, ListOptions::What::kMetrics);
  EXPECT_EQ(Parse<ListOptions>({"list", "--state", "failed"}).state, "failed");
  EXPECT_EQ(Parse<CancelOptions>({"cancel", "j-1", "--reason", "x y"}).reason, "x y");
  Parse<LogsOptions>({"logs", "j-1"});
  Parse<ExplainOptions>({"explain", "j-1", "--trace", "t.json"});
  EXPECT_EQ(Parse<JobsOptions>({"jobs", "wordcount"}).job, "wordcount");
  EXPECT_EQ(Parse<PlannerOptions>({"planner", "tree", "--instance", "f", "--json"}).kind,
            PlannerOptions::Kind::kTree);
  EXPECT_EQ(Parse<PlannerOptions>({"planner", "tree", "--instance", "f", "--plan", "p"}).plan_file,
            "p");
  EXPECT_EQ(Parse<PlannerOptions>({"planner", "load", "--instance", "f"}).instance_file, "f");
  Parse<VerifyOptions>({"verify", "out"});
  EXPECT_EQ(Parse<CompletionOptions>({"completion", "fish"}).shell,
            CompletionOptions::Shell::kFish);
  Parse<VersionOptions>({"version", "--json"});
  Parse<VersionOptions>({"--version"});
  const auto master = Parse<MasterDaemonOptions>(
      {"master", "--channel-rate", "1Gbit/s", "--bisection-channels", "4", "--latency", "2ms"});
  EXPECT_EQ(master.channel_bytes_per_s, 125e6);
  EXPECT_EQ(master.bisection_channels, 4);
  EXPECT_EQ(master.running_jobs_max, 0);
  EXPECT_EQ(Parse<MasterDaemonOptions>({"master", "--max-running-jobs", "1"}).running_jobs_max, 1);
  EXPECT_EQ(Parse<SubmitOptions>({"submit", "--priority", "-3", "wordcount", "a", "-o", "o"})
                .job.priority,
            -3);
  EXPECT_LT(master.pacing_fraction, 0);
  EXPECT_LT(master.look_ahead_bytes, 0);
  const auto wire =
      Parse<MasterDaemonOptions>({"master", "--pacing-fraction", "0", "--look-ahead", "16KiB"});
  EXPECT_EQ(wire.pacing_fraction, 0);
  EXPECT_EQ(wire.look_ahead_bytes, 16384);
  EXPECT_EQ(master.worker_grace, absl::InfiniteDuration());
  EXPECT_EQ(Parse<MasterDaemonOptions>({"master", "--worker-grace", "5s"}).worker_grace,
            absl::Seconds(5));
  EXPECT_EQ(master.latency, absl::Milliseconds(2));
  EXPECT_EQ(master.listen, "127.0.0.1:7117");
  EXPECT_EQ(Parse<WorkerDaemonOptions>({"worker", "--slots", "3"}).slots, 3);
}

struct Misuse {
  Words words;
  std::string says;
};

TEST(CommandLine, EveryMisuseExitsWithTwoAndSaysWhatIsWrong) {
  const Words run = {"run", "wordcount", "a", "-o", "o"};
  const auto with = [&run](const Words& more) {
    Words words = run;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<Misuse> misuses = {
      {{}, "Usage"},
      {{"rnu", "wordcount"}, "Did you mean 'run'?"},
      {{"frobnicate"}, "there is no command 'frobnicate'"},
      {{"run"}, "JOB"},
      {{"run", "wordcount"}, "INPUT"},
      {{"run", "wordcount", "a"}, "--output"},
      {with({"--overwrte"}), "Did you mean '--overwrite'?"},
      {with({"--wrkers", "2"}), "Did you mean '--workers'?"},
      {with({"--overwrte=1"}), "--overwrte"},
      {with({"--workers", "0"}), "--workers"},
      {with({"--workers", "-3"}), "--workers"},
      {with({"--workers", "x"}), "--workers"},
      {with({"--mappers", "-1"}), "--mappers"},
      {with({"--reducers", "10001"}), "--reducers"},
      {with({"--reducers", "2,0"}), "--reducers"},
      {with({"--reducers", "2,x"}), "--reducers"},
      {with({"--reducers", "2,,3"}), "--reducers"},
      {with({"--reducers", ""}), "--reducers"},
      {with({"--set", "top"}), "'top' is not NAME=VALUE"},
      {with({"--set", "=3"}), "is not NAME=VALUE"},
      {with({"--memory", "lots"}), "64MiB"},
      {with({"--deadline", "30"}), "30s"},
      {with({"--deadline", "-3s"}), "30s"},
      {with({"--deadline", "0s"}), "legal are 1ms to 8784h"},
      {with({"--deadline", "1us"}), "legal are 1ms to 8784h"},
      {with({"--deadline", "99999h"}), "legal are 1ms to 8784h"},
      {with({"--deadline", "inf"}), "legal are 1ms to 8784h"},
      {{"master", "--latency", "-1ms"}, "legal are 0 to 1m"},
      {{"master", "--latency", "5h"}, "legal are 0 to 1m"},
      {{"calibrate", "--seconds", "0"}, "--seconds"},
      {{"calibrate", "--seconds", "-5"}, "--seconds"},
      {with({"--mappers", "20000"}), "10000"},
      {with({"-dash.txt"}), "has no flag -dash.txt. A file of this name is ./-dash.txt.\n"},
      {{"nosuch", "--help"}, "there is no command 'nosuch'"},
      {{"rnu", "--help"}, "Did you mean 'run'?"},
      {{"help", "rnu"}, "Did you mean 'run'?"},
      {{"planner", "laod", "--help"}, "Did you mean 'load'?"},
      {with({"--tls-cert", "c.pem"}), "--tls-key"},
      {{"status"}, "JOB-ID"},
      {{"status", "j-1", "j-2"}, "takes no argument 'j-2'"},
      {{"list", "masters"}, "masters"},
      {{"list", "jobs", "--state", "done"}, "done"},
      {{"completion", "tcsh"}, "tcsh"},
      {{"planner"}, "See 'weir planner --help'"},
      {{"planner", "laod"}, "Did you mean 'load'?"},
      {{"planner", "load"}, "--instance"},
      {{"master", "--channel-rate", "fast"}, "1Gbit/s"},
      {{"master", "--bisection-channels", "0"}, "--bisection-channels"},
      {{"worker", "--log-level", "loud"}, "loud"},
      {{"list", "workers", "--alive", ""}, "--alive: an empty name"},
      {{"worker", "--advertise", "10.0.0.1 172.17.0.1"}, "more than one host"},
      {{"worker", "--advertise", "node1:41061"}, "a port belongs to --listen"},
      {{"worker", "--advertise", "[::1"}, "neither a name nor an address"},
      {{"worker", "--advertise", "[::1]:41061"}, "neither a name nor an address"},
  };
  for (const Misuse& misuse : misuses) {
    const ParsedCommandLine parsed = ParseCommandLine(misuse.words);
    EXPECT_FALSE(parsed.command.has_value());
    EXPECT_EQ(parsed.exit_code, kExitUsage);
    EXPECT_TRUE(parsed.out.empty());
    EXPECT_NE(parsed.err.find(misuse.says), std::string::npos)
        << "wanted: " << misuse.says << "\ngot: " << parsed.err;
  }
}

TEST(CommandLine, AMisuseIsJsonWhereJsonWasAskedFor) {
  const ParsedCommandLine parsed = ParseCommandLine({"run", "wordcount", "--json"});
  EXPECT_EQ(parsed.exit_code, kExitUsage);
  const auto document = nlohmann::json::parse(parsed.out);
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ("weir: " + document["error"]["message"].get<std::string>() + "\n", parsed.err);
}

TEST(CommandLine, AMisuseDoesNotSteerTheTerminal) {
  for (const Words& words : {Words{"\033[2J"}, Words{"list", "\033[2J"}, Words{"run", "--\033[2J"},
                             Words{"streaming", "-\033[2J"}, Words{"help", "\033[2J"}}) {
    const ParsedCommandLine parsed = ParseCommandLine(words);
    EXPECT_NE(parsed.exit_code, 0) << words.back();
    EXPECT_EQ(parsed.err.find('\033'), std::string::npos);
    EXPECT_NE(parsed.err.find("\\033[2J"), std::string::npos) << parsed.err;
  }
}

TEST(CommandLine, HelpGoesToStdoutForEveryCommand) {
  const CommandTree tree = DescribeCommandLine({});
  ASSERT_GE(tree.commands.size(), 16u);
  for (const CommandDescription& command : tree.commands) {
    for (const Words& words : {Words{command.name, "--help"}, Words{"help", command.name}}) {
      const ParsedCommandLine parsed = ParseCommandLine(words);
      EXPECT_FALSE(parsed.command.has_value()) << command.name;
      EXPECT_EQ(parsed.exit_code, 0);
      EXPECT_TRUE(parsed.err.empty());
      EXPECT_NE(parsed.out.find(command.help), std::string::npos) << parsed.out;
      EXPECT_NE(parsed.out.find("Examples:\n  "), std::string::npos) << command.name;
    }
  }
  EXPECT_NE(ParseCommandLine({"--help"}).out.find("Exit codes"), std::string::npos);
  EXPECT_EQ(ParseCommandLine({"version", "--help"}).out.find("weir run"), std::string::npos)
      << "its examples are its own";
}

TEST(CommandLine, SentencesOfHelpAreWrappedForATerminal) {
  std::vector<Words> all = {Words()};
  for (const CommandDescription& command : DescribeCommandLine({}).commands) {
    if (command.name == "streaming") continue;  // written by hand
    all.push_back({command.name});
    for (const CommandDescription& inner : command.commands) {
      all.push_back({command.name, inner.name});
    }
  }
  for (Words words : all) {
    words.push_back("--help");
    const std::string help = ParseCommandLine(words).out;
    // Examples are as long as they are.
    const std::string flags = help.substr(0, help.find("Examples:"));
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(flags, '\n'))) {
      if (!absl::StartsWith(line, "  ")) continue;
      EXPECT_LE(line.size(), 80U) << words.front() << ": " << line;
    }
  }
  const std::string run = ParseCommandLine({"run", "--help"}).out;
  EXPECT_NE(run.find("\n                              "), std::string::npos);
  EXPECT_NE(run.find("--set NAME=VALUE ...        Parameter of the job, NAME=VALUE; may be"),
            std::string::npos)
      << run;
}

TEST(CommandLine, WhatIsWrittenByHandIsAsNarrow) {
  const CommandTree tree = DescribeCommandLine({});
  std::vector<std::pair<std::string, std::string>> written = {{"weir", tree.footer},
                                                              {"streaming", StreamingHelp()}};
  for (const CommandDescription& command : tree.commands) {
    written.emplace_back(command.name, command.footer);
    for (const CommandDescription& inner : command.commands) {
      written.emplace_back(command.name + " " + inner.name, inner.footer);
    }
  }
  for (const auto& [name, text] : written) {
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      EXPECT_LE(line.size(), 80U) << name << ": " << line;
    }
  }
}

TEST(CommandLine, AHelpWrittenByHandIsDataToo) {
  CommandDescription command;
  DescribeWrittenHelp(
      "Does it\nUsage: weir it -in PATH... -out DIR [-more CMD]\n\n"
      "  -in PATH...   what to read;\n"
      "                several too\n"
      "  -more CMD     does more\n"
      "  -v            says more\n\n"
      "Last words.\n\nExamples:\n  weir it",
      command);
  ASSERT_EQ(command.flags.size(), 3U);
  EXPECT_EQ(command.flags[0].names, Words{"-in"});
  EXPECT_EQ(command.flags[0].value, "PATH...");
  EXPECT_EQ(command.flags[0].help, "what to read; several too");
  EXPECT_TRUE(command.flags[0].required);
  EXPECT_TRUE(command.flags[1].takes_value);
  EXPECT_FALSE(command.flags[1].required);
  EXPECT_EQ(command.flags[2].names, Words{"-v"});
  EXPECT_FALSE(command.flags[2].takes_value);
  EXPECT_EQ(command.flags[2].help, "says more");
  EXPECT_EQ(command.footer, "Last words.\n\nExamples:\n  weir it\n");
}

}  // namespace
}  // namespace weir::client
