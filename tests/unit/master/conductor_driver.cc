#include "tests/unit/master/conductor_driver.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "gtest/gtest.h"
#include "planner/plan/units.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "tests/unit/master/watched_check.h"

namespace weir::master {

using planner::At;

namespace {

using planner::Bytes;
using planner::StepIndex;
using planner::TransferIndex;

constexpr double kNeverEnds = std::numeric_limits<double>::infinity();

class Driver {
 public:
  Driver(const planner::Plan& plan, const planner::Prediction& prediction, DrivenReality reality)
      : plan_(plan),
        reality_(std::move(reality)),
        conductor_(plan, prediction,
                   reality_.handover_domains.empty()
                       ? std::vector<std::string>(At(plan.network.num_workers))
                       : reality_.handover_domains),
        watched_(plan),
        step_started_(plan.steps.size()),
        step_done_(plan.steps.size()),
        transfer_granted_(plan.transfers.size()),
        transfer_done_(plan.transfers.size()),
        sends_(At(plan.network.num_workers)),
        receives_(At(plan.network.num_workers)),
        steps_on_(At(plan.network.num_workers)),
        sent_(At(plan.network.num_workers)),
        received_(At(plan.network.num_workers)),
        crossing_(plan.network.cuts.size()),
        sections_(plan.steps.size()) {}

  double Run() {
    Take(conductor_.Begin(now_));
    while (!finished_) {
      const bool wakes =
          conductor_.NextWakeup() && (events_.empty() || *conductor_.NextWakeup() <= NextEvent());
      if (!wakes && events_.empty()) {
        ADD_FAILURE() << "stuck at " << Seconds() << " s";
        return -1;
      }
      if (wakes) {
        now_ = std::max(now_, *conductor_.NextWakeup());
        Take(conductor_.Wake(now_));
      } else {
        RunEvent();
      }
      if (++events_run_ % 7 == 0) {
        EXPECT_TRUE(SeesHowFarItIs(conductor_, Seconds(), &watched_));
      }
      if (::testing::Test::HasFailure()) return -1;
    }
    EXPECT_TRUE(std::all_of(step_done_.begin(), step_done_.end(), [](bool d) { return d; }));
    CheckPieces();
    // One that is tried again goes behind those that were granted meanwhile.
    if (plan_.transfer_order == planner::TransferOrder::kStrict && !reality_.failures) {
      CheckPorts(plan_.send_order, sent_);
      CheckPorts(plan_.receive_order, received_);
    }
    return Seconds();
  }

 private:
  double Seconds() const { return static_cast<double>(now_.nanos()) * 1e-9; }
  MonoTime NextEvent() const { return MonoTime::FromNanos(events_.begin()->first.first); }

  void After(double seconds, std::function<void()> event) {
    const MonoTime when = now_ + absl::Nanoseconds(std::max<std::int64_t>(
                                     0, static_cast<std::int64_t>(seconds * 1e9 + 0.5)));
    events_.emplace(std::make_pair(when.nanos(), sequence_++), std::move(event));
  }

  void RunEvent() {
    auto node = events_.extract(events_.begin());
    now_ = MonoTime::FromNanos(node.key().first);
    node.mapped()();
  }

  void Take(const ConductorOrders& orders) {
    for (const StepStart& start : orders.steps) StartStep(start);
    for (const TransferStart& start : orders.transfers) Grant(start);
    for (const planner::RateOrder& order : orders.rates) Tell(order);
    finished_ = finished_ || orders.finished;
  }

  void StartStep(const StepStart& start) {
    const planner::ComputeStep& step = plan_.steps[At(start.step)];
    EXPECT_FALSE(step_started_[At(start.step)]) << "step twice";
    step_started_[At(start.step)] = true;
    for (const StepIndex before : step.after_steps) EXPECT_TRUE(step_done_[At(before)]);
    for (const TransferIndex before : step.after_transfers) {
      EXPECT_TRUE(transfer_done_[At(before)] || conductor_.transfer_bytes(before) == 0);
    }
    EXPECT_GE(Seconds() + 1e-9, step.release_s);
    EXPECT_LE(++steps_on_[At(step.worker)], 1) << "two steps at once on a worker";
    CheckOperands(start);
    CheckUnread(start);
    if (step.kind->stores && plan_.store_channels > 0) {
      EXPECT_LE(++writes_, plan_.store_channels) << "store over its channels";
    }
    After(reality_.step_seconds(start.step, step.duration_s),
          [this, index = start.step] { FinishStep(index); });
  }

  // A combine step reads in the order of Plan::sections, others by rising producers.
  void CheckOperands(const StepStart& start) const {
    std::vector<StepIndex> expected;
    for (const planner::Section& section : plan_.sections) {
      if (section.consumer != start.step) continue;
      for (const RunSection& made : sections_[At(section.producer)]) {
        if (made.consumer == start.step && made.bytes > 0) expected.push_back(section.producer);
      }
    }
    if (!plan_.steps[At(start.step)].kind->combines) std::sort(expected.begin(), expected.end());
    std::vector<StepIndex> given;
    for (const StepStart::Input& input : start.inputs) given.push_back(input.producer);
    EXPECT_EQ(given, expected) << "operands of step " << start.step;
  }

  // What a worker may remove is read by no step that is still to be done, on that worker, or from
  // it.
  void CheckUnread(const StepStart& start) {
    const planner::WorkerIndex worker = plan_.steps[At(start.step)].worker;
    for (const auto& [producer, attempt] : start.unread) {
      EXPECT_TRUE(unread_.insert({worker, producer}).second) << "told twice";
      const bool made_here = plan_.steps[At(producer)].worker == worker;
      for (const planner::Section& section : plan_.sections) {
        if (section.producer != producer) continue;
        if (!made_here && plan_.steps[At(section.consumer)].worker != worker) continue;
        EXPECT_TRUE(step_done_[At(section.consumer)])
            << "step " << section.consumer << " still reads the run of step " << producer;
      }
    }
  }

  void FinishStep(StepIndex step) {
    step_done_[At(step)] = true;
    if (plan_.steps[At(step)].kind->stores) --writes_;
    --steps_on_[At(plan_.steps[At(step)].worker)];
    Bytes offset = 0;
    for (const planner::Section& section : plan_.sections) {
      if (section.producer != step) continue;
      const Bytes bytes = reality_.section_bytes(section.bytes);
      sections_[At(step)].push_back({section.consumer, offset, bytes, bytes});
      offset += bytes;
    }
    ConductorOrders orders;
    EXPECT_TRUE(conductor_.StepDone(step, sections_[At(step)], now_, orders).ok());
    Take(orders);
    // A repeated report changes nothing.
    ConductorOrders repeated;
    EXPECT_TRUE(conductor_.StepDone(step, sections_[At(step)], now_, repeated).ok());
    EXPECT_TRUE(repeated.steps.empty() && repeated.transfers.empty() && !repeated.finished);
  }

  void Grant(const TransferStart& start) {
    const planner::Transfer& transfer = plan_.transfers[At(start.transfer)];
    EXPECT_FALSE(transfer_granted_[At(start.transfer)]) << "transfer twice";
    EXPECT_EQ(start.attempt, ++attempts_[start.transfer]);
    if (reality_.failures && start.attempt <= reality_.failures(start.transfer)) {
      return GrantInVain(start);
    }
    transfer_granted_[At(start.transfer)] = true;
    sent_[At(transfer.sender)].push_back(start.transfer);
    received_[At(transfer.receiver)].push_back(start.transfer);
    granted_[{transfer.producer, transfer.consumer}].push_back(
        {start.offset - start.section_offset, start.offset - start.section_offset + start.bytes});
    EXPECT_TRUE(step_done_[At(transfer.producer)]) << "granted before its run is published";
    EXPECT_GT(start.bytes, 0);
    if (plan_.rates_over_time) {
      return Move(start,
                  static_cast<double>(start.bytes) * reality_.transfer_seconds(start.transfer, 1));
    }
    Hold(transfer, +1);
    const double model_s = planner::TransferSeconds(plan_, transfer, start.bytes);
    After(start.handover ? 0 : reality_.transfer_seconds(start.transfer, model_s),
          [this, index = start.transfer] { FinishTransfer(index); });
  }

  /// What moves at a rate that may change.
  struct Moving {
    double left = 0;  // bytes, times their lag and what reality makes of it
    double rate = 0;
    double flows_from_s = 0;
    std::int32_t number = 0;
    int ends = 0;  // how often its end was foreseen
  };

  void Move(const TransferStart& start, double bytes) {
    const planner::Transfer& transfer = plan_.transfers[At(start.transfer)];
    HoldRate(transfer, start.rate_bytes_per_s);
    Moving moving;
    moving.left =
        start.handover ? 0 : bytes * plan_.network.Lag(transfer.sender, transfer.receiver);
    moving.rate = start.rate_bytes_per_s;
    moving.flows_from_s = Seconds() + (start.handover ? 0 : planner::StartSeconds(plan_));
    moving_[start.transfer] = moving;
    ForeseeEnd(start.transfer);
  }

  void Release(TransferIndex transfer) {
    if (!plan_.rates_over_time) return Hold(plan_.transfers[At(transfer)], -1);
    HoldRate(plan_.transfers[At(transfer)], -moving_.at(transfer).rate);
    moving_.erase(transfer);
  }

  void ForeseeEnd(TransferIndex transfer) {
    Moving& moving = moving_.at(transfer);
    if (moving.left == kNeverEnds) return;
    const double begins_s = std::max(0.0, moving.flows_from_s - Seconds());
    After(begins_s + moving.left / moving.rate, [this, transfer, end = ++moving.ends] {
      const auto ends = moving_.find(transfer);
      if (ends == moving_.end() || ends->second.ends != end) return;
      FinishTransfer(transfer);
    });
  }

  // Its sender hears of the rate after a while, or twice, and answers.
  void Tell(const planner::RateOrder& order) {
    EXPECT_TRUE(moving_.contains(order.transfer)) << "a rate for what does not move";
    const double delay_s = reality_.rate_delay_s ? reality_.rate_delay_s() : 0;
    After(delay_s, [this, order, attempt = attempts_[order.transfer]] {
      const auto told = moving_.find(order.transfer);
      if (told == moving_.end() || attempts_[order.transfer] != attempt) return;
      Moving& moving = told->second;
      if (order.number > moving.number) {
        const double since_s = std::max(0.0, Seconds() - moving.flows_from_s);
        moving.left = std::max(0.0, moving.left - since_s * moving.rate);
        moving.flows_from_s = std::max(moving.flows_from_s, Seconds());
        HoldRate(plan_.transfers[At(order.transfer)], order.bytes_per_s - moving.rate);
        moving.rate = order.bytes_per_s;
        moving.number = order.number;
        ForeseeEnd(order.transfer);
      }
      conductor_.ConfirmRate(order.transfer, order.number, now_);
      Take(conductor_.Wake(now_));
    });
  }

  void GrantInVain(const TransferStart& start) {
    const TransferIndex index = start.transfer;
    const planner::Transfer& transfer = plan_.transfers[At(index)];
    EXPECT_TRUE(step_done_[At(transfer.producer)]) << "granted before its run is published";
    plan_.rates_over_time ? Move(start, kNeverEnds) : Hold(transfer, +1);
    const double model_s = planner::TransferSeconds(plan_, transfer, start.bytes);
    const bool passes = start.attempt % 2 == 0;
    if (passes) {
      After(0.5 * model_s, [this, index] {
        Release(index);
        ConductorOrders orders;
        EXPECT_TRUE(conductor_.TransferNearlyDone(index, 1, now_, orders).ok());
        Take(orders);
      });
    }
    After(0.8 * model_s, [this, index, passes] {
      if (!passes) Release(index);
      ConductorOrders orders;
      EXPECT_TRUE(conductor_.TransferFailed(index, now_, orders).ok());
      EXPECT_FALSE(conductor_.TransferFailed(index, now_, orders).ok()) << "told twice";
      Take(orders);
      After(0.01, [this, index] {
        Take(conductor_.RetryTransfer(index, now_));
        Take(conductor_.RetryTransfer(index, now_));  // changes nothing
      });
    });
  }

  void FinishTransfer(TransferIndex transfer) {
    transfer_done_[At(transfer)] = true;
    Release(transfer);
    ConductorOrders orders;
    EXPECT_TRUE(conductor_.TransferDone(transfer, now_, orders).ok());
    Take(orders);
  }

  void Hold(const planner::Transfer& transfer, int change) {
    sends_[At(transfer.sender)] += change;
    receives_[At(transfer.receiver)] += change;
    const bool free_for_all = !planner::IsOrdered(plan_.transfer_order);
    if (plan_.transfer_order == planner::TransferOrder::kRates) {
      return HoldRate(transfer, change * transfer.rate_bytes_per_s);
    }
    if (plan_.fetch_limit > 0) {
      EXPECT_LE(receives_[At(transfer.receiver)], plan_.fetch_limit) << "too many fetches at once";
    }
    if (!free_for_all) {
      EXPECT_LE(sends_[At(transfer.sender)], 1) << "two sends from one worker";
      EXPECT_LE(receives_[At(transfer.receiver)], 1) << "two receives at one worker";
    }
    // By rates, in channels: whoever counts lanes must come out below that.
    const double rate = plan_.network.seconds_per_byte /
                        plan_.network.SecondsPerByte(transfer.sender, transfer.receiver);
    for (std::size_t c = 0; c < plan_.network.cuts.size(); ++c) {
      if (!plan_.network.cuts[c].Crosses(transfer.sender, transfer.receiver)) continue;
      crossing_[c] += change * rate;
      if (!free_for_all) {
        EXPECT_LE(crossing_[c], plan_.network.cuts[c].channels * (1 + 1e-6))
            << "cut over its channels";
      }
    }
  }

  // Whatever is under way together fits its ports and cuts.
  void HoldRate(const planner::Transfer& transfer, double rate) {
    const auto hold = [rate](double& held, double carries, const char* what) {
      held += rate;
      EXPECT_LE(held, carries * (1 + 1e-6)) << what << " over its rate";
    };
    const planner::NetworkModel& network = plan_.network;
    hold(sent_at_[transfer.sender], network.PacedBytesPerS(transfer.sender), "send port");
    hold(received_at_[transfer.receiver], network.PacedBytesPerS(transfer.receiver),
         "receive port");
    for (std::size_t c = 0; c < network.cuts.size(); ++c) {
      const planner::Cut& cut = network.cuts[c];
      if (!cut.Crosses(transfer.sender, transfer.receiver)) continue;
      hold(crossing_[c], network.PacedBytesPerS(cut), "cut");
    }
  }

  // In the planned order, but for those that had nothing to move.
  void CheckPorts(const std::vector<std::vector<TransferIndex>>& planned,
                  const std::vector<std::vector<TransferIndex>>& granted) const {
    for (std::size_t port = 0; port < planned.size(); ++port) {
      std::vector<TransferIndex> expected;
      for (const TransferIndex transfer : planned[port]) {
        if (transfer_granted_[At(transfer)]) expected.push_back(transfer);
      }
      EXPECT_EQ(granted[port], expected) << "order of port " << port;
    }
  }

  void CheckPieces() {
    for (const planner::Section& section : plan_.sections) {
      const planner::ComputeStep& producer = plan_.steps[At(section.producer)];
      const planner::ComputeStep& consumer = plan_.steps[At(section.consumer)];
      if (producer.worker == consumer.worker) continue;
      auto pieces = granted_[{section.producer, section.consumer}];
      std::sort(pieces.begin(), pieces.end());
      Bytes covered = 0;
      for (const auto& [begin, end] : pieces) {
        EXPECT_EQ(begin, covered);
        covered = end;
      }
      EXPECT_EQ(covered, reality_.section_bytes(section.bytes));
    }
  }

  const planner::Plan& plan_;
  const DrivenReality reality_;
  ConductorMachine conductor_;
  WatchedState watched_;
  int events_run_ = 0;
  MonoTime now_;
  bool finished_ = false;
  std::int64_t sequence_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::function<void()>> events_;
  std::vector<bool> step_started_, step_done_, transfer_granted_, transfer_done_;
  int writes_ = 0;
  std::vector<int> sends_, receives_, steps_on_;
  std::vector<std::vector<TransferIndex>> sent_, received_;       // by worker, as granted
  std::vector<double> crossing_;                                  // rates by cut
  std::map<planner::WorkerIndex, double> sent_at_, received_at_;  // kRates: bytes per second
  std::map<TransferIndex, int> attempts_;
  std::map<TransferIndex, Moving> moving_;  // rates over time
  std::vector<std::vector<RunSection>> sections_;
  std::set<std::pair<planner::WorkerIndex, StepIndex>> unread_;
  std::map<std::pair<StepIndex, StepIndex>, std::vector<std::pair<Bytes, Bytes>>> granted_;
};

}  // namespace

DrivenReality ExactReality() {
  return {[](StepIndex, double model_s) { return model_s; },
          [](TransferIndex, double model_s) { return model_s; },
          [](Bytes planned) { return planned; },
          {},
          nullptr};
}

double DriveConductor(const planner::Plan& plan, const DrivenReality& reality) {
  const absl::StatusOr<planner::Prediction> prediction = planner::Predict(plan);
  if (!prediction.ok()) {
    ADD_FAILURE() << prediction.status();
    return -1;
  }
  return Driver(plan, *prediction, reality).Run();
}

}  // namespace weir::master
