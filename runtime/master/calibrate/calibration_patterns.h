#pragma once

// Who talks to whom in the rounds of a calibration, and what is known of who shares a rack. Pure.
// Upstream: CalibrationMachine. Downstream: nothing.

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace weir::master {

/// One transfer of a round: worker indices.
struct ProbeFlow {
  int sender = 0;
  int receiver = 0;
  bool operator==(const ProbeFlow&) const = default;
};

/// Disjoint pairs of workers that exchange bytes both ways at once; with an odd number of workers
/// one of them rests.
using Matching = std::vector<std::pair<int, int>>;

/// i with i + n/2: crosses everything when racks are neighbours in the order of names. Of an odd
/// number the last rests.
Matching HalvesMatching(int num_workers);
/// The same, and of an odd number the middle one rests.
Matching OuterHalvesMatching(int num_workers);
/// 0 with 1, 2 with 3: crosses everything when racks alternate.
Matching NeighboursMatching(int num_workers);
/// i with n-1-i.
Matching MirrorMatching(int num_workers);
/// Any, as the state of the generator says; the state moves on.
Matching RandomMatching(int num_workers, std::uint64_t& random_state);

/// Both directions of the first `num_pairs` pairs.
std::vector<ProbeFlow> FlowsOf(const Matching& matching, std::size_t num_pairs);

/// Exchanges the partners of two pairs of a matching: (a, x) and (b, y) become (a, b) and (x, y).
struct Swap {
  int a = 0;
  int b = 0;
};

/// Returns the matching after the swaps. Requires: no worker is concerned by two of them. The
/// partner of a resting worker rests.
Matching ApplySwaps(const Matching& matching, const std::vector<Swap>& swaps);

/// What is known of which workers share a rack.
///
/// Model: "share a rack" is an equivalence; a pair that was seen to be slowed by others crosses a
/// limited link, so it is never in one rack, and neither are others of their racks.
/// Checked by: tests/unit/master/calibration_machine_test.cc, calibration_machine_property_test.cc.
class RackKnowledge {
 public:
  enum class Relation { kUnknown, kSame, kDifferent };

  explicit RackKnowledge(int num_workers);
  /// Ignored when the two are known to be in different racks: slowing is proof, speed is not.
  void SetSame(int a, int b);
  void SetDifferent(int a, int b);
  Relation Of(int a, int b) const;
  /// All racks, alone ones too, by smallest member.
  std::vector<std::vector<int>> Racks() const;
  bool AnySame() const;
  /// Chooses up to `swaps_max` swaps of the matching that bring unknown pairs together: workers at
  /// random, so that no rack is taken out of the load more than others, each with the unknown one
  /// that is nearest in the order of names.
  std::vector<Swap> NextSwaps(const Matching& matching, std::size_t swaps_max,
                              std::uint64_t& random_state) const;

 private:
  int RootOf(int worker) const;

  std::vector<int> root_;              // by worker; kept flat
  std::vector<std::set<int>> others_;  // by root: roots known to be other racks
};

}  // namespace weir::master
