// What a run does, and what its ledger says of it.

#include "tests/unit/master/edited_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/edit/work_left.h"
#include "planner/plan/check_combined.h"
#include "planner/plan/units.h"
#include "tests/unit/master/watched_check.h"

namespace weir::master {

using planner::At;
using planner::Bytes;
using planner::StepIndex;
using planner::TransferIndex;
using planner::WorkerIndex;

EditedRun::EditedRun(std::uint64_t seed, planner::Plan plan, Sizes sizes)
    : random_(seed), sizes_(sizes), files_(At(plan.network.num_workers)) {
  auto first = std::make_unique<Conducted>();
  first->plan = std::move(plan);
  first->prediction = *planner::Predict(first->plan);
  first->conductor.emplace(first->plan, first->prediction, Domains(first->plan));
  first->watched.emplace(first->plan);
  for (const planner::ComputeStep& step : first->plan.steps) {
    input_end_ = std::max(input_end_, step.input_end);
  }
  for (const planner::Section& section : first->plan.sections) {
    if (section.indexes) num_places_ = std::max(num_places_, section.indexes->end);
  }
  ordered_ = planner::CombinesAnything(first->plan) && planner::CheckOperandOrder(first->plan).ok();
  num_first_ = files_.size();
  gone_.assign(num_first_, false);
  predicted_s_ = first->prediction.makespan_s;
  now_ = std::move(first);
}

bool EditedRun::Run(int kills, int slow, int restarts, int joins, int back) {
  for (int j = 0; j < joins; ++j) {
    After(Real(0, 1) * predicted_s_, [this] { AddSome(); });
  }
  for (int b = 0; b < back; ++b) {
    After(Real(0, 1.3) * predicted_s_, [this] { RestartSome(); });
  }
  for (int r = 0; r < restarts; ++r) {
    After(Real(0, 1.3) * predicted_s_, [this] { RestartMaster(); });
  }
  for (int k = 0; k < kills; ++k) {
    After(Real(0, 1.3) * predicted_s_, [this] { LoseSome(); });
  }
  for (int k = 0; k < slow; ++k) {
    After(Real(0, 1.3) * predicted_s_, [this] { SlowSome(); });
  }
  Take(conductor().Begin(time_));
  while (!finished_ && wrong_.empty()) {
    const auto wakeup = conductor().NextWakeup();
    const bool wakes = wakeup && (events_.empty() || *wakeup <= NextEvent());
    if (!wakes && events_.empty()) return Wrong("stuck");
    if (wakes) {
      time_ = std::max(time_, *wakeup);
      Take(conductor().Wake(time_));
      continue;
    }
    auto node = events_.extract(events_.begin());
    time_ = MonoTime::FromNanos(node.key().first);
    node.mapped()();
    if (Real(0, 1) < 0.1) Look();
  }
  return wrong_.empty();
}

double EditedRun::Real(double min, double max) {
  return std::uniform_real_distribution<double>(min, max)(random_);
}

std::vector<std::string> EditedRun::Domains(const planner::Plan& plan) {
  return std::vector<std::string>(At(plan.network.num_workers));
}

bool EditedRun::Wrong(const std::string& what) {
  if (wrong_.empty()) {
    wrong_ = absl::StrCat("at ", static_cast<double>(time_.nanos()) * 1e-9, " s: ", what);
  }
  return false;
}

void EditedRun::After(double seconds, std::function<void()> event) {
  const auto nanos = std::max<std::int64_t>(0, static_cast<std::int64_t>(seconds * 1e9));
  const MonoTime when = time_ + absl::Nanoseconds(nanos);
  events_.emplace(std::pair(when.nanos(), sequence_++), std::move(event));
}

void EditedRun::Look() {
  const double now_s = static_cast<double>(time_.nanos()) * 1e-9;
  if (!SeesHowFarItIs(conductor(), now_s, &*now_->watched)) Wrong("a watch sees something else");
}

void EditedRun::Take(const ConductorOrders& orders) {
  for (const StepStart& start : orders.steps) StartStep(start);
  for (const TransferStart& start : orders.transfers) Grant(start);
  // Senders hear of rates sooner or later, whichever plan they are of by then.
  for (const planner::RateOrder& order : orders.rates) {
    After(Real(0, 0.1), [this, order, edit = plan_edit_] {
      if (edit != plan_edit_) return;
      conductor().ConfirmRate(order.transfer, order.number, time_);
      Take(conductor().Wake(time_));
    });
  }
  if (orders.finished) finished_ = true;
}

void EditedRun::StartStep(const StepStart& start) {
  const planner::ComputeStep& step = plan().steps[At(start.step)];
  Files& files = files_[At(step.worker)];
  if (gone_[At(step.worker)]) Wrong("a step begins on a lost worker");
  if (At(step.worker) >= num_first_) ++num_steps_of_new_ones_;
  if (++files.steps > 1) Wrong("two steps at once on a worker");
  Content content;
  for (const StepStart::Input& input : start.inputs) Read(start.step, input, content);
  if (sizes_ != Sizes::kAny) CheckAllIsRead(start, content);
  if (step.kind->reads_input()) {
    content = {{{step.input_begin, step.input_end}, {0, num_places_}}};
  }
  for (const RunName& run : start.unread) {
    files.runs.erase(run);
    std::erase_if(files.received, [&run](const auto& file) { return file.first.first == run; });
  }
  const RunName run{start.step, start.attempt};
  const double seconds = step.duration_s * Real(0.3, 3);
  files.under_way = Under{run, content, plan_edit_};
  After(seconds, [this, worker = step.worker, life = files.life] {
    if (files_[At(worker)].life == life) EndStep(worker);
  });
}

void EditedRun::Read(StepIndex reader, const StepStart::Input& input, Content& content) {
  const WorkerIndex worker = plan().steps[At(reader)].worker;
  const RunName run{input.producer, input.run_attempt};
  const std::string what = absl::StrCat("step ", reader, " reads the run of step ", run.step,
                                        ", attempt ", run.attempt, ", which ");
  const Content* read = nullptr;
  if (input.place == SectionPlace::kOwnRun) {
    const auto own = files_[At(worker)].runs.find(run);
    if (own == files_[At(worker)].runs.end()) return void(Wrong(what + "is not there"));
    read = &own->second.content;
  } else {
    const auto received = files_[At(worker)].received.find({run, reader});
    if (received == files_[At(worker)].received.end()) {
      return void(Wrong(what + "did not arrive"));
    }
    auto pieces = received->second.pieces;
    std::sort(pieces.begin(), pieces.end());
    Bytes covered = 0;
    for (const auto& [begin, end] : pieces) {
      if (begin <= covered) covered = std::max(covered, end);
    }
    if (covered != input.bytes) {
      return void(Wrong(absl::StrCat(what, "arrived up to byte ", covered, " of ", input.bytes)));
    }
    read = &received->second.content;
  }
  planner::IndexRange wanted{0, num_places_};
  for (const planner::Section& section : plan().sections) {
    const bool it = section.producer == input.producer && section.consumer == reader;
    if (it && section.indexes) wanted = *section.indexes;
  }
  for (Part part : *read) {
    part.places.begin = std::max(part.places.begin, wanted.begin);
    part.places.end = std::min(part.places.end, wanted.end);
    if (part.places.begin < part.places.end) content.push_back(part);
  }
}

void EditedRun::CheckAllIsRead(const StepStart& start, const Content& parts) {
  const auto expected = std::count_if(
      plan().sections.begin(), plan().sections.end(),
      [&start](const planner::Section& section) { return section.consumer == start.step; });
  if (static_cast<std::size_t>(expected) != start.inputs.size()) {
    Wrong(
        absl::StrCat("step ", start.step, " reads ", start.inputs.size(), " runs, not ", expected));
  }
  if (parts.empty()) return;
  std::set<std::int64_t> borders;
  for (const Part& part : parts) borders.insert({part.places.begin, part.places.end});
  for (auto begin = borders.begin(), end = std::next(begin); end != borders.end(); ++begin, ++end) {
    std::vector<InputPart> inputs;
    for (const Part& part : parts) {
      if (part.places.begin <= *begin && part.places.end >= *end) inputs.push_back(part.input);
    }
    CheckPlaces(start.step, {*begin, *end}, std::move(inputs));
  }
  const bool all = *borders.begin() == 0 && *borders.rbegin() == num_places_;
  if (!all && !plan().steps[At(start.step)].kind->combines) {
    Wrong(absl::StrCat("step ", start.step, " does not read all places"));
  }
}

void EditedRun::CheckPlaces(StepIndex step, const planner::IndexRange& places,
                            std::vector<InputPart> inputs) {
  const bool combines = plan().steps[At(step)].kind->combines;
  const std::string what =
      absl::StrCat("step ", step, " at places [", places.begin, ", ", places.end, ") reads input ");
  if (combines && inputs.empty()) return;
  if (!combines || !ordered_) std::sort(inputs.begin(), inputs.end());
  Bytes covered = combines && !inputs.empty() ? inputs[0].first : 0;
  for (const auto& [begin, end] : inputs) {
    const bool gap = combines && !ordered_ && begin > covered;
    if (begin != covered && !gap) Wrong(absl::StrCat(what, begin, " behind ", covered));
    covered = end;
  }
  if (!combines && covered != input_end_) Wrong(absl::StrCat(what, "to ", covered));
}

Bytes EditedRun::SizeOf(Bytes planned) {
  switch (sizes_) {
    case Sizes::kAsPlanned:
      return planned;
    case Sizes::kAnyButNothing:
      return std::max<Bytes>(1, static_cast<Bytes>(static_cast<double>(planned) * Real(0.2, 2)));
    case Sizes::kAny:
      break;
  }
  return Real(0, 3) < 1 ? 0 : static_cast<Bytes>(static_cast<double>(planned) * Real(0, 2));
}

std::vector<RunSection> EditedRun::MakeRun(WorkerIndex worker) {
  Files& files = files_[At(worker)];
  Under step = *std::exchange(files.under_way, std::nullopt);
  --files.steps;
  MadeRun made;
  made.plan_edit = step.plan_edit;
  // Those who read it there need not be told what was checked here.
  const planner::StepKind kind = plan().steps[At(step.run.step)].kind;
  if (kind->reads_input() || kind->combines) made.content = std::move(step.content);
  Bytes offset = 0;
  for (const planner::Section& section : plan().sections) {
    if (section.producer != step.run.step) continue;
    const Bytes bytes = SizeOf(section.bytes);
    made.sections.push_back({section.consumer, offset, bytes, bytes});
    offset += bytes;
  }
  const std::vector<RunSection> sections = made.sections;
  files.runs[step.run] = std::move(made);
  return sections;
}

void EditedRun::EndStep(WorkerIndex worker) {
  if (gone_[At(worker)]) return;
  const RunName run = files_[At(worker)].under_way->run;
  if (conductor().given_up(worker, run)) {
    files_[At(worker)].under_way.reset();
    --files_[At(worker)].steps;
    return Take(conductor().GivenUpEnded(worker, run, time_));
  }
  const std::vector<RunSection> sections = MakeRun(worker);
  journal_.committed[run.step] = Committed(run);
  ConductorOrders orders;
  const absl::Status taken = conductor().StepDone(run.step, sections, time_, orders);
  if (!taken.ok()) Wrong(taken.ToString());
  Take(orders);
}

void EditedRun::Grant(const TransferStart& start) {
  const planner::Transfer& transfer = plan().transfers[At(start.transfer)];
  if (gone_[At(transfer.sender)] || gone_[At(transfer.receiver)]) {
    Wrong("a transfer of a lost worker");
  }
  const RunName run{transfer.producer, start.run_attempt};
  const auto& runs = files_[At(transfer.sender)].runs;
  if (!runs.contains(run)) {
    Wrong(absl::StrCat("transfer of step ", run.step, " to ", transfer.consumer,
                       ", whose run is not there"));
    return;
  }
  const std::int32_t number = next_number_++;
  moving_[number] = start.transfer;
  auto& sends = files_[At(transfer.sender)].sends;
  auto& receives = files_[At(transfer.receiver)].receives;
  sends.insert(number);
  receives.insert(number);
  const bool ordered = planner::IsOrdered(plan().transfer_order);
  if (ordered && (sends.size() > 1 || receives.size() > 1)) Wrong("two transfers at one port");
  const Bytes begin = start.offset - start.section_offset;
  const double seconds = planner::TransferSeconds(plan(), transfer, start.bytes);
  After(seconds * Real(0.3, 3),
        [this, number, run, moved = transfer, begin, end = begin + start.bytes] {
          EndTransfer(number, run, moved, begin, end);
        });
}

void EditedRun::EndTransfer(std::int32_t number, const RunName& run, const planner::Transfer& moved,
                            Bytes begin, Bytes end) {
  files_[At(moved.sender)].sends.erase(number);
  files_[At(moved.receiver)].receives.erase(number);
  const auto wanted = moving_.find(number);
  if (wanted == moving_.end() || gone_[At(moved.receiver)] || gone_[At(moved.sender)]) return;
  const auto made = files_[At(moved.sender)].runs.find(run);
  if (made == files_[At(moved.sender)].runs.end()) {
    Wrong("a run was removed while it moved");
    return;
  }
  Received& received = files_[At(moved.receiver)].received[{run, moved.consumer}];
  received.pieces.push_back({begin, end});
  received.content = made->second.content;
  const TransferIndex transfer = wanted->second;
  moving_.erase(wanted);
  ConductorOrders orders;
  const absl::Status taken = conductor().TransferDone(transfer, time_, orders);
  if (!taken.ok()) Wrong(taken.ToString());
  Take(orders);
}

}  // namespace weir::master
