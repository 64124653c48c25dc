#include "runtime/client/flags/streaming_words.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/nearest_name.h"
#include "runtime/client/flags/shipped_path.h"

namespace weir::client {
namespace {

// Commas part paths, but not the alternatives of a glob: "a,b{1,2}" is two.
std::vector<std::string> SplitPaths(std::string_view text) {
  std::vector<std::string> paths(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '{') ++depth;
    if (c == '}') depth = std::max(0, depth - 1);
    if (c == ',' && depth == 0) {
      paths.emplace_back();
    } else {
      paths.back().push_back(c);
    }
  }
  std::erase(paths, "");
  return paths;
}

enum class Takes { kNothing, kOne, kMany };

struct HadoopOption {
  std::string_view name;
  Takes takes;
  /// Empty: Weir has it. Else why not.
  std::string_view refused;
};

constexpr std::string_view kNoJava = "Weir runs no Java classes";
constexpr std::string_view kOneSystem =
    "Weir reads the file system of its workers; choose a cluster by --master HOST:PORT";

constexpr HadoopOption kOptions[] = {
    {"input", Takes::kMany, ""},
    {"output", Takes::kOne, ""},
    {"mapper", Takes::kOne, ""},
    {"combiner", Takes::kOne, ""},
    {"reducer", Takes::kOne, ""},
    {"file", Takes::kMany, ""},
    {"files", Takes::kOne, ""},
    {"archives", Takes::kOne, ""},
    {"cacheFile", Takes::kMany, ""},
    {"cacheArchive", Takes::kMany, ""},
    {"D", Takes::kOne, ""},
    {"jobconf", Takes::kOne, ""},
    {"cmdenv", Takes::kOne, ""},
    {"numReduceTasks", Takes::kOne, ""},
    {"partitioner", Takes::kOne, ""},
    {"inputformat", Takes::kOne, ""},
    {"outputformat", Takes::kOne, ""},
    {"io", Takes::kOne, ""},
    {"verbose", Takes::kNothing, ""},
    {"help", Takes::kNothing, ""},
    {"info", Takes::kNothing, ""},
    {"lazyOutput", Takes::kNothing, "every reducer of Weir makes its part, also an empty one"},
    {"background", Takes::kNothing, "use 'weir submit stream' and 'weir watch'"},
    {"debug", Takes::kNothing, "'weir logs' has what the scripts wrote to stderr"},
    {"inputreader", Takes::kOne, kNoJava},
    {"mapdebug", Takes::kOne, "errors name place and last lines of stderr themselves"},
    {"reducedebug", Takes::kOne, "errors name place and last lines of stderr themselves"},
    {"libjars", Takes::kOne, kNoJava},
    {"conf", Takes::kOne, "give properties by -D NAME=VALUE"},
    {"additionalconfspec", Takes::kOne, "give properties by -D NAME=VALUE"},
    {"fs", Takes::kOne, kOneSystem},
    {"dfs", Takes::kOne, kOneSystem},
    {"jt", Takes::kOne, kOneSystem},
};

absl::Status Wrong(const std::string& why) { return absl::InvalidArgumentError(why); }

std::string ClassName(const std::string& name) {
  return name.starts_with("org.apache.hadoop.") ? name.substr(name.rfind('.') + 1) : name;
}

std::string Escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
    } else {
      if (c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

// The first word of a command and what stands behind it, as the command will be split where it runs
// (jobs/stream/contract/command_words.h).
std::pair<std::string, std::string> FirstWord(const std::string& command) {
  const std::size_t begin = std::min(command.find_first_not_of(' '), command.size());
  const bool quoted = begin < command.size() && (command[begin] == '\'' || command[begin] == '"');
  const std::size_t from = begin + (quoted ? 1 : 0);
  const std::size_t end =
      std::min(quoted ? command.find(command[begin], from) : command.find_first_of(" '\"", from),
               command.size());
  const std::size_t behind = std::min(end + (quoted ? 1 : 0), command.size());
  return {command.substr(from, end - from), command.substr(behind)};
}

class Reading {
 public:
  explicit Reading(const PlaceOf& place_of) : place_of_(place_of) {}

  absl::StatusOr<StreamingWords> Read(absl::Span<const std::string> words) {
    for (std::size_t at = 0; at < words.size();) {
      absl::Status read = ReadOne(words, at);
      if (!read.ok()) return read;
      if (result_.help) return result_;
    }
    if (absl::Status complete = CheckComplete(); !complete.ok()) return complete;
    if (absl::Status written = WriteRun(); !written.ok()) return written;
    return result_;
  }

 private:
  // Reads the option at `at` with its values and moves behind them.
  absl::Status ReadOne(absl::Span<const std::string> words, std::size_t& at) {
    const std::string& word = words[at];
    if (word.starts_with("--")) return PassOn(words, at);
    if (!word.starts_with("-") || word.size() == 1) {
      return Wrong(
          absl::StrCat("weir streaming takes no argument '", word, "'; each belongs to an option"));
    }
    std::string name = word.substr(1);
    ++at;
    // -Dname=value, as Java programs take it too.
    if (name.starts_with("D") && name.find('=') != std::string::npos) {
      return Take("D", {name.substr(1)});
    }
    const auto known = std::find_if(std::begin(kOptions), std::end(kOptions),
                                    [&name](const HadoopOption& o) { return o.name == name; });
    if (known == std::end(kOptions)) return Unknown(name);
    if (!known->refused.empty()) {
      return Wrong(
          absl::StrCat("weir streaming has no -", name, ": ", std::string(known->refused)));
    }
    std::vector<std::string> values;
    if (known->takes != Takes::kNothing) {
      if (at == words.size()) return Wrong(absl::StrCat("-", name, " needs a value"));
      values.push_back(words[at++]);
    }
    while (known->takes == Takes::kMany && at < words.size() && !words[at].starts_with("-")) {
      values.push_back(words[at++]);
    }
    return Take(name, values);
  }

  static absl::Status Unknown(const std::string& name) {
    std::vector<std::string> names;
    for (const HadoopOption& option : kOptions)
      names.push_back(absl::StrCat("-", std::string(option.name)));
    return Wrong(absl::StrCat("weir streaming has no option -", name, ".",
                              SuggestName(absl::StrCat("-", name), names)));
  }

  // A flag of `weir run`; the word behind it is its value unless it is an option.
  absl::Status PassOn(absl::Span<const std::string> words, std::size_t& at) {
    if (words[at] == "--help") result_.help = true;
    passed_.push_back(words[at++]);
    if (passed_.back().find('=') == std::string::npos && at < words.size() &&
        !words[at].starts_with("-")) {
      passed_.push_back(words[at++]);
    }
    return absl::OkStatus();
  }

  absl::Status Take(const std::string& name, const std::vector<std::string>& values) {
    if (name == "help" || name == "info") {
      result_.help = true;
    } else if (name == "verbose") {
      passed_.push_back("--verbose");
    } else if (name == "input") {
      for (const std::string& value : values) {
        for (const std::string& path : SplitPaths(value)) {
          absl::StatusOr<std::string> place = place_of_(path);
          if (!place.ok()) return place.status();
          // A name, not a flag of `weir run`.
          inputs_.push_back(place->starts_with('-') ? absl::StrCat("./", *place)
                                                    : *std::move(place));
        }
      }
    } else if (name == "file" || name == "files" || name == "cacheFile" || name == "archives" ||
               name == "cacheArchive") {
      for (const std::string& value : values) {
        if (absl::Status taken = TakeFiles(name, value); !taken.ok()) return taken;
      }
    } else if (name == "D" || name == "jobconf") {
      return TakePair(name, values[0], properties_);
    } else if (name == "cmdenv") {
      return TakePair(name, values[0], cmdenv_);
    } else if (name == "inputformat") {
      return TakeInputFormat(values[0]);
    } else if (name == "outputformat") {
      if (ClassName(values[0]) != "TextOutputFormat") {
        return Wrong(
            absl::StrCat("-outputformat ", values[0], ": Weir writes TextOutputFormat only"));
      }
    } else if (name == "io") {
      if (values[0] != "text") {
        return Wrong(absl::StrCat("-io ", values[0], ": Weir talks to scripts in text only"));
      }
    } else if (!once_.emplace(name, values[0]).second) {
      return Wrong(absl::StrCat("-", name, " is given twice"));
    }
    return absl::OkStatus();
  }

  // PATH or PATH#NAME, several by commas.
  absl::Status TakeFiles(const std::string& option, const std::string& paths) {
    const bool unpack = option == "archives" || option == "cacheArchive";
    // Without a scheme these two mean the file system of the cluster, the others the caller's.
    const bool of_cluster = option == "cacheFile" || option == "cacheArchive";
    for (const std::string& whole :
         std::vector<std::string>(absl::StrSplit(paths, ',', absl::SkipEmpty()))) {
      absl::StatusOr<ShippedPath> file = ReadShippedPath(whole, unpack);
      if (!file.ok()) {
        return Wrong(absl::StrCat("-", option, ": ", std::string(file.status().message())));
      }
      const bool is_local = !of_cluster && file->path.find(":/") == std::string::npos;
      absl::StatusOr<std::string> place =
          is_local ? PlaceWithoutScheme(file->path) : place_of_(file->path);
      if (!place.ok()) return place.status();
      file->path = *std::move(place);
      files_.push_back(*std::move(file));
    }
    return absl::OkStatus();
  }

  // A command that begins with a file which is shipped means the one that arrives.
  std::string Command(const std::string& command) const {
    const auto [program, behind] = FirstWord(command);
    for (const ShippedPath& file : files_) {
      if (program.find('/') != std::string::npos && !file.unpack &&
          std::filesystem::path(program).lexically_normal() ==
              std::filesystem::path(file.path).lexically_normal()) {
        // Blanks and quotes in the name are kept within the word; one with both kinds of quotes
        // cannot be written, and is no script's.
        const bool plain = file.name.find_first_of(" '\"") == std::string::npos;
        const char* const quote = plain                                      ? ""
                                  : file.name.find('"') == std::string::npos ? "\""
                                                                             : "'";
        const char* const gap = behind.empty() || behind.starts_with(' ') ? "" : " ";
        return absl::StrCat(quote, file.name, quote, gap, behind);
      }
    }
    return command;
  }

  static absl::Status TakePair(const std::string& option, const std::string& value,
                               std::vector<std::pair<std::string, std::string>>& pairs) {
    const std::size_t equals = value.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Wrong(absl::StrCat("-", option, " '", value, "' is not NAME=VALUE"));
    }
    pairs.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    return absl::OkStatus();
  }

  absl::Status TakeInputFormat(const std::string& format) {
    if (ClassName(format) == "KeyValueTextInputFormat") {
      input_format_ = "key-value";
    } else if (ClassName(format) == "NLineInputFormat") {
      input_format_ = "n-lines";
    } else if (ClassName(format) != "TextInputFormat") {
      return Wrong(
          absl::StrCat("-inputformat ", format,
                       ": Weir has TextInputFormat, KeyValueTextInputFormat and NLineInputFormat"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckComplete() const {
    if (inputs_.empty()) return Wrong("weir streaming needs -input PATH");
    for (const char* const name : {"output", "mapper"}) {
      if (!once_.contains(name)) return Wrong(absl::StrCat("weir streaming needs -", name));
    }
    return absl::OkStatus();
  }

  // The last value of a property under any of its names; null where none was given.
  const std::string* Property(std::initializer_list<std::string_view> names) const {
    const std::string* last = nullptr;
    for (const auto& [name, value] : properties_) {
      if (std::find(names.begin(), names.end(), name) != names.end()) last = &value;
    }
    return last;
  }

  const std::string* Once(const std::string& name) const {
    const auto found = once_.find(name);
    return found == once_.end() ? nullptr : &found->second;
  }

  absl::Status WriteRun() {
    std::vector<std::string>& run = result_.run;
    run = {"run", "stream"};
    run.insert(run.end(), inputs_.begin(), inputs_.end());
    result_.num_inputs = inputs_.size();
    result_.output = *Once("output");
    absl::StatusOr<std::string> output = place_of_(result_.output);
    if (!output.ok()) return output.status();
    run.insert(run.end(), {"-o", *std::move(output)});
    const auto set = [&run](const std::string& name, const std::string& value) {
      run.insert(run.end(), {"--set", absl::StrCat(name, "=", value)});
    };
    for (const char* const name : {"mapper", "combiner"}) {
      if (Once(name) != nullptr) set(name, Command(*Once(name)));
    }
    if (absl::Status reducers = WriteReducers(); !reducers.ok()) return reducers;
    const std::string* maps = Property({"mapreduce.job.maps", "mapred.map.tasks"});
    if (maps != nullptr) run.insert(run.end(), {"--mappers", *maps});
    if (const std::string* partitioner = Once("partitioner")) {
      properties_.emplace_back("mapreduce.job.partitioner.class", *partitioner);
    }
    if (!input_format_.empty()) set("input_format", input_format_);
    for (const ShippedPath& file : files_) {
      run.insert(run.end(),
                 {file.unpack ? "--archive" : "--file", absl::StrCat(file.path, "#", file.name)});
    }
    const std::string* marks = Property({"mapreduce.fileoutputcommitter.marksuccessfuljobs"});
    result_.mark_success = marks == nullptr || *marks != "false";
    for (const auto& [parameter, pairs] :
         {std::pair("properties", &properties_), std::pair("cmdenv", &cmdenv_)}) {
      std::string lines;
      for (const auto& [name, value] : *pairs) {
        absl::StrAppend(&lines, name, "=", Escaped(value), "\n");
      }
      if (!lines.empty()) set(parameter, lines);
    }
    run.insert(run.end(), passed_.begin(), passed_.end());
    return absl::OkStatus();
  }

  // Hadoop's default is one reducer, and scripts that sum everything up rely on it.
  absl::Status WriteReducers() {
    const std::string* count = Once("numReduceTasks");
    if (count == nullptr) count = Property({"mapreduce.job.reduces", "mapred.reduce.tasks"});
    int reducers = 1;
    if (count != nullptr && (!absl::SimpleAtoi(*count, &reducers) || reducers < 0)) {
      return Wrong(absl::StrCat("-numReduceTasks ", *count, " is no number of reducers"));
    }
    const std::string* reducer = Once("reducer");
    const bool none = reducers == 0 || (reducer != nullptr && *reducer == "NONE");
    std::vector<std::string>& run = result_.run;
    if (none || reducer != nullptr) {
      run.insert(run.end(), {"--set", absl::StrCat("reducer=", none ? "NONE" : Command(*reducer))});
    }
    properties_.emplace_back("mapreduce.job.reduces", absl::StrCat(none ? 0 : reducers));
    if (!none) run.insert(run.end(), {"--reducers", absl::StrCat(reducers)});
    return absl::OkStatus();
  }

  const PlaceOf& place_of_;
  StreamingWords result_;
  std::vector<std::string> inputs_;
  std::vector<ShippedPath> files_;
  absl::btree_map<std::string, std::string> once_;
  std::vector<std::pair<std::string, std::string>> properties_;
  std::vector<std::pair<std::string, std::string>> cmdenv_;
  std::string input_format_;  // empty: text
  std::vector<std::string> passed_;
};

}  // namespace

absl::StatusOr<std::string> PlaceWithoutScheme(const std::string& word) {
  if (!word.starts_with("file:/")) return word;
  std::string path = word.substr(5);
  while (path.starts_with("//")) path.erase(0, 1);
  return path;
}

absl::StatusOr<StreamingWords> ReadStreamingWords(absl::Span<const std::string> words,
                                                  const PlaceOf& place_of) {
  return Reading(place_of).Read(words);
}

std::string StreamingHelp() {
  return "Run scripts as mapper and reducer, by the options of Hadoop Streaming\n"
         "Usage: weir streaming -input PATH... -output DIR -mapper CMD [OPTIONS]\n"
         "\n"
         "  -input PATH...       files, directories or globs; also several, by commas\n"
         "  -output DIR          directory to make for the result: part-00000..., _SUCCESS\n"
         "  -mapper CMD          gets lines on stdin, writes lines KEY TAB VALUE\n"
         "  -reducer CMD         gets the lines sorted by key; NONE; aggregate;\n"
         "                       left out: the sorted lines are the result\n"
         "  -combiner CMD        may put pairs of one mapper together, before they move\n"
         "  -files PATH[#NAME],...     files that CMD finds where it runs, executable\n"
         "  -archives PATH[#NAME],...  tar, tar.gz, zip or jar files, unpacked there into\n"
         "                             folders\n"
         "  -file PATH...        as -files; a CMD that begins with such a path means the\n"
         "                       file\n"
         "  -numReduceTasks N    reducers, and parts (default: 1); 0 as -reducer NONE\n"
         "  -D NAME=VALUE        property; in the environment of the scripts too\n"
         "  -cmdenv NAME=VALUE   variable in the environment of the scripts\n"
         "  -partitioner CLASS   KeyFieldBasedPartitioner or HashPartitioner (default)\n"
         "  -inputformat CLASS   TextInputFormat (default), KeyValueTextInputFormat,\n"
         "                       NLineInputFormat\n"
         "  -outputformat CLASS  TextOutputFormat (default)\n"
         "  -io text             how scripts are talked to\n"
         "  -verbose             the whole plan on stderr\n"
         "  --master HOST:PORT   a cluster instead of this machine; all flags of\n"
         "                       'weir run' (weir run --help) may follow\n"
         "\n"
         "Other options of Hadoop are refused by name. No shell sees CMD: it is split at\n"
         "blanks, ' and \" keep words together; use bash -c '...' for pipes.\n"
         "Exit codes, as Hadoop's: 0 ok, 1 job failed or wrong use, 2 no input, 3 bad\n"
         "configuration, 4 output exists, 5 files or master out of reach, 6 interrupted.\n"
         "\n"
         "Examples:\n"
         "  weir streaming -files map.py,reduce.py -input books -output counts \\\n"
         "    -mapper map.py -reducer reduce.py\n"
         "  weir streaming -D stream.num.map.output.key.fields=2 -D \\\n"
         "    mapreduce.partition.keypartitioner.options=-k1,1 -partitioner \\\n"
         "    KeyFieldBasedPartitioner -numReduceTasks 4 -input in -output out -mapper cat\n"
         "More: docs/guides/streaming.md\n";
}

}  // namespace weir::client
