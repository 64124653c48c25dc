#include "planner/edit/edited_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "planner/order/whole_bytes.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

// More is no number of bytes.
constexpr double kSpilledMost = 4e18;

class HomesApplied {
 public:
  HomesApplied(const Plan& plan, const PlanState& state, const WorkLeft& left,
               const std::vector<std::vector<StepHome>>& homes)
      : before_(plan), was_(state), left_(left), homes_(homes), parts_(plan.steps.size()) {
    FindSpills();
    edited_.plan = plan;
    if (plan.transfer_order == TransferOrder::kStrict && CombinesAnything(plan)) {
      edited_.plan.transfer_order = TransferOrder::kOvertake;
    }
    edited_.state = state;
    for (std::size_t w = 0; w < left.alive.size(); ++w) {
      edited_.state.gone.resize(left.alive.size(), false);
      if (!left.alive[w]) edited_.state.gone[w] = true;
    }
  }

  EditedPlan Apply() {
    MoveSteps();
    CutSections();
    for (std::size_t i = 0; i < plan().sections.size(); ++i) {
      if (i < before_.sections.size())
        KeepSection(i);
      else
        NewSection(i);
    }
    OrderSections();
    JoinTransfers();
    OrderSteps();
    KeepDoneOrders();
    return std::move(edited_);
  }

 private:
  Plan& plan() { return edited_.plan; }

  bool Begins(StepIndex step) const {
    return At(step) >= was_.steps.size() || HasToBegin(was_, left_, step);
  }

  void MoveSteps() {
    std::map<std::pair<std::int32_t, StepKind>, std::int32_t> numbers;  // of the next one
    for (const ComputeStep& step : before_.steps) {
      std::int32_t& next = numbers[{step.layer, step.kind}];
      next = std::max(next, step.index_in_layer + 1);
    }
    for (std::size_t s = 0; s < before_.steps.size(); ++s) {
      if (!left_.alive[At(before_.steps[s].worker)]) edited_.state.run_there[s] = false;
      if (left_.homeless[s]) {
        edited_.state.steps[s] = WorkState::kWaiting;
        edited_.state.step_began_s[s] = edited_.state.step_ended_s[s] = -1;
        edited_.state.run_there[s] = false;
      }
      for (std::size_t p = 0; p < homes_[s].size(); ++p) {
        StepIndex index = static_cast<StepIndex>(s);
        if (p > 0 || left_.in_parts[s]) {
          index = static_cast<StepIndex>(plan().steps.size());
          plan().steps.push_back(before_.steps[s]);
          plan().steps.back().index_in_layer =
              numbers[{before_.steps[s].layer, before_.steps[s].kind}]++;
          if (left_.in_parts[s]) plan().steps.back().is_rerun = true;
          AddState();
        }
        SetHome(s, homes_[s][p], &plan().steps[At(index)]);
        parts_[s].push_back(index);
      }
    }
    // What begins waits for what its sections say, which comes below.
    for (std::size_t s = 0; s < plan().steps.size(); ++s) {
      ComputeStep& step = plan().steps[s];
      step.after_transfers.clear();
      if (Begins(static_cast<StepIndex>(s))) {
        step.after_steps.clear();
      } else {
        // What it waited for it has had, even where that is made again.
        std::erase_if(step.after_steps, [&](StepIndex before) {
          return plan().steps[At(before)].worker != step.worker || Begins(before);
        });
      }
    }
  }

  void SetHome(std::size_t was, const StepHome& home, ComputeStep* step) const {
    step->worker = home.worker;
    // As long as all of it does what is put on disk; of a part of the input as much less of that.
    if (step->duration_s > 0) step->spill_s *= home.duration_s / step->duration_s;
    step->duration_s = home.duration_s;
    double part = 1;
    if (step->kind->reads_input()) {
      const Bytes bytes = home.input_end - home.input_begin;
      if (step->input_bytes > 0) {
        part = static_cast<double>(bytes) / static_cast<double>(step->input_bytes);
        step->spilled_bytes = static_cast<Bytes>(static_cast<double>(step->spilled_bytes) * part);
      }
      step->input_begin = home.input_begin;
      step->input_end = home.input_end;
      step->input_bytes = bytes;
    }
    if (home.worker != before_.steps[was].worker) SpillAsThere(part * loads_[was], step);
  }

  /// Who has another memory puts something else on disk: as its own steps of the layer do, in
  /// proportion to what they read. Where it has none nothing is known of it.
  void SpillAsThere(double load, ComputeStep* step) const {
    const auto there = spills_.find({step->worker, step->layer, step->kind});
    if (there == spills_.end()) return;
    const auto& [of_load, bytes, seconds] = there->second;
    step->spilled_bytes = static_cast<Bytes>(std::min(bytes / of_load * load, kSpilledMost));
    step->spill_s = std::min(seconds / of_load * load, step->duration_s);
  }

  void FindSpills() {
    loads_.assign(before_.steps.size(), 0);
    for (const Section& section : before_.sections) {
      loads_[At(section.consumer)] += static_cast<double>(section.bytes);
    }
    for (std::size_t s = 0; s < before_.steps.size(); ++s) {
      const ComputeStep& step = before_.steps[s];
      if (step.kind->reads_input()) loads_[s] = static_cast<double>(step.input_bytes);
      if (!(loads_[s] > 0)) continue;
      Spill& there = spills_[{step.worker, step.layer, step.kind}];
      there.of_load += loads_[s];
      there.bytes += static_cast<double>(step.spilled_bytes);
      there.seconds += step.spill_s;
    }
  }

  void AddState() {
    edited_.state.steps.push_back(WorkState::kWaiting);
    edited_.state.step_began_s.push_back(-1);
    edited_.state.step_ended_s.push_back(-1);
    edited_.state.run_there.push_back(false);
  }

  /// Divides the output of steps among their parts, and the sections that somebody lacks.
  void CutSections() {
    replaced_.assign(before_.sections.size(), false);
    const std::vector<bool> overlap = MakesPartialResults();
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      if (parts_[s].empty()) continue;
      const std::vector<Bytes> bytes =
          Divided(before_.steps[s].output_bytes, overlap[s], static_cast<StepIndex>(s));
      for (std::size_t p = 0; p < parts_[s].size(); ++p) {
        plan().steps[At(parts_[s][p])].output_bytes = bytes[p];
      }
    }
    const std::size_t num_sections = before_.sections.size();
    for (std::size_t i = 0; i < num_sections; ++i) {
      const Section section = plan().sections[i];
      const std::vector<StepIndex>& parts = parts_[At(section.producer)];
      const bool has_it = !Begins(section.consumer) || left_.arrived[i];
      if (parts.empty() || (left_.in_parts[At(section.producer)] && has_it)) continue;
      const std::vector<Bytes> bytes =
          Divided(section.bytes, section.indexes.has_value(), section.producer);
      plan().sections[i] = {parts[0], section.consumer, bytes[0], section.indexes};
      replaced_[i] = left_.in_parts[At(section.producer)];
      for (std::size_t p = 1; p < parts.size(); ++p) {
        plan().sections.push_back({parts[p], section.consumer, bytes[p], section.indexes});
        cut_from_.push_back(i);
      }
    }
  }

  /// By step: somebody combines what it makes.
  std::vector<bool> MakesPartialResults() const {
    std::vector<bool> makes(before_.steps.size(), false);
    for (const Section& section : before_.sections) {
      if (section.indexes) makes[At(section.producer)] = true;
    }
    return makes;
  }

  /// What each part makes of these bytes of a step: more than in proportion where keys are found
  /// again in each. Partial results that are worth a tree overlap: each is taken to be as large as
  /// that of all.
  std::vector<Bytes> Divided(Bytes bytes, bool overlap, StepIndex step) const {
    const PartCost& cost = before_.part_cost;
    const std::size_t num_parts = parts_[At(step)].size();
    if (overlap || cost.output_growth == 0) return std::vector<Bytes>(num_parts, bytes);
    const std::vector<double> shares = SharesOf(At(step));
    if (cost.output_growth == 1 || num_parts == 1) return WholeBytes(bytes, shares);
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<Bytes> divided;
    for (const double share : shares) {
      const double part = all > 0 ? PartOfOutput(cost, share / all) : 0;
      divided.push_back(std::llround(static_cast<double>(bytes) * part));
    }
    return divided;
  }

  /// Puts the parts of a section behind its first: operands stay in the order of the input.
  void OrderSections() {
    std::vector<Section> ordered;
    ordered.reserve(plan().sections.size());
    std::size_t part = 0;  // parts are listed by the section that they were cut from
    for (std::size_t i = 0; i < before_.sections.size(); ++i) {
      ordered.push_back(plan().sections[i]);
      for (; part < cut_from_.size() && cut_from_[part] == i; ++part) {
        ordered.push_back(plan().sections[before_.sections.size() + part]);
      }
    }
    plan().sections = std::move(ordered);
  }

  std::vector<double> SharesOf(std::size_t step) const {
    std::vector<double> shares;
    for (const StepIndex part : parts_[step]) {
      shares.push_back(static_cast<double>(edited_.plan.steps[At(part)].input_bytes));
    }
    return shares;
  }

  /// What of a section that was there before still counts, and what it needs now.
  void KeepSection(std::size_t i) {
    const Section& section = plan().sections[i];
    const bool stays = !Begins(section.consumer) || left_.arrived[i];
    if (stays && !replaced_[i]) {
      for (const TransferIndex t : left_.transfers_of[i]) {
        if (was_.transfers[At(t)] == WorkState::kDone) Keep(t);
      }
      return;
    }
    const bool ends_stay = !replaced_[i] && !left_.homeless[At(section.producer)] &&
                           !left_.homeless[At(section.consumer)];
    if (ends_stay && !InPlace(section)) {
      FillGaps(i);
      return;
    }
    if (!InPlace(section)) {
      for (const TransferIndex t : left_.transfers_of[i]) {
        if (was_.transfers[At(t)] == WorkState::kDone) {
          edited_.moved_again += before_.transfers[At(t)].bytes;
        }
      }
    }
    NewSection(i);
  }

  bool InPlace(const Section& section) {
    return plan().steps[At(section.producer)].worker == plan().steps[At(section.consumer)].worker;
  }

  void NewSection(std::size_t i) {
    const Section& section = plan().sections[i];
    if (InPlace(section)) {
      plan().steps[At(section.consumer)].after_steps.push_back(section.producer);
    } else {
      Move(section, 0, section.bytes);
    }
  }

  void FillGaps(std::size_t i) {
    const Section& section = plan().sections[i];
    std::vector<TransferIndex> begun;
    for (const TransferIndex t : left_.transfers_of[i]) {
      if (was_.transfers[At(t)] == WorkState::kWaiting) continue;
      Keep(t);
      begun.push_back(t);
    }
    std::sort(begun.begin(), begun.end(), [&](TransferIndex a, TransferIndex b) {
      return before_.transfers[At(a)].offset < before_.transfers[At(b)].offset;
    });
    Bytes covered_until = 0;
    for (const TransferIndex t : begun) {
      const Transfer& transfer = before_.transfers[At(t)];
      if (transfer.offset > covered_until) {
        Move(section, covered_until, transfer.offset - covered_until);
      }
      covered_until = transfer.offset + transfer.bytes;
    }
    if (begun.empty() || covered_until < section.bytes) {
      Move(section, covered_until, section.bytes - covered_until);
    }
  }

  void Keep(TransferIndex t) {
    (was_.transfers[At(t)] == WorkState::kDone ? done_ : under_way_).push_back(t);
  }

  void Move(const Section& section, Bytes offset, Bytes bytes) {
    Transfer transfer;
    transfer.producer = section.producer;
    transfer.consumer = section.consumer;
    transfer.sender = plan().steps[At(section.producer)].worker;
    transfer.receiver = plan().steps[At(section.consumer)].worker;
    transfer.offset = offset;
    transfer.bytes = bytes;
    transfer.start_s = was_.now_s;
    transfer.duration_s =
        before_.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
    moving_.push_back(transfer);
  }

  /// Lists the waiting transfers by layer, in rounds of different senders and receivers.
  void SortMoving() {
    const std::int32_t workers = before_.network.num_workers;
    const auto rank = [&](const Transfer& t) {
      const std::int32_t round = (t.receiver - t.sender + workers) % workers;
      return std::tuple(plan().steps[At(t.consumer)].layer, round, t.producer, t.consumer,
                        t.offset);
    };
    std::sort(moving_.begin(), moving_.end(),
              [&](const Transfer& a, const Transfer& b) { return rank(a) < rank(b); });
  }

  void JoinTransfers() {
    SortMoving();
    std::sort(done_.begin(), done_.end());
    std::sort(under_way_.begin(), under_way_.end(), [&](TransferIndex a, TransferIndex b) {
      return std::tie(was_.transfer_began_s[At(a)], a) < std::tie(was_.transfer_began_s[At(b)], b);
    });
    PlanState& state = edited_.state;
    plan().transfers.clear();
    state.transfers.clear();
    state.transfer_began_s.clear();
    state.transfer_ended_s.clear();
    for (const std::vector<TransferIndex>* kept : {&done_, &under_way_}) {
      for (const TransferIndex t : *kept) {
        AddTransfer(before_.transfers[At(t)], t, was_.transfers[At(t)],
                    was_.transfer_began_s[At(t)], was_.transfer_ended_s[At(t)]);
      }
    }
    for (const Transfer& t : moving_) AddTransfer(t, kNoIndex, WorkState::kWaiting, -1, -1);
  }

  void AddTransfer(const Transfer& transfer, TransferIndex before, WorkState work, Seconds began_s,
                   Seconds ended_s) {
    plan().steps[At(transfer.consumer)].after_transfers.push_back(
        static_cast<TransferIndex>(plan().transfers.size()));
    plan().transfers.push_back(transfer);
    edited_.transfer_was.push_back(before);
    edited_.state.transfers.push_back(work);
    edited_.state.transfer_began_s.push_back(began_s);
    edited_.state.transfer_ended_s.push_back(ended_s);
  }

  /// On each worker: what is done, as it was, and what is under way; then in the order of the
  /// data, those that were there first.
  void OrderSteps() {
    std::vector<std::vector<StepIndex>> order(before_.compute_order.size());
    std::vector<bool> listed(plan().steps.size(), false);
    for (const WorkState work : {WorkState::kDone, WorkState::kUnderWay, WorkState::kWaiting}) {
      for (const std::vector<StepIndex>& list : before_.compute_order) {
        for (const StepIndex step : list) {
          if (edited_.state.steps[At(step)] != work || left_.homeless[At(step)]) continue;
          order[At(plan().steps[At(step)].worker)].push_back(step);
          listed[At(step)] = true;
        }
      }
    }
    for (std::size_t s = 0; s < plan().steps.size(); ++s) {
      if (!listed[s]) order[At(plan().steps[s].worker)].push_back(static_cast<StepIndex>(s));
    }
    const std::vector<DataRank> ranks = DataRanks(plan());
    for (std::vector<StepIndex>& list : order) {
      const auto waiting =
          std::find_if(list.begin(), list.end(), [&](StepIndex step) { return Begins(step); });
      std::stable_sort(waiting, list.end(),
                       [&](StepIndex a, StepIndex b) { return ranks[At(a)] < ranks[At(b)]; });
    }
    plan().compute_order = std::move(order);
  }

  void KeepDoneOrders() {
    std::vector<TransferIndex> now(before_.transfers.size(), kNoIndex);
    for (std::size_t t = 0; t < edited_.transfer_was.size(); ++t) {
      if (edited_.state.transfers[t] != WorkState::kDone) continue;
      now[At(edited_.transfer_was[t])] = static_cast<TransferIndex>(t);
    }
    const auto keep = [&](std::vector<std::vector<TransferIndex>>* lists) {
      for (std::vector<TransferIndex>& list : *lists) {
        for (TransferIndex& t : list) t = now[At(t)];
        std::erase(list, kNoIndex);
      }
    };
    keep(&plan().send_order);
    keep(&plan().receive_order);
    for (auto& lanes : plan().channel_order) keep(&lanes);
    plan().store_order.clear();
  }

  const Plan& before_;
  const PlanState& was_;
  const WorkLeft& left_;
  const std::vector<std::vector<StepHome>>& homes_;
  // What the steps of one kind and layer put on disk on one worker, of what they read.
  struct Spill {
    double of_load = 0;
    double bytes = 0;
    Seconds seconds = 0;
  };
  std::map<std::tuple<WorkerIndex, std::int32_t, StepKind>, Spill> spills_;
  std::vector<double> loads_;                    // by step before: bytes that it reads
  std::vector<std::vector<StepIndex>> parts_;    // by homeless step: itself, then those appended
  std::vector<bool> replaced_;                   // by section before: now of parts
  std::vector<std::size_t> cut_from_;            // by section appended: before, rising
  std::vector<TransferIndex> done_, under_way_;  // of before_, that still count
  std::vector<Transfer> moving_;
  EditedPlan edited_;
};

}  // namespace

EditedPlan ApplyHomes(const Plan& plan, const PlanState& state, const WorkLeft& left,
                      const std::vector<std::vector<StepHome>>& homes) {
  return HomesApplied(plan, state, left, homes).Apply();
}

}  // namespace weir::planner
