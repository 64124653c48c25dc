#pragma once

// What each idle sender could start, kept while one turn lets several transfers start. Pure.
// Upstream: TransferScheduler.

#include <cstdint>
#include <utility>
#include <vector>

namespace weir::master {

/// Remembers what a look at each sender found, and what that rests on.
///
/// Model: within a turn, transfers start one after the other, the first in plan order of those that
///   the senders' looks found. A start takes resources (ports, cuts); only looks that rest on one
///   of them are made again. Senders, resources and ranks are numbers from 0.
/// Thread-safety: none. Time: O(log senders) a finding, O(1) a resource that one rests on; a turn
///   clears what the turn before has written.
/// Checked by: tests/unit/master/turn_findings_test.cc.
class TurnFindings {
 public:
  static constexpr std::int32_t kNone = -1;

  TurnFindings(std::int32_t num_senders, std::int32_t num_resources);

  /// A turn begins: forgets everything.
  void Begin();
  /// This sender takes part in the turn, and is to be looked at.
  void Add(std::int32_t sender);
  /// Begins the look at a sender that is to be looked at; kNone: no more of them.
  std::int32_t NextLook();
  /// Of the look under way: it may end otherwise once this resource is taken.
  void RestsOn(std::int32_t resource);
  /// Of the look under way: the transfer of this rank could start. Not called: none could.
  void Found(std::int32_t rank);
  /// Takes the least rank that was found, and its sender out of the turn; kNone: nothing was found.
  /// Requires: NextLook said kNone.
  std::int32_t TakeFirst();
  /// Looks that rest on this resource are to be made again.
  void Taken(std::int32_t resource);

 private:
  struct Sender {
    bool takes_part = false;
    bool to_look_at = false;
    std::int32_t rank = kNone;  // found
  };

  std::vector<Sender> senders_;
  std::vector<std::int32_t> taking_part_;
  std::vector<std::int32_t> to_look_at_;
  std::int32_t looking_at_ = kNone;
  std::vector<std::vector<std::int32_t>> resting_;  // by resource: senders
  std::vector<std::int32_t> rested_on_;             // resources, to be cleared
  /// (rank, sender), least first; what is no longer found is dropped when it comes up.
  std::vector<std::pair<std::int32_t, std::int32_t>> found_;
};

}  // namespace weir::master
