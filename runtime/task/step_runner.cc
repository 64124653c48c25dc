#include "runtime/task/step_runner.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/element.h"
#include "jobs/api/step_error.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/run_id.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/format/codec.h"
#include "runtime/format/part_writer.h"
#include "runtime/format/run_reader.h"
#include "runtime/format/run_writer.h"
#include "runtime/task/counting_io.h"
#include "runtime/task/key_ends.h"
#include "runtime/task/spill_files.h"
#include "runtime/task/start/guarded_call.h"

namespace weir::task {
namespace {

// No step reads what it makes.
bool MakesPart(const v1::StepOrder& order) { return order.consumers().empty(); }

std::int64_t InputBytes(const v1::StepOrder& order) {
  std::int64_t bytes = 0;
  for (const v1::InputRange& range : order.ranges()) bytes += range.end() - range.begin();
  for (const v1::StepInput& input : order.inputs()) bytes += input.bytes();
  return bytes;
}

// By number of the section: whether any step reads it.
std::vector<bool> SectionsWithReaders(const v1::StepOrder& order) {
  const std::vector<int> section_of = SectionOfConsumers(order);
  std::vector<bool> read(section_of.empty() ? 0 : static_cast<std::size_t>(section_of.back()) + 1);
  for (int consumer = 0; consumer < order.consumers_size(); ++consumer) {
    if (order.consumers(consumer).step() < 0) continue;
    read[static_cast<std::size_t>(section_of[static_cast<std::size_t>(consumer)])] = true;
  }
  return read;
}

// Sections are written by number; from here on they are addressed by the steps that read them. What
// several read lies in the run once.
void AddressSections(const v1::StepOrder& order, v1::RunInfo& run) {
  const google::protobuf::RepeatedPtrField<v1::RunSection> written = run.sections();
  const std::vector<int> section_of = SectionOfConsumers(order);
  run.clear_sections();
  for (const v1::RunSection& section : written) {
    const auto [begin, end] = ConsumersOfSection(section_of, section.consumer_step());
    for (int consumer = begin; consumer < end; ++consumer) {
      if (order.consumers(consumer).step() < 0) continue;
      *run.add_sections() = section;
      run.mutable_sections()->rbegin()->set_consumer_step(order.consumers(consumer).step());
    }
  }
}

absl::Status CheckCounters(const StepActivity& activity) {
  if (!activity.too_many_counters()) return absl::OkStatus();
  StepError error;
  error.code = step_error::kUserError;
  error.message = absl::StrCat("counted under more than ", kStepCountersMax, " names, or under ",
                               "names of more than ", kStepCounterNameBytesMax, " bytes together");
  error.advice = "count under fewer names; what differs from record to record is output";
  return StepErrorStatus(absl::StatusCode::kInvalidArgument, error);
}

absl::StatusOr<StepTotals> WriteRun(const StepImplementation& kind, const StepWork& work,
                                    const v1::TaskCommand::Run& run, v1::StepResult& result) {
  const auto tries =
      work.order.no_codec_trials() ? format::TryCodecs::kNo : format::TryCodecs::kYes;
  auto writer = format::RunWriter::Create(run.run_path(), work.order.codec(), tries);
  if (!writer.ok()) return writer.status();
  CountingRunSink sink(**writer, SectionsWithReaders(work.order), work.activity);
  absl::StatusOr<StepTotals> totals = kind.make_run(work, sink);
  if (!totals.ok()) return totals;
  if (absl::Status counted = CheckCounters(work.activity); !counted.ok()) return counted;
  const FileIo io(work.activity);
  absl::StatusOr<v1::RunInfo> info =
      (*writer)->Finish(RunIdOf(work.order.step(), run.fence().attempt()));
  if (!info.ok()) return info.status();
  AddressSections(work.order, *info);
  *result.mutable_run() = *std::move(info);
  return totals;
}

absl::StatusOr<StepTotals> WritePart(const StepImplementation& kind, const StepWork& work,
                                     const std::function<MonoTime()>& now, v1::StepResult& result) {
  auto writer = format::PartWriter::Create(work.order.part_path());
  if (!writer.ok()) return OfOutput(writer.status());
  CountingPartSink sink(**writer, work.activity);
  absl::StatusOr<StepTotals> totals = kind.make_part(work, sink);
  if (!totals.ok()) return totals;
  if (absl::Status counted = CheckCounters(work.activity); !counted.ok()) return counted;
  const FileIo io(work.activity);
  const MonoTime written = now();
  absl::StatusOr<v1::OutputPart> part = (*writer)->Finish();
  if (!part.ok()) return OfOutput(part.status());
  result.set_closing_s(absl::ToDoubleSeconds(now() - written));
  *result.mutable_part() = *std::move(part);
  return totals;
}

// Files of the input fail by a StepError and those of the output are marked: what is left of those
// that fail by a number lies in this worker's work directory. Of a run that is damaged it made one
// half, and another worker perhaps the other.
v1::FaultOf FaultOfFiles(const absl::Status& status) {
  if (CarriesJobError(status) || IsOfOutput(status)) return v1::FAULT_OF_UNSPECIFIED;
  if (ErrnoOf(status) != 0) return v1::FAULT_OF_WORKER;
  return format::DamagedRunPath(status) ? v1::FAULT_OF_EXCHANGE : v1::FAULT_OF_UNSPECIFIED;
}

// Id of the run in which damage was found; empty: none was.
std::string DamagedRun(const absl::Status& status, const v1::StepOrder& order) {
  const std::optional<std::string> path = format::DamagedRunPath(status);
  for (const v1::StepInput& input : order.inputs()) {
    if (path && input.path() == *path) return input.run_id();
  }
  return "";
}

// By their number alone, those of the output would be taken for inputs.
v1::JobError ErrorOfFiles(const absl::Status& status) {
  v1::JobError error = JobErrorFromStatus(status);
  error.set_fault_of(FaultOfFiles(status));
  const bool limit = absl::IsResourceExhausted(status);  // room, memory, open files
  if (!IsOfOutput(status) || CarriesJobError(status) || ErrnoOf(status) == 0 || limit) return error;
  const std::string_view advice = AdviceForErrno(ErrnoOf(status));
  error.set_code(std::string(job_error::kOutputUnusable));
  error.set_advice(advice.empty()
                       ? "see whether the output directory was removed or its file system failed, "
                         "then run the job again"
                       : std::string(advice));
  return error;
}

v1::JobError ErrorOfStep(const absl::Status& status, const StepActivity& activity) {
  if (const std::optional<StepError> named = StepErrorOf(status)) {
    v1::JobError error = MakeJobError(named->code, named->message, named->advice);
    error.set_file(ValidUtf8(named->file));
    error.set_byte_offset(named->byte_offset);
    error.set_stderr_tail(ValidUtf8(named->stderr_tail));
    return error;
  }
  const std::optional<BadRecord> bad = BadRecordOf(status);
  if (!bad) return ErrorOfFiles(status);
  const std::int64_t skipped = activity.num_skipped();
  const std::string others =
      skipped == 0 ? "" : absl::StrCat(" (", skipped, " before it were left out)");
  v1::JobError error = MakeJobError(
      job_error::kBadRecord, absl::StrCat(bad->reason, ": '", bad->content, "'", others),
      bad->can_be_left_out
          ? "mend or remove the record, or leave out up to N like it with --skip-bad N"
          : "mend the file or leave it out of the input; --skip-bad cannot leave out such a "
            "record");
  error.set_file(ValidUtf8(bad->file));
  error.set_byte_offset(bad->byte_offset);
  return error;
}

struct Usage {
  double cpu_s = 0;
  double waited_s = 0;
  std::int64_t peak_memory_bytes = 0;
};

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// How long the threads of this process were ready while others ran: the second number of each
// (Linux, Documentation/scheduler/sched-stats.rst). 0 where the kernel does not count it.
double ThreadsWaited() {
  double waited_ns = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator thread("/proc/self/task", error), end;
       !error && thread != end; thread.increment(error)) {
    const Fd file(::open((thread->path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC));
    char text[128];
    const ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
    if (size <= 0) continue;
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(absl::string_view(text, static_cast<std::size_t>(size)), ' ');
    double delay_ns = 0;
    if (numbers.size() >= 2 && absl::SimpleAtod(numbers[1], &delay_ns)) waited_ns += delay_ns;
  }
  return waited_ns * 1e-9;
}

// Of the whole process, which runs one step at a time, and of what it started and awaited.
Usage ProcessUsage() {
  rusage own{};
  rusage awaited{};
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &awaited);
  return {Seconds(own.ru_utime) + Seconds(own.ru_stime) + Seconds(awaited.ru_utime) +
              Seconds(awaited.ru_stime),
          ThreadsWaited(), own.ru_maxrss * 1024};
}

absl::Status CheckRanges(const v1::StepOrder& order) {
  for (const v1::InputRange& range : order.ranges()) {
    if (range.path().empty() || range.begin() < 0 || range.begin() > range.end() ||
        range.end() > range.file_bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input range [", range.begin(), ", ", range.end(), ") of '", range.path(),
                       "' of ", range.file_bytes(), " bytes is no range of that file"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckInputs(const v1::StepOrder& order) {
  for (const v1::StepInput& input : order.inputs()) {
    if (input.bytes() < 0 || input.path_offset() < 0 ||
        (input.bytes() > 0 && input.path().empty())) {
      return absl::InvalidArgumentError(
          absl::StrCat("section of run ", input.run_id(), " has no place: '", input.path(), "' at ",
                       input.path_offset(), ", ", input.bytes(), " bytes"));
    }
  }
  return absl::OkStatus();
}

// Ranges of places are checked by who knows how many there are.
absl::Status CheckKeys(const v1::StepOrder& order) {
  const auto has_keys = [](const v1::StepConsumer& consumer) { return consumer.has_keys(); };
  const bool by_keys = !MakesPart(order) && !order.text() &&
                       std::all_of(order.consumers().begin(), order.consumers().end(), has_keys);
  return by_keys ? KeyEnds(order, kTablePlaces).status() : absl::OkStatus();
}

absl::StatusOr<StepTotals> RunChecked(const StepImplementations& kinds, JobProgram& program,
                                      const v1::TaskCommand::Run& run, StepContext& context,
                                      StepActivity& activity, const std::function<MonoTime()>& now,
                                      v1::StepResult& result) {
  const absl::Status checked = CheckRun(run, kinds);
  if (!checked.ok()) return checked;
  const StepImplementation& kind = kinds.at(run.order().kind());
  const StepWork work{program, run.order(), context, activity, result};
  return MakesPart(run.order()) ? WritePart(kind, work, now, result)
                                : WriteRun(kind, work, run, result);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const v1::TaskCommand::Start& start,
                                                        const JobCatalog& catalog) {
  const auto job = catalog.find(start.job());
  if (job == catalog.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("job '", start.job(), "' is not linked into this weir"));
  }
  std::vector<std::pair<std::string, std::string>> given;
  for (const v1::JobParameter& parameter : start.parameters()) {
    given.emplace_back(parameter.name(), parameter.value());
  }
  const absl::StatusOr<ParameterValues> values = CheckParameters(job->second->info(), given);
  if (!values.ok()) return values.status();
  return GuardedCall([&] { return job->second->MakeProgram(*values); });
}

absl::Status CheckRun(const v1::TaskCommand::Run& run, const StepImplementations& kinds) {
  const v1::StepOrder& order = run.order();
  const auto kind = kinds.find(order.kind());
  if (kind == kinds.end()) {
    return absl::InvalidArgumentError(absl::StrCat("step kind ", order.kind(), " is unknown"));
  }
  if (MakesPart(order) && kind->second.make_part == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", kind->second.name, " step has no consumers; it makes a run"));
  }
  if (!MakesPart(order) && kind->second.make_run == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", kind->second.name, " step has consumers; it makes a part"));
  }
  if (order.text() && order.consumers_size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("text of a part goes to one consumer, not to ", order.consumers_size()));
  }
  if (!format::IsKnownCodec(static_cast<std::uint32_t>(order.codec()))) {
    return absl::InvalidArgumentError(absl::StrCat("codec ", order.codec(), " is unknown"));
  }
  if (MakesPart(order) ? order.part_path().empty() : run.run_path().empty()) {
    return absl::InvalidArgumentError("the order names no file to write");
  }
  for (const absl::Status& status : {CheckRanges(order), CheckInputs(order), CheckKeys(order)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

StepRoom RoomOf(const v1::TaskCommand::Start& start) {
  return {start.memory_bytes(), start.spill_above_bytes(), start.refers_to_input(),
          start.work_dir()};
}

v1::StepResult RunStep(const StepImplementations& kinds, JobProgram& program,
                       const v1::TaskCommand::Run& run, SlotPool& slots, const StepRoom& room,
                       StepActivity& activity, const std::function<MonoTime()>& now) {
  const MonoTime begin = now();
  const Usage before = ProcessUsage();
  v1::StepResult result;
  result.set_step(run.order().step());
  const int attempt = std::max(1, run.fence().attempt());
  SpillFiles spills(absl::StrCat(room.folder, "/", SpillPrefixOf(run.order().step(), attempt)),
                    activity);
  ActivityContext context({.job_id = run.fence().job_id(),
                           .index_in_layer = run.order().index_in_layer(),
                           .attempt = attempt},
                          slots, room, activity,
                          room.folder.empty() ? nullptr : ActivityContext::NewSpillFile([&spills] {
                            return spills.New();
                          }));

  const absl::StatusOr<StepTotals> totals =
      RunChecked(kinds, program, run, context, activity, now, result);
  if (totals.ok()) {
    result.set_input_bytes(InputBytes(run.order()));
    result.set_input_records(totals->input_records);
    result.set_output_records(totals->output_records);
  } else {
    *result.mutable_error() = ErrorOfStep(totals.status(), activity);
    result.mutable_error()->set_damaged_run(DamagedRun(totals.status(), run.order()));
    result.mutable_error()->set_step(run.order().label());
  }
  for (const auto& [name, value] : activity.counters()) {
    v1::Counter* counter = result.add_counters();
    counter->set_name(ValidUtf8(name));
    counter->set_value(value);
  }
  for (const BadRecord& bad : activity.skipped()) {
    v1::SkippedRecord* skipped = result.add_skipped();
    skipped->set_file(ValidUtf8(bad.file));
    skipped->set_byte_offset(bad.byte_offset);
    skipped->set_content(ValidUtf8(bad.content));
    skipped->set_reason(ValidUtf8(bad.reason));
  }
  const Usage after = ProcessUsage();
  result.set_cpu_s(std::max(0.0, after.cpu_s - before.cpu_s));
  result.set_waited_s(std::max(0.0, after.waited_s - before.waited_s));
  result.set_peak_memory_bytes(after.peak_memory_bytes);
  result.set_run_s(absl::ToDoubleSeconds(now() - begin));
  return result;
}

}  // namespace weir::task
