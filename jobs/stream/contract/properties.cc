#include "jobs/stream/contract/properties.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::stream {
namespace {

struct Renamed {
  std::string_view old_name;
  std::string_view new_name;
};

// What scripts read, and what jobs are given, of Hadoop's list of deprecated properties.
constexpr Renamed kRenamed[] = {
    {"job.local.dir", "mapreduce.job.local.dir"},
    {"key.value.separator.in.input.line",
     "mapreduce.input.keyvaluelinerecordreader.key.value.separator"},
    {"map.input.file", "mapreduce.map.input.file"},
    {"map.input.length", "mapreduce.map.input.length"},
    {"map.input.start", "mapreduce.map.input.start"},
    {"map.output.key.field.separator", "mapreduce.map.output.key.field.separator"},
    {"mapred.cache.localArchives", "mapreduce.job.cache.local.archives"},
    {"mapred.cache.localFiles", "mapreduce.job.cache.local.files"},
    {"mapred.input.dir", "mapreduce.input.fileinputformat.inputdir"},
    {"mapred.input.pathFilter.class", "mapreduce.input.pathFilter.class"},
    {"mapred.job.id", "mapreduce.job.id"},
    {"mapred.job.name", "mapreduce.job.name"},
    {"mapred.line.input.format.linespermap", "mapreduce.input.lineinputformat.linespermap"},
    {"mapred.local.dir", "mapreduce.cluster.local.dir"},
    {"mapred.map.tasks", "mapreduce.job.maps"},
    {"mapred.min.split.size", "mapreduce.input.fileinputformat.split.minsize"},
    {"mapred.output.compress", "mapreduce.output.fileoutputformat.compress"},
    {"mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"},
    {"mapred.output.key.comparator.class", "mapreduce.job.output.key.comparator.class"},
    {"mapred.output.value.groupfn.class", "mapreduce.job.output.group.comparator.class"},
    {"mapred.partitioner.class", "mapreduce.job.partitioner.class"},
    {"mapred.reduce.tasks", "mapreduce.job.reduces"},
    {"mapred.task.id", "mapreduce.task.attempt.id"},
    {"mapred.task.is.map", "mapreduce.task.ismap"},
    {"mapred.task.partition", "mapreduce.task.partition"},
    {"mapred.task.timeout", "mapreduce.task.timeout"},
    {"mapred.text.key.comparator.options", "mapreduce.partition.keycomparator.options"},
    {"mapred.text.key.partitioner.options", "mapreduce.partition.keypartitioner.options"},
    {"mapred.textoutputformat.separator", "mapreduce.output.textoutputformat.separator"},
    {"mapred.tip.id", "mapreduce.task.id"},
    {"mapred.work.output.dir", "mapreduce.task.output.dir"},
    {"user.name", "mapreduce.job.user.name"},
};

std::string Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '\\' && (next == 'n' || next == '\\')) {
      plain.push_back(next == 'n' ? '\n' : '\\');
      ++i;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

}  // namespace

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ReadNameValueLines(
    std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const absl::string_view all(text.data(), text.size());
  for (const std::string& whole :
       std::vector<std::string>(absl::StrSplit(all, '\n', absl::SkipEmpty()))) {
    const std::string_view line = whole;
    const std::size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("'", whole, "' is not NAME=VALUE"));
    }
    pairs.emplace_back(line.substr(0, equals), Unescaped(line.substr(equals + 1)));
  }
  return pairs;
}

std::string_view NewName(std::string_view property) {
  for (const Renamed& renamed : kRenamed) {
    if (renamed.old_name == property) return renamed.new_name;
  }
  return property;
}

std::string EnvironmentName(std::string_view property) {
  std::string name(property);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

void Properties::Set(std::string_view name, std::string value) {
  values_[std::string(NewName(name))] = std::move(value);
}

const std::string* Properties::Find(std::string_view name) const {
  const auto found = values_.find(std::string(NewName(name)));
  return found == values_.end() ? nullptr : &found->second;
}

std::string Properties::Get(std::string_view name, std::string_view fallback) const {
  const std::string* value = Find(name);
  return value == nullptr ? std::string(fallback) : *value;
}

absl::StatusOr<std::int64_t> Properties::Integer(std::string_view name, std::int64_t fallback,
                                                 std::int64_t min, std::int64_t max) const {
  const std::string* value = Find(name);
  if (value == nullptr) return fallback;
  std::int64_t number = 0;
  if (absl::SimpleAtoi(*value, &number) && number >= min && number <= max) return number;
  return absl::InvalidArgumentError(absl::StrCat("property '", std::string(name), "' is '", *value,
                                                 "'; it must be a whole number from ", min, " to ",
                                                 max));
}

absl::StatusOr<bool> Properties::Flag(std::string_view name, bool fallback) const {
  const std::string* value = Find(name);
  if (value == nullptr) return fallback;
  const std::string lower = absl::AsciiStrToLower(*value);
  if (lower == "true") return true;
  if (lower == "false") return false;
  return absl::InvalidArgumentError(absl::StrCat("property '", std::string(name), "' is '", *value,
                                                 "'; it must be true or false"));
}

void Properties::AddToEnvironment(std::int64_t truncate,
                                  absl::btree_map<std::string, std::string>& environment) const {
  for (const auto& [name, value] : values_) {
    const std::string shown =
        truncate >= 0 ? value.substr(0, static_cast<std::size_t>(truncate)) : value;
    environment[EnvironmentName(name)] = shown;
    for (const Renamed& renamed : kRenamed) {
      if (renamed.new_name == name) environment[EnvironmentName(renamed.old_name)] = shown;
    }
  }
}

}  // namespace weir::stream
