#include "jobs/testing/in_process_loop.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace weir::testing {
namespace {

class InProcessLoop {
 public:
  InProcessLoop(const LoopInfo& loop, const JobCut& cut, JobLog& log)
      : loop_(loop), cut_(cut), log_(log) {
    const bool by_ranges = loop.element_wise && loop.splits && loop.first_splits;
    // As shares of the places, which a step turns into whole places; nobody is left without one.
    const auto most = std::max<std::int64_t>(1, loop.element_places);
    const auto wanted = static_cast<std::int64_t>(cut.consumer_key_end.size());
    updater_end_ = EvenKeyEnds(by_ranges ? static_cast<int>(std::min(most, wanted)) : 1);
  }

  absl::Status MakePrograms(
      const std::function<absl::StatusOr<std::unique_ptr<JobProgram>>()>& make) {
    for (std::size_t i = 0; i < cut_.mappers.size(); ++i) {
      absl::StatusOr<std::unique_ptr<JobProgram>> program = make();
      if (!program.ok()) return program.status();
      programs_.push_back(*std::move(program));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<LoopEnd> Run() {
    LoopEnd end;
    for (std::int32_t iteration = 0; iteration <= loop_.iterations; ++iteration) {
      absl::Status status = MapAll(iteration);
      LoopReport report;
      if (status.ok()) status = UpdateAll(iteration, report);
      if (!status.ok()) return status;
      end.reports.push_back(report);
      if (report.converged) break;
    }
    for (std::size_t range = 0; range < states_.size(); ++range) {
      absl::StatusOr<std::string> part = Reduce(range);
      if (!part.ok()) return part.status();
      end.parts.push_back(*std::move(part));
    }
    return end;
  }

 private:
  absl::Status MapAll(std::int32_t iteration) {
    elements_ = std::vector<MemoryRun>(programs_.size());
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      absl::Status status = RunStep(cut_.num_slots, log_, [&](RecordingContext& context) {
        if (iteration == 0) {
          const MapOrder order{cut_.mappers[i], updater_end_};
          return programs_[i]->Map(order, elements_[i], context).status();
        }
        IterateOrder order{iteration, SectionsOf(states_, 0), updater_end_};
        return programs_[i]->Iterate(std::move(order), elements_[i], context).status();
      });
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Any mapper's process may update; here the one of the range's number, as far as there are any.
  JobProgram& UpdaterOf(std::size_t range) { return *programs_[range % programs_.size()]; }

  absl::Status UpdateAll(std::int32_t iteration, LoopReport& report) {
    std::vector<MemoryRun> next(updater_end_.size());
    for (std::size_t range = 0; range < next.size(); ++range) {
      absl::Status status = RunStep(cut_.num_slots, log_, [&](RecordingContext& context) {
        UpdateOrder order{iteration, SectionsOf(elements_, static_cast<int>(range)), 1};
        if (iteration > 0) {
          order.inputs.push_back(
              std::move(SectionsOf(absl::MakeConstSpan(&states_[range], 1), 0).front()));
        }
        LoopReport said;
        absl::Status updated =
            UpdaterOf(range).Update(std::move(order), next[range], context, said).status();
        if (!said.measure_name.empty()) report = said;
        return updated;
      });
      if (!status.ok()) return status;
    }
    states_ = std::move(next);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Reduce(std::size_t range) {
    MemoryPart part;
    absl::Status status = RunStep(cut_.num_slots, log_, [&](RecordingContext& context) {
      ReduceOrder order;
      order.index_in_layer = static_cast<int>(range);
      order.inputs = SectionsOf(absl::MakeConstSpan(&states_[range], 1), 0);
      return UpdaterOf(range).ReduceToPart(std::move(order), part, context).status();
    });
    if (!status.ok()) return status;
    return std::move(part.text);
  }

  const LoopInfo& loop_;
  const JobCut& cut_;
  JobLog& log_;
  std::vector<double> updater_end_;
  std::vector<std::unique_ptr<JobProgram>> programs_;  // by mapper
  std::vector<MemoryRun> elements_;                    // by mapper; a section a range
  std::vector<MemoryRun> states_;                      // by range
};

}  // namespace

absl::StatusOr<LoopEnd> RunLoopInProcess(
    const LoopInfo& loop, const std::function<absl::StatusOr<std::unique_ptr<JobProgram>>()>& make,
    const JobCut& cut, JobLog& log) {
  InProcessLoop run(loop, cut, log);
  if (absl::Status made = run.MakePrograms(make); !made.ok()) return made;
  return run.Run();
}

}  // namespace weir::testing
