#include "planner/edit/edit_words.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace weir::planner {
namespace {

std::string Counted(std::int64_t count, const char* noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string Workers(const char* what, const std::vector<WorkerIndex>& workers) {
  return absl::StrCat(what, workers.size() == 1 ? " worker " : " workers ",
                      absl::StrJoin(workers, ", "));
}

std::string Steps(const char* what, const std::vector<StepIndex>& steps) {
  return absl::StrCat(what, steps.size() == 1 ? " step " : " steps ", absl::StrJoin(steps, ", "));
}

std::string WhatHappened(const PlanState& before, const ChangedPlan& changed,
                         const PlanChange& change) {
  std::vector<WorkerIndex> lost, slow, faster, slow_ports;
  for (std::size_t w = 0; w < changed.alive.size(); ++w) {
    const bool was_gone = w < before.gone.size() && before.gone[w];
    if (!changed.alive[w] && !was_gone) lost.push_back(static_cast<WorkerIndex>(w));
    if (!changed.alive[w]) continue;
    if (w < change.port_factor.size() && change.port_factor[w] < 1) {
      slow_ports.push_back(static_cast<WorkerIndex>(w));
    }
    if (w >= change.rate_factor.size()) continue;
    if (change.rate_factor[w] < 1) slow.push_back(static_cast<WorkerIndex>(w));
    if (change.rate_factor[w] > 1) faster.push_back(static_cast<WorkerIndex>(w));
  }
  std::vector<WorkerIndex> closed;
  for (std::size_t w = 0; w < changed.closed.size(); ++w) {
    if (changed.closed[w]) closed.push_back(static_cast<WorkerIndex>(w));
  }
  std::vector<WorkerIndex> joined;
  for (const PlanChange::Joined& each : change.joined) joined.push_back(each.worker);
  std::vector<WorkerIndex> added;
  for (std::size_t w = changed.alive.size() - change.added.names.size(); w < changed.alive.size();
       ++w) {
    added.push_back(static_cast<WorkerIndex>(w));
  }
  std::vector<std::string> words;
  if (!lost.empty()) words.push_back(Workers("Lost", lost));
  if (!closed.empty()) words.push_back(Workers("Nothing new for", closed));
  if (!joined.empty()) words.push_back(Workers("Joined", joined));
  if (!added.empty()) words.push_back(absl::StrCat(Workers("Joined", added), " (new)"));
  if (!change.elsewhere.empty()) words.push_back(Steps("Failed", change.elsewhere));
  if (!change.runs_lost.empty()) words.push_back(Steps("Runs lost of", change.runs_lost));
  if (!change.sections_lost.empty()) {
    words.push_back(absl::StrCat(
        Counted(static_cast<std::int64_t>(change.sections_lost.size()), "section"), " damaged"));
  }
  if (!slow.empty()) words.push_back(Workers("Slow", slow));
  if (!slow_ports.empty()) words.push_back(Workers("Slow port of", slow_ports));
  if (!faster.empty()) words.push_back(Workers("Faster", faster));
  if (change.pace != 1) {
    words.push_back(absl::StrFormat("All at %.2g of the planned rate", change.pace));
  }
  return words.empty() ? "Planned on" : absl::StrJoin(words, "; ");
}

}  // namespace

std::string WhyText(const PlanState& before, const ChangedPlan& changed, const PlanChange& change,
                    const WorkLeft& left, const std::vector<WayWords>& ways, std::size_t taken,
                    Bytes moved_again) {
  std::int64_t begun = 0, done = 0, waiting = 0;
  for (std::size_t s = 0; s < left.homeless.size(); ++s) {
    if (!left.homeless[s] && !left.in_parts[s]) continue;
    const WorkState work = changed.state.steps[s];
    ++(work == WorkState::kDone ? done : work == WorkState::kUnderWay ? begun : waiting);
  }
  std::string text = absl::StrCat(WhatHappened(before, changed, change), ": ");
  if (begun + done + waiting == 0) {
    absl::StrAppend(&text, "no step has to move.");
  } else {
    absl::StrAppend(&text, Counted(waiting, "step"), " not begun and ", begun, " under way move, ",
                    done, " done ", done == 1 ? "is" : "are", " made again.");
  }
  absl::StrAppendFormat(&text, " Goes on %s, ends at %.4g s", ways[taken].name,
                        ways[taken].makespan_s);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (i == taken) continue;
    const Seconds later_s = ways[i].makespan_s - ways[taken].makespan_s;
    absl::StrAppendFormat(&text, "; %s: %.3g s %s", ways[i].name, later_s < 0 ? -later_s : later_s,
                          later_s < 0 ? "sooner" : "later");
  }
  if (moved_again > 0) {
    absl::StrAppend(&text, "; ", Counted(moved_again, "byte"), " move once more");
  }
  return absl::StrCat(text, ".");
}

}  // namespace weir::planner
