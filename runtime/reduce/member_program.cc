#include "runtime/reduce/member_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::reduce {
namespace {

using planner::At;

/// Writes the program of one member, part by part.
class ProgramWriter {
 public:
  ProgramWriter(const planner::Plan& plan, std::int32_t rank, std::int64_t place_bytes,
                std::int64_t window_bytes)
      : plan_(plan), rank_(rank), sections_of_(plan.steps.size()) {
    program_.place_bytes = place_bytes;
    program_.window_bytes = window_bytes;
    for (const planner::Section& section : plan.sections) {
      sections_of_[At(section.consumer)].push_back(&section);
      section_of_[{section.producer, section.consumer}] = &section;
    }
  }

  absl::StatusOr<MemberProgram> Write() {
    if (absl::Status status = AddReceives(); !status.ok()) return status;
    AddSteps();
    AddSends();
    return std::move(program_);
  }

 private:
  using Receive = MemberProgram::Receive;

  planner::IndexRange PlacesOf(const planner::Transfer& transfer) const {
    return *section_of_.at({transfer.producer, transfer.consumer})->indexes;
  }

  /// Fills in what the receive meets, and whether it is alone.
  void AddFolds(const planner::Transfer& transfer, Receive& receive) const {
    const std::vector<const planner::Section*>& sections = sections_of_[At(transfer.consumer)];
    const auto own = std::find_if(sections.begin(), sections.end(), [&](const auto* section) {
      return section->producer == transfer.producer;
    });
    for (auto at = sections.begin(); at != sections.end(); ++at) {
      if (plan_.steps[At((*at)->producer)].worker != rank_) continue;
      const std::int64_t begin = std::max(receive.begin, (*at)->indexes->begin);
      const std::int64_t end = std::min(receive.end, (*at)->indexes->end);
      if (begin < end) receive.folds.push_back({begin, end, at < own});
    }
  }

  absl::Status AddReceives() {
    std::int64_t bytes = 0;
    for (const planner::TransferIndex index : plan_.receive_order[At(rank_)]) {
      const planner::Transfer& transfer = plan_.transfers[At(index)];
      const planner::IndexRange places = PlacesOf(transfer);
      Receive receive{index, transfer.sender, places.begin, places.end, bytes, {}};
      AddFolds(transfer, receive);
      std::int64_t folded = 0;
      for (const MemberProgram::Fold& fold : receive.folds) folded += fold.end - fold.begin;
      if (folded != 0 && folded != receive.end - receive.begin) {
        return absl::InternalError(
            absl::StrCat("step ", transfer.consumer, " of the plan combines ", folded, " of ",
                         receive.end - receive.begin, " places that it receives"));
      }
      bytes += transfer.bytes;
      receive_of_[index] = static_cast<std::int32_t>(program_.receives.size());
      program_.receives.push_back(std::move(receive));
    }
    return absl::OkStatus();
  }

  void AddSteps() {
    for (const planner::StepIndex index : plan_.compute_order[At(rank_)]) {
      const planner::ComputeStep& step = plan_.steps[At(index)];
      if (step.kind->reads_input()) {
        steps_until_[index] = 0;
        continue;
      }
      MemberProgram::Step made{index, step.duration_s, {}};
      for (const planner::TransferIndex transfer : step.after_transfers) {
        made.receives.push_back(receive_of_.at(transfer));
      }
      program_.steps.push_back(std::move(made));
      steps_until_[index] = static_cast<std::int32_t>(program_.steps.size());
    }
  }

  /// What each receiver's window lets begin at once: it counts as that member counts.
  std::vector<bool> Granted() const {
    std::vector<bool> granted(plan_.transfers.size(), false);
    for (const std::vector<planner::TransferIndex>& order : plan_.receive_order) {
      std::int64_t before = 0;
      for (const planner::TransferIndex index : order) {
        granted[At(index)] = before <= program_.window_bytes;
        before += plan_.transfers[At(index)].bytes;
      }
    }
    return granted;
  }

  void AddSends() {
    const std::vector<bool> granted = Granted();
    for (const planner::TransferIndex index : plan_.send_order[At(rank_)]) {
      const planner::Transfer& transfer = plan_.transfers[At(index)];
      const planner::IndexRange places = PlacesOf(transfer);
      program_.sends.push_back({index, transfer.receiver, places.begin, places.end,
                                steps_until_.at(transfer.producer), granted[At(index)]});
    }
  }

  const planner::Plan& plan_;
  const std::int32_t rank_;
  MemberProgram program_;
  /// By consumer, in the order of the plan.
  std::vector<std::vector<const planner::Section*>> sections_of_;
  std::map<std::pair<planner::StepIndex, planner::StepIndex>, const planner::Section*> section_of_;
  std::map<planner::TransferIndex, std::int32_t> receive_of_;  // position in program_.receives
  std::map<planner::StepIndex, std::int32_t> steps_until_;     // steps up to its end
};

}  // namespace

absl::StatusOr<MemberProgram> ProgramOf(const planner::Plan& plan, std::int32_t rank,
                                        std::int64_t place_bytes, std::int64_t window_bytes) {
  return ProgramWriter(plan, rank, place_bytes, window_bytes).Write();
}

}  // namespace weir::reduce
