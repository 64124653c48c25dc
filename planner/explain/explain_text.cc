// The plan as text for a terminal (explain.h). Upstream: plan_report. Downstream: the command line.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "planner/explain/explain.h"
#include "planner/explain/fitted_text.h"
#include "planner/explain/plan_report.h"
#include "planner/explain/readable.h"

namespace weir::planner {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kWorkersShown = 24;
constexpr std::size_t kPathItemsShown = 9;
constexpr std::size_t kNameColumns = 20;
constexpr std::size_t kLayersShown = 3;  // in the table of workers

std::string Count(std::size_t n, absl::string_view noun) {
  return absl::StrCat(n, " ", noun, n == 1 ? "" : "s");
}

// Fills lines up to kColumns; continuation lines are indented. Words longer than a line are broken.
std::string Wrap(absl::string_view text, absl::string_view first, absl::string_view next) {
  std::string out;
  std::string line(first);
  bool empty = true;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!empty && line.size() + 1 + word.size() > kColumns) {
      absl::StrAppend(&out, line, "\n");
      line = std::string(next);
      empty = true;
    }
    if (!empty) line += ' ';
    while (line.size() + word.size() > kColumns) {
      const std::size_t room = kColumns - line.size();
      absl::StrAppend(&out, line, word.substr(0, room), "\n");
      word.remove_prefix(room);
      line = std::string(next);
    }
    absl::StrAppend(&line, word);
    empty = false;
  }
  absl::StrAppend(&out, line, "\n");
  return out;
}

// Nothing where nothing is put on disk.
std::string SpilledText(const PlanReport& report) {
  if (report.spilled_bytes == 0 && report.actual_spilled_bytes == 0) return "";
  const auto predicted = static_cast<double>(report.spilled_bytes);
  std::string out =
      absl::StrCat("  on disk    ", ReadableBytes(predicted), " of steps whose memory is full");
  if (report.actual_s.has_value()) {
    const auto actual = static_cast<double>(report.actual_spilled_bytes);
    absl::StrAppend(&out, ", actual ", ReadableBytes(actual));
    if (predicted > 0) absl::StrAppendFormat(&out, " (%+.1f %%)", 100 * (actual / predicted - 1));
  }
  return out + "\n";
}

std::string HeaderText(const Plan& plan, const PlanReport& report, const ExplainOptions& options) {
  std::string out = Wrap(absl::StrCat("Plan", options.title.empty() ? "" : ": ", options.title,
                                      plan.summary.method.empty() ? "" : " (method ",
                                      plan.summary.method, plan.summary.method.empty() ? "" : ")"),
                         "", "  ");
  absl::StrAppend(&out, "  size       ", Count(report.workers.size(), "worker"), ", ",
                  Count(plan.steps.size(), "step"), ", ", Count(plan.transfers.size(), "transfer"),
                  "; ", ReadableBytes(static_cast<double>(report.moved_bytes)), " of ",
                  ReadableBytes(static_cast<double>(report.section_bytes)),
                  " move between workers\n");
  absl::StrAppend(&out, "  predicted  ", ReadableSeconds(report.predicted_s), "\n");
  if (report.actual_s.has_value()) {
    absl::StrAppend(&out, "  actual     ", ReadableSeconds(*report.actual_s));
    if (report.predicted_s > 0) {
      absl::StrAppendFormat(&out, " (%+.1f %%)", 100 * (*report.actual_s / report.predicted_s - 1));
    }
    out += '\n';
  }
  if (report.unfinished_s.has_value()) {
    absl::StrAppend(&out, "  actual     not to its end: ",
                    *report.unfinished_s > 0 ? absl::StrCat("the last step done at ",
                                                            ReadableSeconds(*report.unfinished_s))
                                             : "no step done",
                    "\n");
  }
  if (plan.summary.lower_bound_s > 0) {
    absl::StrAppend(
        &out, "  bound      ", ReadableBound(plan.summary.lower_bound_s, report.actual_s), " (gap ",
        ReadablePercent(std::max(0.0, report.predicted_s / plan.summary.lower_bound_s - 1)), ")\n");
  }
  absl::StrAppend(&out, SpilledText(report));
  absl::StrAppend(&out, "  limit      ", LimitName(report.limits.limit), ", busy ",
                  ReadableSeconds(report.limits.limit_s), "\n");
  return out;
}

// Steps that store form no layer of their own to people.
std::string LayerName(const LayerReport& layer) {
  const std::string kind(layer.kind->name);
  return layer.kind->stores ? kind : absl::StrCat(kind, " ", layer.layer);
}

std::string LayersText(const PlanReport& report) {
  std::string out = absl::StrFormat("\n  %-12s %7s %10s %10s %18s %10s %10s%s\n", "layer", "steps",
                                    "input", "output", "a step reads", "starts", "ends",
                                    report.HasRun() ? "   actual end" : "");
  for (const LayerReport& layer : report.layers) {
    const std::string least = ReadableBytes(static_cast<double>(layer.step_input_bytes_min));
    const std::string most = ReadableBytes(static_cast<double>(layer.step_input_bytes_max));
    absl::StrAppendFormat(&out, "  %-12s %7d %10s %10s %18s %10s %10s", LayerName(layer),
                          layer.num_steps, ReadableBytes(static_cast<double>(layer.input_bytes)),
                          ReadableBytes(static_cast<double>(layer.output_bytes)),
                          least == most ? most : absl::StrCat(least, " - ", most),
                          ReadableSeconds(layer.predicted.start_s),
                          ReadableSeconds(layer.predicted.finish_s));
    if (report.HasRun()) {
      absl::StrAppendFormat(
          &out, " %12s",
          layer.actual.has_value() ? ReadableSeconds(layer.actual->finish_s) : "never ran");
    }
    out += '\n';
  }
  return out;
}

// Share of the keys in each layer of reducers: "25.0 %", or "25.0 % / 50.0 %".
std::string KeysText(const WorkerReport& worker) {
  if (worker.load_fractions.empty()) return ReadablePercent(0);
  std::string text;
  for (std::size_t p = 0; p < worker.load_fractions.size(); ++p) {
    if (p == kLayersShown) return text + " ...";
    absl::StrAppend(&text, p == 0 ? "" : " / ", ReadablePercent(worker.load_fractions[p]));
  }
  return text;
}

// Room for KeysText of that many layers.
int KeysColumns(std::size_t num_layers) {
  const auto shown = static_cast<int>(std::clamp<std::size_t>(num_layers, 1, kLayersShown));
  return 8 + 10 * (shown - 1) + (num_layers > kLayersShown ? 4 : 0);
}

std::string WorkerLine(const WorkerReport& worker) {
  std::string line = absl::StrFormat(
      "  %-20s %9s %*s %10s %10s %10s %10s", Fitted(worker.name, kNameColumns),
      ReadableBytes(static_cast<double>(worker.map_input_bytes)),
      KeysColumns(worker.load_fractions.size()), KeysText(worker),
      ReadableSeconds(worker.predicted.compute_s), ReadableSeconds(worker.predicted.send_s),
      ReadableSeconds(worker.predicted.receive_s), ReadableSeconds(worker.predicted.idle_s));
  if (worker.actual.has_value()) {
    absl::StrAppendFormat(&line, " %12s", ReadableSeconds(worker.actual->finish_s));
  }
  return line + "\n";
}

std::string WorkersText(const PlanReport& report) {
  const std::size_t layers = report.workers.empty() ? 0 : report.workers[0].load_fractions.size();
  std::string out =
      absl::StrFormat("\n  %-20s %9s %*s %10s %10s %10s %10s%s\n", "worker", "chunk",
                      KeysColumns(layers), layers > 1 ? "keys by layer" : "keys", "compute", "send",
                      "receive", "idle", report.HasRun() ? "   actual end" : "");
  const std::size_t shown = std::min(report.workers.size(), kWorkersShown);
  for (std::size_t i = 0; i < shown; ++i) out += WorkerLine(report.workers[i]);
  if (shown < report.workers.size()) {
    absl::StrAppend(&out, "  and ", report.workers.size() - shown,
                    " more workers; --json lists them all\n");
  }
  return out;
}

std::string ItemText(const Plan& plan, const Prediction::CriticalItem& item,
                     const ExplainOptions& options) {
  const auto index = static_cast<std::size_t>(item.index);
  if (item.is_transfer) {
    const Transfer& transfer = plan.transfers[index];
    return absl::StrCat(WorkerName(options, transfer.sender), " to ",
                        WorkerName(options, transfer.receiver));
  }
  return absl::StrCat(StepName(plan, item.index), " on ",
                      WorkerName(options, plan.steps[index].worker));
}

std::string NumberText(const PlanNumber& number) {
  if (number.unit == "s") return ReadableSeconds(number.value);
  if (number.unit == "s/byte") return absl::StrFormat("%.3g ns/byte", number.value * 1e9);
  if (number.unit == "bytes") return ReadableBytes(number.value);
  if (number.unit == "bytes/s") return ReadableBytes(number.value) + "/s";
  return absl::StrFormat("%.3g", number.value);
}

std::string PathText(const Plan& plan, const Prediction& predicted, const ExplainOptions& options) {
  if (predicted.critical_path.empty()) return "";
  std::string path;
  const std::size_t size = predicted.critical_path.size();
  for (std::size_t i = 0; i < size; ++i) {
    if (size > kPathItemsShown && i == kPathItemsShown / 2) {
      const std::size_t skipped = size - kPathItemsShown + 1;
      absl::StrAppend(&path, " -> (", skipped, " more)");
      i += skipped - 1;
      continue;
    }
    absl::StrAppend(&path, i == 0 ? "" : " -> ",
                    ItemText(plan, predicted.critical_path[i], options));
  }
  return "\n" + Wrap(path, "  critical path: ", "    ");
}

// Numbers of one origin and kind repeat for every worker: the first few say enough.
constexpr std::size_t kNumbersShown = 40;

std::string NumbersText(const Plan& plan) {
  if (plan.summary.numbers.empty()) return "";
  std::string out = absl::StrFormat("\n  %-34s %14s  %s\n", "number", "value", "from");
  std::size_t shown = 0;
  for (const PlanNumber& number : plan.summary.numbers) {
    if (shown++ == kNumbersShown) break;
    absl::StrAppendFormat(&out, "  %-34s %14s  %s\n", Fitted(number.name, 34), NumberText(number),
                          number.origin);
  }
  if (shown < plan.summary.numbers.size()) {
    absl::StrAppend(&out, "  and ", plan.summary.numbers.size() - kNumbersShown,
                    " more numbers; --json lists them all\n");
  }
  return out;
}

}  // namespace

std::string ExplainText(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                        const ExplainOptions& options) {
  const PlanReport report = MakeReport(plan, predicted, actual, options);
  std::string out = HeaderText(plan, report, options);
  absl::StrAppend(&out, LayersText(report), WorkersText(report), PathText(plan, predicted, options),
                  NumbersText(plan));
  if (!plan.summary.notes.empty()) out += '\n';
  for (const std::string& note : plan.summary.notes)
    absl::StrAppend(&out, Wrap(note, "  * ", "    "));
  return out;
}

}  // namespace weir::planner
