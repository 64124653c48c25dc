#include "planner/explain/plan_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/input/input_parts.h"
#include "planner/plan/predict/critical_path.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

// The same shape for predicted and actual: missing intervals become empty ones at 0.
Prediction Times(const Plan& plan, const std::vector<Interval>& steps,
                 const std::vector<Interval>& transfers, Seconds makespan_s) {
  Prediction times;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Interval* interval = FindInterval(steps, i);
    times.steps.push_back(interval == nullptr ? Interval{} : *interval);
  }
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Interval* interval = FindInterval(transfers, i);
    times.transfers.push_back(interval == nullptr ? Interval{} : *interval);
  }
  times.makespan_s = makespan_s;
  return times;
}

std::vector<WorkerTimes> TimesByWorker(const Plan& plan, const Prediction& times) {
  std::vector<WorkerTimes> by_worker(At(plan.network.num_workers));
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    WorkerTimes& worker = by_worker[At(plan.steps[i].worker)];
    worker.compute_s += times.steps[i].finish_s - times.steps[i].start_s;
    worker.finish_s = std::max(worker.finish_s, times.steps[i].finish_s);
  }
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Interval& interval = times.transfers[i];
    WorkerTimes& sender = by_worker[At(plan.transfers[i].sender)];
    WorkerTimes& receiver = by_worker[At(plan.transfers[i].receiver)];
    sender.send_s += interval.finish_s - interval.start_s;
    sender.finish_s = std::max(sender.finish_s, interval.finish_s);
    receiver.receive_s += interval.finish_s - interval.start_s;
    receiver.finish_s = std::max(receiver.finish_s, interval.finish_s);
  }
  const std::vector<Seconds> idle_s = IdleSeconds(plan, times);
  for (std::size_t worker = 0; worker < by_worker.size(); ++worker) {
    by_worker[worker].idle_s = idle_s[worker];
  }
  return by_worker;
}

void Extend(const Interval& interval, bool first, Interval* whole) {
  whole->start_s = first ? interval.start_s : std::min(whole->start_s, interval.start_s);
  whole->finish_s = first ? interval.finish_s : std::max(whole->finish_s, interval.finish_s);
}

std::vector<LayerReport> ReportLayers(const Plan& plan, const Prediction& predicted,
                                      const ActualRun* actual) {
  std::map<std::pair<std::int32_t, StepKind>, LayerReport> layers;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ComputeStep& step = plan.steps[i];
    LayerReport& layer = layers[{step.layer, step.kind}];
    const bool first = layer.num_steps++ == 0;
    layer.layer = step.layer;
    layer.kind = step.kind;
    const Bytes read = BytesRead(plan, step);
    layer.input_bytes += read;
    layer.output_bytes += step.output_bytes;
    layer.step_input_bytes_min = first ? read : std::min(layer.step_input_bytes_min, read);
    layer.step_input_bytes_max = std::max(layer.step_input_bytes_max, read);
    layer.spilled_bytes += step.spilled_bytes;
    layer.step_spill_s_max = std::max(layer.step_spill_s_max, step.spill_s);
    if (actual != nullptr && i < actual->step_spilled_bytes.size()) {
      layer.actual_spilled_bytes += actual->step_spilled_bytes[i];
    }
    Extend(predicted.steps[i], first, &layer.predicted);
    const Interval* ran = actual == nullptr ? nullptr : FindInterval(actual->steps, i);
    if (ran == nullptr) continue;
    const bool first_ran = !layer.actual.has_value();
    if (first_ran) layer.actual.emplace();
    Extend(*ran, first_ran, &*layer.actual);
  }
  std::vector<LayerReport> reports;
  for (auto& [key, layer] : layers) reports.push_back(layer);
  return reports;
}

}  // namespace

Bytes BytesRead(const Plan& plan, const ComputeStep& step) {
  if (!step.kind->reads_input() || plan.input_part_ends.empty()) return step.input_bytes;
  return InputPosition(plan.input_part_ends, step.input_end) -
         InputPosition(plan.input_part_ends, step.input_begin);
}

Bytes BytesRead(const Plan& plan, const ActualRun* actual, std::size_t step) {
  const bool counted = plan.steps[step].kind->reads_input() && !plan.input_part_ends.empty();
  const bool seen = actual != nullptr && step < actual->step_input_bytes.size();
  return seen && !counted ? actual->step_input_bytes[step] : BytesRead(plan, plan.steps[step]);
}

const Interval* FindInterval(const std::vector<Interval>& intervals, std::size_t index) {
  if (index >= intervals.size()) return nullptr;
  const Interval& interval = intervals[index];
  const bool ran = std::isfinite(interval.start_s) && std::isfinite(interval.finish_s) &&
                   interval.finish_s >= interval.start_s;
  return ran ? &interval : nullptr;
}

std::string WorkerName(const ExplainOptions& options, WorkerIndex worker) {
  const std::size_t index = At(worker);
  if (index < options.worker_names.size() && !options.worker_names[index].empty()) {
    return options.worker_names[index];
  }
  return absl::StrCat("worker ", worker);
}

std::string StepName(const Plan& plan, StepIndex step) {
  const ComputeStep& s = plan.steps[At(step)];
  const std::string name = s.kind->updates_state && s.index_in_layer == 0
                               ? std::string(s.kind->name)
                               : absl::StrCat(s.kind->name, " ", s.index_in_layer);
  if (s.kind->iterates) return absl::StrCat("iteration ", s.layer, " ", name);
  const bool layered = s.kind->splits_keys() && s.layer >= 2;
  return layered ? absl::StrCat("layer ", s.layer, " ", name) : name;
}

std::vector<std::string> StepLabels(const Plan& plan, StepIndex step) {
  const ComputeStep& s = plan.steps[At(step)];
  std::vector<std::string> labels{StepName(plan, step)};
  const bool layered = s.kind->splits_keys() && s.layer >= 2;
  const std::string number =
      absl::StrCat(layered ? absl::StrCat(s.layer, ".") : "", s.index_in_layer);
  if (layered) labels.push_back(absl::StrCat(s.kind->name, " ", number));
  labels.push_back(number);
  return labels;
}

PlanReport MakeReport(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                      const ExplainOptions& options) {
  PlanReport report;
  report.limits = FindLimits(plan);
  report.predicted_s = predicted.makespan_s;
  const Prediction planned =
      Times(plan, predicted.steps, predicted.transfers, predicted.makespan_s);
  report.layers = ReportLayers(plan, planned, actual);
  for (const LayerReport& layer : report.layers) {
    report.spilled_bytes += layer.spilled_bytes;
    report.actual_spilled_bytes += layer.actual_spilled_bytes;
  }
  std::int32_t last_layer = 0;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->splits_keys()) last_layer = std::max(last_layer, step.layer);
  }
  const std::vector<WorkerTimes> planned_times = TimesByWorker(plan, planned);
  for (WorkerIndex worker = 0; worker < plan.network.num_workers; ++worker) {
    WorkerReport& added = report.workers.emplace_back();
    added.name = WorkerName(options, worker);
    added.load_fractions.assign(At(last_layer), 0);
    added.predicted = planned_times[At(worker)];
  }
  for (const ComputeStep& step : plan.steps) {
    WorkerReport& worker = report.workers[At(step.worker)];
    if (step.kind->reads_input()) worker.map_input_bytes += BytesRead(plan, step);
    if (step.kind->splits_keys() && step.layer >= 1) {
      worker.load_fractions[At(step.layer) - 1] += step.load_fraction;
    }
  }
  for (const Section& section : plan.sections) report.section_bytes += section.bytes;
  for (const Transfer& transfer : plan.transfers) {
    report.moved_bytes += transfer.bytes;
    report.workers[At(transfer.sender)].sent_bytes += transfer.bytes;
    report.workers[At(transfer.receiver)].received_bytes += transfer.bytes;
  }
  if (actual != nullptr) {
    (options.ended ? report.actual_s : report.unfinished_s) = actual->makespan_s;
    const Prediction measured = Times(plan, actual->steps, actual->transfers, actual->makespan_s);
    const std::vector<WorkerTimes> measured_times = TimesByWorker(plan, measured);
    for (std::size_t i = 0; i < report.workers.size(); ++i) {
      report.workers[i].actual = measured_times[i];
    }
  }
  return report;
}

}  // namespace weir::planner
