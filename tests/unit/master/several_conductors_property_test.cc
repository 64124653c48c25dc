// Several jobs at once through their conductors on the same ports: no port has more jobs than it
// may, no cut carries more than its channels, everything moves; and a job that is alone is granted
// what it would be without any arbiter.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "runtime/master/share/port_arbiter.h"
#include "runtime/master/share/port_share.h"
#include "tests/unit/master/planned_sections.h"
#include "tests/unit/master/random_plan.h"

namespace weir::master {
namespace {

using planner::At;
using planner::Plan;
using planner::StepIndex;
using planner::TransferIndex;
using planner::TransferOrder;

/// Virtual time: what is due, in the order of its moments.
class Clock {
 public:
  MonoTime now() const { return now_; }
  void RunAt(MonoTime when, std::function<void()> event) {
    events_.emplace(std::make_pair(std::max(when, now_).nanos(), number_++), std::move(event));
  }
  void RunAfter(double seconds, std::function<void()> event) {
    RunAt(now_ + absl::Seconds(seconds), std::move(event));
  }
  bool RunNext() {
    if (events_.empty()) return false;
    auto node = events_.extract(events_.begin());
    now_ = MonoTime::FromNanos(node.key().first);
    node.mapped()();
    return true;
  }

 private:
  MonoTime now_;
  std::int64_t number_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::function<void()>> events_;
};

struct Moving {
  int job = 0;
  planner::Transfer transfer;
};

/// What moves at present, by plain counting: nothing here is shared with the arbiter.
class Watch {
 public:
  explicit Watch(const planner::NetworkModel& network) : network_(network) {}

  void Begins(int job, TransferIndex index, const planner::Transfer& transfer) {
    moving_[{job, index}] = {job, transfer};
    Check();
  }
  void Ends(int job, TransferIndex index) { moving_.erase({job, index}); }
  const std::string& wrong() const { return wrong_; }

 private:
  void Check() {
    std::map<planner::WorkerIndex, std::map<int, int>> sends, receives;
    for (const auto& [key, one] : moving_) {
      ++sends[one.transfer.sender][one.job];
      ++receives[one.transfer.receiver][one.job];
    }
    for (const auto* ports : {&sends, &receives}) {
      for (const auto& [worker, jobs] : *ports) {
        if (jobs.size() > PortArbiter::kJobsAPort) wrong_ = "too many jobs on a port";
        for (const auto& [job, count] : jobs) {
          if (count > 1) wrong_ = "a job moves twice on a port";
        }
      }
    }
    for (const planner::Cut& cut : network_.cuts) {
      std::map<planner::WorkerIndex, double> rates;  // by sender, in channels
      for (const auto& [key, one] : moving_) {
        if (!cut.Crosses(one.transfer.sender, one.transfer.receiver)) continue;
        double& rate = rates[one.transfer.sender];
        rate =
            std::max(rate, network_.seconds_per_byte /
                               network_.SecondsPerByte(one.transfer.sender, one.transfer.receiver));
      }
      double sum = 0;
      for (const auto& [sender, rate] : rates) sum += rate;
      if (sum > cut.channels * (1 + 1e-6)) wrong_ = "a cut carries more than its channels";
    }
  }

  const planner::NetworkModel& network_;
  std::map<std::pair<int, TransferIndex>, Moving> moving_;
  std::string wrong_;
};

/// One job: a conductor whose steps and transfers take between a third and three times as planned.
class Job {
 public:
  using Grants = std::vector<std::pair<std::int64_t, TransferIndex>>;

  Job(int number, std::uint64_t seed, const Plan& plan, const planner::Prediction& prediction,
      PortArbiter* arbiter, Watch& watch, Clock& clock)
      : number_(number), random_(seed), plan_(plan), watch_(watch), clock_(clock) {
    const auto num_workers = At(plan.network.num_workers);
    if (arbiter != nullptr) {
      std::vector<WorkerId> workers(num_workers);
      for (std::size_t w = 0; w < num_workers; ++w) workers[w] = static_cast<WorkerId>(7 + 2 * w);
      share_ = std::make_unique<PortShare>(*arbiter, plan, prediction, std::move(workers),
                                           std::vector<std::string>(num_workers),
                                           [&clock] { return clock.now(); });
    }
    conductor_ = std::make_unique<ConductorMachine>(
        plan, prediction, std::vector<std::string>(num_workers), share_.get());
  }

  void Begin() {
    if (share_) share_->Begin(1, clock_.now(), [this] { TakeTurnSoon(); });
    Take(conductor_->Begin(clock_.now()));
  }
  bool finished() const { return finished_; }
  const Grants& grants() const { return grants_; }

 private:
  double Factor() { return std::uniform_real_distribution<double>(0.3, 3)(random_); }

  void TakeTurnSoon() {
    if (finished_ || std::exchange(turn_posted_, true)) return;
    clock_.RunAt(clock_.now(), [this] {
      turn_posted_ = false;
      Wake();
    });
  }
  void Wake() {
    if (!finished_) Take(conductor_->Wake(clock_.now()));
  }
  void Take(const ConductorOrders& orders) {
    for (const StepStart& start : orders.steps) {
      clock_.RunAfter(plan_.steps[At(start.step)].duration_s * Factor(),
                      [this, step = start.step] { FinishStep(step); });
    }
    for (const TransferStart& start : orders.transfers) {
      const planner::Transfer& transfer = plan_.transfers[At(start.transfer)];
      grants_.emplace_back(clock_.now().nanos(), start.transfer);
      watch_.Begins(number_, start.transfer, transfer);
      clock_.RunAfter(planner::TransferSeconds(plan_, transfer, start.bytes) * Factor(),
                      [this, index = start.transfer] { FinishTransfer(index); });
    }
    if (orders.finished) {
      finished_ = true;
      // What its workers hold is released a moment later.
      clock_.RunAfter(0.01, [this] {
        conductor_.reset();
        share_.reset();
      });
      return;
    }
    if (const auto wake = conductor_->NextWakeup(); wake && wake != wake_) {
      wake_ = wake;
      clock_.RunAt(*wake, [this, wake] {
        if (wake_ == wake) wake_.reset();
        Wake();
      });
    }
  }
  void FinishStep(StepIndex step) {
    ConductorOrders orders;
    EXPECT_TRUE(
        conductor_->StepDone(step, PlannedSections(plan_, step), clock_.now(), orders).ok());
    Take(orders);
  }
  void FinishTransfer(TransferIndex transfer) {
    watch_.Ends(number_, transfer);
    ConductorOrders orders;
    EXPECT_TRUE(conductor_->TransferDone(transfer, clock_.now(), orders).ok());
    Take(orders);
  }

  const int number_;
  std::mt19937_64 random_;
  const Plan& plan_;
  Watch& watch_;
  Clock& clock_;
  std::unique_ptr<PortShare> share_;
  std::unique_ptr<ConductorMachine> conductor_;
  Grants grants_;
  std::optional<MonoTime> wake_;
  bool turn_posted_ = false;
  bool finished_ = false;
};

std::uint64_t AnySeed() {
  return *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
}

RC_GTEST_PROP(SeveralConductorsProperty, PortsAndCutsHoldAndAllEnd, ()) {
  const auto seed = AnySeed();
  const TransferOrder order = *rc::gen::element(TransferOrder::kStrict, TransferOrder::kOvertake);
  const int num_jobs = *rc::gen::inRange(2, 5);
  RC_LOG() << "seed " << seed << ", " << num_jobs << " jobs\n";
  const Plan plan = RandomPlan(seed, order);
  const auto prediction = planner::Predict(plan);
  RC_ASSERT(prediction.ok());
  Clock clock;
  Watch watch(plan.network);
  PortArbiter arbiter;
  std::mt19937_64 random(seed);
  std::vector<std::unique_ptr<Job>> jobs;
  for (int j = 0; j < num_jobs; ++j) {
    jobs.push_back(std::make_unique<Job>(j, seed + static_cast<std::uint64_t>(j), plan, *prediction,
                                         &arbiter, watch, clock));
    clock.RunAfter(std::uniform_real_distribution<double>(0, prediction->makespan_s)(random),
                   [job = jobs.back().get()] { job->Begin(); });
  }
  for (int event = 0; clock.RunNext(); ++event) RC_ASSERT(event < 1'000'000);
  RC_ASSERT(watch.wrong() == "");
  for (const auto& job : jobs) RC_ASSERT(job->finished());
  RC_ASSERT(arbiter.order().empty());
}

RC_GTEST_PROP(SeveralConductorsProperty, AJobAloneIsGrantedWhatItWouldBeWithoutAnyArbiter, ()) {
  const auto seed = AnySeed();
  const TransferOrder order = *rc::gen::element(TransferOrder::kStrict, TransferOrder::kOvertake,
                                                TransferOrder::kFetchAll, TransferOrder::kRates);
  RC_LOG() << "seed " << seed << "\n";
  const Plan plan = RandomPlan(seed, order);
  const auto prediction = planner::Predict(plan);
  RC_ASSERT(prediction.ok());
  PortArbiter arbiter;
  std::vector<Job::Grants> grants;
  for (PortArbiter* with : {static_cast<PortArbiter*>(nullptr), &arbiter}) {
    Clock clock;
    Watch watch(plan.network);
    Job job(0, seed, plan, *prediction, with, watch, clock);
    job.Begin();
    while (clock.RunNext()) {
    }
    RC_ASSERT(job.finished());
    grants.push_back(job.grants());
  }
  RC_ASSERT(grants[0] == grants[1]);
}

RC_GTEST_PROP(SeveralConductorsProperty, JobsWithoutAnOrderEndBesideOthers, ()) {
  const auto seed = AnySeed();
  RC_LOG() << "seed " << seed << "\n";
  const Plan ordered = RandomPlan(seed, TransferOrder::kOvertake);
  const Plan fetching =
      RandomPlan(seed, *rc::gen::element(TransferOrder::kFetchAll, TransferOrder::kRates));
  RC_PRE(ordered.network.num_workers == fetching.network.num_workers);
  const auto predicted = planner::Predict(ordered);
  const auto predicted_fetching = planner::Predict(fetching);
  RC_ASSERT(predicted.ok() && predicted_fetching.ok());
  Clock clock;
  Watch watch(ordered.network);
  PortArbiter arbiter;
  Job first(0, seed, ordered, *predicted, &arbiter, watch, clock);
  Job second(1, seed + 1, fetching, *predicted_fetching, &arbiter, watch, clock);
  first.Begin();
  second.Begin();
  for (int event = 0; clock.RunNext(); ++event) RC_ASSERT(event < 1'000'000);
  RC_ASSERT(first.finished());
  RC_ASSERT(second.finished());
}

}  // namespace
}  // namespace weir::master
