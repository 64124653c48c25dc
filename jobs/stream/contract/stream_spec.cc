#include "jobs/stream/contract/stream_spec.h"

#include <limits>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jobs/records/parameters.h"
#include "jobs/stream/contract/command_words.h"

namespace weir::stream {
namespace {

constexpr char kAggregate[] = "aggregate";  // in letters of any case, as in Hadoop
constexpr std::string_view kPartitionerClass = "mapreduce.job.partitioner.class";
constexpr std::string_view kComparatorClass = "mapreduce.job.output.key.comparator.class";

// "KeyFieldBasedPartitioner" of "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner".
std::string ClassName(const std::string& name) {
  return name.starts_with("org.apache.hadoop.") ? name.substr(name.rfind('.') + 1) : name;
}

absl::StatusOr<ScriptCommand> ReadCommand(const std::string& parameter, const std::string& text) {
  ScriptCommand command{text, SplitCommand(text)};
  if (text.starts_with("org.apache.hadoop.")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter '", parameter, "' is '", text,
        "': Weir runs no Java classes; a command that hands lines on as they are is 'cat'"));
  }
  if (!command.words.empty()) return command;
  return absl::InvalidArgumentError(absl::StrCat("parameter '", parameter,
                                                 "' must be a command, as 'python3 ", parameter,
                                                 ".py'; it is '", text, "'"));
}

absl::Status ReadCommands(const ParameterValues& values, StreamSpec& spec) {
  absl::StatusOr<ScriptCommand> mapper = ReadCommand("mapper", values.at("mapper"));
  if (!mapper.ok()) return mapper.status();
  spec.mapper = *std::move(mapper);

  const std::string& reducer = values.at("reducer");
  const absl::StatusOr<std::int64_t> reduces =
      spec.properties.Integer("mapreduce.job.reduces", 1, 0, std::numeric_limits<int>::max());
  if (!reduces.ok()) return reduces.status();
  if (reducer == "NONE" || *reduces == 0) {
    spec.reducing = Reducing::kNone;
  } else if (reducer.empty() || ClassName(reducer) == "IdentityReducer") {
    spec.reducing = Reducing::kIdentity;
  } else if (absl::EqualsIgnoreCase(reducer, kAggregate)) {
    spec.reducing = Reducing::kAggregate;
  } else {
    absl::StatusOr<ScriptCommand> command = ReadCommand("reducer", reducer);
    if (!command.ok()) return command.status();
    spec.reducing = Reducing::kScript;
    spec.reducer = *std::move(command);
  }

  const std::string& combiner = values.at("combiner");
  if (spec.reducing == Reducing::kNone) return absl::OkStatus();  // there is nothing to combine
  if (absl::EqualsIgnoreCase(combiner, kAggregate) ||
      (combiner.empty() && spec.reducing == Reducing::kAggregate)) {
    spec.combining = Combining::kAggregate;
  } else if (!combiner.empty()) {
    absl::StatusOr<ScriptCommand> command = ReadCommand("combiner", combiner);
    if (!command.ok()) return command.status();
    spec.combining = Combining::kScript;
    spec.combiner = *std::move(command);
  }
  return absl::OkStatus();
}

absl::Status ReadCut(const Properties& properties, const std::string& side, FieldCut& cut) {
  cut.separator = properties.Get(absl::StrCat("stream.", side, ".output.field.separator"), "\t");
  if (cut.separator.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("property 'stream.", side, ".output.field.separator' must not be empty"));
  }
  const absl::StatusOr<std::int64_t> fields =
      properties.Integer(absl::StrCat("stream.num.", side, ".output.key.fields"), 1, 1, 1'000'000);
  if (!fields.ok()) return fields.status();
  cut.key_fields = static_cast<int>(*fields);
  return absl::OkStatus();
}

// Hadoop cuts what a combiner writes as what the reducer writes, so that a job that says how has
// scripts for that. Where it does not, Hadoop's default would make other keys of those that have
// several fields.
FieldCut CombinerCut(const Properties& properties, const StreamSpec& spec) {
  FieldCut cut = spec.reduce_output;
  if (properties.Find("stream.reduce.output.field.separator") == nullptr) {
    cut.separator = spec.reduce_input_separator;
  }
  if (properties.Find("stream.num.reduce.output.key.fields") == nullptr) {
    cut.key_fields = cut.separator == spec.map_output.separator ? spec.map_output.key_fields : 1;
  }
  return cut;
}

absl::Status ReadInputs(const ParameterValues& values, StreamSpec& spec) {
  const Properties& properties = spec.properties;
  const std::string& format = values.at("input_format");
  const absl::StatusOr<bool> ignore_key =
      properties.Flag("stream.map.input.ignoreKey", format == "text");
  if (!ignore_key.ok()) return ignore_key.status();
  spec.map_input = *ignore_key ? MapInput::kLines : MapInput::kOffsets;
  if (format == "key-value") {
    spec.map_input = *ignore_key ? MapInput::kValue : MapInput::kKeyValue;
  } else if (format == "n-lines") {
    const absl::StatusOr<std::int64_t> lines = properties.Integer(
        "mapreduce.input.lineinputformat.linespermap", 1, 1, std::numeric_limits<int>::max());
    if (!lines.ok()) return lines.status();
    spec.lines_a_process = *lines;
  }
  spec.process_a_file = values.at("mapper_process") == "file";
  spec.input_separator =
      properties.Get("mapreduce.input.keyvaluelinerecordreader.key.value.separator", "\t");
  spec.map_input_separator = properties.Get("stream.map.input.field.separator", "\t");
  spec.reduce_input_separator = properties.Get("stream.reduce.input.field.separator", "\t");
  spec.output_separator = properties.Get("mapreduce.output.textoutputformat.separator", "\t");
  absl::Status cuts = ReadCut(properties, "map", spec.map_output);
  cuts.Update(ReadCut(properties, "reduce", spec.reduce_output));
  spec.combiner_output = CombinerCut(properties, spec);
  return cuts;
}

absl::Status UnknownClass(std::string_view property, const std::string& name,
                          const std::string& known) {
  return absl::InvalidArgumentError(absl::StrCat("property '", std::string(property), "' is '",
                                                 name, "': Weir runs no Java classes; it has ",
                                                 known));
}

absl::Status ReadKeyClasses(StreamSpec& spec) {
  const Properties& properties = spec.properties;
  const std::string separator = properties.Get("mapreduce.map.output.key.field.separator", "\t");
  const std::string partitioner = properties.Get(kPartitionerClass, "HashPartitioner");
  if (ClassName(partitioner) == "KeyFieldBasedPartitioner") {
    spec.partitions_by_fields = true;
    const absl::StatusOr<std::int64_t> first =
        properties.Integer("num.key.fields.for.partition", 0, 0, 1'000'000);
    if (!first.ok()) return first.status();
    absl::StatusOr<KeyFields> fields =
        *first > 0
            ? KeyFields::First(static_cast<int>(*first), separator)
            : KeyFields::Read(properties.Get("mapreduce.partition.keypartitioner.options", ""),
                              separator);
    if (!fields.ok()) return fields.status();
    spec.partition_fields = *std::move(fields);
  } else if (ClassName(partitioner) != "HashPartitioner") {
    return UnknownClass(kPartitionerClass, partitioner,
                        "KeyFieldBasedPartitioner and HashPartitioner");
  }
  const std::string comparator = properties.Get(kComparatorClass, "");
  if (ClassName(comparator) == "KeyFieldBasedComparator") {
    spec.orders_by_fields = true;
    absl::StatusOr<KeyFields> fields =
        KeyFields::Read(properties.Get("mapreduce.partition.keycomparator.options", ""), separator);
    if (!fields.ok()) return fields.status();
    spec.order_fields = *std::move(fields);
  } else if (!comparator.empty()) {
    return UnknownClass(kComparatorClass, comparator, "KeyFieldBasedComparator");
  }
  return absl::OkStatus();
}

// Scripts that take a file for whole would get pieces of it.
absl::Status RefuseLargeSplits(const Properties& properties) {
  const char* const name = "mapreduce.input.fileinputformat.split.minsize";
  const absl::StatusOr<std::int64_t> bytes =
      properties.Integer(name, 0, 0, std::numeric_limits<std::int64_t>::max());
  if (!bytes.ok()) return bytes.status();
  if (*bytes <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "property '", name, "' is '", *bytes,
      "'; Weir cuts files among mappers and slots by itself: leave it out where a mapper may begin "
      "anywhere in a file, and run with --mappers 1 --slots 1 where one must read whole files, or "
      "pack them by gzip, which is not cut"));
}

// What would change the result, were it known; that it has no effect must not pass unseen.
absl::Status RefuseUnknown(const Properties& properties) {
  struct Refused {
    std::string_view name;
    const char* advice;
  };
  constexpr Refused kRefused[] = {
      {"textinputformat.record.delimiter", ""},
      {"mapreduce.job.output.group.comparator.class", ""},
      {"mapreduce.input.pathFilter.class", "; name the files by patterns, as -input 'logs/*.txt'"},
      {"stream.minRecWrittenToEnableSkip_", ""},
      {"stream.io.identifier.resolver.class", ""}};
  for (const auto& [name, advice] : kRefused) {
    if (properties.Find(name) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("property '", std::string(name), "' is not supported", advice));
    }
  }
  if (absl::Status cut = RefuseLargeSplits(properties); !cut.ok()) return cut;
  for (const std::string_view name :
       {"stream.map.input", "stream.map.output", "stream.reduce.input", "stream.reduce.output"}) {
    if (properties.Get(name, "text") != "text") {
      return absl::InvalidArgumentError(absl::StrCat("property '", std::string(name), "' is '",
                                                     properties.Get(name, ""),
                                                     "'; Weir talks to scripts in text only"));
    }
  }
  const absl::StatusOr<bool> compressed =
      properties.Flag("mapreduce.output.fileoutputformat.compress", false);
  if (!compressed.ok()) return compressed.status();
  if (*compressed) {
    return absl::InvalidArgumentError(
        "property 'mapreduce.output.fileoutputformat.compress' is true; Weir writes output as it "
        "is");
  }
  return absl::OkStatus();
}

absl::Status ReadRest(StreamSpec& spec) {
  const Properties& properties = spec.properties;
  const absl::StatusOr<bool> fails = properties.Flag("stream.non.zero.exit.is.failure", true);
  if (!fails.ok()) return fails.status();
  spec.non_zero_exit_fails = *fails;
  spec.reporter_prefix = properties.Get("stream.stderr.reporter.prefix", "reporter:");
  constexpr std::int64_t kSilenceMs = 600'000;
  constexpr std::int64_t kYearMs = std::int64_t{365} * 24 * 3600 * 1000;
  const absl::StatusOr<std::int64_t> silence =
      properties.Integer("mapreduce.task.timeout", kSilenceMs, 0, kYearMs);
  if (!silence.ok()) return silence.status();
  spec.silence_ms = *silence;
  const absl::StatusOr<std::int64_t> truncate = properties.Integer(
      "stream.jobconf.truncate.limit", -1, -1, std::numeric_limits<std::int32_t>::max());
  if (!truncate.ok()) return truncate.status();
  spec.truncate = *truncate;
  return absl::OkStatus();
}

}  // namespace

std::vector<ParameterInfo> StreamParameters() {
  return {
      TextParameter(
          "mapper", "",
          "command that reads lines on stdin and writes lines 'key TAB value'; no shell sees it"),
      TextParameter("reducer", "",
                    "command that reads the sorted lines; NONE: the mapper's lines are the result; "
                    "aggregate; empty: the sorted lines are"),
      TextParameter(
          "combiner", "",
          "command that may put pairs of one mapper together, any number of times, before they "
          "move; aggregate"),
      TextParameter("properties", "",
                    "lines NAME=VALUE, as -D of Hadoop Streaming; also in the environment"),
      TextParameter("cmdenv", "", "lines NAME=VALUE for the environment of the scripts"),
      TextParameter(
          "input_format", "text",
          "what the mapper gets: the line, key and value, or byte offset and line with a process "
          "for every N lines (property mapreduce.input.lineinputformat.linespermap, default 1)",
          {"text", "key-value", "n-lines"}),
      TextParameter(
          "mapper_process", "file",
          "a mapper process for each file, so that its environment names the file, or one for a "
          "slot's whole share",
          {"file", "slot"})};
}

absl::StatusOr<StreamSpec> ReadStreamSpec(const ParameterValues& values) {
  StreamSpec spec;
  const auto properties = ReadNameValueLines(values.at("properties"));
  if (!properties.ok()) return properties.status();
  for (const auto& [name, value] : *properties) spec.properties.Set(name, value);
  const auto cmdenv = ReadNameValueLines(values.at("cmdenv"));
  if (!cmdenv.ok()) return cmdenv.status();
  spec.cmdenv = *cmdenv;
  if (absl::Status read = ReadCommands(values, spec); !read.ok()) return read;
  if (absl::Status read = ReadInputs(values, spec); !read.ok()) return read;
  if (absl::Status read = ReadKeyClasses(spec); !read.ok()) return read;
  if (absl::Status known = RefuseUnknown(spec.properties); !known.ok()) return known;
  if (absl::Status read = ReadRest(spec); !read.ok()) return read;
  return spec;
}

}  // namespace weir::stream
