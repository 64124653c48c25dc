#pragma once

// The one vocabulary of Weir: a timed graph of compute steps and transfers, over the network model
// of 004, section 2 (one port per worker and direction, l channels).
// Upstream: builders in planner/load, planner/tree, planner/job. Downstream: CheckPlan, Predict,
// Explain, the conductor (through planner/wire).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/plan/codec.h"
#include "planner/plan/network_model.h"
#include "planner/plan/step_kind.h"
#include "planner/plan/units.h"

namespace weir::planner {

/// One compute step on one worker. A worker runs its steps one at a time (all its slots serve one
/// step) in Plan::compute_order; those of kinds with an order of their own wait for each other
/// only, and take turns with the others as they become ready.
struct ComputeStep {
  StepKind kind = StepKind::kMap;
  /// 0 = mappers, p >= 1 = reducers of layer p.
  std::int32_t layer = 0;
  /// Position within its layer: mapper j or reducer k, from 0. Also the number of its output
  /// part.
  std::int32_t index_in_layer = 0;
  WorkerIndex worker = 0;
  /// Kinds that read input: half-open range of the job's concatenated input. Others: 0, 0.
  Bytes input_begin = 0;
  Bytes input_end = 0;
  /// Predicted size of what it reads (map: input_end - input_begin) and of what it makes.
  Bytes input_bytes = 0;
  Bytes output_bytes = 0;
  /// Kinds that split keys: share of the bytes of its layer, and its keys as a part of the unit
  /// interval: [key_begin, key_end). Where keys weigh the same, the part is as long as the share.
  double load_fraction = 0;
  double key_begin = 0;
  double key_end = 0;
  /// Earliest start whatever else is ready (004: mapper j = 1, 2, ... starts at j * S). Seconds.
  Seconds release_s = 0;
  /// Predicted run time from the compute model. Seconds.
  Seconds duration_s = 0;
  /// Kinds that map or reduce: predicted size of what does not fit into its memory and is put on
  /// disk meanwhile, all files together, and the part of duration_s that it takes, at most all.
  Bytes spilled_bytes = 0;
  Seconds spill_s = 0;
  /// Start as the builder planned it; Predict computes its own.
  Seconds start_s = 0;
  /// Reads again, for those who lack a section of it, input of a step that is done and stays so:
  /// what it counts and leaves out was counted there.
  bool is_rerun = false;
  /// Steps on the same worker whose runs it reads in place.
  std::vector<StepIndex> after_steps;
  /// Transfers whose bytes it reads.
  std::vector<TransferIndex> after_transfers;
};

/// From a moment on, a transfer is paced at another rate.
struct RateChange {
  Seconds at_s = 0;
  double bytes_per_s = 0;

  friend bool operator==(const RateChange&, const RateChange&) = default;
};

/// One move of bytes between two workers: a byte range of the section that `producer` made for
/// `consumer`.
struct Transfer {
  StepIndex producer = kNoIndex;
  StepIndex consumer = kNoIndex;
  WorkerIndex sender = 0;
  WorkerIndex receiver = 0;
  /// Planned range within the section: [offset, offset + bytes). All ranges of a (producer,
  /// consumer) pair tile it.
  Bytes offset = 0;
  Bytes bytes = 0;
  /// Start and duration as the builder planned them; Predict computes its own.
  Seconds start_s = 0;
  Seconds duration_s = 0;
  /// kRates: what its sender is paced at, bytes per second, > 0. Others: 0.
  double rate_bytes_per_s = 0;
  /// Plan::rates_over_time: what it is planned to be paced at later, in order, after start_s and
  /// before its end. The run decides anew. Others: none.
  std::vector<RateChange> rate_changes = {};
};

/// How the conductor may depart from the planned order.
enum class TransferOrder {
  kStrict,    // trees: ports keep the planned order exactly
  kOvertake,  // shuffles: a transfer whose run is late is overtaken by the next ready one, in plan
              // order
  kFetchAll,  // no order: every receiver fetches from all senders at once with bounded credit, or
              // from at most Plan::fetch_limit of them
  kRates,     // no order: a transfer begins as soon as its run is there and its ports and cuts have
              // its rate left (rate_room.h); of several that wait, the first in Plan::transfers.
              // With Plan::port_lanes, those that wait keep their places; with
              // Plan::rates_over_time, ports and cuts are divided anew (rate_allocation.h)
};

/// Whether ports and lanes serve their transfers one after the other, as their orders say.
constexpr bool IsOrdered(TransferOrder order) {
  return order == TransferOrder::kStrict || order == TransferOrder::kOvertake;
}

/// Most places of a dense result: keys in [0, 1] are doubles, which tell no more of them apart.
inline constexpr std::int64_t kIndexPlacesMax = std::int64_t{1} << 53;

/// Part of a dense result by the places of its elements: [begin, end), at most kIndexPlacesMax.
struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

/// Section of a run: what `producer` makes for `consumer`, sent or handed over in place. CheckPlan
/// holds the transfers against it: every byte once. The address of a section is its two steps; what
/// of the producer's result belongs to it is the consumer's key range, or `indexes`. Sections of
/// one combine step stand in Plan::sections in the order of its operands, left to right.
struct Section {
  StepIndex producer = kNoIndex;
  StepIndex consumer = kNoIndex;
  Bytes bytes = 0;
  /// Of the producer's dense result; nothing where sections are cut by keys. In reduction trees:
  /// places of the whole element, of which the producer may hold a part.
  std::optional<IndexRange> indexes = std::nullopt;
};

/// A number that the plan was made from, and where it came from.
struct PlanNumber {
  std::string name;  // for example "map rate"
  double value = 0;
  std::string unit;    // "s/byte", "s", "bytes/byte"; empty: a plain number
  std::string origin;  // "default", "flag", "history", "sampled" or "measured"
};

/// Where the plan came from and what it promises.
struct PlanSummary {
  std::string method;         // for example "even", "load", "paper"
  Seconds makespan_s = 0;     // as planned by the builder
  Seconds lower_bound_s = 0;  // proven; 0 = none known
  /// Sentences for people: what limits the job, what was left out and why.
  std::vector<std::string> notes;
  std::vector<PlanNumber> numbers;
};

/// What a part of a map step costs beside the whole step. Where keys are found again and again, a
/// part makes more of them than its part of the input, and they take their time.
struct PartCost {
  /// A part of share x of the input makes share x^output_growth of the output. In [0,
  /// 1]; 0: each part makes all of it, as of vectors.
  double output_growth = 1;
  /// Share of a map step's time that grows as its output does; the rest grows as its input. In [0,
  /// 1].
  double output_time = 0;

  friend bool operator==(const PartCost&, const PartCost&) = default;
};

/// Return what a part that reads `share` of a map step's input, in [0, 1], makes of its output and
/// takes of its time. Rising in `share`; 1 of all. Thread-safety: pure.
inline double PartOfOutput(const PartCost& cost, double share) {
  return share > 0 ? std::pow(share, cost.output_growth) : 0;
}
inline double PartOfTime(const PartCost& cost, double share) {
  return (1 - cost.output_time) * share + cost.output_time * PartOfOutput(cost, share);
}

/// Most parts of the input that are told apart.
inline constexpr std::size_t kInputPartsMax = 10'000;

/// The plan of one job. Plain data; CheckPlan says whether it is feasible.
struct Plan {
  NetworkModel network;
  /// By worker: how fast it computes beside the others, > 0, in any unit. Empty: all alike. The
  /// durations of the steps know of it; whoever gives a step to another worker needs it.
  std::vector<double> compute_rate;
  std::vector<ComputeStep> steps;
  std::vector<Transfer> transfers;
  std::vector<Section> sections;
  TransferOrder transfer_order = TransferOrder::kOvertake;
  /// kFetchAll: most transfers that one receiver has under way; it begins them in receive_order, as
  /// their runs come. 0 = no limit. Others: 0.
  std::int32_t fetch_limit = 0;
  /// kRates: how many transfers of the busiest port move at a time, 2 or more, where these begin
  /// one after the other, in the order of `transfers`, as others end (order_by_lanes.h). No limit:
  /// of sections that are smaller a port may have more at once, as far as their rates fit. 0 = all
  /// at once. Others: 0.
  std::int32_t port_lanes = 0;
  /// kRates without port_lanes: rates change when transfers begin and end. Others: false.
  bool rates_over_time = false;
  /// Exact order of the steps of each worker, of its sends and of its receives. One list a worker,
  /// each step and transfer in exactly one list of its kind.
  std::vector<std::vector<StepIndex>> compute_order;
  std::vector<std::vector<TransferIndex>> send_order;
  std::vector<std::vector<TransferIndex>> receive_order;
  /// channel_order[cut][lane]: order of the transfers on each lane of each cut, at most as many
  /// lists as the cut has lanes (cut_lanes.h; where no port is slow, a channel is one lane). A
  /// transfer stands, in every cut that it crosses, in as many lanes as it takes, once in each. A
  /// plan without an order (kFetchAll, kRates) has no lanes: its port lists only say who takes
  /// part, and its lists of lanes may be empty.
  std::vector<std::vector<std::vector<TransferIndex>>> channel_order;
  /// Most steps that store at once (StepKindTraits::stores); 0 = no limit.
  std::int32_t store_channels = 0;
  /// At most store_channels lists: order of the write steps on each channel of the store, each step
  /// once. Empty without a limit.
  std::vector<std::vector<StepIndex>> store_order;
  /// Of the runs that the steps of each layer make, by layer; none beyond the end. Sizes of
  /// sections and transfers are those of packed bytes.
  std::vector<Codec> run_codec;
  /// Of the steps that read input, for whoever cuts one.
  PartCost part_cost;
  /// Where equal parts of the input end, counted as input_begin and input_end of the steps are:
  /// by what bytes cost (input/input_parts.h); rising, to the end of the input. Empty: bytes are
  /// counted as they lie.
  std::vector<Bytes> input_part_ends;
  PlanSummary summary;
};

/// Returns Plan::compute_rate, one a worker: 1 where all are alike. Thread-safety: pure.
inline std::vector<double> ComputeRates(const Plan& plan) {
  return plan.compute_rate.empty() ? std::vector<double>(At(plan.network.num_workers), 1)
                                   : plan.compute_rate;
}

/// By how much rates may add up to more than a port or a cut carries: rounding of sums. Ten times
/// what whoever lets transfers begin allows itself (rate_room.h).
inline constexpr double kRateTolerance = 1e-8;

/// Returns what a transfer of the plan takes beside its bytes: the gap where it begins while others
/// move.
inline Seconds StartSeconds(const Plan& plan) {
  const bool beside_others =
      IsOrdered(plan.transfer_order) || plan.port_lanes > 0 || plan.rates_over_time;
  return beside_others ? plan.network.OrderedStartSeconds() : plan.network.latency_s;
}

/// Return what a transfer's bytes take, at the whole rate, of one of its ports, or of a cut, that
/// it shares without an order. By rates: a paced transfer keeps its rate of either for as many
/// times longer as its pair lags, which may be less than the port by itself does. Requires:
/// kFetchAll; or kRates, and the network's rate is known. Thread-safety: pure.
inline Seconds SharedSeconds(const Plan& plan, const Transfer& transfer, double seconds_per_byte) {
  const Seconds alone_s = static_cast<double>(transfer.bytes) * seconds_per_byte;
  if (plan.transfer_order != TransferOrder::kRates) return alone_s;
  const double pacing = plan.network.pacing_fraction > 0 ? plan.network.pacing_fraction : 1;
  return alone_s / pacing * plan.network.Lag(transfer.sender, transfer.receiver);
}
inline Seconds SharedPortSeconds(const Plan& plan, const Transfer& transfer, WorkerIndex port) {
  return SharedSeconds(plan, transfer,
                       plan.transfer_order == TransferOrder::kRates
                           ? plan.network.NominalSecondsPerByte(port, port)
                           : plan.network.SecondsPerByte(port, port));
}
inline Seconds SharedCutSeconds(const Plan& plan, const Transfer& transfer) {
  return SharedSeconds(plan, transfer, plan.network.seconds_per_byte);
}

/// Returns what a transfer is planned to last that has `bytes` bytes to move: of a plan by rates
/// StartSeconds and the bytes at its rate, or at one after the other, as many times longer as its
/// ports lag; else as the network says of ordered transfers. Requires: kRates: rates > 0, the
/// network's rate is known. Thread-safety: pure. O(rate changes).
inline Seconds TransferSeconds(const Plan& plan, const Transfer& transfer, Bytes bytes) {
  const NetworkModel& network = plan.network;
  if (plan.transfer_order != TransferOrder::kRates) {
    return network.TransferSeconds(transfer.sender, transfer.receiver, bytes);
  }
  double left = network.Lag(transfer.sender, transfer.receiver) * static_cast<double>(bytes);
  double rate = transfer.rate_bytes_per_s;
  Seconds lasts_s = StartSeconds(plan);
  for (const RateChange& change : transfer.rate_changes) {
    const Seconds until_s = std::max(0.0, change.at_s - transfer.start_s - lasts_s);
    if (left <= until_s * rate) break;
    left -= until_s * rate;
    lasts_s += until_s;
    rate = change.bytes_per_s;
  }
  return lasts_s + left / rate;
}

}  // namespace weir::planner
