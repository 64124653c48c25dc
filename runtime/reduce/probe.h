#pragma once

// What the connections of a group carry when all members use them at once, measured at Join.
// Upstream: group. Downstream: mesh; GroupFacts, by which calls are planned.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/reduce/group_plans.h"
#include "runtime/reduce/mesh.h"

namespace weir::reduce {

/// What one member measured; as a body on the wire three doubles, little-endian.
struct LinkMeasurement {
  /// From the send of a small message until its receiver has read it: half of a round trip, the
  /// median of kProbePings.
  double latency_s = 0;
  /// Of what arrives while everybody sends and receives, the median of kProbeRounds.
  double seconds_per_byte = 0;
  /// The program knows its network: what is measured does not count.
  double given = 0;
};

inline constexpr int kProbePings = 9;
inline constexpr int kProbeRounds = 3;

/// Bytes that each member sends in one round: 20 ms of a link as `facts` have it, within bounds; 0
/// where the network limits transfers at once, which all of a group's would exceed.
std::int64_t ProbeBytes(const GroupFacts& facts);

/// What a group plans with, of what its members measured: the median start-up, and the rate of the
/// slower half, because a schedule waits for those. Pure; the same at every member.
/// Requires: at least one measurement. Checked by: tests/unit/reduce/probe_test.cc.
LinkMeasurement AgreedOn(std::vector<LinkMeasurement> measured);

/// Returns `facts` with what was measured in them, unless some member's program gave the network.
///
/// The start-up is what was measured. A rate that is known stays the upper bound, because senders
/// are
///   paced by it; where a link carries less while all are busy (members that share a machine or a
///   switch), calls are planned with that. A rate that is a guess is replaced.
/// Pure. Checked by: tests/unit/reduce/probe_test.cc.
GroupFacts WithMeasured(GroupFacts facts, const LinkMeasurement& agreed);

/// Measures with all others and tells them; returns what AgreedOn says of all.
///
/// Every member sends to the one that is some ranks ahead and receives from the one that is as many
///   behind, all at once: members that share a machine share its processors then too, as they will
///   in calls. The first half of each round fills the connections and does not count.
/// Requires: called by every member with the same `bytes`; nothing else is on the connections.
/// Errors: kUnavailable or kDeadlineExceeded naming the member.
/// Time: kProbeRounds times what `bytes` take, and some round trips.
/// Checked by: tests/unit/reduce/probe_test.cc.
absl::StatusOr<LinkMeasurement> MeasureLinks(const Mesh& mesh, const MeshOptions& options,
                                             std::int64_t bytes, bool given);

}  // namespace weir::reduce
