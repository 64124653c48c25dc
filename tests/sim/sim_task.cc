#include "tests/sim/sim_task.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/element.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/sim/world.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kTaskStart = absl::Milliseconds(20);
constexpr absl::Duration kTaskStop = absl::Milliseconds(10);
// What a step does of its input that hangs behind it.
constexpr double kHungShare = 0.5;
// One block header, as a real section has.
constexpr std::int64_t kSectionHeaderBytes = 32;

// What a step of a kind costs and leaves.
struct KindModel {
  double seconds_per_byte = 0;
  double output_ratio = 1;
  bool counts_input = false;
  bool stores = false;
  bool combines = false;  // folds what arrives into what is there
};

KindModel ModelOf(v1::StepKind kind, const WorkerModel& model) {
  switch (kind) {
    case v1::STEP_KIND_MAP:
      return {model.map_seconds_per_byte, model.map_output_ratio, /*counts_input=*/true, false};
    case v1::STEP_KIND_COMBINE:
      // What map steps leave is in proportion to their input: no key of one is met in another.
      return {model.combine_seconds_per_byte, 1, false, false, /*combines=*/true};
    case v1::STEP_KIND_WRITE:
      return {model.store_seconds_per_byte, 1, false, /*stores=*/true};
    default:
      return {model.reduce_seconds_per_byte, model.output_ratio, false, false};
  }
}

double PlaceOf(std::int64_t place, std::int64_t places) {
  return static_cast<double>(place) / static_cast<double>(places);
}

// What of the unit interval each consumer reads.
std::vector<std::pair<double, double>> RangesOf(const v1::StepOrder& order, std::int64_t places) {
  std::vector<std::pair<double, double>> ranges;
  for (const v1::StepConsumer& consumer : order.consumers()) {
    // Text is one section for its only consumer.
    if (order.text()) {
      ranges.emplace_back(0, 1);
    } else if (consumer.has_indexes()) {
      ranges.emplace_back(PlaceOf(consumer.indexes().begin(), places),
                          PlaceOf(consumer.indexes().end(), places));
    } else {
      ranges.emplace_back(ranges.empty() ? 0 : ranges.back().second, consumer.keys().end());
    }
  }
  return ranges;
}

// Sections as large as their part of what the step holds. Consumers that follow one another with
// the same places share one.
v1::RunInfo SectionsOf(const v1::StepOrder& order, std::int64_t places, std::int64_t output_bytes) {
  v1::RunInfo run;
  const std::vector<std::pair<double, double>> ranges = RangesOf(order, places);
  const auto shares = [&](std::size_t i) {
    return i > 0 && order.consumers(static_cast<int>(i)).has_indexes() &&
           ranges[i] == ranges[i - 1];
  };
  double all = 0;
  std::size_t last_own = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (shares(i)) continue;
    all += ranges[i].second - ranges[i].first;
    last_own = i;
  }
  std::int64_t begin = 0;
  double before = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const v1::StepConsumer& consumer = order.consumers(static_cast<int>(i));
    if (shares(i)) {
      const v1::RunSection same = run.sections(run.sections_size() - 1);
      *run.add_sections() = same;
      run.mutable_sections()->rbegin()->set_consumer_step(consumer.step());
      continue;
    }
    before += ranges[i].second - ranges[i].first;
    const double share = !consumer.has_indexes()     ? ranges[i].second
                         : i == last_own || all <= 0 ? 1
                                                     : before / all;
    std::int64_t end = std::llround(share * static_cast<double>(output_bytes));
    end = std::max(begin, end);
    // Whoever has keys gets something of them, however little there is: an empty section would be
    // one without their input, and nobody reads it.
    if (output_bytes > 0 && ranges[i].first < ranges[i].second) end = std::max(end, begin + 1);
    if (consumer.step() < 0) {  // nobody's
      begin = end;
      continue;
    }
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
  if (start.job() == kLoopJob) {
    loop_.emplace(Loop());  // Clang 19 does not see that a nested class has a default constructor
    for (const v1::JobParameter& parameter : start.parameters()) {
      if (parameter.name() == "converges") {
        (void)absl::SimpleAtoi(parameter.value(), &loop_->converges);
      }
    }
  }
  jobs_.insert(job_id_);
  state_ = State::kStarting;
  After(kTaskStart, [this] {
    if (process_.faults.unpacking_fails) {
      v1::JobError error = MakeJobError(job_error::kInternal, "cannot unpack a.tar (simulated)");
      error.set_fault_of(v1::FAULT_OF_WORKER);
      End();
      return listener_.on_failed(std::move(error));
    }
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
  std::int64_t arrived_bytes = 0;
  for (const v1::StepInput& input : order.inputs()) {
    input_bytes_ += input.bytes();
    if (absl::StrContains(input.path(), "/received/")) arrived_bytes += input.bytes();
  }
  const KindModel kind = ModelOf(order.kind(), process_.model);
  const std::int64_t work_bytes = kind.combines && arrived_bytes > 0 ? arrived_bytes : input_bytes_;
  began_ = process_.loop->Now();
  takes_ =
      absl::Seconds(static_cast<double>(work_bytes) * kind.seconds_per_byte / process_.model.slots *
                    process_.model.slowness * process_.faults.cpu_slowness);
  if (kind.stores) {
    process_.world.trace().writes.push_back({job_id_, plan_epoch(), began_, began_ + takes_});
  }
  process_.world.Note(absl::StrCat(process_.name(), " step ", order.step(), " of ", job_id_));
  state_ = State::kRunning;
  process_.world.StepBegins(process_.name(), order);
  hangs_ = process_.faults.task_hangs;
  if (hangs_) {
    After(kHungShare * takes_ + limits::kTaskSilence, [this] { Hang(); });
  } else {
    After(takes_, [this] { FinishStep(); });
  }
  return absl::OkStatus();
}

// As TaskSupervisor, which sees no progress, kills the process and waits for its end for a while.
void SimTask::Hang() {
  const absl::Duration outlives = process_.faults.task_outlives_kill;
  const absl::Duration waited = std::min(outlives, absl::Duration(limits::kTaskKillGrace));
  lingers_until_ = process_.loop->Now() + outlives;
  After(waited, [this] {
    v1::JobError error = MakeJobError(job_error::kTaskHung, "no progress (simulated)");
    if (lingers_until_ > process_.loop->Now()) {
      state_ = State::kLingering;
      After(lingers_until_ - process_.loop->Now(), [this] { End(); });
    } else {
      End();
    }
    listener_.on_failed(std::move(error));
  });
}

Content SimTask::ContentOfInputs() const {
  const v1::StepOrder& order = run_.order();
  Content all = {{0, 1, {}}};
  for (const v1::InputRange& range : order.ranges()) {
    AppendInput({range.path(), range.begin(), range.end()}, all[0].input);
  }
  if (!all[0].input.empty()) return all;
  return Fold(Operands());
}

std::vector<const Content*> SimTask::Operands() const {
  std::vector<const Content*> operands;
  for (const v1::StepInput& input : run_.order().inputs()) {
    const Content* const operand =
        process_.world.contents().Find(plan(), input.run_id(), run_.order().step());
    if (operand != nullptr) operands.push_back(operand);
  }
  return operands;
}

// As ContentOfInputs, of a step of a loop.
Content SimTask::ContentOfLoop() {
  const v1::StepOrder& order = run_.order();
  if (order.kind() == v1::STEP_KIND_MAP) {
    const Content mapped = ContentOfInputs();
    if (!mapped.empty()) loop_->resident = mapped[0].input;
    return mapped;
  }
  if (order.kind() != v1::STEP_KIND_ITERATE && order.kind() != v1::STEP_KIND_UPDATE) {
    return ContentOfInputs();
  }
  LoopPlace state;
  std::vector<const Content*> elements;
  for (const Content* const operand : Operands()) {
    if (IsState(*operand)) {
      state = (*operand)[0].input;
    } else {
      elements.push_back(operand);
    }
  }
  if (order.kind() == v1::STEP_KIND_ITERATE) {
    if (loop_->resident.empty() || state.empty()) {
      process_.world.Wrong(absl::StrCat(order.label(), " of ", job_id_, " on ", process_.name(),
                                        " without its input or a state"));
    }
    return {{0, 1, MapWithState(loop_->resident, state)}};
  }
  const Content element = Fold(elements);
  for (const ContentPiece& piece : element) {
    if (piece.input == element[0].input) continue;
    process_.world.Wrong(absl::StrCat(order.label(), " of ", job_id_,
                                      " got places that were made of different inputs"));
  }
  if (LengthOf(element) != 1) {
    process_.world.Wrong(
        absl::StrCat(order.label(), " of ", job_id_, " got ", LengthOf(element), " of an element"));
  }
  if (element.empty()) return {};
  return {{0, 1, NextState(order.layer(), element[0].input, state)}};
}

std::string SimTask::DamagedInput() const {
  for (const v1::StepInput& input : run_.order().inputs()) {
    if (input.bytes() == 0) continue;
    Contents& contents = process_.world.contents();
    const bool received = input.place() == v1::SECTION_PLACE_RECEIVED;
    if (contents.FindDamage(plan(), input.run_id()) ||
        (received && contents.FindReceivedDamage(plan(), input.run_id(), run_.order().step(),
                                                 process_.world.random()))) {
      return input.run_id();
    }
  }
  return "";
}

void SimTask::KeepContents() const {
  const v1::StepOrder& order = run_.order();
  Contents& contents = process_.world.contents();
  const bool reduced = order.kind() == v1::STEP_KIND_REDUCE;
  if (reduced) contents.NoteLayer(job_id_, order.layer());
  if (order.consumers().empty()) {
    const v1::Fence& fence = run_.fence();
    contents.PutPart(job_id_,
                     {fence.master_epoch(), fence.plan_epoch(), order.step(), fence.attempt()},
                     order.index_in_layer(), content_);
    return;
  }
  // Text is what the reducer made; a run for the next layer has keys of its own.
  const bool of_next_layer = reduced && !order.text() && !loops();
  const Content made = of_next_layer ? Emitted(content_, order.layer()) : content_;
  const std::vector<std::pair<double, double>> ranges = RangesOf(order, places());
  const std::string run = absl::StrCat(order.step(), ".", run_.fence().attempt());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (order.consumers(static_cast<int>(i)).step() < 0) continue;
    contents.Put(plan(), run, order.consumers(static_cast<int>(i)).step(),
                 Cut(made, ranges[i].first, ranges[i].second));
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
  if (process_.faults.disk_full) return ErrnoStatus(ENOSPC, "write (simulated)");
  const v1::StepOrder& order = run_.order();
  if (order.part_path().empty()) {
    *result.mutable_run() = SectionsOf(order, places(), output_bytes);
    return process_.storage.WriteSized(run_.run_path(), result.run().bytes());
  }
  result.mutable_part()->set_file(order.part_path().substr(order.part_path().rfind('/') + 1));
  result.mutable_part()->set_bytes(output_bytes);
  result.mutable_part()->set_xxh3_64("0123456789abcdef");
  return process_.storage.WriteSized(order.part_path(), output_bytes);
}

std::optional<v1::JobError> SimTask::EarlyEnd() const {
  if (process_.faults.task_crashes) {
    v1::JobError error =
        MakeJobError(job_error::kTaskCrashed, "the task was ended by signal SIGSEGV (simulated)");
    error.set_stderr_tail("last words of the task\n");
    return error;
  }
  if (process_.faults.task_is_killed_for_memory) {
    v1::JobError error =
        MakeJobError(job_error::kOutOfMemory, "the kernel's OOM killer ended the task (simulated)");
    error.set_fault_of(v1::FAULT_OF_WORKER);
    return error;
  }
  return std::nullopt;
}

void SimTask::FinishStep() {
  const v1::StepOrder& order = run_.order();
  if (std::optional<v1::JobError> error = EarlyEnd()) {
    End();
    return listener_.on_failed(*std::move(error));
  }
  if (process_.faults.user_errors) {
    v1::StepResult failed;
    failed.set_step(order.step());
    *failed.mutable_error() =
        MakeJobError(job_error::kUserError, "the job's code threw (simulated)");
    state_ = State::kIdle;
    return listener_.on_result(std::move(failed));
  }
  const KindModel kind = ModelOf(order.kind(), process_.model);
  content_ = loops() ? ContentOfLoop() : ContentOfInputs();
  KeepContents();
  v1::StepResult result;
  result.set_step(order.step());
  result.set_input_bytes(input_bytes_);
  const double made = loops() ? LengthOf(content_) * static_cast<double>(kLoopBytes)
                              : static_cast<double>(input_bytes_) * kind.output_ratio;
  const auto output_bytes = static_cast<std::int64_t>(made > 0 ? std::ceil(made) : 0);
  if (order.kind() == v1::STEP_KIND_UPDATE && loops()) {
    v1::LoopReport& loop = *result.mutable_loop();
    loop.set_iteration(order.layer());
    loop.set_measure(order.layer());
    loop.set_measure_name("iterations");
    loop.set_converged(order.layer() == loop_->converges);
  }
  if (absl::Status written = WriteOutput(output_bytes, result); !written.ok()) {
    *result.mutable_error() = JobErrorFromStatus(written);
    if (process_.faults.disk_full) result.mutable_error()->set_fault_of(v1::FAULT_OF_WORKER);
  } else if (const std::string run = DamagedInput(); !run.empty()) {
    *result.mutable_error() = MakeJobError(
        job_error::kDataLoss, absl::StrCat("run ", run, " has a wrong checksum (simulated)"));
    result.mutable_error()->set_fault_of(v1::FAULT_OF_EXCHANGE);
    result.mutable_error()->set_damaged_run(run);
  } else if (order.part_path().empty()) {
    const std::string own = absl::StrCat(order.step(), ".", run_.fence().attempt());
    process_.world.contents().MayDamage(plan(), own, process_.world.random());
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
  const absl::Duration lingers = lingers_until_ - process_.loop->Now();
  After(std::max(kTaskStop, lingers), [this, done = std::move(done)]() mutable {
    End();
    done();
  });
}

std::optional<worker::JobTask::Progress> SimTask::progress() const {
  if (state_ != State::kRunning) return std::nullopt;
  const double share = takes_ > absl::ZeroDuration()
                           ? std::min(hangs_ ? kHungShare : 1.0,
                                      absl::FDivDuration(process_.loop->Now() - began_, takes_))
                           : 1;
  return Progress{run_.order().step(),
                  static_cast<std::int64_t>(share * static_cast<double>(input_bytes_))};
}

std::string SimTask::OutputTailBytes(std::size_t bytes_max) const {
  const std::string output = absl::StrCat("output on ", process_.name(), "\n");
  return output.substr(output.size() - std::min(output.size(), bytes_max));
}

}  // namespace weir::sim
