#include "runtime/client/check_places.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

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
        "write standard input to a file first and name that; a file of this name is ./-");
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

absl::Status CheckPictures(const PictureOptions& pictures, CommandHost& host) {
  for (const auto& [flag, file] :
       {std::pair{"--gantt", &pictures.gantt}, {"--trace", &pictures.trace}}) {
    if (file->empty()) continue;
    const std::string path = AbsolutePath(*file, host.working_directory);
    const auto wrong = [&](const std::string& why) {
      return absl::InvalidArgumentError(absl::StrCat(flag, " ", ValidUtf8(path), ": ", why));
    };
    const auto info = host.storage.Stat(path);
    if (info.ok() && info->is_directory) return wrong("it is a directory; name a file");
    // Devices and pipes are written in place, and what a link leads to where it lies.
    if (info.ok() && !info->is_regular) continue;
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    const std::string& written = error ? path : real;
    const std::string above = written.substr(0, std::max<std::size_t>(1, written.rfind('/')));
    const auto directory = host.storage.Stat(above);
    if (!directory.ok()) return wrong(std::string(directory.status().message()));
    if (!directory->is_directory) return wrong(absl::StrCat(above, " is no directory"));
    if (!host.storage.MayWriteIn(above)) {
      return wrong(absl::StrCat("you may not write in ", above));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::client
