#include "runtime/master/conduct/plan_progress.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"

namespace weir::master {

using planner::At;
using planner::Bytes;
using planner::Seconds;
using planner::StepIndex;
using planner::TransferIndex;
using planner::WorkerIndex;

namespace {

constexpr planner::Interval kNeverRan{0, -1};

bool ByConsumer(const RunSection& a, const RunSection& b) { return a.consumer < b.consumer; }

}  // namespace

PlanProgress::PlanProgress(const planner::Plan& plan) : PlanProgress(plan, Readers::kToBeCounted) {
  IndexSections();
  CountReaders();
}

PlanProgress::PlanProgress(const planner::Plan& plan, Readers)
    : plan_(plan),
      steps_(plan.steps.size()),
      transfers_(plan.transfers.size()),
      producers_of_(plan.steps.size()),
      reached_by_(plan.steps.size()),
      runs_(plan.steps.size()),
      run_removed_(plan.steps.size(), false),
      below_(plan.steps.size()),
      unread_(At(plan.network.num_workers)),
      in_moved_on_(plan.transfers.size(), false) {
  actual_.steps.assign(plan.steps.size(), kNeverRan);
  actual_.transfers.assign(plan.transfers.size(), kNeverRan);
  actual_.transfer_bytes.assign(plan.transfers.size(), 0);
  actual_.step_input_bytes.assign(plan.steps.size(), 0);
  actual_.step_output_bytes.assign(plan.steps.size(), 0);
  actual_.step_unpacked_output_bytes.assign(plan.steps.size(), 0);
  actual_.transfer_in_flight_bytes.assign(plan.transfers.size(), 0);
  if (plan.rates_over_time) actual_.transfer_rates.resize(plan.transfers.size());
}

void PlanProgress::IndexSections() {
  for (const planner::Section& section : plan_.sections) {
    const bool in_place =
        plan_.steps[At(section.producer)].worker == plan_.steps[At(section.consumer)].worker;
    // A run that is made again is whole, and who has begun has read what he needs.
    const bool has_it = !Waits(section.consumer);
    producers_of_[At(section.consumer)].push_back(section.producer);
    if (in_place || has_it) reached_by_[At(section.producer)].push_back(section.consumer);
  }
  for (const planner::Transfer& transfer : plan_.transfers) {
    reached_by_[At(transfer.producer)].push_back(transfer.consumer);
  }
  // By the input, whose pieces may have been cut finer since they were numbered.
  const auto rank = [this](StepIndex step) {
    const planner::ComputeStep& planned = plan_.steps[At(step)];
    return std::tuple(planned.layer, planned.kind->reads_input() ? planned.input_begin : 0, step);
  };
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    if (plan_.steps[s].kind->combines) continue;
    std::sort(producers_of_[s].begin(), producers_of_[s].end(),
              [&rank](StepIndex a, StepIndex b) { return rank(a) < rank(b); });
  }
  for (std::vector<StepIndex>& consumers : reached_by_) {
    std::sort(consumers.begin(), consumers.end());
    consumers.erase(std::unique(consumers.begin(), consumers.end()), consumers.end());
  }
}

void PlanProgress::CountReaders() {
  for (const planner::Section& section : plan_.sections) {
    if (steps_[At(section.consumer)].state == State::kDone) continue;
    const WorkerIndex maker = plan_.steps[At(section.producer)].worker;
    const WorkerIndex reader = plan_.steps[At(section.consumer)].worker;
    const auto kept = kept_.find({section.producer, section.consumer});
    if (kept != kept_.end()) {
      ++readers_[{reader, kept->second.run}];
      continue;
    }
    ++readers_[{maker, RunOf(section.producer)}];
    if (maker != reader) ++readers_[{reader, RunOf(section.producer)}];
  }
  CountRoots();
}

// By step whose run a combine step reads: the steps behind its trees, rising.
std::vector<std::vector<StepIndex>> PlanProgress::RootsOf() const {
  std::vector<std::vector<StepIndex>> combining(steps_.size()), roots(steps_.size());
  std::vector<std::int32_t> waits(steps_.size(), 0);  // for how many that combine what it makes
  for (const planner::Section& section : plan_.sections) {
    if (!plan_.steps[At(section.consumer)].kind->combines) continue;
    combining[At(section.consumer)].push_back(section.producer);
    ++waits[At(section.producer)];
  }
  std::vector<std::vector<StepIndex>> behind(steps_.size());  // also those that read it themselves
  for (const planner::Section& section : plan_.sections) {
    if (!plan_.steps[At(section.consumer)].kind->splits_keys()) continue;
    behind[At(section.producer)].push_back(section.consumer);
  }
  std::vector<StepIndex> open;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (waits[s] == 0 && !combining[s].empty()) open.push_back(static_cast<StepIndex>(s));
  }
  while (!open.empty()) {
    const StepIndex step = open.back();
    open.pop_back();
    std::vector<StepIndex>& all = behind[At(step)];
    all.insert(all.end(), roots[At(step)].begin(), roots[At(step)].end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const StepIndex producer : combining[At(step)]) {
      std::vector<StepIndex>& of = roots[At(producer)];
      of.insert(of.end(), all.begin(), all.end());
      if (--waits[At(producer)] == 0 && !combining[At(producer)].empty()) open.push_back(producer);
    }
  }
  for (std::vector<StepIndex>& of : roots) {
    std::sort(of.begin(), of.end());
    of.erase(std::unique(of.begin(), of.end()), of.end());
  }
  return roots;
}

void PlanProgress::CountRoots() {
  const std::vector<std::vector<StepIndex>> roots = RootsOf();
  for (std::size_t s = 0; s < roots.size(); ++s) {
    if (run_removed_[s]) continue;
    const Copy copy{plan_.steps[s].worker, RunOf(static_cast<StepIndex>(s))};
    for (const StepIndex root : roots[s]) {
      if (steps_[At(root)].state == State::kDone) continue;
      ++readers_[copy];
      below_[At(root)].push_back(copy);
    }
  }
}

RunName PlanProgress::RunOf(StepIndex producer) const {
  const Step& step = steps_[At(producer)];
  const int to_come = step.state == State::kWaiting ? step.attempt + 1 : step.attempt;
  return {producer, std::max(1, to_come)};
}

int PlanProgress::StartStep(StepIndex step, Bytes input_bytes, Seconds now_s) {
  steps_[At(step)].state = State::kUnderWay;
  actual_.steps[At(step)].start_s = now_s;
  actual_.step_input_bytes[At(step)] = input_bytes;
  return ++steps_[At(step)].attempt;
}

void PlanProgress::FinishStep(StepIndex step, std::vector<RunSection> sections, Seconds now_s) {
  steps_[At(step)].state = State::kDone;
  ++steps_done_;
  actual_.steps[At(step)].finish_s = now_s;
  actual_.makespan_s = std::max(actual_.makespan_s, now_s);
  PublishRun(step, std::move(sections));
  ReaderDone(step);
  if (plan_.steps[At(step)].kind->updates_state) ForgetStatesBefore(step);
}

void PlanProgress::PublishRun(StepIndex step, std::vector<RunSection> sections) {
  absl::btree_set<Bytes> counted;  // what several steps read lies in the run once
  for (const RunSection& section : sections) {
    if (section.bytes == 0 || !counted.insert(section.offset).second) continue;
    actual_.step_output_bytes[At(step)] += section.bytes;
    actual_.step_unpacked_output_bytes[At(step)] += section.unpacked_bytes;
  }
  std::sort(sections.begin(), sections.end(), ByConsumer);
  runs_[At(step)] = std::move(sections);
}

void PlanProgress::ReaderDone(StepIndex consumer) {
  for (const StepIndex producer : producers_of_[At(consumer)]) SectionRead(producer, consumer);
  for (const Copy& copy : below_[At(consumer)]) CountDown(copy);
}

void PlanProgress::SectionRead(StepIndex producer, StepIndex consumer) {
  const WorkerIndex reader = plan_.steps[At(consumer)].worker;
  const WorkerIndex maker = plan_.steps[At(producer)].worker;
  const auto kept = kept_.find({producer, consumer});
  if (kept != kept_.end()) return CountDown({reader, kept->second.run});
  CountDown({maker, RunOf(producer)});
  if (maker != reader) CountDown({reader, RunOf(producer)});
}

// Whoever waits for this state, or range of it, and for an earlier one as well, reads this one.
void PlanProgress::ForgetStatesBefore(StepIndex update) {
  for (const StepIndex reader : reached_by_[At(update)]) {
    std::vector<StepIndex>& producers = producers_of_[At(reader)];
    const auto forgotten = std::stable_partition(
        producers.begin(), producers.end(), [this, update](StepIndex producer) {
          const planner::ComputeStep& other = plan_.steps[At(producer)];
          return !other.kind->updates_state || Waits(producer) ||
                 other.layer >= plan_.steps[At(update)].layer ||
                 other.index_in_layer != plan_.steps[At(update)].index_in_layer;
        });
    for (auto it = forgotten; it != producers.end(); ++it) SectionRead(*it, reader);
    producers.erase(forgotten, producers.end());
  }
}

std::vector<bool> PlanProgress::OnlyForLaterThan(StepIndex update) const {
  const std::int32_t last = plan_.steps[At(update)].layer;
  std::vector<bool> drop(steps_.size(), false);
  std::vector<StepIndex> look;
  const auto add = [&](StepIndex step) {
    const planner::ComputeStep& planned = plan_.steps[At(step)];
    // Other ranges of the last state are part of the result.
    if (planned.kind->updates_state && planned.layer <= last) return;
    if (!Waits(step) || drop[At(step)]) return;
    drop[At(step)] = true;
    look.push_back(step);
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (plan_.steps[s].kind->updates_state) add(static_cast<StepIndex>(s));
  }
  while (!look.empty()) {
    const StepIndex step = look.back();
    look.pop_back();
    for (const StepIndex producer : producers_of_[At(step)]) add(producer);
  }
  return drop;
}

void PlanProgress::Drop(StepIndex step) {
  steps_[At(step)].state = State::kDone;
  ++steps_done_;
  for (const StepIndex producer : producers_of_[At(step)]) {
    // What is on its way has to arrive before it can be forgotten.
    if (!to_dropped_.contains({producer, step})) SectionRead(producer, step);
  }
}

PlanProgress::Dropped PlanProgress::EndLoop(StepIndex update) {
  const std::vector<bool> drop = OnlyForLaterThan(update);
  Dropped dropped;
  for (std::size_t t = 0; t < transfers_.size(); ++t) {
    const planner::Transfer& planned = plan_.transfers[t];
    if (!drop[At(planned.consumer)]) continue;
    if (transfers_[t].state == State::kUnderWay) {
      ++to_dropped_[{planned.producer, planned.consumer}];
    } else if (transfers_[t].state == State::kWaiting) {
      dropped.transfers.push_back(static_cast<TransferIndex>(t));
      SetState(static_cast<TransferIndex>(t), State::kDone);
      ++transfers_done_;
    }
  }
  for (std::size_t s = 0; s < drop.size(); ++s) {
    if (!drop[s]) continue;
    const auto step = static_cast<StepIndex>(s);
    dropped.steps.push_back(step);
    Drop(step);
    for (const StepIndex reader : reached_by_[s]) {
      if (!drop[At(reader)]) std::erase(producers_of_[At(reader)], step);
    }
  }
  return dropped;
}

void PlanProgress::CountDown(const Copy& copy) {
  const auto it = readers_.find(copy);
  if (--it->second > 0) return;
  readers_.erase(it);
  const RunName& run = copy.second;
  if (steps_[At(run.step)].attempt < run.attempt) return;  // dropped: there is no run
  unread_[At(copy.first)].push_back(run);
}

bool PlanProgress::Needs(WorkerIndex worker) const {
  const auto undone = [](const auto& items, const auto& order) {
    return std::any_of(order.begin(), order.end(),
                       [&items](auto index) { return items[At(index)].state != State::kDone; });
  };
  return undone(steps_, plan_.compute_order[At(worker)]) ||
         undone(transfers_, plan_.send_order[At(worker)]) ||
         undone(transfers_, plan_.receive_order[At(worker)]);
}

std::vector<RunName> PlanProgress::TakeUnread(WorkerIndex worker) {
  std::vector<RunName> taken = std::exchange(unread_[At(worker)], {});
  std::sort(taken.begin(), taken.end());
  for (const RunName& run : taken) {
    const bool made_here = plan_.steps[At(run.step)].worker == worker && run == RunOf(run.step);
    if (made_here) run_removed_[At(run.step)] = true;
  }
  return taken;
}

void PlanProgress::SetState(TransferIndex transfer, State state) {
  transfers_[At(transfer)].state = state;
  if (in_moved_on_[At(transfer)]) return;
  in_moved_on_[At(transfer)] = true;
  moved_on_.push_back(transfer);
}

std::vector<TransferIndex> PlanProgress::TakeMovedOn() {
  std::vector<TransferIndex> taken = std::exchange(moved_on_, {});
  for (const TransferIndex transfer : taken) in_moved_on_[At(transfer)] = false;
  std::sort(taken.begin(), taken.end());
  return taken;
}

int PlanProgress::StartTransfer(TransferIndex transfer, Seconds now_s) {
  Transfer& starts = transfers_[At(transfer)];
  SetState(transfer, State::kUnderWay);
  if (starts.attempt == 0) actual_.transfers[At(transfer)].start_s = now_s;
  return ++starts.attempt;
}

void PlanProgress::NoteRate(TransferIndex transfer, const planner::RateChange& rate) {
  std::vector<planner::RateChange>& rates = actual_.transfer_rates[At(transfer)];
  if (!rates.empty() && rates.back().bytes_per_s == rate.bytes_per_s) return;
  rates.push_back(rate);
}

void PlanProgress::FailTransfer(TransferIndex transfer) {
  SetState(transfer, State::kWaiting);
  transfers_[At(transfer)].passed_s = -1;
}

void PlanProgress::PassTransfer(TransferIndex transfer, Bytes in_flight_bytes, Seconds now_s) {
  transfers_[At(transfer)].passed_s = now_s;
  actual_.transfer_in_flight_bytes[At(transfer)] = in_flight_bytes;
}

void PlanProgress::FinishTransfer(TransferIndex transfer, Bytes bytes, Seconds now_s) {
  Transfer& ended = transfers_[At(transfer)];
  planner::Interval& ran = actual_.transfers[At(transfer)];
  if (ended.state == State::kWaiting) ran.start_s = now_s;
  SetState(transfer, State::kDone);
  ++transfers_done_;
  ran.finish_s = ended.passed_s >= 0 ? ended.passed_s : now_s;
  actual_.transfer_bytes[At(transfer)] = bytes;
  actual_.makespan_s = std::max(actual_.makespan_s, now_s);
  const planner::Transfer& moved = plan_.transfers[At(transfer)];
  const auto it = to_dropped_.find({moved.producer, moved.consumer});
  if (it == to_dropped_.end() || --it->second > 0) return;
  to_dropped_.erase(it);
  SectionRead(moved.producer, moved.consumer);
}

absl::Status PlanProgress::CheckRun(StepIndex step, const std::vector<RunSection>& sections) const {
  const std::vector<StepIndex>& reached = reached_by_[At(step)];
  for (const RunSection& section : sections) {
    // Of older workers: also what was asked of them for nobody.
    if (section.bytes == 0 || section.consumer < 0) continue;
    if (std::binary_search(reached.begin(), reached.end(), section.consumer)) continue;
    return absl::InternalError(absl::StrCat("the run of step ", step, " holds ", section.bytes,
                                            " bytes for step ", section.consumer,
                                            ", which the plan does not move"));
  }
  return absl::OkStatus();
}

RunSection PlanProgress::SectionOf(StepIndex producer, StepIndex consumer) const {
  const std::vector<RunSection>& run = runs_[At(producer)];
  const RunSection wanted{consumer, 0, 0, 0};
  const auto it = std::lower_bound(run.begin(), run.end(), wanted, ByConsumer);
  return it == run.end() || it->consumer != consumer ? wanted : *it;
}

SectionSource PlanProgress::SourceOf(StepIndex producer, StepIndex consumer) const {
  const auto kept = kept_.find({producer, consumer});
  if (kept != kept_.end()) {
    return {kept->second.run, kept->second.section, kept->second.maker, false};
  }
  const WorkerIndex maker = plan_.steps[At(producer)].worker;
  const bool in_place = maker == plan_.steps[At(consumer)].worker;
  return {RunOf(producer), SectionOf(producer, consumer), maker, in_place};
}

}  // namespace weir::master
