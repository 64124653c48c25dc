#include "jobs/testing/run_job.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "jobs/testing/in_process_job.h"
#include "jobs/testing/in_process_loop.h"

namespace weir::testing {
namespace {

constexpr std::string_view kBadRecord = "BAD_RECORD";

using Files = std::vector<std::unique_ptr<ScratchFile>>;

Files FilesOf(const std::vector<std::string>& texts) {
  Files files;
  for (const std::string& text : texts) {
    files.push_back(std::make_unique<ScratchFile>(text, absl::StrCat("-", files.size())));
  }
  return files;
}

std::vector<std::string> PathsOf(const Files& files) {
  std::vector<std::string> paths;
  for (const auto& file : files) paths.push_back(file->path());
  return paths;
}

// A cut for all layers of a job.
absl::StatusOr<JobCut> CutOf(const JobDefinition& job, const ParameterValues& values,
                             const JobRun& run, const Files& inputs) {
  if (run.mappers < 1 || run.reducers < 1 || run.slots < 1 || run.skip_bad < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job is run with at least one mapper, reducer and slot and may leave out 0 "
                     "records or more, not with ",
                     run.mappers, ", ", run.reducers, ", ", run.slots, " and ", run.skip_bad));
  }
  JobCut cut = EvenCut(PathsOf(inputs), run.mappers, run.reducers, run.slots);
  const std::size_t num_layers = std::max<std::size_t>(1, job.info().rates.layers.size());
  cut.inner_key_ends.assign(num_layers - 1, cut.consumer_key_end);
  for (int layer = 1; run.combine_steps && layer <= static_cast<int>(num_layers); ++layer) {
    if (job.Element(values, layer).kind != ElementKind::kNone) cut.combined_layers.push_back(layer);
  }
  return cut;
}

absl::Status RunSteps(const JobDefinition& job, const ParameterValues& values, const JobCut& cut,
                      JobLog& log, JobResult& result) {
  const auto make = [&] { return job.MakeProgram(values); };
  const absl::StatusOr<std::optional<LoopInfo>> loop = job.Loop(values);
  if (!loop.ok()) return loop.status();
  if (loop->has_value()) {
    absl::StatusOr<LoopEnd> end = RunLoopInProcess(**loop, make, cut, log);
    if (!end.ok()) return end.status();
    result.iterations = std::move(end->reports);
    result.parts = std::move(end->parts);
    return absl::OkStatus();
  }
  const absl::StatusOr<std::unique_ptr<JobProgram>> program = make();
  if (!program.ok()) return program.status();
  absl::StatusOr<std::vector<std::string>> parts = RunJob(**program, cut, log);
  if (!parts.ok()) return parts.status();
  result.parts = *std::move(parts);
  return absl::OkStatus();
}

absl::Status PresentParts(const JobDefinition& job, const ParameterValues& values,
                          JobResult& result) {
  const Files parts = FilesOf(result.parts);
  std::ostringstream out;
  absl::Status presented = job.Present(PathsOf(parts), values, out);
  result.presented = out.str();
  return presented;
}

absl::Status RunWhole(const JobDefinition& job, const JobRun& run, JobLog& log, JobResult& result) {
  const absl::StatusOr<ParameterValues> values = CheckParameters(job.info(), run.parameters);
  if (!values.ok()) return values.status();
  if (absl::Status fit = job.CheckValues(*values); !fit.ok()) return fit;
  const Files inputs = FilesOf(run.inputs);
  const absl::StatusOr<JobCut> cut = CutOf(job, *values, run, inputs);
  if (!cut.ok()) return cut.status();
  if (absl::Status done = RunSteps(job, *values, *cut, log, result); !done.ok()) return done;
  return PresentParts(job, *values, result);
}

absl::Status Thrown(absl::StatusCode code, std::string_view name, const std::string& message) {
  return StepErrorStatus(code, {std::string(name), message, "", "", 0});
}

std::string CodeOf(const absl::Status& status) {
  if (const std::optional<StepError> named = StepErrorOf(status)) return named->code;
  return BadRecordOf(status) ? std::string(kBadRecord) : "";
}

// "input-0" of a path in a folder that nobody knows.
BadRecord WithoutFolder(BadRecord record) {
  record.file.erase(0, record.file.rfind('/') + 1);
  return record;
}

}  // namespace

JobResult RunJob(const JobDefinition& job, const JobRun& run) {
  JobResult result;
  JobLog log;
  log.memory_bytes = run.memory_bytes;
  // As workers leave room for the program and its buffers (runtime/base/task_memory.h).
  constexpr std::int64_t kProgramBytes = 40 << 20;
  log.spill_above = run.memory_bytes - std::min(kProgramBytes, run.memory_bytes / 2);
  log.check_operation = run.check_operation;
  log.skip_bad = static_cast<std::size_t>(std::max<std::int64_t>(0, run.skip_bad));
  try {
    result.status = RunWhole(job, run, log, result);
  } catch (const std::bad_alloc&) {
    result.status = Thrown(absl::StatusCode::kResourceExhausted, step_error::kOutOfMemory,
                           "the job's code ran out of memory");
  } catch (const std::exception& thrown) {
    result.status = Thrown(absl::StatusCode::kInternal, step_error::kUserError,
                           absl::StrCat("the job's code threw an exception: ", thrown.what()));
  } catch (...) {
    result.status = Thrown(absl::StatusCode::kInternal, step_error::kUserError,
                           "the job's code threw something that is no exception");
  }
  result.error_code = CodeOf(result.status);
  for (const std::string& part : result.parts) result.output += part;
  result.counters.insert(log.counters.begin(), log.counters.end());
  for (const BadRecord& record : log.skipped) result.bad_records.push_back(WithoutFolder(record));
  if (const auto last = BadRecordOf(result.status)) {
    result.bad_records.push_back(WithoutFolder(*last));
  }
  return result;
}

namespace {

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> Places(const std::vector<BadRecord>& records) {
  std::vector<std::string> places;
  for (const BadRecord& record : records) {
    places.push_back(absl::StrCat(record.file, "@", record.byte_offset, " ", record.reason));
  }
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<std::string> Counted(const std::map<std::string, std::int64_t>& counters) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : counters) lines.push_back(absl::StrCat(name, "=", value));
  return lines;
}

absl::Status CheckSame(const char* what, const std::vector<std::string>& whole,
                       const std::vector<std::string>& cut, const std::string& how) {
  const auto [a, b] = std::mismatch(whole.begin(), whole.end(), cut.begin(), cut.end());
  if (a == whole.end() && b == cut.end()) return absl::OkStatus();
  const bool only_whole = b == cut.end() || (a != whole.end() && *a < *b);
  return absl::FailedPreconditionError(absl::StrCat(
      only_whole ? "with one mapper and one reducer" : how, " there is the ", what, " '",
      only_whole ? *a : *b, "', ", only_whole ? how : "with one mapper and one reducer", " not"));
}

absl::Status CheckResult(const JobResult& whole, const JobResult& cut, const std::string& how) {
  if (!cut.ok()) {
    return absl::Status(cut.status.code(), absl::StrCat(how, ": ", cut.status.message()));
  }
  absl::Status same = CheckSame("line", SortedLines(whole.output), SortedLines(cut.output), how);
  same.Update(CheckSame("counter", Counted(whole.counters), Counted(cut.counters), how));
  same.Update(CheckSame("bad record", Places(whole.bad_records), Places(cut.bad_records), how));
  return same;
}

bool HasOneReducer(const JobDefinition& job, const JobRun& run) {
  const auto values = CheckParameters(job.info(), run.parameters);
  if (!values.ok()) return false;  // which the first run says
  const ElementInfo element = job.Element(*values, 1);
  return element.kind != ElementKind::kNone && (!element.splits || element.one_reducer);
}

}  // namespace

absl::Status CheckCuts(const JobDefinition& job, const JobRun& run) {
  JobRun one = run;
  one.mappers = one.reducers = one.slots = 1;
  one.combine_steps = false;
  const JobResult whole = RunJob(job, one);
  if (!whole.ok()) return whole.status;
  for (const bool combine : {false, true}) {
    for (const int mappers : {1, 2, 3}) {
      for (const int slots : {1, 2}) {
        JobRun cut = one;
        cut.mappers = mappers;
        cut.reducers = HasOneReducer(job, run) ? 1 : 4 - mappers;
        cut.slots = slots;
        cut.combine_steps = combine;
        const std::string how =
            absl::StrCat("with ", mappers, " mappers, ", cut.reducers, " reducers, ", slots,
                         " slots", combine ? " and combine steps" : "");
        absl::Status same = CheckResult(whole, RunJob(job, cut), how);
        if (!same.ok()) return same;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::testing
