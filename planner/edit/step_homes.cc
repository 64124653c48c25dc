#include "planner/edit/step_homes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "planner/plan/units.h"

namespace weir::planner {
namespace {

Seconds StillToRun(const Plan& plan, const PlanState& state, StepIndex step) {
  const Seconds ends_s = state.step_began_s[At(step)] + plan.steps[At(step)].duration_s;
  return std::max(0.0, ends_s - state.now_s);
}

class HomeFinder {
 public:
  HomeFinder(const Plan& plan, const PlanState& state, const WorkLeft& left)
      : plan_(plan),
        left_(left),
        speed_(ComputeRates(plan)),
        ranks_(DataRanks(plan)),
        homes_(plan.steps.size()),
        read_by_(plan.steps.size()),
        busy_s_(At(plan.network.num_workers), 0) {
    for (std::size_t i = 0; i < plan.sections.size(); ++i) {
      read_by_[At(plan.sections[i].consumer)].push_back(i);
    }
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      place_.push_back(plan.steps[s].worker);
      if (left.homeless[s] || left.in_parts[s]) place_.back() = kNoIndex;
      if (state.steps[s] == WorkState::kUnderWay && !left.homeless[s]) {
        busy_s_[At(plan.steps[s].worker)] += StillToRun(plan, state, static_cast<StepIndex>(s));
      }
      if (HasToBegin(state, left, static_cast<StepIndex>(s)) || left.in_parts[s]) {
        by_layer_[plan.steps[s].layer].push_back(static_cast<StepIndex>(s));
      }
    }
  }

  std::vector<std::vector<StepHome>> Find(const HomeChoice& choice) {
    for (WorkerIndex w = 0; w < plan_.network.num_workers; ++w) {
      const bool closed = !choice.closed.empty() && choice.closed[At(w)];
      if (left_.alive[At(w)] && !closed) open_.push_back(w);
    }
    for (const WorkerIndex w : open_) {
      if (choice.spared.empty() || !choice.spared[At(w)]) allowed_.push_back(w);
    }
    if (allowed_.empty()) allowed_ = open_;
    elsewhere_ = choice.elsewhere;
    if (choice.one_worker) allowed_ = {LeastLeft()};
    for (const auto& [layer, steps] : by_layer_) FindLayer(steps, choice);
    return std::move(homes_);
  }

 private:
  /// Of the step on a worker, all that it reads being there.
  Seconds RunSeconds(StepIndex step, WorkerIndex worker) const {
    const ComputeStep& planned = plan_.steps[At(step)];
    if (planned.kind->stores) return planned.duration_s;
    return planned.duration_s * speed_[At(planned.worker)] / speed_[At(worker)];
  }

  /// Of the receive port of `worker`, were the step to read there.
  Seconds ReceiveSeconds(StepIndex step, WorkerIndex worker) const {
    Seconds total_s = 0;
    for (const std::size_t i : read_by_[At(step)]) {
      const Section& section = plan_.sections[i];
      const WorkerIndex from = place_[At(section.producer)];
      if (from == worker || (left_.arrived[i] && !left_.homeless[At(step)])) continue;
      // A producer that is cut lies on many workers: nearly all of it comes from others.
      total_s +=
          plan_.network.TransferSeconds(from == kNoIndex ? worker : from, worker, section.bytes);
    }
    return total_s;
  }

  WorkerIndex LeastLeft() const {
    std::vector<Seconds> load_s = busy_s_;
    for (const auto& [layer, steps] : by_layer_) {
      for (const StepIndex step : steps) {
        if (place_[At(step)] == kNoIndex) continue;
        load_s[At(place_[At(step)])] += plan_.steps[At(step)].duration_s;
      }
    }
    return *std::min_element(allowed_.begin(), allowed_.end(), [&](WorkerIndex a, WorkerIndex b) {
      return std::tuple(load_s[At(a)], -speed_[At(a)], a) <
             std::tuple(load_s[At(b)], -speed_[At(b)], b);
    });
  }

  void FindLayer(const std::vector<StepIndex>& steps, const HomeChoice& choice) {
    // What a layer reads is there when the last of the layers before it ends.
    const Seconds before_s =
        load_s_.empty() ? 0 : *std::max_element(load_s_.begin(), load_s_.end());
    load_s_ = busy_s_;
    for (Seconds& load_s : load_s_) load_s = std::max(load_s, before_s);
    std::vector<StepIndex> whole, cut;
    for (const StepIndex step : steps) {
      if (left_.can_be_cut[At(step)] || left_.in_parts[At(step)]) {
        cut.push_back(step);
      } else if (left_.homeless[At(step)]) {
        whole.push_back(step);
      } else {
        const WorkerIndex worker = plan_.steps[At(step)].worker;
        load_s_[At(worker)] += plan_.steps[At(step)].duration_s + ReceiveSeconds(step, worker);
      }
    }
    std::stable_sort(whole.begin(), whole.end(), [&](StepIndex a, StepIndex b) {
      return std::tuple(ranks_[At(a)], -plan_.steps[At(a)].duration_s) <
             std::tuple(ranks_[At(b)], -plan_.steps[At(b)].duration_s);
    });
    for (const StepIndex step : whole) PlaceWhole(step);
    if (!cut.empty()) Spread(std::move(cut), choice.spread);
  }

  /// Those that may run the step.
  std::vector<WorkerIndex> WorkersFor(StepIndex step) const {
    if (elsewhere_.empty() || !elsewhere_[At(step)]) return allowed_;
    for (std::vector<WorkerIndex> workers : {allowed_, open_}) {
      std::erase(workers, plan_.steps[At(step)].worker);
      if (!workers.empty()) return workers;
    }
    return allowed_;
  }

  void PlaceWhole(StepIndex step) {
    const ComputeStep& planned = plan_.steps[At(step)];
    WorkerIndex best = kNoIndex;
    Seconds best_end_s = 0;
    for (const WorkerIndex worker : WorkersFor(step)) {
      const Seconds end_s =
          load_s_[At(worker)] + ReceiveSeconds(step, worker) + RunSeconds(step, worker);
      if (best != kNoIndex && end_s >= best_end_s) continue;
      best = worker;
      best_end_s = end_s;
    }
    load_s_[At(best)] = best_end_s;
    place_[At(step)] = best;
    homes_[At(step)] = {{best, planned.input_begin, planned.input_end, RunSeconds(step, best)}};
  }

  /// Seconds of work of the step on a worker of speed 1.
  double WorkOf(StepIndex step) const {
    const ComputeStep& planned = plan_.steps[At(step)];
    return planned.duration_s * speed_[At(planned.worker)];
  }

  /// By how much `steps` steps take longer where `workers` workers share them, each of which cuts
  /// one.
  double CostOfCutting(std::size_t steps, std::size_t workers) const {
    const double pieces = static_cast<double>(steps + workers - 1) / static_cast<double>(steps);
    return pieces * PartOfTime(plan_.part_cost, 1 / pieces);
  }

  /// What each worker takes of `work`, that of `steps` steps, so that all end together, as seconds
  /// at speed 1 with what cutting them costs; workers that would get less than kShortestPartS get
  /// nothing, and the first one gets something.
  std::vector<std::pair<WorkerIndex, double>> Level(double work, std::size_t steps,
                                                    std::int32_t spread) const {
    std::vector<WorkerIndex> workers = allowed_;
    std::stable_sort(workers.begin(), workers.end(),
                     [&](WorkerIndex a, WorkerIndex b) { return load_s_[At(a)] < load_s_[At(b)]; });
    if (workers.size() > At(std::max(spread, 1))) workers.resize(At(std::max(spread, 1)));
    // The most workers whose last one, which gets free latest, still has a part worth it.
    double speeds = 0, spent = 0;  // spent: sum of load times speed
    double end_s = 0;
    std::size_t taken = 0;
    for (const WorkerIndex worker : workers) {
      speeds += speed_[At(worker)];
      spent += load_s_[At(worker)] * speed_[At(worker)];
      const double level_s = (work * CostOfCutting(steps, taken + 1) + spent) / speeds;
      if (taken > 0 && level_s - load_s_[At(worker)] < kShortestPartS) break;
      end_s = level_s;
      ++taken;
    }
    workers.resize(taken);
    std::sort(workers.begin(), workers.end());
    std::vector<std::pair<WorkerIndex, double>> shares;
    for (const WorkerIndex worker : workers) {
      shares.emplace_back(worker, std::max(0.0, end_s - load_s_[At(worker)]) * speed_[At(worker)]);
    }
    return shares;
  }

  void Spread(std::vector<StepIndex> steps, std::int32_t spread) {
    std::sort(steps.begin(), steps.end(), [&](StepIndex a, StepIndex b) {
      return std::tuple(plan_.steps[At(a)].input_begin, a) <
             std::tuple(plan_.steps[At(b)].input_begin, b);
    });
    double work = 0;
    for (const StepIndex step : steps) work += WorkOf(step);
    const std::vector<std::pair<WorkerIndex, double>> shares = Level(work, steps.size(), spread);
    std::size_t at = 0;
    double room = shares[0].second;
    for (const StepIndex step : steps) {
      const ComputeStep& planned = plan_.steps[At(step)];
      Bytes begin = planned.input_begin;
      do {
        const Bytes left = planned.input_end - begin;
        const Bytes taken = PartOf(step, left, room, at + 1 == shares.size());
        const bool ends_share = taken < left;
        if (taken > 0 || left == 0) {
          room -= AddPart(step, shares[at].first, begin, begin + taken);
          begin += taken;
        }
        if (ends_share) room = shares[++at].second;
      } while (begin < planned.input_end);
    }
  }

  /// Of the step's input.
  double ShareOf(StepIndex step, Bytes bytes) const {
    const Bytes all = plan_.steps[At(step)].input_bytes;
    return all > 0 ? static_cast<double>(bytes) / static_cast<double>(all) : 1;
  }

  /// Bytes that a worker with `room` takes of `left` bytes of a step: none or all of them where a
  /// part would be too short.
  Bytes PartOf(StepIndex step, Bytes left, double room, bool last_worker) const {
    const ComputeStep& planned = plan_.steps[At(step)];
    const double work = WorkOf(step);
    const auto work_of = [&](Bytes bytes) {
      return work * PartOfTime(plan_.part_cost, ShareOf(step, bytes));
    };
    if (last_worker || planned.input_bytes <= 0 || room >= work_of(left)) return left;
    const double shortest = kShortestPartS * speed_[At(planned.worker)];
    if (room < shortest) return 0;
    // The most bytes that fit: what parts take rises with them.
    Bytes taken = 0, too_many = left;
    while (too_many - taken > 1) {
      const Bytes middle = taken + (too_many - taken) / 2;
      (work_of(middle) <= room ? taken : too_many) = middle;
    }
    return work_of(left - taken) < shortest ? left : taken;
  }

  /// Returns its work.
  double AddPart(StepIndex step, WorkerIndex worker, Bytes begin, Bytes end) {
    const ComputeStep& planned = plan_.steps[At(step)];
    const double part = PartOfTime(plan_.part_cost, ShareOf(step, end - begin));
    homes_[At(step)].push_back({worker, begin, end, RunSeconds(step, worker) * part});
    load_s_[At(worker)] += RunSeconds(step, worker) * part;
    if (homes_[At(step)].size() == 1 && end == planned.input_end) place_[At(step)] = worker;
    return WorkOf(step) * part;
  }

  const Plan& plan_;
  const WorkLeft& left_;
  const std::vector<double> speed_;
  const std::vector<DataRank> ranks_;
  std::vector<std::vector<StepHome>> homes_;
  std::vector<std::vector<std::size_t>> read_by_;            // by step: its sections
  std::vector<Seconds> busy_s_;                              // by worker: of what it has under way
  std::vector<Seconds> load_s_;                              // by worker: of the layer in hand too
  std::vector<WorkerIndex> place_;                           // by step; kNoIndex: not known, or cut
  std::map<std::int32_t, std::vector<StepIndex>> by_layer_;  // those that have to begin
  std::vector<WorkerIndex> open_, allowed_;  // that get something; that get something this way
  std::vector<bool> elsewhere_;              // by step
};

}  // namespace

std::vector<std::vector<StepHome>> FindHomes(const Plan& plan, const PlanState& state,
                                             const WorkLeft& left, const HomeChoice& choice) {
  return HomeFinder(plan, state, left).Find(choice);
}

}  // namespace weir::planner
