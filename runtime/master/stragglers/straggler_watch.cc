#include "runtime/master/stragglers/straggler_watch.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "planner/plan/units.h"

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::StepIndex;
using planner::WorkerIndex;
using planner::WorkState;

namespace {

/// A plan is not told of rates below: a worker so slow does nothing that counts.
constexpr double kRateLeast = 0.01;
// All edits together take no worker for slower than this, beside the first plan: who is slower
// does nothing that matters, and one that was cut off for a while would be waited for as long as
// such a rate says.
constexpr double kPlannedRateLeast = 0.05;
/// Two moments closer than this are one.
constexpr Seconds kMomentS = 1e-9;

std::pair<std::int32_t, planner::StepKind> AlikeOf(const planner::Plan& plan, StepIndex step) {
  return {plan.steps[At(step)].layer, plan.steps[At(step)].kind};
}

/// Notes since when `is` has been so.
void Note(bool is, Seconds now_s, std::optional<Seconds>* since_s) {
  if (!is) since_s->reset();
  if (is && !*since_s) *since_s = now_s;
}

bool LongEnough(const std::optional<Seconds>& since_s, Seconds now_s) {
  return since_s && now_s - *since_s >= kStragglerPatienceS - kMomentS;
}

}  // namespace

StragglerWatch::StragglerWatch(const planner::Plan& plan)
    : plan_(&plan),
      ports_(plan),
      workers_(At(plan.network.num_workers)),
      counted_(plan.steps.size(), false) {
  for (const planner::ComputeStep& step : plan.steps) planned_s_.push_back(step.duration_s);
}

Seconds StragglerWatch::PlannedSeconds(const RunSoFar& run, std::size_t step) const {
  const planner::ComputeStep& planned = plan_->steps[step];
  const Seconds planned_s = planned_s_[step] / workers_[At(planned.worker)].planned_rate;
  const bool known = step < run.step_input_bytes.size() && run.step_input_bytes[step] > 0;
  if (!known || planned.input_bytes <= 0) return planned_s;
  return planned_s * static_cast<double>(run.step_input_bytes[step]) /
         static_cast<double>(planned.input_bytes);
}

void StragglerWatch::Observe(const RunSoFar& run) {
  now_s_ = run.state.now_s;
  for (Worker& worker : workers_) {
    worker.step = planner::kNoIndex;
    worker.left_s = 0;
  }
  for (std::size_t s = 0; s < plan_->steps.size(); ++s) {
    if (!plan_->steps[s].kind->stores) LookAtStep(run, s);
  }
  ports_.Observe(run);
  for (Worker& worker : workers_) worker.compute = ComputeOf(run, worker);
  peers_.clear();
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    const PortRates::Port& send = ports_.sender(static_cast<WorkerIndex>(w));
    const PortRates::Port& receive = ports_.receiver(static_cast<WorkerIndex>(w));
    Note(Behind(w), now_s_, &worker.behind_s);
    Note(Recovered(w), now_s_, &worker.recovered_s);
    const bool ports_behind = send.behind || receive.behind;
    Note(ports_behind, now_s_, &worker.ports_behind_s);
    Note(worker.planned_port_rate < 1 && !ports_behind && (send.faster || receive.faster), now_s_,
         &worker.ports_recovered_s);
  }
}

void StragglerWatch::LookAtStep(const RunSoFar& run, std::size_t s) {
  const auto step = static_cast<StepIndex>(s);
  Worker& worker = workers_[At(plan_->steps[s].worker)];
  const WorkState work = run.state.steps[s];
  if (work != WorkState::kUnderWay) under_way_.erase(step);
  const Seconds planned_s = PlannedSeconds(run, s);
  if (work == WorkState::kWaiting) {
    counted_[s] = false;
    worker.left_s += planned_s;
    return;
  }
  if (work == WorkState::kDone) {
    const Seconds took_s = run.state.step_ended_s[s] - run.state.step_began_s[s];
    if (counted_[s] || planned_s <= 0 || took_s <= 0) return;
    counted_[s] = true;
    CountDone({planned_s, took_s}, AlikeOf(*plan_, step), &worker);
    return;
  }
  worker.step = step;
  UnderWay& heard = under_way_[step];
  if (heard.began_s != run.state.step_began_s[s]) heard = {run.state.step_began_s[s], {}};
  const bool real = s < run.step_input_bytes.size() && run.step_input_bytes[s] > 0;
  const auto total =
      static_cast<double>(real ? run.step_input_bytes[s] : plan_->steps[s].input_bytes);
  const auto read =
      static_cast<double>(s < run.step_bytes_done.size() ? run.step_bytes_done[s] : 0);
  const double share = total > 0 ? std::clamp(read / total, 0.0, 1.0) : 0;
  if (share > (heard.heard.empty() ? 0 : heard.heard.back().share)) {
    const Seconds before_s = heard.heard.empty() ? heard.began_s : heard.heard.back().at_s;
    heard.longest_gap_s = std::max(heard.longest_gap_s, now_s_ - before_s);
    heard.heard.push_back({now_s_, share});
    while (heard.heard.size() > 1 && heard.heard[1].at_s <= now_s_ - kRateWindowS) {
      heard.heard.pop_front();
    }
  }
  worker.left_s += planned_s * (share < 1 ? 1 - share : 0.5);
}

void StragglerWatch::CountDone(const Done& step, const Alike& alike, Worker* worker) {
  std::deque<Done>& done = worker->done[alike];
  done.push_back(step);
  worker->did = alike;
  Seconds last_s = 0;  // of all but the first
  for (std::size_t i = 1; i < done.size(); ++i) last_s += done[i].took_s;
  while (done.size() > 1 && last_s >= kRateWindowS) {
    done.pop_front();
    last_s -= done.front().took_s;
  }
}

std::vector<Seconds> StragglerWatch::PortsLeft() const {
  std::vector<Seconds> left_s(workers_.size(), 0);
  for (std::size_t t = 0; t < plan_->transfers.size(); ++t) {
    if (ports_.arrived(t)) continue;
    const planner::Transfer& transfer = plan_->transfers[t];
    left_s[At(transfer.sender)] += transfer.duration_s;
    left_s[At(transfer.receiver)] += transfer.duration_s;
  }
  return left_s;
}

StragglerWatch::Compute StragglerWatch::OfStepUnderWay(const UnderWay& step,
                                                       Seconds planned_s) const {
  Compute compute;
  const Seconds elapsed_s = now_s_ - step.began_s;
  const double share = step.heard.empty() ? 0 : step.heard.back().share;
  compute.silent = share <= 0;
  if (compute.silent || share >= 1) {
    // Late, or nothing is known.
    if (planned_s <= 0 || elapsed_s <= planned_s) return compute;
    compute.known = true;
    compute.planned_s = planned_s;
    compute.took_s = elapsed_s;
    compute.rate = planned_s / (compute.silent ? 2 * elapsed_s : elapsed_s);
    compute.least = compute.most = compute.lately = compute.rate;
    return compute;
  }
  const Seconds heard_s = elapsed_s - kHeardLateS;
  if (planned_s <= 0 || heard_s < kHeardLateS / 2) return compute;
  compute.known = true;
  compute.planned_s = share * planned_s;
  compute.took_s = heard_s;
  const Heard last = step.heard.back();
  const bool from_begin = step.heard.size() == 1 || step.heard.front().at_s > now_s_ - kRateWindowS;
  const Heard first = from_begin ? Heard{step.began_s, 0} : step.heard.front();
  const Seconds gained_s = (last.share - first.share) * planned_s;
  // Blocks come at once: it may be about to say that it has read another one.
  const Seconds until_s = std::max(last.at_s, now_s_ - step.longest_gap_s);
  const Seconds most_s = until_s - first.at_s - (from_begin ? kHeardLateS : 0);
  const double lately_most = gained_s / std::max(most_s, kHeardLateS / 2);
  compute.lately = gained_s / std::max(now_s_ - first.at_s, kHeardLateS / 2);
  compute.least = compute.planned_s / elapsed_s;
  compute.most = std::max(compute.planned_s / heard_s, lately_most);
  // Whoever turns out to be faster than that has lost little.
  const double lately = std::max(std::min(compute.lately, compute.most), kRateLeast);
  compute.rate = planned_s / (elapsed_s + (1 - share) * planned_s / lately);
  return compute;
}

StragglerWatch::Compute StragglerWatch::ComputeOf(const RunSoFar& run, const Worker& worker) const {
  if (worker.step != planner::kNoIndex) {
    Compute now = OfStepUnderWay(under_way_.at(worker.step), PlannedSeconds(run, At(worker.step)));
    now.alike = AlikeOf(*plan_, worker.step);
    // Of small steps, each a little late, those that are done say more.
    const bool says_more = !now.silent || now.took_s - now.planned_s > kStragglerLateS ||
                           !worker.done.contains(now.alike);
    if (now.known && says_more) return now;
  }
  return OfStepsDone(worker, worker.did);
}

StragglerWatch::Compute StragglerWatch::OfStepsDone(const Worker& worker, const Alike& alike) {
  Compute compute;
  compute.alike = alike;
  const auto it = worker.done.find(alike);
  if (it == worker.done.end()) return compute;
  compute.known = true;
  for (const Done& done : it->second) {
    compute.planned_s += done.planned_s;
    compute.took_s += done.took_s;
  }
  compute.rate = compute.planned_s / compute.took_s;
  compute.least = compute.most = compute.lately = compute.rate;
  return compute;
}

StragglerWatch::Peers StragglerWatch::PeersAt(const Alike& alike, Bound bound) const {
  double Compute::*const rate = bound == Bound::kLeast ? &Compute::least : &Compute::most;
  Peers peers;
  std::vector<double> known;
  for (const Worker& worker : workers_) {
    const Compute& now = worker.compute;
    const bool same = now.known && now.alike == alike;
    const Compute done = OfStepsDone(worker, alike);
    std::optional<double>& of_worker = peers.rate.emplace_back();
    if (same && !now.silent) {
      of_worker = now.*rate;
    } else if (done.known) {
      // A silent step says nothing of how fast, only that it may be slower by now.
      of_worker = same ? std::min(now.*rate, done.*rate) : done.*rate;
    }
    if (of_worker) known.push_back(*of_worker);
  }
  peers.known.Assign(std::move(known));
  return peers;
}

std::optional<double> StragglerWatch::Others(std::size_t worker, Bound bound) {
  const auto [it, first] = peers_.try_emplace({workers_[worker].compute.alike, bound});
  if (first) it->second = PeersAt(it->first.first, bound);
  const std::optional<double>& own = it->second.rate[worker];
  return own ? it->second.known.MedianWithout({*own}) : it->second.known.MedianWithout({});
}

bool StragglerWatch::Behind(std::size_t w) {
  const Compute& compute = workers_[w].compute;
  if (!compute.known) return false;
  const std::optional<double> others = Others(w, Bound::kLeast);
  if (!others) return false;
  const double pace = std::min(1.0, *others);
  const Seconds expected_s = compute.planned_s / pace;
  if (compute.silent && compute.took_s <= SilentTimes(pace) * expected_s) return false;
  return compute.most < kStragglerRate * pace && compute.took_s - expected_s > kStragglerLateS;
}

bool StragglerWatch::Recovered(std::size_t w) {
  const Worker& worker = workers_[w];
  if (!worker.compute.known || worker.planned_rate >= 1) return false;
  const double pace = std::max(1.0, Others(w, Bound::kMost).value_or(1));
  return worker.compute.lately * kStragglerRate > pace;
}

double StragglerWatch::PortRate(std::size_t w) const {
  const PortRates::Port& send = ports_.sender(static_cast<WorkerIndex>(w));
  const PortRates::Port& receive = ports_.receiver(static_cast<WorkerIndex>(w));
  if (send.behind || receive.behind) {
    return std::min(send.behind ? send.rate : 1, receive.behind ? receive.rate : 1);
  }
  return std::max(send.faster ? send.rate : 1, receive.faster ? receive.rate : 1);
}

double StragglerWatch::Pace(const std::vector<WorkerIndex>& named) const {
  std::vector<double> rates;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const bool one = std::binary_search(named.begin(), named.end(), static_cast<WorkerIndex>(w));
    const Compute& compute = workers_[w].compute;  // of silence nothing but a guess is known
    if (!one && compute.known && !compute.silent) rates.push_back(compute.most);
  }
  const double pace = LowerMedian(std::move(rates)).value_or(1);
  return pace < kPaceLeft ? std::max(pace, kRateLeast) : 1;
}

WorkerRates StragglerWatch::Rates() const {
  WorkerRates rates;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const Worker& worker = workers_[w];
    rates.compute.push_back(worker.planned_rate * worker.compute.rate);
    const auto index = static_cast<WorkerIndex>(w);
    rates.send.push_back(worker.planned_port_rate * ports_.sender(index).rate);
    rates.receive.push_back(worker.planned_port_rate * ports_.receiver(index).rate);
  }
  return rates;
}

bool StragglerWatch::InPause(const Named& named) const {
  return named.at_s && now_s_ - *named.at_s < named.pause_s;
}

void StragglerWatch::Name(Named* named) const {
  named->at_s = now_s_;
  named->pause_s = std::min(2 * named->pause_s, kEditPauseS);
}

std::optional<StragglerDecision> StragglerWatch::Decide() {
  StragglerDecision decision;
  std::vector<bool> computes(workers_.size(), false), carries(workers_.size(), false);
  std::vector<Seconds> ports_left_s;  // once it is asked for
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    const auto worth = [](Seconds left_s, double rate) {
      return left_s / std::min(rate, 1.0) - left_s > kStragglerLateS;
    };
    const bool slow = LongEnough(worker.behind_s, now_s_);
    const bool slow_ports = LongEnough(worker.ports_behind_s, now_s_);
    computes[w] = (slow && worth(worker.left_s, worker.compute.rate)) ||
                  LongEnough(worker.recovered_s, now_s_);
    const bool new_of_compute = computes[w] && !InPause(worker.compute_named);
    if (new_of_compute || !InPause(worker.ports_named)) {
      if (slow_ports && ports_left_s.empty()) ports_left_s = PortsLeft();
      carries[w] = (slow_ports && worth(ports_left_s[w], PortRate(w))) ||
                   LongEnough(worker.ports_recovered_s, now_s_);
    }
    if (!new_of_compute && !carries[w]) continue;
    if (computes[w]) Name(&worker.compute_named);
    if (carries[w]) Name(&worker.ports_named);
    decision.workers.push_back(static_cast<WorkerIndex>(w));
  }
  if (decision.workers.empty()) return std::nullopt;
  planner::PlanChange& change = decision.change;
  change.pace = Pace(decision.workers);
  change.rate_factor.assign(workers_.size(), 1);
  change.port_factor.assign(workers_.size(), 1);
  std::vector<std::string> words;
  for (const WorkerIndex index : decision.workers) {
    const Worker& worker = workers_[At(index)];
    if (computes[At(index)]) {
      const double rate = worker.recovered_s ? worker.compute.lately : worker.compute.rate;
      const double most = worker.recovered_s ? 1 / worker.planned_rate : 1;
      const double least = std::min(1.0, kPlannedRateLeast / worker.planned_rate);
      change.rate_factor[At(index)] = std::clamp(rate / change.pace, least, std::max(least, most));
      words.push_back(absl::StrFormat("worker %d computes at %.2g", index,
                                      worker.planned_rate * worker.compute.rate));
    }
    if (carries[At(index)]) {
      change.port_factor[At(index)] =
          std::clamp(PortRate(At(index)), kRateLeast,
                     worker.ports_recovered_s ? 1 / worker.planned_port_rate : 1);
      words.push_back(absl::StrFormat("ports of worker %d carry %.2g", index,
                                      worker.planned_port_rate * PortRate(At(index))));
    }
  }
  decision.why = absl::StrCat(absl::StrJoin(words, ", "), " of what was planned");
  if (change.pace != 1) absl::StrAppendFormat(&decision.why, "; all at %.2g of it", change.pace);
  return decision;
}

void StragglerWatch::TakeEdit(const planner::Plan& plan, const planner::PlanState& state,
                              absl::Span<const planner::TransferIndex> transfer_was,
                              const planner::PlanChange& change) {
  ports_.TakeEdit(plan, transfer_was);
  const std::size_t num_known = workers_.size();
  workers_.resize(At(plan.network.num_workers));
  for (std::size_t w = 0; w < num_known; ++w) {
    Worker& worker = workers_[w];
    const double factor = change.pace * (change.rate_factor.empty() ? 1 : change.rate_factor[w]);
    worker.planned_rate *= factor;
    if (!change.port_factor.empty()) worker.planned_port_rate *= change.port_factor[w];
    const auto is_for = [w](const std::vector<double>& factors) {
      return !factors.empty() && factors[w] != 1;
    };
    worker.compute_named.pause_s = is_for(change.rate_factor) ? kEditPauseS : kAskAgainS;
    worker.ports_named.pause_s = is_for(change.port_factor) ? kEditPauseS : kAskAgainS;
    // Of who is slow or recovered, only what comes now counts.
    if (is_for(change.rate_factor)) worker.done.clear();
    for (auto& [alike, done] : worker.done) {
      for (Done& step : done) step.planned_s /= factor;
    }
    worker.behind_s = worker.recovered_s = std::nullopt;
    worker.ports_behind_s = worker.ports_recovered_s = std::nullopt;
  }
  const std::size_t num_before = planned_s_.size();
  planned_s_.resize(plan.steps.size(), 0);
  counted_.resize(plan.steps.size(), false);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    // What has begun is planned as before; it is what was found out that has changed.
    if (s < num_before && state.steps[s] != WorkState::kWaiting) continue;
    planned_s_[s] = plan.steps[s].duration_s * workers_[At(plan.steps[s].worker)].planned_rate;
    under_way_.erase(static_cast<StepIndex>(s));
  }
  plan_ = &plan;
}

}  // namespace weir::master
