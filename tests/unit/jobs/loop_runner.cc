#include "tests/unit/jobs/loop_runner.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "gtest/gtest.h"
#include "jobs/testing/in_process_job.h"
#include "planner/job/builders/plan_job.h"
#include "planner/plan/check_plan.h"

namespace weir::testing {
namespace {

using planner::ComputeStep;
using planner::StepIndex;
using planner::StepKind;

class Runner {
 public:
  Runner(const planner::Plan& plan, int num_slots, std::int64_t memory_bytes)
      : plan_(plan), num_slots_(num_slots), memory_bytes_(memory_bytes) {
    for (std::size_t i = 0; i < plan.sections.size(); ++i) {
      inputs_[plan.sections[i].consumer].push_back(i);
      outputs_[plan.sections[i].producer].push_back(i);
    }
    for (auto& [producer, sections] : outputs_) {
      std::stable_sort(sections.begin(), sections.end(), [&](std::size_t a, std::size_t b) {
        return plan.sections[a].indexes->begin < plan.sections[b].indexes->begin;
      });
    }
  }

  absl::StatusOr<LoopResult> Run(const std::function<std::unique_ptr<JobProgram>()>& make,
                                 const std::string& path) {
    for (int i = 0; i < plan_.network.num_workers; ++i) programs_.push_back(make());
    LoopResult result;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const ComputeStep& step = plan_.steps[i];
      // Other ranges of the last state are part of the result.
      const bool last_state = step.kind == StepKind::kUpdate && step.layer == last_iteration_;
      if (ended_ && step.kind != StepKind::kReduce && !last_state) continue;
      const auto index = static_cast<StepIndex>(i);
      RecordingContext context(num_slots_, memory_bytes_);
      JobProgram& program = *programs_[static_cast<std::size_t>(step.worker)];
      MemoryRun run;
      absl::Status status = absl::OkStatus();
      if (step.kind == StepKind::kMap) {
        MapOrder order;
        const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
        order.ranges.push_back({path, step.input_begin, step.input_end, size, {}});
        order.consumer_key_end = EndsOf(index, program);
        status = program.Map(order, run, context).status();
      } else if (step.kind == StepKind::kIterate) {
        IterateOrder order{step.layer, SourcesOf(index), EndsOf(index, program)};
        status = program.Iterate(std::move(order), run, context).status();
      } else if (step.kind == StepKind::kCombine) {
        CombineOrder order{step.layer, SourcesOf(index), EndsOf(index, program)};
        status = program.Combine(std::move(order), run, context).status();
      } else if (step.kind == StepKind::kUpdate) {
        UpdateOrder order{step.layer, SourcesOf(index), static_cast<int>(outputs_[index].size())};
        last_iteration_ = step.layer;
        LoopReport report;
        status = program.Update(std::move(order), run, context, report).status();
        if (!report.measure_name.empty()) result.reports.push_back(report);
        ended_ = ended_ || report.converged;
      } else {
        ReduceOrder order;
        order.inputs = SourcesOf(index);
        MemoryPart part;
        status = program.ReduceToPart(std::move(order), part, context).status();
        result.part += part.text;
      }
      if (!status.ok()) return status;
      const std::vector<std::size_t>& outputs = outputs_[index];
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const auto section = run.sections().find(static_cast<int>(k));
        if (section != run.sections().end()) blocks_[outputs[k]] = section->second;
      }
    }
    return result;
  }

 private:
  std::vector<std::unique_ptr<RunSource>> SourcesOf(StepIndex step) {
    std::vector<std::unique_ptr<RunSource>> sources;
    for (const std::size_t section : inputs_[step]) {
      const StepIndex producer = plan_.sections[section].producer;
      EXPECT_LT(producer, step);
      if (plan_.steps[static_cast<std::size_t>(step)].kind == StepKind::kReduce &&
          plan_.steps[static_cast<std::size_t>(producer)].layer != last_iteration_) {
        continue;
      }
      sources.push_back(std::make_unique<MemorySource>(blocks_[section]));
    }
    return sources;
  }

  // As runtime/task/key_ends.h.
  std::vector<double> EndsOf(StepIndex step, const JobProgram& program) {
    std::vector<double> ends;
    for (const std::size_t section : outputs_[step]) {
      ends.push_back(static_cast<double>(plan_.sections[section].indexes->end) /
                     static_cast<double>(program.num_places(1)));
    }
    if (!ends.empty()) ends.back() = 1;
    return ends;
  }

  const planner::Plan& plan_;
  const int num_slots_;
  const std::int64_t memory_bytes_;
  std::vector<std::unique_ptr<JobProgram>> programs_;
  std::map<StepIndex, std::vector<std::size_t>> inputs_, outputs_;
  std::map<std::size_t, std::vector<std::string>> blocks_;  // by section
  std::int32_t last_iteration_ = 0;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<LoopResult> RunLoop(const planner::Plan& plan,
                                   const std::function<std::unique_ptr<JobProgram>()>& make,
                                   const std::string& path, int num_slots,
                                   std::int64_t memory_bytes) {
  return Runner(plan, num_slots, memory_bytes).Run(make, path);
}

planner::Plan LoopPlanFor(const LoopInfo& loop, std::int64_t input_bytes, int num_workers) {
  planner::JobShape shape;
  shape.job = "loop";
  shape.input_bytes = input_bytes;
  shape.map_seconds_per_byte.value = 1e-3;
  shape.layers = {planner::LayerShape()};
  planner::LoopShape& of = shape.loop.emplace();
  of.iterations = loop.iterations;
  of.element_places = loop.element_places;
  of.state_places = loop.state_places;
  of.element_place_bytes = of.state_place_bytes = loop.place_bytes;
  of.splits = loop.splits;
  of.first_splits = loop.first_splits;
  of.commutative = loop.commutative;
  of.element_wise = loop.element_wise;
  planner::ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(num_workers));
  cluster.network.num_workers = num_workers;
  cluster.network.seconds_per_byte = 1e-3;
  const absl::StatusOr<planner::Plan> plan = planner::PlanJob(shape, cluster, {});
  EXPECT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(planner::CheckPlan(*plan), absl::OkStatus());
  return *plan;
}

}  // namespace weir::testing
