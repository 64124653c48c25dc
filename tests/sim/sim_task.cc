#include "tests/sim/sim_task.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/api/element.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "tests/sim/world.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kTaskStart = absl::Milliseconds(20);
constexpr absl::Duration kTaskStop = absl::Milliseconds(10);
// One block header, as a real section has.
constexpr std::int64_t kSectionHeaderBytes = 32;

// What a step of a kind costs and leaves.
struct KindModel {
  double seconds_per_byte = 0;
  double output_ratio = 1;
  bool counts_input = false;
  bool stores = false;
  bool combines = false;
};

KindModel ModelOf(v1::StepKind kind, const WorkerModel& model) {
  switch (kind) {
    case v1::STEP_KIND_MAP:
      return {model.map_seconds_per_byte, model.map_output_ratio, /*counts_input=*/true, false};
    case v1::STEP_KIND_COMBINE:
      return {model.reduce_seconds_per_byte, 1, false, false, /*combines=*/true};
    case v1::STEP_KIND_WRITE:
      return {model.store_seconds_per_byte, 1, false, /*stores=*/true};
    default:
      return {model.reduce_seconds_per_byte, model.output_ratio, false, false};
  }
}

double PlaceOf(std::int64_t place) {
  return static_cast<double>(place) / static_cast<double>(kTablePlaces);
}

// What of the unit interval each consumer reads.
std::vector<std::pair<double, double>> RangesOf(const v1::StepOrder& order) {
  std::vector<std::pair<double, double>> ranges;
  for (const v1::StepConsumer& consumer : order.consumers()) {
    // Text is one section for its only consumer.
    if (order.text()) {
      ranges.emplace_back(0, 1);
    } else if (consumer.has_indexes()) {
      ranges.emplace_back(PlaceOf(consumer.indexes().begin()), PlaceOf(consumer.indexes().end()));
    } else {
      ranges.emplace_back(ranges.empty() ? 0 : ranges.back().second, consumer.keys().end());
    }
  }
  return ranges;
}

// Sections as large as their part of what the step holds.
v1::RunInfo SectionsOf(const v1::StepOrder& order, std::int64_t output_bytes) {
  v1::RunInfo run;
  const std::vector<std::pair<double, double>> ranges = RangesOf(order);
  double all = 0;
  for (const auto& [first, last] : ranges) all += last - first;
  std::int64_t begin = 0;
  double before = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const v1::StepConsumer& consumer = order.consumers(static_cast<int>(i));
    before += ranges[i].second - ranges[i].first;
    const double share = !consumer.has_indexes()              ? ranges[i].second
                         : i + 1 == ranges.size() || all <= 0 ? 1
                                                              : before / all;
    const auto end =
        static_cast<std::int64_t>(std::llround(share * static_cast<double>(output_bytes)));
    v1::RunSection& section = *run.add_sections();
    section.set_consumer_step(consumer.step());
    section.set_offset(run.bytes());
    section.set_bytes(end > begin ? end - begin + kSectionHeaderBytes : 0);
    section.set_records(end - begin);
    run.set_bytes(run.bytes() + section.bytes());
    begin = end;
  }
  return run;
}

}  // namespace

std::unique_ptr<worker::JobTask> SimTasks::MakeTask(worker::JobTask::Listener listener) {
  return std::make_unique<SimTask>(process_, jobs_, std::move(listener));
}

SimTask::~SimTask() {
  Disarm();
  End();
}

void SimTask::After(absl::Duration delay, env::Task task) {
  Disarm();
  timer_ =
      process_.loop->RunAt(process_.loop->Now() + delay, [this, run = std::move(task)]() mutable {
        timer_.reset();
        run();
      });
}

void SimTask::Disarm() {
  if (timer_) process_.loop->CancelTimer(*timer_);
  timer_.reset();
}

void SimTask::End() {
  if (state_ != State::kNew && state_ != State::kGone) jobs_.erase(jobs_.find(job_id_));
  state_ = State::kGone;
}

absl::Status SimTask::Start(const std::string& directory, const v1::TaskCommand::Start& start) {
  if (!process_.storage.MayWriteIn(directory)) {
    return ErrnoStatus(ENOENT, absl::StrCat("cannot start a task in ", directory, " (simulated)"));
  }
  job_id_ = start.job_id();
  jobs_.insert(job_id_);
  state_ = State::kStarting;
  After(kTaskStart, [this] {
    state_ = State::kIdle;
    listener_.on_ready();
  });
  return absl::OkStatus();
}

absl::Status SimTask::Run(v1::TaskCommand::Run run) {
  if (state_ == State::kRunning) {
    process_.world.Wrong(absl::StrCat("two steps at once on ", process_.name()));
  }
  if (state_ != State::kIdle) return absl::FailedPreconditionError("no step now (simulated)");
  run_ = std::move(run);
  const v1::StepOrder& order = run_.order();
  if (absl::Status inputs = CheckInputs(); !inputs.ok()) {
    process_.world.Wrong(absl::StrCat("step ", order.step(), " of ", job_id_,
                                      " started without its inputs: ", inputs.ToString()));
  }
  input_bytes_ = 0;
  for (const v1::InputRange& range : order.ranges()) input_bytes_ += range.end() - range.begin();
  for (const v1::StepInput& input : order.inputs()) input_bytes_ += input.bytes();
  const KindModel kind = ModelOf(order.kind(), process_.model);
  began_ = process_.loop->Now();
  takes_ = absl::Seconds(static_cast<double>(input_bytes_) * kind.seconds_per_byte /
                         process_.model.slots * process_.model.slowness);
  if (kind.stores) process_.world.trace().writes.push_back({job_id_, began_, began_ + takes_});
  process_.world.Note(absl::StrCat(process_.name(), " step ", order.step(), " of ", job_id_));
  state_ = State::kRunning;
  After(takes_, [this] { FinishStep(); });
  return absl::OkStatus();
}

Content SimTask::ContentOfInputs() const {
  const v1::StepOrder& order = run_.order();
  Content all = {{0, 1, {}}};
  for (const v1::InputRange& range : order.ranges()) {
    AppendInput({range.path(), range.begin(), range.end()}, all[0].input);
  }
  if (!all[0].input.empty()) return all;
  std::vector<Content> operands;
  for (const v1::StepInput& input : order.inputs()) {
    const Content* const operand =
        process_.world.contents().Find(job_id_, input.run_id(), order.step());
    if (operand != nullptr) operands.push_back(*operand);
  }
  return Fold(operands);
}

void SimTask::KeepContents() const {
  const v1::StepOrder& order = run_.order();
  Contents& contents = process_.world.contents();
  const bool reduced = order.kind() == v1::STEP_KIND_REDUCE;
  if (order.consumers().empty()) {
    if (reduced && order.layer() == 1) {
      contents.PutPart(job_id_, order.index_in_layer(), content_);
    }
    return;
  }
  if (reduced || order.text()) return;
  const std::vector<std::pair<double, double>> ranges = RangesOf(order);
  const std::string run = absl::StrCat(order.step(), ".", run_.fence().attempt());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    contents.Put(job_id_, run, order.consumers(static_cast<int>(i)).step(),
                 Cut(content_, ranges[i].first, ranges[i].second));
  }
}

absl::Status SimTask::CheckInputs() const {
  for (const v1::InputRange& range : run_.order().ranges()) {
    absl::Status there =
        process_.storage.CheckWritten(range.path(), range.begin(), range.end() - range.begin());
    if (!there.ok()) return there;
  }
  for (const v1::StepInput& input : run_.order().inputs()) {
    if (input.bytes() == 0) continue;
    absl::Status there =
        process_.storage.CheckWritten(input.path(), input.path_offset(), input.bytes());
    if (!there.ok()) return there;
  }
  if (!run_.run_path().empty() && process_.storage.Stat(run_.run_path()).ok()) {
    return absl::AlreadyExistsError(absl::StrCat("the run is there already: ", run_.run_path()));
  }
  return absl::OkStatus();
}

absl::Status SimTask::WriteOutput(std::int64_t output_bytes, v1::StepResult& result) {
  // What a task writes on the way to its output is on the worker's disk, wherever that goes.
  if (process_.faults.disk_full) return absl::ResourceExhaustedError("no space left (simulated)");
  const v1::StepOrder& order = run_.order();
  if (order.part_path().empty()) {
    *result.mutable_run() = SectionsOf(order, output_bytes);
    return process_.storage.WriteSized(run_.run_path(), result.run().bytes());
  }
  result.mutable_part()->set_file(order.part_path().substr(order.part_path().rfind('/') + 1));
  result.mutable_part()->set_bytes(output_bytes);
  result.mutable_part()->set_xxh3_64("0123456789abcdef");
  return process_.storage.WriteSized(order.part_path(), output_bytes);
}

void SimTask::FinishStep() {
  const v1::StepOrder& order = run_.order();
  if (process_.faults.task_crashes) {
    v1::JobError error =
        MakeJobError(job_error::kTaskCrashed, "the task was ended by signal SIGSEGV (simulated)");
    error.set_stderr_tail("last words of the task\n");
    End();
    return listener_.on_failed(std::move(error));
  }
  const KindModel kind = ModelOf(order.kind(), process_.model);
  content_ = ContentOfInputs();
  KeepContents();
  v1::StepResult result;
  result.set_step(order.step());
  result.set_input_bytes(input_bytes_);
  double output_ratio = kind.output_ratio;
  if (kind.combines) {
    // Operands of the same places become one; others join.
    double operands = 0;
    for (const v1::StepInput& input : order.inputs()) {
      const Content* const operand =
          process_.world.contents().Find(job_id_, input.run_id(), order.step());
      if (operand != nullptr) operands += LengthOf(*operand);
    }
    if (operands > 0) output_ratio = LengthOf(content_) / operands;
  }
  const auto output_bytes =
      static_cast<std::int64_t>(std::llround(static_cast<double>(input_bytes_) * output_ratio));
  if (absl::Status written = WriteOutput(output_bytes, result); !written.ok()) {
    *result.mutable_error() = MakeJobError(job_error::kDiskFull, std::string(written.message()));
  }
  if (kind.counts_input) {
    v1::Counter& counter = *result.add_counters();
    counter.set_name("input_bytes");
    counter.set_value(input_bytes_);
  }
  process_.world.Note(absl::StrCat(process_.name(), " did step ", order.step(), " of ", job_id_));
  state_ = State::kIdle;
  listener_.on_result(std::move(result));
}

void SimTask::Stop(env::Task done) {
  if (state_ == State::kNew || state_ == State::kGone) {
    state_ = State::kGone;
    return process_.loop->Post(std::move(done));
  }
  state_ = State::kStopping;
  After(kTaskStop, [this, done = std::move(done)]() mutable {
    End();
    done();
  });
}

std::optional<worker::JobTask::Progress> SimTask::progress() const {
  if (state_ != State::kRunning) return std::nullopt;
  const double share =
      takes_ > absl::ZeroDuration()
          ? std::min(1.0, absl::FDivDuration(process_.loop->Now() - began_, takes_))
          : 1;
  return Progress{run_.order().step(),
                  static_cast<std::int64_t>(share * static_cast<double>(input_bytes_))};
}

std::string SimTask::OutputTailBytes(std::size_t bytes_max) const {
  const std::string output = absl::StrCat("output on ", process_.name(), "\n");
  return output.substr(output.size() - std::min(output.size(), bytes_max));
}

}  // namespace weir::sim
