// TransferScheduler decides what its rules say, whatever happens and when: beside it runs an oracle
// that has no indexes.

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/network_model.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/schedule/transfer_scheduler.h"
#include "runtime/master/share/transfer_gate.h"
#include "tests/unit/master/random_plan.h"
#include "tests/unit/master/scanning_scheduler.h"

namespace weir::master {
namespace {

using planner::At;
using planner::TransferIndex;
using planner::TransferOrder;

constexpr std::uint64_t kPlansPerCase = 30;
// The conductor wakes so much behind a named moment.
constexpr planner::Seconds kWakesBehindS = 1e-9;

/// As in a plan that was edited while it ran: some transfers are done, and predicted to take none.
void MarkSomeDone(std::uint64_t seed, planner::Prediction& prediction) {
  std::mt19937_64 random(seed);
  if (std::uniform_int_distribution<int>(0, 2)(random) > 0) return;
  for (planner::Interval& transfer : prediction.transfers) {
    if (std::uniform_int_distribution<int>(0, 4)(random) == 0) transfer = {};
  }
}

std::vector<double> RandomSlowness(std::int32_t num_workers, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> slowness(At(num_workers));
  for (double& factor : slowness) {
    const bool straggler = std::uniform_int_distribution<int>(0, 3)(random) == 0;
    const double least = straggler ? 3 : 0.5;
    factor = std::uniform_real_distribution<double>(least, straggler ? 30 : 1.5)(random);
  }
  return slowness;
}

/// All workers with all, equal pieces: what waits may often overtake at the same moment, many at
/// once. Sometimes only so many transfers move at once.
planner::Plan EvenShuffle(std::int32_t num_workers, std::int32_t channels) {
  planner::NetworkModel network = planner::LimitedTotal(num_workers, 1e-6, channels);
  if (channels == 0) network.cuts.clear();
  planner::PlanAssembly assembly(network);
  std::vector<planner::MapperDraft> mappers;
  planner::LayerDraft reducers;
  std::vector<planner::PieceDraft> pieces;
  for (std::int32_t w = 0; w < num_workers; ++w) {
    mappers.push_back({w, 100'000, 100'000, 0, 0.01});
    reducers.reducers.push_back({w, 1.0 / num_workers});
  }
  for (std::int32_t round = 0; round < num_workers; ++round) {
    for (std::int32_t w = 0; w < num_workers; ++w) {
      pieces.push_back({w, (w + round) % num_workers, 1, static_cast<double>(round)});
    }
  }
  reducers.reduce_seconds = [](planner::WorkerIndex, planner::Bytes) { return 0.001; };
  absl::Status status = assembly.AddMappers(mappers);
  status.Update(assembly.AddReducers(reducers, pieces));
  planner::Plan plan = assembly.TakePlan();
  plan.transfer_order = TransferOrder::kOvertake;
  status.Update(planner::OrderByPriority(&plan));
  EXPECT_TRUE(status.ok()) << status;
  return plan;
}

/// What other jobs leave to one: every other transfer crosses a cut that its plan does not know, of
/// which it has one channel, and every third may not begin before a moment.
class OtherJobs final : public TransferGate {
 public:
  explicit OtherJobs(planner::Seconds moment_s) : moment_s_(moment_s) {}

  void BeginTurn(planner::Seconds now_s) override { now_s_ = now_s; }
  void EndTurn() override {}
  bool MayMove(TransferIndex transfer) override {
    if (transfer % 3 == 0 && now_s_ < moment_s_) return false;
    return transfer % 2 == 0 || crossing_.empty();
  }
  bool shares_cuts() const override { return true; }
  void Moves(TransferIndex transfer, planner::Seconds) override {
    if (transfer % 2 == 1) crossing_.insert(transfer);
  }
  void Passed(TransferIndex transfer) override { crossing_.erase(transfer); }
  std::optional<planner::Seconds> next_look_s() const override {
    return now_s_ < moment_s_ ? std::optional(moment_s_) : std::nullopt;
  }

 private:
  const planner::Seconds moment_s_;
  planner::Seconds now_s_ = 0;
  std::set<TransferIndex> crossing_;
};

/// One run of both: runs are published, transfers pass or are skipped at random, workers may be
/// stragglers that are far behind, and time goes on in jumps and to the moments named.
class BothSchedulers {
 public:
  /// `slowness`: by worker, of its steps and of what it receives. `shared`: there are other jobs.
  BothSchedulers(const planner::Plan& plan, const planner::Prediction& prediction,
                 const std::vector<double>& slowness, bool shared, std::uint64_t seed)
      : plan_(plan),
        prediction_(prediction),
        indexed_gate_(prediction.makespan_s / 2),
        scanning_gate_(prediction.makespan_s / 2),
        indexed_(plan, prediction, shared ? &indexed_gate_ : nullptr),
        scanning_(plan, prediction, shared ? &scanning_gate_ : nullptr),
        random_(seed) {
    for (TransferIndex t = 0; At(t) < plan.transfers.size(); ++t) {
      const planner::Transfer& transfer = plan.transfers[At(t)];
      const double published_s = prediction.steps[At(transfer.producer)].finish_s;
      ready_at_s_.push_back(published_s * slowness[At(transfer.sender)]);
      const planner::Interval& predicted = prediction.transfers[At(t)];
      takes_s_.push_back((predicted.finish_s - predicted.start_s) *
                         slowness[At(transfer.receiver)]);
    }
    state_.assign(plan.transfers.size(), State::kWaiting);
    passes_at_s_.assign(plan.transfers.size(), 0);
    for (TransferIndex t = 0; At(t) < plan.transfers.size(); ++t) {
      if (takes_s_[At(t)] > 0) continue;
      indexed_.Skip(t);
      scanning_.Pass(t);
      state_[At(t)] = State::kPassed;
      ++passed_;
    }
  }

  /// False when they disagreed; `message` says about what.
  bool Agree(std::string& message) {
    for (int turn = 0; passed_ < plan_.transfers.size(); ++turn) {
      if (turn > 100'000) {
        message = "stuck";
        return false;
      }
      const std::optional<planner::Seconds> look_again_s = indexed_.next_late_s();
      changed_ = false;
      passed_ += Advance();
      // Also back and forth, as measured paces are.
      if (Draw(0, 1) == 0) {
        pace_ = Draw(0, 1) == 0 ? 1.0 : Real(0.3, 1);
        changed_ = true;
      }
      const std::vector<TransferIndex> started = indexed_.TakeStartable(now_s_, pace_);
      if (started != scanning_.TakeStartable(now_s_, pace_)) {
        message = "other transfers start";
        return false;
      }
      const bool time_alone = turn > 0 && !changed_;
      // A moment that has just come may be named once more, for rounding, but not for ever.
      if (time_alone && indexed_.next_late_s() && *indexed_.next_late_s() <= now_s_) {
        message = "wants to look again at once";
        return false;
      }
      // It leaves out moments of which it is known that they let nothing start.
      if (time_alone && !started.empty() && (!look_again_s || *look_again_s > now_s_)) {
        message = "started at a moment at which nobody would have looked";
        return false;
      }
      for (const TransferIndex transfer : started) {
        state_[At(transfer)] = State::kMoving;
        passes_at_s_[At(transfer)] = now_s_ + takes_s_[At(transfer)];
      }
    }
    return true;
  }

 private:
  enum class State { kWaiting, kReady, kMoving, kPassed };

  int Draw(int min, int max) { return std::uniform_int_distribution<int>(min, max)(random_); }
  double Real(double min, double max) {
    return std::uniform_real_distribution<double>(min, max)(random_);
  }

  /// Goes to the next moment and does what is due. Returns how many passed.
  std::size_t Advance() {
    double next_s = now_s_ + prediction_.makespan_s;
    for (std::size_t t = 0; t < state_.size(); ++t) {
      if (state_[t] == State::kWaiting) next_s = std::min(next_s, ready_at_s_[t]);
      if (state_[t] == State::kMoving) next_s = std::min(next_s, passes_at_s_[t]);
    }
    if (indexed_.next_late_s() && Draw(0, 1) == 0) {
      next_s = std::min(next_s, *indexed_.next_late_s() + kWakesBehindS);
    } else if (scanning_.next_late_s() && Draw(0, 2) > 0) {
      next_s = std::min(next_s, *scanning_.next_late_s() + kWakesBehindS);
    }
    now_s_ = std::max(now_s_, next_s);
    std::size_t passed = 0;
    for (std::size_t t = 0; t < state_.size(); ++t) {
      const auto transfer = static_cast<TransferIndex>(t);
      if (state_[t] == State::kWaiting && ready_at_s_[t] <= now_s_) {
        indexed_.SetReady(transfer, plan_.transfers[planner::At(transfer)].bytes);
        scanning_.SetReady(transfer);
        state_[t] = State::kReady;
        changed_ = true;
        // One that turns out to be empty.
        if (Draw(0, 9) > 0) continue;
        indexed_.Skip(transfer);
      } else if (state_[t] == State::kMoving && passes_at_s_[t] <= now_s_) {
        indexed_.Pass(transfer);
      } else {
        continue;
      }
      scanning_.Pass(transfer);
      state_[t] = State::kPassed;
      changed_ = true;
      ++passed;
    }
    return passed;
  }

  const planner::Plan& plan_;
  const planner::Prediction& prediction_;
  OtherJobs indexed_gate_, scanning_gate_;
  TransferScheduler indexed_;
  ScanningScheduler scanning_;
  std::mt19937_64 random_;
  std::vector<double> ready_at_s_, takes_s_, passes_at_s_;
  std::vector<State> state_;
  std::size_t passed_ = 0;
  double now_s_ = 0;
  double pace_ = 1;
  bool changed_ = false;  // something other than time, in this turn
};

RC_GTEST_PROP(TransferSchedulerProperty, DecidesAsTheRulesSayWithoutAnyIndex, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const TransferOrder order =
      *rc::gen::element(TransferOrder::kStrict, TransferOrder::kOvertake, TransferOrder::kOvertake);
  // Few plans have a cut whose lanes are crowded enough to tell a wrong index from a right one.
  for (std::uint64_t n = 0; n < kPlansPerCase; ++n) {
    const planner::Plan plan = RandomPlan(seed + n, order);
    auto prediction = planner::Predict(plan);
    RC_ASSERT(prediction.ok());
    MarkSomeDone(seed + n, *prediction);
    std::string message;
    const std::vector<double> slowness = RandomSlowness(plan.network.num_workers, seed + n);
    const bool shared = (seed + n) % 4 == 0;
    const bool agree = BothSchedulers(plan, *prediction, slowness, shared, seed + n).Agree(message);
    RC_LOG() << "seed " << seed + n << " order " << static_cast<int>(order) << " " << message
             << "\n";
    RC_ASSERT(agree);
  }
}

RC_GTEST_PROP(TransferSchedulerProperty, DecidesSoWhereManyMayOvertakeAtOnce, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto num_workers = *rc::gen::inRange<std::int32_t>(2, 10);
  const auto channels = *rc::gen::inRange<std::int32_t>(0, num_workers);
  const auto straggler = *rc::gen::inRange<std::int32_t>(0, num_workers);
  const auto slower = *rc::gen::element(2, 10, 30);
  const planner::Plan plan = EvenShuffle(num_workers, channels);
  auto prediction = planner::Predict(plan);
  RC_ASSERT(prediction.ok());
  MarkSomeDone(seed, *prediction);
  // The others are as planned, to the moment.
  std::vector<double> slowness(At(num_workers), 1);
  slowness[At(straggler)] = slower;
  const bool shared = seed % 4 == 0;
  std::string message;
  const bool agree = BothSchedulers(plan, *prediction, slowness, shared, seed).Agree(message);
  RC_LOG() << "seed " << seed << " workers " << num_workers << " channels " << channels
           << " straggler " << straggler << " slower " << slower << " " << message << "\n";
  RC_ASSERT(agree);
}

}  // namespace
}  // namespace weir::master
