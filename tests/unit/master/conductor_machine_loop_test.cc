// Loops through the conductor: whichever iteration ends them, and in whatever order reports come.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/job/builders/loop_plan.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "tests/unit/master/planned_sections.h"

namespace weir::master {
namespace {

using planner::At;
using planner::Plan;
using planner::StepIndex;
using planner::StepKind;
using planner::TransferIndex;

Plan SmallLoop(int iterations, int workers, std::int64_t places, bool element_wise = false) {
  planner::JobShape shape;
  shape.input_bytes = 1000;
  shape.map_seconds_per_byte.value = 0.01;
  shape.layers = {planner::LayerShape()};
  planner::LoopShape loop;
  loop.iterations = iterations;
  loop.element_places = places;
  loop.state_places = element_wise ? places : 3;
  loop.commutative = true;
  loop.element_wise = element_wise;
  planner::ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(workers));
  cluster.network.num_workers = workers;
  cluster.network.seconds_per_byte = 0.1;
  absl::StatusOr<Plan> plan = planner::LoopPlan(shape, loop, cluster);
  EXPECT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(planner::CheckPlan(*plan), absl::OkStatus());
  return *std::move(plan);
}

// What one run did.
struct Seen {
  std::set<StepIndex> started;
  std::set<StepIndex> result_inputs;  // of the reduce steps
  std::set<StepIndex> unread_by_maker;
  int finished = 0;
  bool ordered_when_finished = false;
};

// Reports what is under way in a random order; the update of iteration `last`, of several the one
// of the first range, ends the loop.
class Driver {
 public:
  Driver(const Plan& plan, int last, std::uint64_t seed)
      : plan_(plan),
        prediction_(*planner::Predict(plan)),
        conductor_(plan_, prediction_, std::vector<std::string>(At(plan.network.num_workers))),
        last_(last),
        engine_(seed) {}

  Seen Run() {
    Take(conductor_.Begin(now_));
    while (!steps_.empty() || !transfers_.empty() || conductor_.NextWakeup()) {
      now_ = now_ + absl::Seconds(1);
      const std::size_t under_way = steps_.size() + transfers_.size();
      if (under_way == 0) {
        if (waited_++ > 10'000) break;
        Take(conductor_.Wake(now_));
        continue;
      }
      const std::size_t at = engine_() % under_way;
      ConductorOrders orders;
      if (at < steps_.size()) {
        Report(steps_[at], orders);
        steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        const auto it = transfers_.begin() + static_cast<std::ptrdiff_t>(at - steps_.size());
        EXPECT_EQ(conductor_.TransferDone(*it, now_, orders), absl::OkStatus());
        transfers_.erase(it);
      }
      Take(std::move(orders));
    }
    return seen_;
  }

 private:
  void Report(StepIndex step, ConductorOrders& orders) {
    const std::vector<RunSection> sections = PlannedSections(plan_, step);
    const planner::ComputeStep& planned = plan_.steps[At(step)];
    const bool ends =
        planned.kind->updates_state && planned.layer == last_ && planned.index_in_layer == 0;
    const LoopGoes goes = ends ? LoopGoes::kNoFurther : LoopGoes::kOn;
    EXPECT_EQ(conductor_.StepDone(step, sections, now_, orders, goes), absl::OkStatus());
    // A report that comes twice changes nothing.
    ConductorOrders none;
    EXPECT_EQ(conductor_.StepDone(step, sections, now_, none, goes), absl::OkStatus());
    EXPECT_TRUE(none.steps.empty() && none.transfers.empty() && !none.finished);
  }

  void Take(ConductorOrders orders) {
    if (orders.finished) {
      ++seen_.finished;
      seen_.ordered_when_finished = !orders.steps.empty() || !orders.transfers.empty() ||
                                    !steps_.empty() || !transfers_.empty();
    } else if (seen_.finished > 0) {
      seen_.ordered_when_finished |= !orders.steps.empty() || !orders.transfers.empty();
    }
    for (const StepStart& start : orders.steps) {
      EXPECT_TRUE(seen_.started.insert(start.step).second);
      steps_.push_back(start.step);
      const planner::ComputeStep& step = plan_.steps[At(start.step)];
      for (const StepStart::Input& input : start.inputs) {
        if (step.kind == StepKind::kReduce) seen_.result_inputs.insert(input.producer);
      }
      for (const auto& [unread, attempt] : start.unread) {
        if (plan_.steps[At(unread)].worker == step.worker) seen_.unread_by_maker.insert(unread);
        EXPECT_TRUE(seen_.started.contains(unread));
      }
    }
    for (const TransferStart& start : orders.transfers) transfers_.push_back(start.transfer);
  }

  const Plan& plan_;
  const planner::Prediction prediction_;
  ConductorMachine conductor_;
  const int last_;
  std::mt19937_64 engine_;
  MonoTime now_;
  std::vector<StepIndex> steps_;
  std::vector<TransferIndex> transfers_;
  int waited_ = 0;
  Seen seen_;
};

// The iteration that a step belongs to: nothing of a later one than the last may start.
int IterationOf(const planner::ComputeStep& step) {
  return step.kind == StepKind::kCombine ? step.layer - 1 : step.layer;
}

void CheckRunOf(const Plan& plan, int last, const Seen& seen) {
  RC_ASSERT(seen.finished == 1);
  RC_ASSERT(!seen.ordered_when_finished);
  std::set<StepIndex> last_updates;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const planner::ComputeStep& step = plan.steps[s];
    const auto index = static_cast<StepIndex>(s);
    if (step.kind->updates_state && step.layer == last) last_updates.insert(index);
    const bool started = seen.started.count(index) > 0;
    if (step.kind == StepKind::kReduce) {
      RC_ASSERT(started);
    } else if (IterationOf(step) > last) {
      RC_ASSERT(!started);
    } else if (step.kind->iterates || step.kind->reads_input()) {
      RC_ASSERT(started);
    }
  }
  // The result is made of the last state, and nothing else is kept for it.
  RC_ASSERT(seen.result_inputs == last_updates);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const auto index = static_cast<StepIndex>(s);
    // A state before the last was read by all when the last step of its maker begins.
    if (plan.steps[s].kind->updates_state && plan.steps[s].layer < last) {
      RC_ASSERT(seen.unread_by_maker.count(index) > 0);
    }
  }
}

RC_GTEST_PROP(ConductorLoopProperty, EndsOnceWithTheStateThatEndedIt, ()) {
  const int iterations = *rc::gen::inRange(0, 6);
  const int workers = *rc::gen::inRange(1, 7);
  const Plan plan = SmallLoop(iterations, workers, *rc::gen::inRange<std::int64_t>(1, 30),
                              *rc::gen::arbitrary<bool>());
  const int last = *rc::gen::inRange(0, iterations + 1);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  CheckRunOf(plan, last, Driver(plan, last, seed).Run());
}

TEST(ConductorLoopTest, ALoopThatNobodyEndsRunsToItsLimit) {
  for (const bool element_wise : {false, true}) {
    const Plan plan = SmallLoop(3, 4, 8, element_wise);
    const Seen seen = Driver(plan, /*last=*/-1, 1).Run();
    EXPECT_EQ(seen.finished, 1);
    EXPECT_EQ(seen.started.size(), plan.steps.size());
  }
}

}  // namespace
}  // namespace weir::master
