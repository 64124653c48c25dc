#include "runtime/task/step_runner.h"

#include <sys/resource.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/step_label.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/format/codec.h"
#include "runtime/format/part_writer.h"
#include "runtime/format/run_reader.h"
#include "runtime/format/run_writer.h"
#include "runtime/task/guarded_call.h"
#include "runtime/task/stored_text.h"

namespace weir::task {
namespace {

// Pass the engine's calls on and count what goes through, so that a step that only moves bytes is
// seen to be alive.

class CountingRunSink : public RunSink {
 public:
  CountingRunSink(RunSink& sink, StepActivity& activity) : sink_(sink), activity_(activity) {}
  absl::Status BeginSection(int consumer) override { return sink_.BeginSection(consumer); }
  absl::Status Append(std::string_view block, std::int64_t records) override {
    activity_.AddOutputBytes(static_cast<std::int64_t>(block.size()));
    return sink_.Append(block, records);
  }

 private:
  RunSink& sink_;
  StepActivity& activity_;
};

class CountingPartSink : public PartSink {
 public:
  CountingPartSink(PartSink& sink, StepActivity& activity) : sink_(sink), activity_(activity) {}
  absl::Status Append(std::string_view bytes, std::int64_t records) override {
    activity_.AddOutputBytes(static_cast<std::int64_t>(bytes.size()));
    return sink_.Append(bytes, records);
  }

 private:
  PartSink& sink_;
  StepActivity& activity_;
};

class CountingRunSource : public RunSource {
 public:
  CountingRunSource(std::unique_ptr<format::RunReader> source, StepActivity& activity)
      : source_(std::move(source)), activity_(activity) {}
  // As the order counts them: stored bytes.
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    const std::int64_t before = source_->bytes_read();
    absl::StatusOr<absl::Span<const char>> block = source_->NextBlock();
    activity_.AddInputBytes(source_->bytes_read() - before);
    return block;
  }

 private:
  std::unique_ptr<format::RunReader> source_;
  StepActivity& activity_;
};

class EmptyRunSource : public RunSource {
 public:
  absl::StatusOr<absl::Span<const char>> NextBlock() override { return absl::Span<const char>(); }
};

absl::StatusOr<std::unique_ptr<RunSource>> OpenInput(const v1::StepInput& input,
                                                     StepActivity& activity) {
  if (input.bytes() == 0) return std::make_unique<EmptyRunSource>();
  auto reader = format::RunReader::Open(input.path(), input.path_offset(), input.bytes());
  if (!reader.ok()) return reader.status();
  return std::make_unique<CountingRunSource>(*std::move(reader), activity);
}

bool IsMap(const v1::StepOrder& order) { return order.kind() == v1::STEP_ORDER_KIND_MAP; }

bool IsWrite(const v1::StepOrder& order) { return order.kind() == v1::STEP_ORDER_KIND_WRITE; }

// Its output is text: a part, or a run that a write step makes a part of.
bool MakesText(const v1::StepOrder& order) { return order.consumer_key_end().empty(); }

bool MakesPart(const v1::StepOrder& order) {
  return MakesText(order) && !order.has_store_consumer();
}

std::vector<double> ConsumerKeyEnd(const v1::StepOrder& order) {
  return {order.consumer_key_end().begin(), order.consumer_key_end().end()};
}

MapOrder MakeMapOrder(const v1::StepOrder& order) {
  MapOrder map;
  for (const v1::InputRange& range : order.ranges()) {
    map.ranges.push_back({range.path(), range.begin(), range.end(), range.file_bytes()});
  }
  map.consumer_key_end = ConsumerKeyEnd(order);
  return map;
}

absl::StatusOr<ReduceOrder> MakeReduceOrder(const v1::StepOrder& order, StepActivity& activity) {
  ReduceOrder reduce;
  reduce.layer = order.layer();
  reduce.index_in_layer = order.index_in_layer();
  reduce.consumer_key_end = ConsumerKeyEnd(order);
  for (const v1::StepInput& input : order.inputs()) {
    absl::StatusOr<std::unique_ptr<RunSource>> source = OpenInput(input, activity);
    if (!source.ok()) return source.status();
    reduce.inputs.push_back(*std::move(source));
  }
  return reduce;
}

std::int64_t InputBytes(const v1::StepOrder& order) {
  std::int64_t bytes = 0;
  for (const v1::InputRange& range : order.ranges()) bytes += range.end() - range.begin();
  for (const v1::StepInput& input : order.inputs()) bytes += input.bytes();
  return bytes;
}

absl::StatusOr<StepTotals> ReduceToText(JobProgram& program, const v1::StepOrder& order,
                                        RunSink& sink, StepContext& context,
                                        StepActivity& activity) {
  absl::StatusOr<ReduceOrder> reduce = MakeReduceOrder(order, activity);
  if (!reduce.ok()) return reduce.status();
  if (absl::Status begun = sink.BeginSection(order.store_consumer()); !begun.ok()) return begun;
  TextRunSink text(sink);
  return GuardedCall([&] { return program.ReduceToPart(*std::move(reduce), text, context); });
}

absl::StatusOr<StepTotals> WriteRun(JobProgram& program, const v1::TaskCommand::Run& run,
                                    StepContext& context, StepActivity& activity,
                                    v1::StepResult& result) {
  auto writer = format::RunWriter::Create(run.run_path(), run.order().codec());
  if (!writer.ok()) return writer.status();
  CountingRunSink sink(**writer, activity);
  absl::StatusOr<StepTotals> totals;
  if (IsMap(run.order())) {
    const MapOrder order = MakeMapOrder(run.order());
    totals = GuardedCall([&] { return program.Map(order, sink, context); });
  } else if (MakesText(run.order())) {
    totals = ReduceToText(program, run.order(), sink, context, activity);
  } else {
    absl::StatusOr<ReduceOrder> order = MakeReduceOrder(run.order(), activity);
    if (!order.ok()) return order.status();
    totals = GuardedCall([&] { return program.ReduceToRun(*std::move(order), sink, context); });
  }
  if (!totals.ok()) return totals;
  absl::StatusOr<v1::RunInfo> info =
      (*writer)->Finish(absl::StrCat(run.order().step(), ".", run.fence().attempt()));
  if (!info.ok()) return info.status();
  *result.mutable_run() = *std::move(info);
  return totals;
}

absl::StatusOr<StepTotals> WritePart(JobProgram& program, const v1::TaskCommand::Run& run,
                                     StepContext& context, StepActivity& activity,
                                     v1::StepResult& result) {
  absl::StatusOr<ReduceOrder> order = MakeReduceOrder(run.order(), activity);
  if (!order.ok()) return order.status();
  auto writer = format::PartWriter::Create(run.order().part_path());
  if (!writer.ok()) return writer.status();
  CountingPartSink sink(**writer, activity);
  absl::StatusOr<StepTotals> totals =
      GuardedCall([&] { return program.ReduceToPart(*std::move(order), sink, context); });
  if (!totals.ok()) return totals;
  absl::StatusOr<v1::OutputPart> part = (*writer)->Finish();
  if (!part.ok()) return part.status();
  *result.mutable_part() = *std::move(part);
  return totals;
}

absl::StatusOr<StepTotals> StoreText(const v1::StepOrder& order, StepActivity& activity,
                                     v1::StepResult& result) {
  std::vector<std::unique_ptr<format::RunReader>> sections;
  for (const v1::StepInput& input : order.inputs()) {
    if (input.bytes() == 0) continue;
    auto reader = format::RunReader::Open(input.path(), input.path_offset(), input.bytes());
    if (!reader.ok()) return reader.status();
    sections.push_back(*std::move(reader));
  }
  auto writer = format::PartWriter::Create(order.part_path());
  if (!writer.ok()) return writer.status();
  CountingPartSink sink(**writer, activity);
  absl::StatusOr<StepTotals> totals = JoinText(std::move(sections), sink, activity);
  if (!totals.ok()) return totals;
  absl::StatusOr<v1::OutputPart> part = (*writer)->Finish();
  if (!part.ok()) return part.status();
  *result.mutable_part() = *std::move(part);
  return totals;
}

v1::JobError ErrorOfStep(const absl::Status& status, const StepActivity& activity) {
  if (const std::optional<StepError> named = StepErrorOf(status)) {
    v1::JobError error = MakeJobError(named->code, named->message, named->advice);
    error.set_file(ValidUtf8(named->file));
    error.set_byte_offset(named->byte_offset);
    return error;
  }
  const std::optional<BadRecord> bad = BadRecordOf(status);
  if (!bad) return JobErrorFromStatus(status);
  const std::int64_t skipped = activity.num_skipped();
  const std::string others =
      skipped == 0 ? "" : absl::StrCat(" (", skipped, " before it were left out)");
  v1::JobError error = MakeJobError(
      job_error::kBadRecord, absl::StrCat(bad->reason, ": '", bad->content, "'", others),
      "mend or remove the record, or leave out up to N like it with --skip-bad N");
  error.set_file(ValidUtf8(bad->file));
  error.set_byte_offset(bad->byte_offset);
  return error;
}

struct Usage {
  double cpu_s = 0;
  std::int64_t peak_memory_bytes = 0;
};

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Of the whole process: it runs one step at a time.
Usage ProcessUsage() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {Seconds(usage.ru_utime) + Seconds(usage.ru_stime), usage.ru_maxrss * 1024};
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

absl::Status CheckKeyEnds(const v1::StepOrder& order) {
  double last = 0;
  for (const double end : order.consumer_key_end()) {
    if (!(end >= last && end <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("consumer_key_end must rise from 0 to 1; ", end, " follows ", last));
    }
    last = end;
  }
  if (!MakesText(order) && last != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("consumer_key_end ends at ", last, ", not at 1"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StepTotals> RunChecked(JobProgram& program, const v1::TaskCommand::Run& run,
                                      StepContext& context, StepActivity& activity,
                                      v1::StepResult& result) {
  const absl::Status checked = CheckRun(run);
  if (!checked.ok()) return checked;
  if (IsWrite(run.order())) return StoreText(run.order(), activity, result);
  return MakesPart(run.order()) ? WritePart(program, run, context, activity, result)
                                : WriteRun(program, run, context, activity, result);
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

absl::Status CheckRun(const v1::TaskCommand::Run& run) {
  const v1::StepOrder& order = run.order();
  if (order.kind() < v1::STEP_ORDER_KIND_MAP || order.kind() > v1::STEP_ORDER_KIND_WRITE) {
    return absl::InvalidArgumentError(absl::StrCat("step kind ", order.kind(), " is unknown"));
  }
  if (IsMap(order) && MakesText(order)) {
    return absl::InvalidArgumentError("a map step has no consumers: consumer_key_end is empty");
  }
  if (IsWrite(order) && !MakesPart(order)) {
    return absl::InvalidArgumentError("a write step has consumers; it makes a part");
  }
  if (order.has_store_consumer() && (!MakesText(order) || order.store_consumer() < 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("store_consumer ", order.store_consumer(), " does not go with ",
                     order.consumer_key_end_size(), " consumers of the next layer"));
  }
  if (!format::IsKnownCodec(static_cast<std::uint32_t>(order.codec()))) {
    return absl::InvalidArgumentError(absl::StrCat("codec ", order.codec(), " is unknown"));
  }
  if (MakesPart(order) ? order.part_path().empty() : run.run_path().empty()) {
    return absl::InvalidArgumentError("the order names no file to write");
  }
  for (const absl::Status& status : {CheckRanges(order), CheckInputs(order), CheckKeyEnds(order)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

v1::StepResult RunStep(JobProgram& program, const v1::TaskCommand::Run& run, SlotPool& slots,
                       std::int64_t memory_bytes, StepActivity& activity,
                       const std::function<MonoTime()>& now) {
  const MonoTime begin = now();
  const Usage before = ProcessUsage();
  v1::StepResult result;
  result.set_step(run.order().step());
  ActivityContext context(slots, memory_bytes, activity);

  const absl::StatusOr<StepTotals> totals = RunChecked(program, run, context, activity, result);
  if (totals.ok()) {
    result.set_input_bytes(InputBytes(run.order()));
    result.set_input_records(totals->input_records);
    result.set_output_records(totals->output_records);
  } else {
    *result.mutable_error() = ErrorOfStep(totals.status(), activity);
    result.mutable_error()->set_step(StepLabel(run.order()));
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
  result.set_cpu_s(after.cpu_s - before.cpu_s);
  result.set_peak_memory_bytes(after.peak_memory_bytes);
  result.set_run_s(absl::ToDoubleSeconds(now() - begin));
  return result;
}

}  // namespace weir::task
