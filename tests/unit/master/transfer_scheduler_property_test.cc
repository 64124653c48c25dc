// TransferScheduler decides what its rules say, whatever happens and when: beside it runs an oracle
// that has no indexes.

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/conduct/transfer_scheduler.h"
#include "tests/unit/master/random_plan.h"
#include "tests/unit/master/scanning_scheduler.h"

namespace weir::master {
namespace {

using planner::At;
using planner::TransferIndex;
using planner::TransferOrder;

constexpr std::uint64_t kPlansPerCase = 30;

/// One run of both: runs are published, transfers pass or are skipped at random, workers may be
/// stragglers that are far behind, and time goes on in jumps and to the moments named.
class BothSchedulers {
 public:
  BothSchedulers(const planner::Plan& plan, const planner::Prediction& prediction,
                 std::uint64_t seed)
      : plan_(plan),
        prediction_(prediction),
        indexed_(plan, prediction),
        scanning_(plan, prediction),
        random_(seed) {
    std::vector<double> slowness(At(plan.network.num_workers));
    for (double& factor : slowness) factor = Draw(0, 3) == 0 ? Real(3, 30) : Real(0.5, 1.5);
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
  }

  /// False when they disagreed; `message` says about what.
  bool Agree(std::string& message) {
    std::size_t passed = 0;
    for (int turn = 0; passed < plan_.transfers.size(); ++turn) {
      if (turn > 100'000) {
        message = "stuck";
        return false;
      }
      passed += Advance();
      // Also back and forth, as measured paces are.
      const double pace = Draw(0, 1) == 0 ? 1.0 : Real(0.3, 1);
      const std::vector<TransferIndex> started = indexed_.TakeStartable(now_s_, pace);
      if (started != scanning_.TakeStartable(now_s_, pace)) {
        message = "other transfers start";
        return false;
      }
      if (indexed_.next_late_s() != scanning_.next_late_s()) {
        message = "other moments to look again";
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
    if (indexed_.next_late_s() && Draw(0, 1) == 0)
      next_s = std::min(next_s, *indexed_.next_late_s());
    now_s_ = std::max(now_s_, next_s);
    std::size_t passed = 0;
    for (std::size_t t = 0; t < state_.size(); ++t) {
      const auto transfer = static_cast<TransferIndex>(t);
      if (state_[t] == State::kWaiting && ready_at_s_[t] <= now_s_) {
        indexed_.SetReady(transfer);
        scanning_.SetReady(transfer);
        state_[t] = State::kReady;
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
      ++passed;
    }
    return passed;
  }

  const planner::Plan& plan_;
  const planner::Prediction& prediction_;
  TransferScheduler indexed_;
  ScanningScheduler scanning_;
  std::mt19937_64 random_;
  std::vector<double> ready_at_s_, takes_s_, passes_at_s_;
  std::vector<State> state_;
  double now_s_ = 0;
};

RC_GTEST_PROP(TransferSchedulerProperty, DecidesAsTheRulesSayWithoutAnyIndex, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const TransferOrder order =
      *rc::gen::element(TransferOrder::kStrict, TransferOrder::kOvertake, TransferOrder::kOvertake);
  // Few plans have a cut whose lanes are crowded enough to tell a wrong index from a right one.
  for (std::uint64_t n = 0; n < kPlansPerCase; ++n) {
    const planner::Plan plan = RandomPlan(seed + n, order);
    const auto prediction = planner::Predict(plan);
    RC_ASSERT(prediction.ok());
    std::string message;
    const bool agree = BothSchedulers(plan, *prediction, seed + n).Agree(message);
    RC_LOG() << "seed " << seed + n << " order " << static_cast<int>(order) << " " << message
             << "\n";
    RC_ASSERT(agree);
  }
}

}  // namespace
}  // namespace weir::master
