#include "runtime/reduce/member_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::reduce {
namespace {

using planner::At;

/// Sections by consumer, in the order of the plan.
using SectionsOf = std::vector<std::vector<const planner::Section*>>;

/// Fills in what the receive meets, and whether it is alone.
void AddFolds(const std::vector<const planner::Section*>& sections, planner::StepIndex producer,
              MemberProgram::Receive& receive, const planner::Plan& plan, std::int32_t rank) {
  const auto own = std::find_if(sections.begin(), sections.end(),
                                [&](const auto* section) { return section->producer == producer; });
  for (auto at = sections.begin(); at != sections.end(); ++at) {
    if (plan.steps[At((*at)->producer)].worker != rank) continue;
    const std::int64_t begin = std::max(receive.begin, (*at)->indexes->begin);
    const std::int64_t end = std::min(receive.end, (*at)->indexes->end);
    if (begin < end) receive.folds.push_back({begin, end, at < own});
  }
}

}  // namespace

absl::StatusOr<MemberProgram> ProgramOf(const planner::Plan& plan, std::int32_t rank,
                                        std::int64_t place_bytes, std::int64_t window_bytes) {
  MemberProgram program;
  program.place_bytes = place_bytes;
  program.window_bytes = window_bytes;
  SectionsOf sections_of(plan.steps.size());
  std::map<std::pair<planner::StepIndex, planner::StepIndex>, const planner::Section*> section_of;
  for (const planner::Section& section : plan.sections) {
    sections_of[At(section.consumer)].push_back(&section);
    section_of[{section.producer, section.consumer}] = &section;
  }
  const auto places_of = [&](const planner::Transfer& transfer) {
    return *section_of.at({transfer.producer, transfer.consumer})->indexes;
  };

  std::map<planner::TransferIndex, std::int32_t> receive_of;
  std::int64_t bytes = 0;
  for (const planner::TransferIndex index : plan.receive_order[At(rank)]) {
    const planner::Transfer& transfer = plan.transfers[At(index)];
    const planner::IndexRange places = places_of(transfer);
    MemberProgram::Receive receive{index, transfer.sender, places.begin, places.end, bytes, {}};
    AddFolds(sections_of[At(transfer.consumer)], transfer.producer, receive, plan, rank);
    std::int64_t folded = 0;
    for (const MemberProgram::Fold& fold : receive.folds) folded += fold.end - fold.begin;
    if (folded != 0 && folded != receive.end - receive.begin) {
      return absl::InternalError(absl::StrCat("step ", transfer.consumer, " of the plan combines ",
                                              folded, " of ", receive.end - receive.begin,
                                              " places that it receives"));
    }
    bytes += transfer.bytes;
    receive_of[index] = static_cast<std::int32_t>(program.receives.size());
    program.receives.push_back(std::move(receive));
  }

  std::map<planner::StepIndex, std::int32_t> steps_until;
  for (const planner::StepIndex index : plan.compute_order[At(rank)]) {
    const planner::ComputeStep& step = plan.steps[At(index)];
    if (step.kind->reads_input()) {
      steps_until[index] = 0;
      continue;
    }
    MemberProgram::Step made{index, step.duration_s, {}};
    for (const planner::TransferIndex transfer : step.after_transfers) {
      made.receives.push_back(receive_of.at(transfer));
    }
    program.steps.push_back(std::move(made));
    steps_until[index] = static_cast<std::int32_t>(program.steps.size());
  }

  // What each receiver's window lets begin at once: it counts as that member counts.
  std::vector<bool> granted(plan.transfers.size(), false);
  for (const std::vector<planner::TransferIndex>& order : plan.receive_order) {
    std::int64_t before = 0;
    for (const planner::TransferIndex index : order) {
      granted[At(index)] = before <= window_bytes;
      before += plan.transfers[At(index)].bytes;
    }
  }
  for (const planner::TransferIndex index : plan.send_order[At(rank)]) {
    const planner::Transfer& transfer = plan.transfers[At(index)];
    const planner::IndexRange places = places_of(transfer);
    program.sends.push_back({index, transfer.receiver, places.begin, places.end,
                             steps_until.at(transfer.producer), granted[At(index)]});
  }
  return program;
}

}  // namespace weir::reduce
