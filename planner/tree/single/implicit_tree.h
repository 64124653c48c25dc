#pragma once

// The greedy tree of 000 without building it: length, parents, children and starts of any machine
// for n up to 10^15. Upstream: circulant and release_dates (length B(p; d, c)), instance files.
// Downstream: none.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Largest n of an implicit tree; counts stay exact in 64 bits.
inline constexpr std::int64_t kImplicitMachinesMax = std::int64_t{1} << 60;

/// The optimal tree of Algorithm 1, numbered so that any machine can rank itself.
///
/// Model: in reversed time a receiver free at value v joins a machine at v + (c + d) (move A:
///   continue at the new machine) and is free again at v + max(c, d) (move B: continue at the same
///   one). Every joining event is a word over {A, B}; its time is a (c + d) + b max(c, d), and C(a
///   + b, a) events share (a, b).
/// Symbols: machine 1 is the sink; machine e + 2 is created by event e = 0, 1, ..., events sorted
///   by (time, a, b, word with A before B).
/// Thread-safety: const after Create. Time: O(log^2 n) to create, O(log n) per query.
/// Checked by: tests/unit/planner_tree/implicit_tree_test.cc.
class ImplicitTree {
 public:
  /// Errors: kInvalidArgument naming n, d or c; 1 <= n <= kImplicitMachinesMax.
  static absl::StatusOr<ImplicitTree> Create(std::int64_t n, ElementCosts costs);

  Seconds makespan_s() const { return makespan_s_; }

  /// Returns the machine (from 1) to which `machine` sends; 0 for the sink.
  /// Errors: kInvalidArgument unless 1 <= machine <= n.
  absl::StatusOr<std::int64_t> Receiver(std::int64_t machine) const;

  /// Returns the start of the machine's transfer, as late as the makespan allows; the makespan
  /// itself for the sink.
  absl::StatusOr<Seconds> Start(std::int64_t machine) const;

  /// Returns the machines that send to `machine`, the last to arrive first.
  absl::StatusOr<std::vector<std::int64_t>> Senders(std::int64_t machine) const;

 private:
  // One (a, b) with the number of events before it.
  struct LatticePoint {
    std::int64_t first_event = 0;
    Seconds value_s = 0;
    std::int32_t joins = 0;      // a
    std::int32_t continues = 0;  // b
  };
  struct Word {
    std::vector<bool> is_join;  // A = true
    Seconds value_s = 0;
  };

  ImplicitTree(std::int64_t n, ElementCosts costs);
  Word WordOfEvent(std::int64_t event) const;
  // Extends Pascal's triangle to `row`, counts saturated.
  void GrowTriangle(std::int32_t row);
  // C(total, chosen); 0 when chosen is -1.
  std::int64_t Choose(std::int32_t total, std::int32_t chosen) const {
    return chosen < 0 ? 0 : triangle_[total][chosen];
  }
  // Number of the event, or -1 when it lies beyond the n machines.
  std::int64_t EventOfWord(const std::vector<bool>& is_join) const;

  std::int64_t n_;
  Seconds hop_s_;
  Seconds step_s_;
  Seconds makespan_s_ = 0;
  std::vector<std::vector<std::int64_t>> triangle_;
  std::vector<LatticePoint> points_;  // by (value, a, b)
};

}  // namespace weir::planner::tree
