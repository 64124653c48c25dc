#pragma once

// Decides what a calibration measures next and what the measurements mean. Pure: rounds out,
// outcomes in, time passed in. Upstream: CalibrationRun (carries rounds out). Downstream:
// NetworkSpec of every later plan.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "runtime/base/mono_time.h"
#include "runtime/master/calibrate/calibration_patterns.h"
#include "runtime/master/calibrate/probe_shuffle.h"
#include "runtime/master/options/network_spec.h"
#include "weir/v1/calibration.pb.h"

namespace weir::master {

/// Probes that run at once.
struct ProbeRound {
  std::string doing;  // in words
  std::vector<ProbeFlow> flows;
  int round_trips = 0;
  double warm_up_s = 0;
  double window_s = 0;
  double tail_s = 0;
  /// Bytes of each flow, which then ends with them; 0: as many as its time allows. window_s is then
  /// the longest it may take.
  std::int64_t bytes = 0;
  /// Each flow begins as a granted transfer does, when those named here (by flow) have passed.
  /// Empty: all begin at once, without order.
  std::vector<std::vector<std::size_t>> after;
  std::int64_t pacing_bytes_per_s = 0;
  std::int64_t look_ahead_bytes = 0;
  std::int64_t grant_ahead_bytes = 0;
  bool counts_segments = false;
  bool ordered() const { return !after.empty(); }
  double Seconds() const { return warm_up_s + window_s + tail_s; }
};

/// What became of one flow of a round.
struct ProbeOutcome {
  double bytes_per_s = 0;
  double first_byte_s = 0;  // round trip on the data plane
  double control_s = 0;     // round trip of the order itself
  double bytes = 0;         // that came in the window
};

/// What became of a round.
struct RoundOutcome {
  std::vector<ProbeOutcome> flows;  // in the order of the round's
  double took_s = 0;                // from the first order to the last answer
  // Where the round counts them and the workers can tell; else 0.
  std::int64_t segments_sent = 0;
  std::int64_t segments_resent = 0;
  double queue_s = 0;  // by how much queues made round trips longer, at most
};

/// How jobs send what a plan orders (MasterOptions).
struct OrderedSending {
  double pacing_fraction = 0.97;
  std::int64_t look_ahead_bytes = 16 << 10;
};

/// What a calibration found: for plans, and for people.
struct CalibrationResult {
  NetworkSpec spec;
  v1::MeasuredNetwork message;
  /// False when a last pattern contradicted it: nothing to plan with.
  bool reliable = true;
};

/// Measures a network of workers.
///
/// Model: one port a worker and direction; full-rate ports share one channel rate 1/C; beyond the
///   ports there is either nothing, or one limited total, or racks behind limited links, or racks
///   and a total.
/// Method, one phase after the other:
///   1. alone: one transfer at a time. The channel rate is the median over workers of the better
///      of their directions, so that a minority of slow ports does not move it.
///   2. slow ports: who came below it is tried again against a full-rate peer, both ways.
///   3. load: more and more disjoint pairs at once, both ways, in several matchings, until the
///      rate of a channel falls. When it never does there is no limit to know of.
///   4. racks: in the matching that was slowed most, two pairs exchange partners. Were the new
///      pairs in different racks, as much would cross the core as before and they would be as slow;
///      in one rack they are at full rate. What is slowed by others is in different racks for sure.
///   5. capacity: all of a rack send at once, then all receive at once; without racks everybody.
///   6. check: the rates of one more matching against what the result says (max-min fair sharing).
///   7. order: an equal shuffle in an order, granted ahead and paced as jobs do, three times. The
///      gap between transfers is the one with which Predict says what it took; the median counts.
///   8. sharing: all fetch from one at once, then all from all, unordered and unpaced, each three
///      times: what ports, or cuts, need for the bytes over what it took; medians count.
/// Bounds: rounds of at most 3 s each, stopped at `at_most`; what is missing then is in the
/// notes. Thread-safety: none. Same outcomes, same result. Checked by:
/// tests/unit/master/calibration_machine_test.cc, calibration_machine_property_test.cc (simulated
///   networks), tests/netlab/calibrate_test.py (emulated ones).
class CalibrationMachine {
 public:
  /// Below this share of what its ports allow a transfer counts as slowed.
  static constexpr double kFull = 0.85;
  /// Up to this many workers each port is tried alone.
  static constexpr int kAloneMax = 12;

  /// Requires: two workers or more.
  CalibrationMachine(std::vector<std::string> names, absl::Duration at_most, std::uint64_t seed,
                     MonoTime now, OrderedSending sending = {});

  /// Returns the next round, or nothing when all is measured or time is up.
  std::optional<ProbeRound> Next(MonoTime now);
  /// Takes the outcome of the round that Next returned.
  void Take(const RoundOutcome& outcome);
  /// At least this share is done; never falls.
  double done_fraction() const;
  void AddNote(std::string note) { notes_.push_back(std::move(note)); }
  CalibrationResult Result(MonoTime now) const;

 private:
  enum class Phase {
    kAlone,
    kSlowPorts,
    kLoad,
    kRacks,
    kCapacity,
    kCheck,
    kOrder,
    kSharing,
    kDone
  };
  struct Planned {
    ProbeRound round;
    int tag = 0;  // meaning depends on the phase
  };
  struct LoadTry {
    Matching matching;
    std::size_t num_pairs = 0;
    bool search = false;  // of no more use once a limit is known
    std::vector<double> pair_shares;
  };
  /// One limited link, or one that was tried and found without limit.
  struct Link {
    std::string name;
    std::vector<int> rack;  // empty: total
    bool up = true;
    double bytes_per_s = 0;
    bool limited = false;
  };

  // calibration_machine.cc
  void EnterPhase(Phase phase);
  void LeavePhase();
  void Plan(std::string doing, std::vector<ProbeFlow> flows, int tag);
  void TakeAlone(const std::vector<ProbeOutcome>& outcomes);
  void FindChannelRate();
  void PlanSlowPorts(const std::vector<int>& suspects);
  /// Under load only a full rate says something about a port.
  void KeepPortRates(const std::vector<ProbeOutcome>& outcomes, double at_least);
  double PortLimit(const ProbeFlow& flow) const;
  double ShareOfPorts(const std::vector<ProbeOutcome>& outcomes) const;

  // calibration_load.cc
  void PlanLoad();
  void TakeLoad(std::vector<ProbeOutcome> outcomes);
  bool Slowed(const std::vector<ProbeOutcome>& outcomes) const;
  std::vector<int> SlowUnderLoad() const;
  void PlanRacks();
  void TakeRacks(const std::vector<ProbeOutcome>& outcomes);
  void PlanCapacity();
  void TakeCapacity(const std::vector<ProbeOutcome>& outcomes);
  void PlanCheck();
  void TakeCheck(const std::vector<ProbeOutcome>& outcomes);
  std::vector<double> PairShares(const std::vector<ProbeOutcome>& outcomes) const;

  // calibration_shuffle.cc
  planner::NetworkModel FoundNetwork() const;
  std::vector<int> FullRateWorkers(std::size_t most) const;
  void PlanOrder();
  void TakeOrder(const RoundOutcome& outcome);
  void PlanSharing();
  void TakeSharing(const RoundOutcome& outcome);
  void ExplainSharing(CalibrationResult& result) const;

  // calibration_result.cc
  NetworkSpec Spec() const;
  /// The same with what only all workers of an odd number in a ring show.
  NetworkSpec WholeSpec() const;
  bool SlowPort(std::size_t worker) const;
  /// True when a limit was seen and holds when it is measured for longer.
  bool AnyLimit() const;
  /// What was checked last agrees with the rest, or nothing was checked.
  bool Reliable() const;
  void Explain(CalibrationResult& result) const;

  const std::vector<std::string> names_;
  const int num_workers_;
  const absl::Duration at_most_;
  const MonoTime began_;
  const OrderedSending sending_;
  std::uint64_t random_state_;

  Phase phase_ = Phase::kAlone;
  Phase after_slow_ports_ = Phase::kLoad;
  std::deque<Planned> planned_;
  std::optional<Planned> current_;
  bool out_of_time_ = false;
  std::string out_of_time_doing_;
  int rounds_ = 0;
  int probes_ = 0;

  // Bytes per second against a full-rate peer; 0 = not known.
  std::vector<double> up_;
  std::vector<double> down_;
  std::vector<double> alone_rates_;
  std::vector<double> latencies_;
  double channel_ = 0;
  double latency_s_ = -1;

  std::vector<LoadTry> tries_;  // all pairs of a matching
  std::vector<v1::MeasuredNetwork::LoadPoint> load_points_;
  bool limited_ = false;
  double ring_share_ = 1;  // odd numbers of workers: everybody sends to the next
  double ring_bytes_per_s_ = 0;

  Matching base_;  // slowed most
  double base_share_ = 1;
  double full_rate_share_ = kFull;  // above: a pair counts as not slowed
  RackKnowledge racks_;
  std::vector<Swap> swaps_;  // of the round that runs
  bool asked_again_ = false;
  std::vector<ProbeOutcome> first_outcomes_;  // of a round that is asked again
  int pairs_tested_ = 0;
  bool racks_complete_ = false;

  std::vector<Link> links_;
  double check_share_ = -1;  // measured over predicted; negative: not checked

  planner::Plan ordered_;       // of the rounds of kOrder
  std::vector<double> gaps_s_;  // one a round
  struct Shared {
    BusiestSeconds busiest;         // what its bytes need
    std::vector<double> fractions;  // one a round
    std::vector<double> queue_s;    // one a round
    std::int64_t segments_sent = 0;
    std::int64_t segments_resent = 0;
  };
  Shared to_one_;
  Shared to_all_;
  int num_sharing_ = 0;  // workers
  std::vector<std::string> notes_;
};

}  // namespace weir::master
