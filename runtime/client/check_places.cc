#include "runtime/client/check_places.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/job_spec.h"

namespace weir::client {
namespace {

absl::Status Refused(std::string_view code, const std::string& message, const std::string& advice,
                     const std::string& file = "") {
  v1::JobError error = MakeJobError(code, message, advice);
  error.set_file(ValidUtf8(file));
  return StatusFromJobError(absl::StatusCode::kInvalidArgument, error);
}

// "s3" of "s3://bucket/key"; empty for a path.
std::string SchemeOf(const std::string& place) {
  const std::size_t end = place.find("://");
  if (end == std::string::npos || end == 0 || !absl::ascii_isalpha(place[0])) return "";
  const bool legal = std::all_of(
      place.begin(), place.begin() + static_cast<std::ptrdiff_t>(end),
      [](unsigned char c) { return absl::ascii_isalnum(c) || c == '+' || c == '-' || c == '.'; });
  return legal ? place.substr(0, end) : "";
}

absl::Status CheckPlace(const std::string& what, std::string_view code, const std::string& place) {
  if (const std::string shown = ValidUtf8(place); shown != place) {
    return Refused(code, absl::StrCat("the name of ", what, " is not UTF-8: ", shown), "rename it",
                   place);
  }
  if (place == "-") {
    return Refused(
        job_error::kInvalidJob,
        absl::StrCat(what, " is '-', and weir works with files, not with a pipe"),
        code == job_error::kOutputUnusable
            ? "name a directory to make; one of this name is ./-"
            : "write standard input to a file first and name that; a file of this name is ./-");
  }
  const std::string scheme = SchemeOf(place);
  if (scheme.empty()) return absl::OkStatus();
  if (scheme == "file") {
    return Refused(job_error::kInvalidJob, absl::StrCat(what, " is no path: ", place),
                   "name the path alone, as in /data/part.txt");
  }
  return Refused(job_error::kInvalidJob,
                 absl::StrCat(what, " is no path: ", place,
                              "; weir works with files that all its workers can open, not with ",
                              scheme, ":// addresses"),
                 absl::StrCat("copy the data to a file system that the workers share, or mount the "
                              "store there, and name that path (a path that looks like an address "
                              "begins with ./)"));
}

std::filesystem::path RealPath(const std::string& path) {
  std::error_code error;
  std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::path(path).lexically_normal() : real;
}

// Other programs take "-" for standard output; here a file of that name came to be.
absl::Status CheckNoDash(std::string_view flag, const std::string& file) {
  if (file != "-") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(flag),
                   " -: it is no file; name /dev/stdout for standard output, "
                   "or ./- for a file of this name"));
}

bool IsSameFile(const env::FileInfo& a, const env::FileInfo& b) {
  return a.version.inode == b.version.inode && a.version.device == b.version.device;
}

// True of a file at any depth below a directory, unless it is no data there: hidden names and those
// that begin with "_" are not, as everywhere in Weir.
bool IsDataIn(const std::string& directory, const std::string& file) {
  const std::filesystem::path below = RealPath(file).lexically_relative(RealPath(directory));
  return !below.empty() && std::none_of(below.begin(), below.end(), [](const auto& name) {
    return name.native().starts_with('.') || name.native().starts_with('_');
  });
}

// The first of the inputs, as it was named, that `file` is or lies in; empty if there is none. What
// cannot be looked at here is for the master to judge.
std::string InputWith(const env::FileInfo& file, const std::vector<std::string>& inputs,
                      CommandHost& host) {
  for (const std::string& input : inputs) {
    std::vector<std::string> places = {AbsolutePath(input, host.working_directory)};
    if (!host.storage.Stat(places[0]).ok()) {
      places = host.storage.Glob(places[0]).value_or(std::vector<std::string>());
    }
    for (const std::string& place : places) {
      const auto info = host.storage.Stat(place);
      if (!info.ok()) continue;
      if (info->is_directory ? IsDataIn(place, file.path) : IsSameFile(*info, file)) return input;
    }
  }
  return "";
}

// True of the output directory and of all in it but what Weir adds to a result, which is in
// "_weir".
bool IsInOutput(const std::string& file, const std::string& output) {
  const std::filesystem::path below = RealPath(file).lexically_relative(RealPath(output));
  return !below.empty() && *below.begin() != ".." && *below.begin() != "_weir";
}

// Two names of one file, which need not be there yet. What is no regular file is written in place,
// one picture behind the other.
bool AreOneFile(const std::string& a, const std::string& b, CommandHost& host) {
  const auto info = host.storage.Stat(a), other = host.storage.Stat(b);
  if (info.ok() && other.ok()) return info->is_regular && IsSameFile(*info, *other);
  return !info.ok() && !other.ok() && RealPath(a) == RealPath(b);
}

}  // namespace

absl::Status CheckPlaces(const JobOptions& job) {
  absl::Status sound;
  for (const std::string& input : job.inputs) {
    sound.Update(CheckPlace("an input", job_error::kInputUnreadable, input));
  }
  sound.Update(CheckPlace("the output", job_error::kOutputUnusable, job.output));
  std::string words = job.job;
  for (const auto& [name, value] : job.parameters) absl::StrAppend(&words, "\n", name, "\n", value);
  if (sound.ok() && ValidUtf8(words) != words) {
    return Refused(
        job_error::kInvalidJob,
        absl::StrCat("the name of the job or a parameter is not UTF-8: ", ValidUtf8(job.job)),
        "write job and --set in UTF-8");
  }
  return sound;
}

absl::Status CheckWritesApart(const std::vector<FlagPath>& written,
                              const std::vector<FlagPath>& read, CommandHost& host) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto& [flag, file] = written[i];
    if (file.empty()) continue;
    if (absl::Status named = CheckNoDash(flag, file); !named.ok()) return named;
    const std::string path = AbsolutePath(file, host.working_directory);
    const auto is_one_with = [&](const std::string& other) {
      return !other.empty() && AreOneFile(path, AbsolutePath(other, host.working_directory), host);
    };
    for (const auto& [from, other] : read) {
      if (!is_one_with(other)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " ", ValidUtf8(path), ": it is the file of ", from,
                       ", which it would replace; name another file"));
    }
    for (std::size_t j = i + 1; j < written.size(); ++j) {
      if (!is_one_with(written[j].second)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          flag, " and ", written[j].first, " name the same file, ", ValidUtf8(path), "; name two"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWritable(std::string_view flag, const std::string& file, CommandHost& host) {
  if (absl::Status named = CheckNoDash(flag, file); !named.ok()) return named;
  const std::string path = AbsolutePath(file, host.working_directory);
  const auto wrong = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(flag), " ", ValidUtf8(path), ": ", why));
  };
  const auto info = host.storage.Stat(path);
  if (info.ok() && info->is_directory) return wrong("it is a directory; name a file");
  // Devices and pipes are written in place, and what a link leads to where it lies.
  if (info.ok() && !info->is_regular) return absl::OkStatus();
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  const std::string& written = error ? path : real;
  const std::string above = written.substr(0, std::max<std::size_t>(1, written.rfind('/')));
  const auto directory = host.storage.Stat(above);
  if (!directory.ok()) return wrong(std::string(directory.status().message()));
  if (!directory->is_directory) return wrong(absl::StrCat(above, " is no directory"));
  if (!host.storage.MayWriteIn(above)) return wrong(absl::StrCat("you may not write in ", above));
  return absl::OkStatus();
}

absl::Status CheckPictures(const PictureOptions& pictures, const JobOptions& job,
                           CommandHost& host) {
  for (const auto& [flag, file] :
       {std::pair{"--gantt", &pictures.gantt}, {"--trace", &pictures.trace}}) {
    if (file->empty()) continue;
    if (absl::Status writable = CheckWritable(flag, *file, host); !writable.ok()) return writable;
    const std::string path = AbsolutePath(*file, host.working_directory);
    if (const std::string output = AbsolutePath(job.output, host.working_directory);
        !job.output.empty() && IsInOutput(path, output)) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " ", ValidUtf8(path), ": it is in the output ", ValidUtf8(output),
                       ", which is for the result alone; name another file"));
    }
    const auto info = host.storage.Stat(path);
    if (!info.ok() || !info->is_regular) continue;
    if (const std::string input = InputWith(*info, job.inputs, host); !input.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " ", ValidUtf8(path), ": it is data of the input ", ValidUtf8(input),
                       ", which it would replace; name another file"));
    }
  }
  std::vector<FlagPath> read = {{"--plan-file", job.plan_file}, {"--module", job.module}};
  for (const ShippedPath& file : job.files)
    read.emplace_back(file.unpack ? "an archive of the job" : "a file of the job", file.path);
  return CheckWritesApart({{"--gantt", pictures.gantt}, {"--trace", pictures.trace}}, read, host);
}

}  // namespace weir::client
