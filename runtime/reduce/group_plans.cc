#include "runtime/reduce/group_plans.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/check_plan.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/write/spreading_plan.h"
#include "planner/tree/write/tree_plan.h"
#include "runtime/reduce/frames.h"
#include "runtime/reduce/operations.h"

namespace weir::reduce {
namespace {

namespace tree = planner::tree;

/// A shorter segment costs more in headers and calls than it can gain.
constexpr std::int64_t kSegmentBytesMin = 8 << 10;
constexpr std::int64_t kSegmentsMax = 512;

/// For a busy processor to notice a grant.
constexpr double kWakeSeconds = 2e-3;
constexpr double kWindowBytesMin = 8 << 10;
/// Half of a small switch buffer.
constexpr double kWindowBytesMax = 64 << 10;

planner::NetworkModel NetworkOf(const GroupFacts& facts) {
  planner::NetworkModel network =
      facts.channels > 0 ? planner::LimitedTotal(facts.size, facts.seconds_per_byte, facts.channels)
                         : planner::NetworkModel{};
  network.num_workers = facts.size;
  network.seconds_per_byte = facts.seconds_per_byte;
  network.latency_s = facts.latency_s + facts.seconds_per_byte * kFrameHeaderBytes;
  network.pacing_fraction = facts.pacing_fraction;
  return network;
}

std::uint32_t Fingerprint(const planner::Plan& plan) {
  std::uint64_t hash = plan.steps.size();
  const auto add = [&](const auto& numbers) {
    hash = XXH3_64bits_withSeed(numbers.data(), numbers.size() * sizeof(numbers[0]), hash);
  };
  for (const planner::Transfer& transfer : plan.transfers) {
    add(std::array<std::int64_t, 5>{transfer.producer, transfer.consumer, transfer.sender,
                                    transfer.receiver, transfer.bytes});
  }
  for (const planner::Section& section : plan.sections) {
    add(std::array<std::int64_t, 4>{section.producer, section.consumer, section.indexes->begin,
                                    section.indexes->end});
  }
  for (const auto* orders : {&plan.compute_order, &plan.send_order, &plan.receive_order}) {
    for (const std::vector<std::int32_t>& order : *orders) add(order);
  }
  return static_cast<std::uint32_t>(hash);
}

absl::StatusOr<planner::Plan> Choose(const tree::ReductionProblem& problem,
                                     const planner::NetworkModel& network, const Signature& call,
                                     planner::Bytes bytes, planner::Bytes place_bytes) {
  if (call.kind == CallKind::kReduce) {
    const absl::StatusOr<tree::ReductionChoice> choice = tree::ChooseReduction(problem);
    if (!choice.ok()) return choice.status();
    tree::ReductionOptions options;
    options.place_bytes = place_bytes;
    return tree::ReductionPlan(choice->schedule, network, bytes, {}, options);
  }
  const absl::StatusOr<tree::SpreadingSchedule> choice = call.kind == CallKind::kBroadcast
                                                             ? tree::ChooseBroadcast(problem)
                                                             : tree::ChooseAllReduce(problem);
  if (!choice.ok()) return choice.status();
  return tree::SpreadingPlan(*choice, network, bytes, place_bytes);
}

}  // namespace

std::int64_t WindowBytes(const GroupFacts& facts) {
  const double bytes = (2 * facts.latency_s + kWakeSeconds) / facts.seconds_per_byte;
  return static_cast<std::int64_t>(std::clamp(bytes, kWindowBytesMin, kWindowBytesMax));
}

absl::StatusOr<std::shared_ptr<const GroupPlan>> MakeGroupPlan(const GroupFacts& facts,
                                                               const Signature& call,
                                                               const Operation& operation) {
  const auto place_bytes = static_cast<planner::Bytes>(ElementBytes(call.type));
  // Bytes of all members together are counted: beyond, they would wrap around to a short array.
  const auto count_max = static_cast<std::uint64_t>(std::numeric_limits<planner::Bytes>::max() /
                                                    place_bytes / std::max(1, facts.size));
  if (call.count > count_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("an array of ", call.count, " elements is too long; at most ", count_max,
                     " of ", TypeName(call.type), " are possible in a group of ", facts.size));
  }
  const auto bytes = static_cast<planner::Bytes>(call.count) * place_bytes;
  const planner::NetworkModel network = NetworkOf(facts);
  tree::ReductionProblem problem;
  problem.num_machines = facts.size;
  // An empty array is planned like a single byte.
  problem.element_units = static_cast<double>(std::max<planner::Bytes>(bytes, 1));
  problem.costs.alpha_s = network.latency_s;
  problem.costs.beta_s_per_unit =
      facts.size > 1 ? network.PacedSecondsPerByte(0, 1) : facts.seconds_per_byte;
  problem.costs.gamma_s_per_unit =
      operation.traits().seconds_per_element > 0
          ? operation.traits().seconds_per_element / static_cast<double>(place_bytes)
          : facts.combine_s_per_byte;
  problem.commutative = operation.traits().commutative;
  problem.root = call.root;
  if (facts.channels > 0) problem.max_transfers = std::min(facts.channels, facts.size);
  problem.max_segments = std::clamp<std::int64_t>(bytes / kSegmentBytesMin, 1, kSegmentsMax);
  absl::StatusOr<planner::Plan> plan = Choose(problem, network, call, bytes, place_bytes);
  if (!plan.ok()) return plan.status();
  if (absl::Status status = planner::CheckPlan(*plan); !status.ok()) return status;
  absl::StatusOr<planner::Prediction> prediction = planner::Predict(*plan);
  if (!prediction.ok()) return prediction.status();
  auto made = std::make_shared<GroupPlan>();
  made->window_bytes = WindowBytes(facts);
  made->fingerprint = Fingerprint(*plan);
  made->plan = *std::move(plan);
  made->prediction = *std::move(prediction);
  return made;
}

}  // namespace weir::reduce
