#include "runtime/client/flags/command_line.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/flags/command_flags.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/flags/streaming_words.h"
#include "runtime/client/flags/written_help.h"

namespace weir::client {
namespace {

constexpr char kDescription[] = "Weir runs MapReduce jobs whose data movement is planned.";
constexpr char kFooter[] =
    "Examples:\n"
    "  weir run wordcount books -o counts           count words with all cores here\n"
    "  weir plan wordcount books                    predict the time, run nothing\n"
    "  weir master & weir worker & weir worker &    a small cluster on this machine\n"
    "  weir submit wordcount /data -o /out --wait   run on it\n"
    "\n"
    "Data goes to stdout, progress and errors to stderr, always without colours; the\n"
    "progress bar is for terminals only. 'weir COMMAND --help' shows the flags of a\n"
    "command.\n"
    "Exit codes: 0 ok, 1 job failed or a check found something wrong, 2 wrong use,\n"
    "3 master out of reach, 4 refused (input that cannot be read, output that cannot\n"
    "be written, the state of the cluster, or a daemon that cannot start),\n"
    "5 cancelled, 6 deadline passed, 70 bug in weir, 130 interrupted.";

// What a terminal has that nobody has made wider.
constexpr std::size_t kHelpColumns = 80;

std::string WrappedText(const std::string& text, std::size_t columns) {
  std::string lines;
  std::size_t used = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!lines.empty()) {
      const bool fits = used + 1 + word.size() <= columns;
      lines.push_back(fits ? ' ' : '\n');
      used = fits ? used + 1 : 0;
    }
    lines.append(word.data(), word.size());
    used += word.size();
  }
  return lines;
}

// CLI11 leaves a sentence on one line, which terminals then break within words and put below the
// names of flags.
class WrappedHelp : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return WrappedText(option->get_description(), kHelpColumns - get_column_width());
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(
        out, command->get_display_name(true),
        WrappedText(command->get_description(), kHelpColumns - get_column_width()),
        get_column_width());
    return out.str();
  }
};

// Where an argument may be repeated, CLI11 takes "[a,b]" for a list of its own and never hands on
// the brackets of a glob; "++" is the end of a command to it. So these pass it behind this mark,
// which no word needs to be free of: one that begins with it gets a second.
constexpr char kMark = '\x01';

std::string Marked(const std::string& word) {
  const bool bracketed = word.size() > 1 && word.front() == '[' && word.back() == ']';
  const bool own = bracketed || word == "++";
  return own || absl::StartsWith(word, std::string(1, kMark)) ? kMark + word : word;
}

std::string Unmarked(const std::string& word) {
  return absl::StartsWith(word, std::string(1, kMark)) ? word.substr(1) : word;
}

// Before anything else looks at a value.
void UnmarkValues(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->transform(Unmarked);
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    UnmarkValues(*command);
  }
}

// Words that found no place, as they were typed.
std::vector<std::string> Unplaced(const CLI::App& app) {
  std::vector<std::string> words = app.remaining(true);
  for (std::string& word : words) word = Unmarked(word);
  return words;
}

std::unique_ptr<CLI::App> BuildTree(const TakeCommand& take) {
  auto app = std::make_unique<CLI::App>(kDescription, "weir");
  app->require_subcommand(1);
  app->footer(kFooter);
  app->formatter(std::make_shared<WrappedHelp>());  // of all commands, which are added after it
  app->set_help_flag("-h,--help", "Show this help");
  app->failure_message(CLI::FailureMessage::simple);
  AddRunCommands(*app, take);
  AddAskCommands(*app, take);
  AddClusterCommands(*app, take);
  AddLocalCommands(*app, take);
  UnmarkValues(*app);
  return app;
}

// CLI11 gives variables to the flags of all commands, and checks them there: a wrong $WEIR_MASTER
// would be refused by `weir verify`, which asks no master, and where --master is given. So flags
// have them once their command is named.
void TakeVariablesWhereNamed(CLI::App& app) {
  std::vector<std::pair<CLI::Option*, std::string>> variables;
  for (CLI::Option* option : app.get_options()) {
    if (option->get_envname().empty()) continue;
    variables.emplace_back(option, option->get_envname());
    option->envname("");
  }
  app.preparse_callback([variables = std::move(variables)](std::size_t) {
    for (const auto& [option, variable] : variables) option->envname(variable);
  });
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    TakeVariablesWhereNamed(*command);
  }
}

// The innermost command that was named.
const CLI::App* NamedCommand(const CLI::App* app, std::string& path) {
  path = "weir";
  while (true) {
    const auto named = app->get_subcommands();
    if (named.empty()) return app;
    app = named.front();
    absl::StrAppend(&path, " ", app->get_name());
  }
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    for (const auto& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// The word where a command should stand; empty when there is none or it is one.
std::string UnknownCommand(const CLI::App& app) {
  std::string path;
  const CLI::App* command = NamedCommand(&app, path);
  if (CommandNames(*command).empty()) return "";
  for (const std::string& word : Unplaced(app)) {
    if (!absl::StartsWith(word, "-")) return word;
  }
  return "";
}

// A program that asked for JSON reads JSON, whatever happened.
std::string MisuseAsJson(const std::vector<std::string>& words, absl::string_view message) {
  if (std::find(words.begin(), words.end(), "--json") == words.end()) return "";
  absl::ConsumePrefix(&message, "weir: ");
  absl::ConsumeSuffix(&message, "\n");
  const nlohmann::ordered_json document = {
      {"schema", 1}, {"error", {{"code", "INVALID_ARGUMENT"}, {"message", std::string(message)}}}};
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Of a value that was not typed, the variable that it came from: "WEIR_MASTER (--master): ...".
std::string WithVariable(const CLI::App& command, const std::string& message,
                         const std::vector<std::string>& words) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string& variable = option->get_envname();
    if (variable.empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      const std::string flag = "--" + name;
      if (!absl::StartsWith(message, flag + ":")) continue;
      const bool typed = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return word == flag || absl::StartsWith(word, flag + "=");
      });
      if (!typed) return absl::StrCat(variable, " (", flag, ")", message.substr(flag.size()));
    }
  }
  return message;
}

// What CLI11 could not place says more than its own message.
std::string DescribeMisuse(const CLI::App& app, const CLI::ParseError& error,
                           const std::vector<std::string>& words) {
  std::string path;
  const CLI::App* command = NamedCommand(&app, path);
  const std::vector<std::string> unplaced = Unplaced(app);
  const std::string see = absl::StrCat("\nSee '", path, " --help'.\n");
  for (const std::string& word : unplaced) {
    if (absl::StartsWith(word, "-") && word.size() > 1) {
      const std::string flag = word.substr(0, word.find('='));
      std::string hint = SuggestName(flag, FlagNames(*command));
      // No flag has a dot: a file, as a pattern of the shell finds it.
      if (hint.empty() && absl::StrContains(flag, '.')) {
        hint = absl::StrCat(" A file of this name is ./", word, ".");
      }
      return absl::StrCat("weir: ", path, " has no flag ", flag, ".", hint, see);
    }
  }
  if (!unplaced.empty()) {
    const auto commands = CommandNames(*command);
    if (!commands.empty()) {
      return absl::StrCat("weir: there is no command '", unplaced.front(), "'.",
                          SuggestName(unplaced.front(), commands), see);
    }
    return absl::StrCat("weir: ", path, " takes no argument '", unplaced.front(), "'.", see);
  }
  return absl::StrCat("weir: ", WithVariable(*command, error.what(), words), see);
}

// CLI11 joins name and checks of a value: "N:INT in [1 - 1024]", "NAME:{text,json}".
void DescribeValue(const std::string& type, FlagDescription& flag) {
  constexpr std::pair<std::string_view, std::string_view> kChecks[] = {
      {":INT in [", "]"}, {":UINT in [", "]"}, {":FLOAT in [", "]"}, {":{", "}"}, {":FILE", ""}};
  flag.value = type;
  for (const auto& [begin, end] : kChecks) {
    const std::size_t at = type.find(begin);
    if (at == std::string::npos) continue;
    flag.value = type.substr(0, at);
    flag.legal = type.substr(at + begin.size());
    flag.legal.resize(end.empty() ? 0 : std::min(flag.legal.size(), flag.legal.find(end)));
  }
}

FlagDescription DescribeFlag(const CLI::Option& option) {
  FlagDescription flag;
  for (const auto& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) flag.names.push_back("--" + name);
  flag.help = option.get_description();
  flag.takes_value = option.get_items_expected_max() > 0;
  if (flag.takes_value) DescribeValue(option.get_type_name(), flag);
  flag.environment = option.get_envname();
  flag.heading = option.get_group();
  flag.required = option.get_required();
  return flag;
}

ArgumentDescription DescribeArgument(const CLI::Option& option) {
  return {.name = option.get_name(),
          .help = option.get_description(),
          .required = option.get_required(),
          .repeated = option.get_items_expected_max() > 1};
}

std::vector<std::string> WordsOfFirst(const std::string& argument, const CLI::App& top,
                                      const std::vector<std::string>& job_names) {
  if (argument == "JOB") return job_names;
  if (argument == "SHELL") return {"bash", "zsh", "fish"};
  if (argument == "WHAT") return {"jobs", "workers", "metrics"};
  if (argument == "COMMAND") return CommandNames(top);
  return {};
}

// What has no heading is not for people: CLI11 leaves it out of the help.
CommandDescription DescribeCommand(const CLI::App& app, const CLI::App& top,
                                   const std::vector<std::string>& job_names) {
  CommandDescription command;
  command.name = app.get_name();
  command.help = app.get_description();
  command.footer = app.get_footer();
  command.heading = app.get_group();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (!option->get_positional()) {
      command.flags.push_back(DescribeFlag(*option));
      continue;
    }
    if (command.arguments.empty()) {
      command.first_argument = WordsOfFirst(option->get_name(), top, job_names);
    }
    command.arguments.push_back(DescribeArgument(*option));
  }
  for (const CLI::App* inner : app.get_subcommands({})) {
    if (inner->get_group().empty()) continue;
    command.commands.push_back(DescribeCommand(*inner, top, job_names));
  }
  return command;
}

// "weir help run" is "weir run --help".
std::vector<std::string> WithoutHelpWord(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "help") {
    std::rotate(words.begin(), words.begin() + 1, words.end());
    words.back() = "--help";
  }
  if (!words.empty() && (words.front() == "--version" || words.front() == "-V")) {
    words.front() = "version";
  }
  return words;
}

}  // namespace

// Its options are not of the form that CLI11 knows: they become flags of another command.
ParsedCommandLine ParseStreamingWords(absl::Span<const std::string> words, const PlaceOf& place_of,
                                      std::string* output) {
  ParsedCommandLine parsed;
  const absl::StatusOr<StreamingWords> read = ReadStreamingWords(words, place_of);
  if (!read.ok()) {
    parsed.err = absl::StrCat("weir: ", EscapeControlsInLines(std::string(read.status().message())),
                              "\nSee 'weir streaming -help'.\n");
    parsed.exit_code = kHadoopFailed;
    return parsed;
  }
  if (read->help) {
    parsed.out = StreamingHelp();
    return parsed;
  }
  if (output != nullptr) *output = read->output;
  parsed = ParseCommandLine(read->run);
  if (!parsed.command) {
    parsed.exit_code = kHadoopFailed;
    return parsed;
  }
  auto& run = std::get<RunOptions>(*parsed.command);
  // A word behind a flag of `weir run` that takes no value, as --quiet, was taken for an input.
  if (run.job.inputs.size() > read->num_inputs) {
    parsed.err = absl::StrCat("weir: weir streaming takes no argument '",
                              EscapeControlsInLines(run.job.inputs[read->num_inputs]),
                              "'; each belongs to an option\nSee 'weir streaming -help'.\n");
    parsed.command.reset();
    parsed.exit_code = kHadoopFailed;
    return parsed;
  }
  parsed.command = StreamingOptions{std::move(run), read->mark_success};
  return parsed;
}

ParsedCommandLine ParseCommandLine(const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == "streaming") {
    return ParseStreamingWords(absl::MakeConstSpan(words).subspan(1));
  }
  if (words.size() > 1 && words[0] == "help" && words[1] == "streaming") {
    return ParseStreamingWords(std::vector<std::string>{"-help"});
  }
  ParsedCommandLine parsed;
  const auto app = BuildTree([&parsed](Command command) { parsed.command = std::move(command); });
  TakeVariablesWhereNamed(*app);
  if (words.empty()) {
    parsed.err = app->help();
    parsed.exit_code = kExitUsage;
    return parsed;
  }
  std::vector<std::string> reversed = WithoutHelpWord(words);
  std::reverse(reversed.begin(), reversed.end());
  // Words behind `hadoop` are a call of their own, of which CLI11 reads nothing.
  if (reversed.back() != "hadoop") {
    for (std::string& word : reversed) word = Marked(word);
  }
  try {
    app->parse(std::move(reversed));
  } catch (const CLI::CallForHelp& help) {
    parsed.command.reset();
    if (UnknownCommand(*app).empty()) {
      parsed.out = app->help();
    } else {
      parsed.err = EscapeControlsInLines(DescribeMisuse(*app, help, words));
      parsed.exit_code = kExitUsage;
    }
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.command.reset();
    const std::string misuse = DescribeMisuse(*app, error, words);
    parsed.err = EscapeControlsInLines(misuse);
    parsed.out = MisuseAsJson(words, misuse);
    parsed.exit_code = kExitUsage;
    return parsed;
  }
  return parsed;
}

CommandTree DescribeCommandLine(const std::vector<std::string>& job_names) {
  const auto app = BuildTree([](Command) {});
  CommandTree tree = DescribeCommand(*app, *app, job_names);
  for (CommandDescription& command : tree.commands) {
    if (command.name == "streaming") DescribeWrittenHelp(StreamingHelp(), command);
  }
  return tree;
}

}  // namespace weir::client
