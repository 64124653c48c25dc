#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/run_id.h"
#include "runtime/task/slot_threads.h"
#include "runtime/task/start/module_library.h"
#include "runtime/task/step_activity.h"
#include "runtime/task/step_runner.h"
#include "runtime/task/task.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {
namespace {

namespace json = google::protobuf::util;

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

absl::StatusOr<std::string> ReadSpecFile(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  std::string content;
  char bytes[64 << 10];
  while (true) {
    const ssize_t got = ::read(fd.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, absl::StrCat("cannot read ", path));
    if (got == 0) return content;
    content.append(bytes, static_cast<std::size_t>(got));
    if (static_cast<std::int64_t>(content.size()) > limits::kTaskFrameBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, " is longer than a task spec may be: ", limits::kTaskFrameBytesMax, " bytes"));
    }
  }
}

absl::StatusOr<v1::TaskSpec> ReadSpec(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadSpecFile(path);
  if (!content.ok()) return content.status();
  v1::TaskSpec spec;
  const auto parsed = json::JsonStringToMessage(*content, &spec);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no task spec: ", parsed.message().ToString()));
  }
  return spec;
}

std::string FolderOf(const std::string& spec_path) {
  const std::size_t slash = spec_path.rfind('/');
  return slash == std::string::npos ? "." : spec_path.substr(0, slash);
}

// Sends what the step writes beside the spec, over the leftovers of an earlier rerun.
absl::Status RedirectOutput(const std::string& spec_path, v1::TaskCommand::Run& run) {
  const std::string path = absl::StrCat(
      FolderOf(spec_path), "/", RunIdOf(run.order().step(), run.fence().attempt()), ".rerun");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, absl::StrCat("cannot remove ", path));
  }
  if (!run.run_path().empty()) run.set_run_path(path);
  if (!run.order().part_path().empty()) run.mutable_order()->set_part_path(path);
  return absl::OkStatus();
}

}  // namespace

int RunTaskSpec(const std::string& spec_path, const JobCatalog& catalog,
                const TaskEnvironment& environment, std::ostream& out, std::ostream& err) {
  absl::StatusOr<v1::TaskSpec> spec = ReadSpec(spec_path);
  const absl::Status redirected =
      spec.ok() ? RedirectOutput(spec_path, *spec->mutable_run()) : spec.status();
  if (!redirected.ok()) {
    err << redirected.message() << "\n";
    return kExitUsage;
  }
  JobCatalog module;
  const absl::StatusOr<const JobCatalog*> jobs = JobsOf(spec->start(), catalog, module);
  const absl::StatusOr<std::unique_ptr<JobProgram>> program =
      jobs.ok() ? MakeProgram(spec->start(), **jobs) : jobs.status();
  if (!program.ok()) {
    err << DescribeJobError(JobErrorFromStatus(program.status())) << "\n";
    return kExitUsage;
  }
  SlotThreads slots(std::max(1, spec->start().slots()), environment);
  StepActivity activity(spec->start().skip_bad(), !spec->start().no_check_operation());
  StepRoom room = RoomOf(spec->start());
  room.folder = FolderOf(spec_path);
  const v1::StepResult result =
      RunStep(BuiltInSteps(), **program, spec->run(), slots, room, activity, environment.now);
  json::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string text;
  const auto printed = json::MessageToJsonString(result, &text, options);
  out << (printed.ok() ? text : printed.ToString()) << "\n";
  if (!result.has_error()) return 0;
  err << DescribeJobError(result.error()) << "\n";
  return kExitFailed;
}

}  // namespace weir::task
