#pragma once

// What each idle sender could start, kept while one turn lets several transfers start. Pure.
// Upstream: TransferScheduler.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace weir::master {

/// Remembers what a look at each sender found, and what that rests on. What several looks find
/// alike may be found once for the turn: a shared finding.
///
/// Model: within a turn, transfers start one after the other, the first in plan order of those that
///   the senders' looks found. A start takes resources (ports, lanes of cuts); only looks that rest
///   on one of them, and need more of it than is left, are made again. So do shared findings rest
///   on resources; once one holds no longer, nor do the looks that rest on it. Senders, resources,
///   shared findings and ranks are numbers from 0.
/// Thread-safety: none. Time: O(log senders) a finding, O(1) a resource that one rests on, and one
///   that is taken and leaves enough for all; a turn clears what the turn before has written.
/// Checked by: tests/unit/master/turn_findings_test.cc.
class TurnFindings {
 public:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::int64_t kAllOfIt = std::numeric_limits<std::int64_t>::max();

  TurnFindings(std::int32_t num_senders, std::int32_t num_resources, std::int32_t num_shared);

  /// A turn begins: forgets everything.
  void Begin();
  /// This sender takes part in the turn, and is to be looked at.
  void Add(std::int32_t sender);
  /// Begins the look at a sender that is to be looked at; kNone: no more of them.
  std::int32_t NextLook();
  /// Of the look under way: it may end otherwise once less than `needs` of this resource is left.
  void RestsOn(std::int32_t resource, std::int64_t needs = kAllOfIt);
  /// The look under way may end otherwise once this shared finding holds no longer.
  void RestsOnShared(std::int32_t shared);
  /// As RestsOn, of a shared finding.
  void SharedRestsOn(std::int32_t shared, std::int32_t resource, std::int64_t needs = kAllOfIt);
  /// How often what this one rests on was taken, in all turns: nothing found under another number
  /// holds.
  std::int64_t SharedVersion(std::int32_t shared) const;
  /// Of the look under way: the transfer of this rank could start. Not called: none could.
  void Found(std::int32_t rank);
  /// Takes the least rank that was found, and its sender out of the turn; kNone: nothing was found.
  /// Requires: NextLook said kNone.
  std::int32_t TakeFirst();
  /// Of this resource, so much is left: looks that need more are to be made again.
  void Taken(std::int32_t resource, std::int64_t left = 0);

 private:
  struct Sender {
    bool takes_part = false;
    bool to_look_at = false;
    std::int32_t rank = kNone;  // found
  };
  struct Rest {
    std::int32_t of = kNone;  // a sender's look, or num_senders + a shared finding
    std::int64_t needs = 0;
  };
  struct Resource {
    std::vector<Rest> rests;
    std::int64_t most_needed = 0;  // of them, or more
  };

  void Add(std::int32_t resource, Rest rest);
  void LookAgain(std::int32_t sender);
  std::int32_t SharedResource(std::int32_t shared) const;

  std::vector<Sender> senders_;
  std::vector<std::int32_t> taking_part_;
  std::vector<std::int32_t> to_look_at_;
  std::int32_t looking_at_ = kNone;
  std::int32_t num_resources_ = 0;
  std::vector<Resource> resources_;  // and then one a shared finding
  std::vector<std::int64_t> shared_versions_;
  std::vector<std::int32_t> rested_on_;  // resources, to be cleared
  /// (rank, sender), least first; what is no longer found is dropped when it comes up.
  std::vector<std::pair<std::int32_t, std::int32_t>> found_;
};

}  // namespace weir::master
