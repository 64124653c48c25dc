#pragma once

// Which transfers of a plan may move now. Pure. Upstream: ConductorMachine. Downstream: nothing.

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "planner/plan/cut_lanes.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/predict/rate_allocation.h"
#include "planner/plan/predict/rate_room.h"
#include "planner/plan/units.h"
#include "runtime/master/schedule/overtake_index.h"
#include "runtime/master/schedule/turn_findings.h"
#include "runtime/master/share/transfer_gate.h"

namespace weir::master {

/// Keeps ports, cuts and orders of a plan while it runs.
///
/// Model: a moving transfer holds its sender's send port, its receiver's receive port and, of every
///   cut that it crosses, as many lanes as its rate takes (planner/plan/cut_lanes.h). Lanes are
///   counted: which ones the plan named only orders transfers. A transfer may start when its ports
///   and that many lanes are free, its run is published, and every transfer before it in its port
///   and lane orders has passed or is late.
///   - A transfer is late when it has not started (or not finished) and its predicted start (or
///     finish), times the pace of the run, is over by more than the slack. So a run that goes as
///     predicted follows the plan exactly.
///   - A late one is overtaken, so that the network stays busy in plan order, unless it is about to
///     start: all it waits for should be over before the shorter of the two would be done. A run
///     that is a little slow all over must not fall out of its rotation. What moves is expected to
///     end at its own predicted time, and once that is over, to need as long again as it is
///     overdue. A late run is not waited for.
///   - kStrict: in port orders nothing is ever overtaken, late or not.
///   - kFetchAll: every transfer starts as soon as its run is published; with a fetch_limit, as
///   long
///     as its receiver has fewer than that many under way, first in its receive order.
///   - kRates: every transfer starts as soon as its run is published and its ports and cuts have
///     its rate left, as predicted (RateRoom). With lanes, one whose run is not there keeps its
///     place until when it should have ended, times the pace of the run. Where rates change over
///     time, whenever somebody is ready or ends, as RateAllocation says; shares are kept for those
///     whose runs are due within kRunExpectedS, or were, times the pace of the run.
///   - What may start by all that is asked of the gate, if there is one: other jobs may use the
///   same
///     ports and cuts. One that may not waits as if its ports were taken.
/// Requires: CheckPlan accepts the plan, and the prediction is Predict's of the same plan.
/// Thread-safety: none. Time: seconds from the start of the run, passed in. TakeStartable looks
/// once
///   at every idle sender, and after each start once more at those whose look rests on what the
///   start took (turn_findings.h): a few, where ports are the limit; where a cut is, each that
///   could have started or waits for one about to start. A look goes over the sender's published
///   transfers up to the first one that is not late: one of them while the run is on time, at most
///   all when it is late. Each is looked up in its receiver's and its lanes' orders as far as the
///   first one that must be waited for; of its sender's order, what anyone may overtake is looked
///   at once a look. A step in an order takes O(log transfers); however many have passed, move or
///   wait for a late run, nobody looks at those (overtake_index.h).
/// Source: 004 section 2 (one port, l channels).
/// Checked by: tests/unit/master/conductor_machine_test.cc, conductor_machine_property_test.cc,
///   transfer_scheduler_property_test.cc (beside an oracle without indexes).
class TransferScheduler {
 public:
  /// `gate`: null where the plan has the network to itself; else outlives this.
  TransferScheduler(const planner::Plan& plan, const planner::Prediction& prediction,
                    TransferGate* gate = nullptr);

  /// The transfer's run is published, and it moves `bytes` of it; from now on it waits for the
  /// network only.
  void SetReady(planner::TransferIndex transfer, planner::Bytes bytes);
  /// The transfer has nothing to move: it passes without ports or lanes.
  void Skip(planner::TransferIndex transfer);
  /// Gives back ports and lanes of a moving transfer: it has passed. Idempotent.
  void Pass(planner::TransferIndex transfer);
  /// A transfer that passed has to move once more, in its old place in the orders: it is ready.
  void Return(planner::TransferIndex transfer, planner::Bytes bytes);
  /// What an edited plan has under way.
  struct Moving {
    planner::TransferIndex transfer = planner::kNoIndex;
    /// Rates over time: as the plan before had it.
    planner::RateAllocation::UnderWay rate = {};
  };
  /// Marks as moving what is under way, with the time that it still takes as predicted. Call once,
  /// before anything else has become ready.
  void Resume(const std::vector<Moving>& moving, planner::Seconds now_s);
  /// Marks as moving, and returns in plan order, the transfers that may start now. `pace` <= 1 is
  /// how fast the run goes compared with the prediction: 0.5 = everything takes half its time.
  std::vector<planner::TransferIndex> TakeStartable(planner::Seconds now_s, double pace);
  /// Rates over time: the rates that senders are to be told since the last call, other than those
  /// that transfers begin with.
  std::vector<planner::RateOrder> TakeRateOrders() { return std::exchange(rate_orders_, {}); }
  /// Its sender has the rate of that number, or can have none: the next TakeStartable counts on it.
  void ConfirmRate(planner::TransferIndex transfer, std::int32_t number);
  void FixRate(planner::TransferIndex transfer);
  /// Rates over time: what a transfer that moves has of its ports and cuts. Nothing of others.
  std::optional<planner::RateAllocation::UnderWay> RateOf(planner::TransferIndex transfer,
                                                          planner::Seconds now_s) const;
  /// Moment at which a transfer that had to wait for another one in TakeStartable may overtake it.
  std::optional<planner::Seconds> next_late_s() const { return next_late_s_; }

 private:
  enum class State : std::uint8_t { kWaiting, kReady, kMoving, kPassed };
  /// Who may overtake one that is late: those that take at most `longest_s` as predicted.
  struct Overtaking {
    planner::Seconds longest_s = std::numeric_limits<double>::infinity();
    /// When the others may at the latest, less the shorter one of both times.
    planner::Seconds due_s = 0;
    /// longest_s may fall once its ports and cuts are taken.
    bool may_fall = false;
  };
  /// A transfer's place in one of the orders that it stands in.
  struct Place {
    std::int32_t order = 0;
    std::int32_t position = 0;
  };
  /// What looks read of a transfer, on one cache line: they go from one to others far away.
  struct alignas(64) Row {
    planner::Seconds start_s = 0;  // predicted, as the next two
    planner::Seconds finish_s = 0;
    planner::Seconds run_due_s = 0;  // end of the step that makes its run
    planner::WorkerIndex sender = 0;
    planner::WorkerIndex receiver = 0;
    std::int32_t places_begin = 0;  // in places_
    std::int32_t places_end = 0;
    std::int32_t cuts_begin = 0;  // in crossed_cuts_
    std::int32_t cuts_end = 0;
    State state = State::kWaiting;
  };
  /// A shared finding of a turn on an order: everything before this place has passed or is
  /// overtaken by all that take at most `longest_s`.
  struct TurnHead {
    std::int32_t place = 0;
    planner::Seconds longest_s = std::numeric_limits<double>::infinity();
    bool rests = false;  // on ports or cuts
    std::int64_t turn = 0;
    std::int64_t version = 0;  // of findings_
  };
  struct Order {
    std::vector<planner::TransferIndex> transfers;
    std::int32_t head = 0;  // everything before it has passed
    /// By place: the predicted moment after which it is overtaken, whoever comes.
    OvertakeIndex overtaken_after_s;
    TurnHead turn_head;
  };
  /// A cut that all transfers of a sender cross, and the least that one of them takes of it.
  struct SharedCut {
    std::int32_t cut = 0;
    std::int64_t lanes = 0;
  };

  /// kFetchAll: one receiver's transfers that could move, by place in its receive order.
  struct Receiver {
    std::set<std::pair<std::int32_t, planner::TransferIndex>> ready;
    std::int32_t num_moving = 0;
  };

  std::vector<planner::TransferIndex> TakeOrdered(planner::Seconds now_s, double pace);
  bool GateOpen(planner::TransferIndex transfer) const {
    return gate_ == nullptr || gate_->MayMove(transfer);
  }
  void FillRows();
  void AddOrder(const std::vector<planner::TransferIndex>& transfers);
  void FillPlaces();
  std::span<const Place> PlacesOf(planner::TransferIndex transfer) const {
    const Row& row = rows_[planner::At(transfer)];
    return std::span(places_).subspan(planner::At(row.places_begin),
                                      planner::At(row.places_end - row.places_begin));
  }
  std::span<const std::int32_t> CutsOf(planner::TransferIndex transfer) const {
    const Row& row = rows_[planner::At(transfer)];
    return std::span(crossed_cuts_)
        .subspan(planner::At(row.cuts_begin), planner::At(row.cuts_end - row.cuts_begin));
  }
  void SetState(planner::TransferIndex transfer, State state);
  double OvertakenAfter(planner::TransferIndex transfer) const;
  /// First place at or after `from` that has not passed and is not overtaken by everybody.
  static std::int32_t NextInTheWay(const Order& order, std::int32_t from, planner::Seconds now_s,
                                   double pace);
  bool ResourcesFree(planner::TransferIndex transfer) const;
  /// False where a cut that all of its transfers cross has room for none.
  bool MayHaveRoom(planner::WorkerIndex sender) const;
  void FillSharedCuts();
  /// False when one before it in its orders must still be waited for; notes until when.
  bool MayGoNow(planner::TransferIndex transfer, planner::Seconds now_s, double pace);
  /// The same of those before it in one of its orders.
  bool MayGoIn(const Place& place, planner::TransferIndex transfer, planner::Seconds now_s,
               double pace);
  /// One keeps back a transfer of its own sender. Where it keeps back whatever comes behind it,
  /// notes until when.
  void NoteWait(planner::TransferIndex before, const Overtaking& overtaking);
  /// Brings the order's turn_head up to date.
  TurnHead& TurnHeadOf(std::int32_t order);
  /// Of one that is late: nobody who takes longer than the time until it should start.
  Overtaking WhoOvertakes(planner::TransferIndex before, planner::Seconds now_s, double pace) const;
  /// When the resources of a transfer whose run is published should be free; <= now: they are.
  planner::Seconds FreeAt(planner::TransferIndex transfer) const;
  std::int64_t LanesTaken(planner::TransferIndex transfer) const;
  planner::Seconds PlannedSeconds(planner::TransferIndex transfer) const;
  void NoteLate(planner::Seconds late_s);
  planner::Seconds LateAt(planner::TransferIndex transfer, double pace) const;
  planner::TransferIndex FirstStartable(planner::WorkerIndex sender, planner::Seconds now_s,
                                        double pace);
  /// Looks at those senders whose look is still to be made, or to be made again. Within a turn
  /// ports, lanes and the gate's cuts are only taken, so that FreeAt only grows. So one that is
  /// refused stays refused until the one that it waits for starts or is put off, and one that may
  /// start still may until its own ports are taken, its cuts are full or one that was overdue is
  /// due soon: looks rest on the ports and cuts of these. The looks left out would note no earlier
  /// moments.
  void LookAtSenders(planner::Seconds now_s, double pace);
  /// Calls rest(resource, needs) for what the look under way rests on, where this transfer is to
  /// start or to wait: it may end otherwise once a port of its is taken, or so many lanes of a cut
  /// that it has no room there.
  template <typename Rest>
  void ForEachRest(planner::TransferIndex transfer, const Rest& rest) const;
  void RestOn(planner::TransferIndex transfer);
  /// Has made again those looks that may end otherwise now that this transfer moves.
  void TellTaken(planner::TransferIndex transfer);
  /// What findings_ call a cut. Ports are before it: by sender, then by receiver.
  std::int32_t CutResource(std::int32_t cut) const;
  /// The last number: what the gate has of cuts.
  std::int32_t GateResource() const;
  void Occupy(planner::TransferIndex transfer, planner::Seconds now_s, planner::Seconds seconds);
  std::vector<planner::TransferIndex> TakeFetches();
  std::vector<planner::TransferIndex> TakeRated(planner::Seconds now_s, double pace);
  std::vector<planner::TransferIndex> TakeAllocated(planner::Seconds now_s, double pace);
  void ExpectRuns(planner::Seconds now_s, double pace);
  /// Marks one as moving whose ports and lanes nobody counts.
  void MoveUncounted(planner::TransferIndex transfer);
  std::int32_t ReceivePlace(planner::TransferIndex transfer) const;

  const planner::Plan& plan_;
  const planner::Prediction& prediction_;
  TransferGate* const gate_;
  const planner::CutLanes lanes_;
  std::vector<Row> rows_;  // by transfer
  /// Send orders (num_workers), receive orders (num_workers), then one a lane of each cut.
  std::vector<Order> orders_;
  std::vector<Place> places_;                     // of each transfer together: send, receive, lanes
  std::vector<std::int32_t> crossed_cuts_;        // of each transfer together
  std::vector<planner::TransferIndex> by_start_;  // by plan rank
  std::vector<std::int32_t> plan_rank_;           // by transfer
  std::vector<bool> send_port_busy_;
  std::vector<bool> receive_port_busy_;
  std::vector<std::int64_t> free_lanes_;  // by cut
  /// When what moves should be over, by its own predicted time: by transfer, by port, by cut (with
  /// the lanes that it gives back).
  std::vector<planner::Seconds> moves_until_s_;
  std::vector<planner::Seconds> sends_until_s_;
  std::vector<planner::Seconds> receives_until_s_;
  std::vector<std::multiset<std::pair<planner::Seconds, std::int64_t>>> crosses_until_s_;
  std::vector<std::vector<SharedCut>> shared_cuts_;  // by sender
  std::vector<std::int32_t> num_ready_;              // by sender
  std::vector<planner::Seconds> least_seconds_;      // by sender, of its transfers as predicted
  std::vector<Receiver> receivers_;
  planner::RateRoom rates_;                          // kRates
  std::vector<planner::TransferIndex> expected_by_;  // with lanes, by predicted end: from there on
  std::size_t next_expected_ = 0;                    // their places are kept
  planner::RateAllocation allocation_;               // rates over time
  std::vector<planner::RateOrder> rate_orders_;
  /// Receivers that may have room and work since the last TakeStartable.
  std::set<planner::WorkerIndex> changed_receivers_;
  TurnFindings findings_;
  /// Of the look under way: no transfer behind one that it looked at may go, whatever its size.
  bool all_wait_ = false;
  std::int64_t turn_ = 0;
  std::optional<planner::Seconds> next_late_s_;
};

}  // namespace weir::master
