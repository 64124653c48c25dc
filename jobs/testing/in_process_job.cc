#include "jobs/testing/in_process_job.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "jobs/api/counter_sum.h"
#include "jobs/engine/slots/slot_work.h"

namespace weir::testing {

absl::Status RunStep(int num_slots, JobLog& log,
                     absl::FunctionRef<absl::Status(RecordingContext&)> step) {
  RecordingContext context(num_slots, log.memory_bytes);
  context.check_operation = log.check_operation;
  context.input_is_shared = log.input_is_shared;
  context.spill_above = log.spill_above;
  context.skip_bad = log.skip_bad - log.skipped.size();
  absl::Status status = step(context);
  log.num_spills += context.num_spills;
  for (const auto& [name, value] : context.counters) AddToCounter(log.counters[name], value);
  log.skipped.insert(log.skipped.end(), context.skipped.begin(), context.skipped.end());
  return status;
}

namespace {

absl::Status CheckRecords(const absl::StatusOr<StepTotals>& totals, std::int64_t written) {
  if (!totals.ok()) return totals.status();
  if (totals->output_records != written) return absl::InternalError("records lost");
  return absl::OkStatus();
}

class InProcessJob {
 public:
  InProcessJob(JobProgram& program, const JobCut& cut, JobLog& log)
      : program_(program), cut_(cut), log_(log) {}

  absl::StatusOr<std::vector<std::string>> Run() {
    absl::Status status = MapAll();
    for (int layer = 1; layer < num_layers(); ++layer) {
      if (status.ok()) status = CombineAll(layer);
      if (status.ok()) status = ReduceInner(layer);
    }
    if (status.ok()) status = CombineAll(num_layers());
    if (!status.ok()) return status;
    return ReduceLast();
  }

 private:
  int num_layers() const { return static_cast<int>(cut_.inner_key_ends.size()) + 1; }

  // Of the reducers of a layer.
  const std::vector<double>& KeyEndsOf(int layer) const {
    return layer == num_layers() ? cut_.consumer_key_end
                                 : cut_.inner_key_ends[static_cast<std::size_t>(layer - 1)];
  }

  bool IsCombined(int layer) const {
    return std::find(cut_.combined_layers.begin(), cut_.combined_layers.end(), layer) !=
           cut_.combined_layers.end();
  }

  // For whom the steps before `layer` write: its reducers, or the step that combines for them.
  std::vector<double> ConsumersOf(int layer) const {
    return IsCombined(layer) ? std::vector<double>{1.0} : KeyEndsOf(layer);
  }

  absl::Status MapAll() {
    runs_ = std::vector<MemoryRun>(cut_.mappers.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      std::int64_t bytes = 0;
      for (const InputRange& range : cut_.mappers[i]) bytes += range.end - range.begin;
      absl::Status mapped =
          RunStep(cut_.num_slots, log_, [&](RecordingContext& context) -> absl::Status {
            const auto totals = program_.Map({cut_.mappers[i], ConsumersOf(1)}, runs_[i], context);
            if (!totals.ok()) return totals.status();
            if (context.progress_bytes != bytes) {
              return absl::InternalError("progress is not the input");
            }
            return CheckRecords(totals, runs_[i].records());
          });
      if (!mapped.ok()) return mapped;
    }
    return absl::OkStatus();
  }

  absl::Status CombineAll(int layer) {
    if (!IsCombined(layer)) return absl::OkStatus();
    std::vector<MemoryRun> combined(1);
    absl::Status status = RunStep(cut_.num_slots, log_, [&](RecordingContext& context) {
      CombineOrder order{layer, SectionsOf(runs_, 0), KeyEndsOf(layer)};
      const auto totals = program_.Combine(std::move(order), combined[0], context);
      return CheckRecords(totals, combined[0].records());
    });
    runs_ = std::move(combined);
    return status;
  }

  ReduceOrder OrderOf(int layer, std::size_t index) const {
    ReduceOrder order;
    order.layer = layer;
    order.index_in_layer = static_cast<int>(index);
    order.inputs = SectionsOf(runs_, static_cast<int>(index));
    return order;
  }

  absl::Status ReduceInner(int layer) {
    std::vector<MemoryRun> reduced(KeyEndsOf(layer).size());
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      absl::Status status = RunStep(cut_.num_slots, log_, [&](RecordingContext& context) {
        ReduceOrder order = OrderOf(layer, i);
        order.consumer_key_end = ConsumersOf(layer + 1);
        const auto totals = program_.ReduceToRun(std::move(order), reduced[i], context);
        return CheckRecords(totals, reduced[i].records());
      });
      if (!status.ok()) return status;
    }
    runs_ = std::move(reduced);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> ReduceLast() {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < cut_.consumer_key_end.size(); ++i) {
      MemoryPart part;
      absl::Status status = RunStep(cut_.num_slots, log_, [&](RecordingContext& context) {
        const auto totals = program_.ReduceToPart(OrderOf(num_layers(), i), part, context);
        return CheckRecords(totals, part.records);
      });
      if (!status.ok()) return status;
      parts.push_back(std::move(part.text));
    }
    return parts;
  }

  JobProgram& program_;
  const JobCut& cut_;
  JobLog& log_;
  std::vector<MemoryRun> runs_;  // of the steps that were last
};

}  // namespace

absl::StatusOr<std::vector<std::string>> RunJob(JobProgram& program, const JobCut& cut,
                                                JobLog& log) {
  return InProcessJob(program, cut, log).Run();
}

absl::StatusOr<std::vector<std::string>> RunJob(JobProgram& program, const JobCut& cut) {
  JobLog log;
  return RunJob(program, cut, log);
}

std::vector<double> EvenKeyEnds(int count) {
  std::vector<double> ends;
  for (int i = 1; i <= count; ++i) ends.push_back(static_cast<double>(i) / count);
  return ends;
}

JobCut EvenCut(const std::vector<std::string>& paths, int num_mappers, int num_reducers,
               int num_slots) {
  std::vector<InputRange> files;
  for (const std::string& path : paths) {
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
    if (bytes > 0) files.push_back({path, 0, bytes, bytes});
  }
  JobCut cut;
  cut.mappers = SplitRanges(files, num_mappers);
  cut.num_slots = num_slots;
  cut.consumer_key_end = EvenKeyEnds(num_reducers);
  return cut;
}

std::unique_ptr<JobProgram> ProgramOf(
    const JobDefinition& job, const std::vector<std::pair<std::string, std::string>>& given) {
  return *job.MakeProgram(*CheckParameters(job.info(), given));
}

absl::StatusOr<std::string> RunOnText(JobProgram& program, const std::string& text, int num_mappers,
                                      int num_reducers, int num_slots) {
  const ScratchFile file(text);
  const auto parts = RunJob(program, EvenCut({file.path()}, num_mappers, num_reducers, num_slots));
  if (!parts.ok()) return parts.status();
  std::string all;
  for (const std::string& part : *parts) all += part;
  return all;
}

}  // namespace weir::testing
