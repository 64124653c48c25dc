#include "runtime/worker/job_paths.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir::worker {
namespace {

bool AllDigits(absl::string_view text) {
  constexpr std::size_t kDigitsMax = 10;
  return !text.empty() && text.size() <= kDigitsMax &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); });
}

}  // namespace

std::string JobPaths::OwnRun(absl::string_view run_id) const {
  return absl::StrCat(runs, "/", run_id, ".run");
}

std::string JobPaths::HandedOverRun(absl::string_view run_id) const {
  return absl::StrCat(received, "/", run_id, ".run");
}

std::string JobPaths::ReceivedSection(absl::string_view run_id, std::int64_t section_offset) const {
  return absl::StrCat(received, "/", run_id, ".", section_offset);
}

std::string JobPaths::Spec(absl::string_view run_id) const {
  return absl::StrCat(runs, "/", run_id, ".spec.json");
}

std::string JobPaths::HeldRecord(absl::string_view run_id) const {
  return absl::StrCat(runs, "/", run_id, kHeldRecordSuffix);
}

JobPaths MakeJobPaths(absl::string_view worker_directory, absl::string_view job_id) {
  JobPaths paths;
  paths.root = absl::StrCat(worker_directory, "/jobs/", job_id);
  paths.runs = absl::StrCat(paths.root, "/runs");
  paths.received = absl::StrCat(paths.root, "/received");
  paths.task = absl::StrCat(paths.root, "/task");
  paths.archives = absl::StrCat(paths.root, "/archives");
  return paths;
}

absl::Status CheckRunId(absl::string_view run_id) {
  const std::vector<absl::string_view> parts = absl::StrSplit(run_id, '.');
  if (parts.size() == 2 && AllDigits(parts[0]) && AllDigits(parts[1])) return absl::OkStatus();
  return absl::InvalidArgumentError("run id must be <step>.<attempt>, both decimal");
}

absl::Status ResolveInputs(const JobPaths& paths, v1::StepOrder& order) {
  for (v1::StepInput& input : *order.mutable_inputs()) {
    if (absl::Status status = CheckRunId(input.run_id()); !status.ok()) return status;
    if (input.offset() < 0 || input.bytes() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input of step ", order.step(), " from run ", input.run_id(),
                       " has a negative range: ", input.offset(), ", ", input.bytes()));
    }
    input.clear_path();
    input.set_path_offset(0);
    if (input.bytes() == 0) continue;
    switch (input.place()) {
      case v1::SECTION_PLACE_OWN_RUN:
        input.set_path(paths.OwnRun(input.run_id()));
        input.set_path_offset(input.offset());
        break;
      case v1::SECTION_PLACE_HANDED_OVER:
        input.set_path(paths.HandedOverRun(input.run_id()));
        input.set_path_offset(input.offset());
        break;
      case v1::SECTION_PLACE_RECEIVED:
        input.set_path(paths.ReceivedSection(input.run_id(), input.offset()));
        break;
      default:
        return absl::InvalidArgumentError(absl::StrCat("input of step ", order.step(), " from run ",
                                                       input.run_id(), " has no known place"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PartPathInside(absl::string_view staging_dir,
                                           absl::string_view part_path) {
  absl::string_view name = part_path;
  if (absl::StartsWith(part_path, "/")) {
    if (!absl::ConsumePrefix(&name, staging_dir) || !absl::ConsumePrefix(&name, "/")) {
      return absl::InvalidArgumentError(
          absl::StrCat("part ", part_path, " is not inside ", staging_dir));
    }
  }
  if (name.empty() || name == "." || name == ".." || absl::StrContains(name, '/')) {
    return absl::InvalidArgumentError(
        absl::StrCat("part ", part_path, " is no file of ", staging_dir));
  }
  return absl::StrCat(staging_dir, "/", name);
}

absl::Status CheckHandoverSource(absl::string_view source_run_path, absl::string_view run_id) {
  if (absl::Status status = CheckRunId(run_id); !status.ok()) return status;
  if (absl::StartsWith(source_run_path, "/") && !absl::StrContains(source_run_path, "/../") &&
      absl::EndsWith(source_run_path, absl::StrCat("/runs/", run_id, ".run"))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(source_run_path, " is not where a worker keeps run ", run_id));
}

}  // namespace weir::worker
