#include "planner/edit/check_edit.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/edit/check_rest.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

using Pair = std::pair<StepIndex, StepIndex>;  // producer, consumer

class EditCheck {
 public:
  EditCheck(const ChangedPlan& changed, const PlanEdit& edit)
      : changed_(changed),
        before_(changed.plan),
        was_(changed.state),
        edit_(edit),
        after_(edit.plan),
        is_(edit.state),
        gone_(changed.state.gone) {}

  absl::Status Check() {
    if (absl::Status status = CheckNumbers(); !status.ok()) return status;
    if (absl::Status status = CheckState(after_, is_); !status.ok()) return status;
    if (absl::Status status = CheckHistory(); !status.ok()) return status;
    if (absl::Status status = CheckCounts(); !status.ok()) return status;
    Index();
    if (absl::Status status = CheckSurvivors(); !status.ok()) return status;
    if (absl::Status status = CheckPlaces(); !status.ok()) return status;
    if (absl::Status status = CheckOperands(before_, after_, is_); !status.ok()) return status;
    if (absl::Status status = CheckPieces(); !status.ok()) return status;
    if (absl::Status status = CheckNeed(); !status.ok()) return status;
    return CheckRest(after_, is_);
  }

 private:
  bool Gone(WorkerIndex worker) const { return gone_[At(worker)]; }
  bool Begins(StepIndex step) const { return is_.steps[At(step)] == WorkState::kWaiting; }
  bool BegunBefore(StepIndex step) const {
    return At(step) < was_.steps.size() && was_.steps[At(step)] != WorkState::kWaiting;
  }
  /// Had begun, and waits again.
  bool Redone(StepIndex step) const { return BegunBefore(step) && Begins(step); }

  // Sizes, indices, and what every step keeps.
  absl::Status CheckNumbers() const {
    const auto num_steps = static_cast<StepIndex>(after_.steps.size());
    if (after_.steps.size() < before_.steps.size()) return Invalid("The edit loses steps");
    if (after_.network.num_workers != before_.network.num_workers) {
      return Invalid("The edit has other workers");
    }
    if (edit_.transfer_was.size() != after_.transfers.size()) {
      return Invalid("transfer_was must have one entry a transfer");
    }
    for (std::size_t s = 0; s < after_.steps.size(); ++s) {
      const ComputeStep& now = after_.steps[s];
      if (s >= before_.steps.size()) {
        if (!now.kind->reads_input()) return Invalid("Step ", s, " is new and reads no input");
        continue;
      }
      const ComputeStep& was = before_.steps[s];
      if (now.kind != was.kind || now.layer != was.layer ||
          now.index_in_layer != was.index_in_layer || now.key_begin != was.key_begin ||
          now.key_end != was.key_end || now.is_rerun != was.is_rerun) {
        return Invalid("Step ", s, " is another one after the edit");
      }
      if (now.input_begin != was.input_begin || now.input_end > was.input_end) {
        return Invalid("Step ", s, " reads input that it did not read before: [", now.input_begin,
                       ", ", now.input_end, ")");
      }
    }
    for (const Section& section : after_.sections) {
      if (section.producer < 0 || section.producer >= num_steps || section.consumer < 0 ||
          section.consumer >= num_steps || section.bytes < 0) {
        return Invalid("A section is out of range: producer ", section.producer, ", consumer ",
                       section.consumer);
      }
    }
    for (const Transfer& transfer : after_.transfers) {
      if (transfer.producer < 0 || transfer.producer >= num_steps || transfer.consumer < 0 ||
          transfer.consumer >= num_steps) {
        return Invalid("A transfer is out of range: producer ", transfer.producer, ", consumer ",
                       transfer.consumer);
      }
    }
    for (std::size_t s = 0; s < after_.steps.size(); ++s) {
      for (const TransferIndex t : after_.steps[s].after_transfers) {
        if (t < 0 || At(t) >= after_.transfers.size()) {
          return Invalid("Step ", s, " waits for a transfer that does not exist: ", t);
        }
      }
      for (const StepIndex b : after_.steps[s].after_steps) {
        if (b < 0 || b >= num_steps) {
          return Invalid("Step ", s, " waits for a step that does not exist: ", b);
        }
      }
    }
    return absl::OkStatus();
  }

  // What has begun: as it was, or waiting again.
  absl::Status CheckHistory() const {
    for (std::size_t s = 0; s < is_.steps.size(); ++s) {
      if (s >= was_.steps.size()) {
        if (is_.steps[s] != WorkState::kWaiting)
          return Invalid("Step ", s, " is new and has begun");
        continue;
      }
      if (is_.steps[s] == WorkState::kWaiting) continue;
      const bool same = is_.steps[s] == was_.steps[s] &&
                        is_.step_began_s[s] == was_.step_began_s[s] &&
                        is_.step_ended_s[s] == was_.step_ended_s[s] &&
                        after_.steps[s].worker == before_.steps[s].worker &&
                        after_.steps[s].input_end == before_.steps[s].input_end;
      if (!same) return Invalid("Step ", s, " had not begun, or not there, before the edit");
      if (is_.run_there[s] && (!was_.run_there[s] || Gone(after_.steps[s].worker))) {
        return Invalid("The run of step ", s, " is said to be there, but is not");
      }
    }
    std::set<TransferIndex> taken;
    for (std::size_t t = 0; t < is_.transfers.size(); ++t) {
      if (is_.transfers[t] == WorkState::kWaiting) continue;
      const TransferIndex was = edit_.transfer_was[t];
      if (was < 0 || At(was) >= before_.transfers.size() || !taken.insert(was).second) {
        return Invalid("Transfer ", t, " has begun, but is none of those before, or one twice");
      }
      const Transfer& a = before_.transfers[At(was)];
      const Transfer& b = after_.transfers[t];
      const bool same = is_.transfers[t] == was_.transfers[At(was)] && a.producer == b.producer &&
                        a.consumer == b.consumer && a.offset == b.offset && a.bytes == b.bytes &&
                        a.sender == b.sender && a.receiver == b.receiver;
      if (!same) return Invalid("Transfer ", t, " is not what transfer ", was, " was");
    }
    std::vector<StepIndex> redone;
    for (std::size_t s = 0; s < was_.steps.size(); ++s) {
      if (Redone(static_cast<StepIndex>(s))) redone.push_back(static_cast<StepIndex>(s));
    }
    if (redone != edit_.redone) return Invalid("`redone` names other steps");
    if (changed_.whole_steps && !edit_.in_parts.empty()) {
      return Invalid("Step ", edit_.in_parts[0], " is made again in parts, which it cannot be");
    }
    for (const StepIndex step : edit_.in_parts) {
      if (step < 0 || At(step) >= was_.steps.size() || Begins(step)) {
        return Invalid("`in_parts` names step ", step, ", which is not done");
      }
      if (CouldGive(step)) return Invalid("The run of step ", step, " is there, and is made again");
    }
    return absl::OkStatus();
  }

  void Index() {
    for (const Section& section : after_.sections) {
      sections_after_.insert({section.producer, section.consumer});
    }
    for (std::size_t t = 0; t < before_.transfers.size(); ++t) {
      const Transfer& transfer = before_.transfers[t];
      pieces_before_[{transfer.producer, transfer.consumer}].push_back(
          static_cast<TransferIndex>(t));
    }
    for (std::size_t t = 0; t < after_.transfers.size(); ++t) {
      const Transfer& transfer = after_.transfers[t];
      pieces_after_[{transfer.producer, transfer.consumer}].push_back(
          static_cast<TransferIndex>(t));
    }
    for (std::size_t t = 0; t < edit_.transfer_was.size(); ++t) {
      if (is_.transfers[t] != WorkState::kWaiting) kept_.insert(edit_.transfer_was[t]);
    }
    awaited_.assign(after_.transfers.size(), false);
    for (std::size_t s = 0; s < after_.steps.size(); ++s) {
      const auto step = static_cast<StepIndex>(s);
      for (const TransferIndex t : after_.steps[s].after_transfers) {
        if (after_.transfers[At(t)].consumer == step) awaited_[At(t)] = true;
      }
      for (const StepIndex producer : after_.steps[s].after_steps) {
        in_place_.emplace_back(producer, step);
      }
    }
    std::sort(in_place_.begin(), in_place_.end());
  }

  /// Ranges of the input that steps count, in order; empty ones are left out.
  static std::vector<std::pair<Bytes, Bytes>> Counted(const Plan& plan) {
    std::vector<std::pair<Bytes, Bytes>> ranges;
    for (const ComputeStep& step : plan.steps) {
      if (!step.kind->reads_input() || step.is_rerun || step.input_begin == step.input_end) {
        continue;
      }
      ranges.emplace_back(step.input_begin, step.input_end);
    }
    std::sort(ranges.begin(), ranges.end());
    return ranges;
  }

  // What is counted twice, or not any more, by some step after the edit.
  absl::Status CheckCounts() const {
    const std::vector<std::pair<Bytes, Bytes>> was = Counted(before_), is = Counted(after_);
    std::size_t i = 0;
    for (const auto& [begin, end] : was) {
      Bytes counted_until = begin;
      while (counted_until < end && i < is.size() && is[i].first == counted_until) {
        counted_until = is[i++].second;
      }
      if (counted_until != end) {
        return Invalid("Input [", begin, ", ", end,
                       ") was counted by one step, and is now counted ", "to byte ", counted_until);
      }
    }
    if (i == is.size()) return absl::OkStatus();
    return Invalid("Input [", is[i].first, ", ", is[i].second, ") is counted twice");
  }

  // The pieces of each section that is still to be read tile it, and are of one run.
  absl::Status CheckPieces() {
    std::map<Pair, Bytes> wanted;
    for (const Section& section : after_.sections) {
      if (!Begins(section.consumer)) continue;
      const Pair pair{section.producer, section.consumer};
      wanted[pair] = section.bytes;
      const ComputeStep& consumer = after_.steps[At(section.consumer)];
      std::vector<TransferIndex> pieces = pieces_after_[pair];
      if (pieces.empty()) {
        const bool waits = std::binary_search(in_place_.begin(), in_place_.end(), pair);
        if (after_.steps[At(section.producer)].worker != consumer.worker || !waits) {
          return Invalid("The section from step ", section.producer, " to step ", section.consumer,
                         " has no transfer and is not read in place");
        }
        continue;
      }
      if (absl::Status status = CheckTiles(section, pieces); !status.ok()) return status;
      std::size_t arrived = 0;
      for (const TransferIndex t : pieces) {
        if (!awaited_[At(t)]) {
          return Invalid("Step ", section.consumer, " does not wait for transfer ", t);
        }
        if (after_.transfers[At(t)].receiver != consumer.worker) {
          return Invalid("Transfer ", t, " goes to worker ", after_.transfers[At(t)].receiver,
                         "; its reader is on worker ", consumer.worker);
        }
        if (is_.transfers[At(t)] == WorkState::kDone) ++arrived;
      }
      const bool of_one_run = arrived == 0 || arrived == pieces.size() || !Redone(section.producer);
      if (!of_one_run || (arrived > 0 && Redone(section.consumer))) {
        return Invalid("The section from step ", section.producer, " to step ", section.consumer,
                       " is made of pieces of different runs, or of what its reader lost");
      }
    }
    for (const auto& [pair, pieces] : pieces_after_) {
      if (Begins(pair.second) && !wanted.contains(pair)) {
        return Invalid("Transfer ", pieces[0], " moves bytes of no section");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckTiles(const Section& section, std::vector<TransferIndex> pieces) const {
    std::sort(pieces.begin(), pieces.end(), [&](TransferIndex a, TransferIndex b) {
      const Transfer &x = after_.transfers[At(a)], &y = after_.transfers[At(b)];
      return std::tie(x.offset, x.bytes) < std::tie(y.offset, y.bytes);
    });
    Bytes covered_until = 0;
    for (const TransferIndex t : pieces) {
      const Transfer& transfer = after_.transfers[At(t)];
      const bool empty_beside_others = transfer.bytes == 0 && pieces.size() > 1;
      if (transfer.offset != covered_until || transfer.bytes < 0 || empty_beside_others) {
        return Invalid("Transfer ", t, " begins at byte ", transfer.offset,
                       " of its section; the one before it ends at ", covered_until);
      }
      covered_until += transfer.bytes;
    }
    if (covered_until == section.bytes) return absl::OkStatus();
    return Invalid("The transfers from step ", section.producer, " to step ", section.consumer,
                   " move ", covered_until, " bytes; the section has ", section.bytes);
  }

  // Nothing waits on a lost worker.
  absl::Status CheckSurvivors() const {
    const auto can_give = [&](StepIndex producer) {
      return is_.steps[At(producer)] != WorkState::kDone || is_.run_there[At(producer)];
    };
    for (std::size_t s = 0; s < after_.steps.size(); ++s) {
      if (is_.steps[s] == WorkState::kDone) continue;
      if (Gone(after_.steps[s].worker)) {
        return Invalid("Step ", s, " is to run on worker ", after_.steps[s].worker,
                       ", which is lost");
      }
      if (is_.steps[s] != WorkState::kWaiting) continue;
      for (const StepIndex producer : after_.steps[s].after_steps) {
        if (!can_give(producer)) {
          return Invalid("Step ", s, " reads the run of step ", producer, ", which is gone");
        }
      }
    }
    for (std::size_t t = 0; t < after_.transfers.size(); ++t) {
      if (is_.transfers[t] == WorkState::kDone) continue;
      const Transfer& transfer = after_.transfers[t];
      if (transfer.sender < 0 || transfer.sender >= before_.network.num_workers ||
          Gone(transfer.sender) || Gone(transfer.receiver)) {
        return Invalid("Transfer ", t, " goes from worker ", transfer.sender, " to ",
                       transfer.receiver, ", of which one is lost");
      }
      if (!can_give(transfer.producer)) {
        return Invalid("Transfer ", t, " moves the run of step ", transfer.producer,
                       ", which is gone");
      }
    }
    return absl::OkStatus();
  }

  // What may not stay leaves, and closed workers get nothing.
  absl::Status CheckPlaces() const {
    for (std::size_t s = 0; s < after_.steps.size(); ++s) {
      const auto step = static_cast<StepIndex>(s);
      if (!Begins(step)) continue;
      const WorkerIndex worker = after_.steps[s].worker;
      const bool there = s < before_.steps.size() && before_.steps[s].worker == worker;
      if (there && changed_.must_move[s]) {
        return Invalid("Step ", s, " stays on worker ", worker, ", where it may not");
      }
      if (changed_.closed[At(worker)] && (!there || BegunBefore(step))) {
        return Invalid("Step ", s, " goes to worker ", worker, ", which gets nothing new");
      }
    }
    return absl::OkStatus();
  }

  bool HadArrived(const Pair& pair) const {
    const auto it = pieces_before_.find(pair);
    if (it == pieces_before_.end()) return false;
    return std::all_of(it->second.begin(), it->second.end(),
                       [&](TransferIndex t) { return was_.transfers[At(t)] == WorkState::kDone; });
  }

  /// The step is to begin where it was to begin before, with what it has already.
  bool StaysWaiting(StepIndex step) const {
    return Begins(step) && !BegunBefore(step) && !Gone(before_.steps[At(step)].worker) &&
           after_.steps[At(step)].worker == before_.steps[At(step)].worker;
  }

  /// Made again though it is there, which must be worth it for all.
  bool MadeAgain(StepIndex step) const { return Redone(step) && changed_.may_make_again[At(step)]; }

  /// Its run was there before, and still is.
  bool CouldGive(StepIndex step) const {
    return !MadeAgain(step) && was_.steps[At(step)] == WorkState::kDone &&
           was_.run_there[At(step)] && !Gone(before_.steps[At(step)].worker);
  }

  // Nothing is done again, or moved again, without need.
  absl::Status CheckNeed() const {
    std::vector<bool> lacked(before_.steps.size(), false);
    for (const Section& section : before_.sections) {
      if (!Begins(section.consumer)) continue;
      const bool has =
          StaysWaiting(section.consumer) && HadArrived({section.producer, section.consumer});
      if (!has) lacked[At(section.producer)] = true;
      if ((has || CouldGive(section.producer)) &&
          !sections_after_.contains({section.producer, section.consumer})) {
        return Invalid("The section from step ", section.producer, " to step ", section.consumer,
                       " is there, and is made again");
      }
    }
    for (std::size_t s = 0; s < before_.steps.size(); ++s) {
      const auto step = static_cast<StepIndex>(s);
      const bool moves = after_.steps[s].worker != before_.steps[s].worker ||
                         after_.steps[s].input_end != before_.steps[s].input_end;
      if (!BegunBefore(step) && moves && !Gone(before_.steps[s].worker) && !changed_.may_move[s] &&
          !changed_.must_move[s]) {
        return Invalid("Step ", s, " moves from worker ", before_.steps[s].worker,
                       ", but nothing happened there");
      }
      if (!Redone(step)) continue;
      const bool gone = Gone(before_.steps[s].worker);
      const bool needed = was_.steps[s] == WorkState::kDone
                              ? lacked[s] && (gone || !was_.run_there[s] || MadeAgain(step))
                              : gone || changed_.may_give_up[s];
      if (!needed) return Invalid("Step ", s, " is done again, but nobody needs that");
    }
    for (std::size_t t = 0; t < before_.transfers.size(); ++t) {
      const Transfer& transfer = before_.transfers[t];
      const WorkState work = was_.transfers[t];
      if (work == WorkState::kWaiting || kept_.contains(static_cast<TransferIndex>(t)) ||
          !StaysWaiting(transfer.consumer)) {
        continue;
      }
      if (work == WorkState::kDone && !MadeAgain(transfer.producer) &&
          (CouldGive(transfer.producer) || HadArrived({transfer.producer, transfer.consumer}))) {
        return Invalid("Transfer ", t, " had arrived, and is forgotten");
      }
      const bool made_again =
          Redone(transfer.producer) ||
          std::binary_search(edit_.in_parts.begin(), edit_.in_parts.end(), transfer.producer);
      if (work == WorkState::kUnderWay && !Gone(transfer.sender) && !made_again) {
        return Invalid("Transfer ", t, " was under way between survivors, and is forgotten");
      }
    }
    return absl::OkStatus();
  }

  const ChangedPlan& changed_;
  const Plan& before_;
  const PlanState& was_;
  const PlanEdit& edit_;
  const Plan& after_;
  const PlanState& is_;
  const std::vector<bool>& gone_;  // by worker
  std::set<Pair> sections_after_;
  std::map<Pair, std::vector<TransferIndex>> pieces_before_, pieces_after_;
  std::set<TransferIndex> kept_;  // transfers before that have begun and still count
  std::vector<bool> awaited_;     // by transfer after: its consumer waits for it
  std::vector<Pair> in_place_;    // of which the consumer waits for the producer; sorted
};

}  // namespace

absl::Status CheckEdit(const Plan& before, const PlanState& state, const PlanChange& change,
                       const PlanEdit& edit) {
  if (absl::Status status = CheckState(before, state); !status.ok()) return status;
  const absl::StatusOr<ChangedPlan> changed = ApplyChange(before, state, change);
  if (!changed.ok()) return changed.status();
  return EditCheck(*changed, edit).Check();
}

}  // namespace weir::planner
