#include "planner/explain/gantt_bar_texts.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "planner/explain/plan_report.h"
#include "planner/explain/readable.h"

namespace weir::planner {
namespace {

// Length of the beginning that all names share, such as "node-" of node-1 and node-12: not inside a
// number, and leaving something of each name.
std::size_t SharedPrefix(const std::vector<std::string>& names) {
  if (names.size() < 2) return 0;
  const std::string& first = names[0];
  std::size_t length = first.size();
  for (const std::string& name : names) {
    length = std::min(length, name.empty() ? 0 : name.size() - 1);
    const auto end = first.begin() + static_cast<std::ptrdiff_t>(length);
    length = static_cast<std::size_t>(std::mismatch(first.begin(), end, name.begin()).first -
                                      first.begin());
  }
  while (length > 0 && absl::ascii_isalnum(static_cast<unsigned char>(first[length - 1]))) --length;
  return length;
}

}  // namespace

BarTexts::BarTexts(const Plan& plan, const ExplainOptions& options)
    : plan_(plan), options_(options) {
  std::vector<std::string> names;
  for (WorkerIndex worker = 0; worker < plan.network.num_workers; ++worker) {
    names.push_back(WorkerName(options, worker));
  }
  shared_prefix_ = SharedPrefix(names);
}

std::string BarTexts::ShortName(WorkerIndex worker) const {
  return WorkerName(options_, worker).substr(shared_prefix_);
}

std::vector<std::string> BarTexts::Labels(const GanttBar& bar) const {
  if (bar.kind.is_step) return StepLabels(plan_, bar.item);
  const Transfer& transfer = plan_.transfers[static_cast<std::size_t>(bar.item)];
  if (bar.kind == kSendBar) {
    return {absl::StrCat("to ", WorkerName(options_, transfer.receiver)),
            absl::StrCat("→ ", ShortName(transfer.receiver))};
  }
  if (bar.kind == kReceiveBar) {
    return {absl::StrCat("from ", WorkerName(options_, transfer.sender)),
            absl::StrCat("← ", ShortName(transfer.sender))};
  }
  return {absl::StrCat(ShortName(transfer.sender), " → ", ShortName(transfer.receiver))};
}

std::string BarTexts::Tooltip(const GanttBar& bar, bool predicted) const {
  const std::string when =
      absl::StrCat(predicted ? "predicted " : "actual ", ReadableSeconds(bar.start_s), " to ",
                   ReadableSeconds(bar.finish_s));
  const std::string size = ReadableBytes(static_cast<double>(bar.bytes));
  const auto item = static_cast<std::size_t>(bar.item);
  if (bar.count > 1) {
    return absl::StrCat(bar.count, bar.kind.is_step ? " steps, " : " transfers, ", size, ", ",
                        when);
  }
  if (bar.kind.is_step) {
    return absl::StrCat(StepName(plan_, bar.item), " on ",
                        WorkerName(options_, plan_.steps[item].worker), ", ", size, " in, ",
                        ReadableBytes(static_cast<double>(bar.output_bytes)), " out, ", when);
  }
  const Transfer& transfer = plan_.transfers[item];
  return absl::StrCat(WorkerName(options_, transfer.sender), " to ",
                      WorkerName(options_, transfer.receiver), ", ",
                      StepName(plan_, transfer.producer), " to ",
                      StepName(plan_, transfer.consumer), ", ", size, ", ", when);
}

}  // namespace weir::planner
