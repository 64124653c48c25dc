#pragma once

// What a run calls its transfers when it talks to workers. Pure. Upstream: ConductorRun.
// Downstream: nothing.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "planner/plan/plan.h"
#include "planner/plan/units.h"

namespace weir::master {

/// Numbers of transfers, none of which is used twice in a run: an edited plan counts its transfers
/// anew, and workers may still speak of those that it dropped.
class TransferNumbers {
 public:
  /// Of a plan that begins: their indices.
  explicit TransferNumbers(std::size_t num_transfers) {
    for (std::size_t t = 0; t < num_transfers; ++t) Add(next_++);
  }
  /// Of a plan that EditPlan made of the one `before`: what goes on keeps its number.
  TransferNumbers(const std::vector<planner::TransferIndex>& transfer_was,
                  const TransferNumbers& before)
      : next_(before.next_) {
    for (const planner::TransferIndex was : transfer_was) {
      Add(was == planner::kNoIndex ? next_++ : before.Of(was));
    }
  }

  std::int32_t Of(planner::TransferIndex transfer) const { return numbers_[planner::At(transfer)]; }
  /// None: the plan has it no more.
  std::optional<planner::TransferIndex> IndexOf(std::int32_t number) const {
    const auto it = index_of_.find(number);
    if (it == index_of_.end()) return std::nullopt;
    return it->second;
  }
  /// Whether a transfer of this or an earlier plan was called so.
  bool WasGiven(std::int32_t number) const { return number >= 0 && number < next_; }

 private:
  void Add(std::int32_t number) {
    index_of_[number] = static_cast<planner::TransferIndex>(numbers_.size());
    numbers_.push_back(number);
  }

  std::vector<std::int32_t> numbers_;  // by transfer
  absl::btree_map<std::int32_t, planner::TransferIndex> index_of_;
  std::int32_t next_ = 0;
};

}  // namespace weir::master
